"""The full listing of qstat: running, waiting and ended jobs of PBS Pro and Torque."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.scheduling import jobs, read, us

OWN = "    Job_Owner = kim@login1.example.org\n"
ENDED = (
    "Job Id: 77.srv\n    Job_Name = pre\n" + OWN + "    resources_used.walltime = 01:00:00\n    job_state = F\n"
    "    queue = gpu\n    ctime = Sat Apr  5 09:06:40 2031\n    etime = Sat Apr  5 09:06:40 2031\n"
    "    exec_host = m1/0*8+m2/0*8\n    exec_vnode = (m1:ncpus=8:ngpus=4)+(m2:ncpus=8\n\t:ngpus=4)\n"
    "    mtime = Sat Apr  5 10:16:40 2031\n    Resource_List.ngpus = 8\n    stime = Sat Apr  5 09:16:40 2031\n"
    "    Exit_status = 271\n    Variable_List = PBS_O_HOME=/home/kim,\n\tPBS_O_HOST=login1\n\n"
)
RUNNING = (
    "Job Id: 78.srv\n    Job_Name = run\n" + OWN + "    job_state = R\n    queue = gpu\n"
    "    ctime = Sat Apr  5 09:06:40 2031\n    mtime = Sat Apr  5 09:30:00 2031\n"
    "    stime = Sat Apr  5 09:26:40 2031\n    exec_host = m3/0\n\n"
)
WAITING = (
    "Job Id: 79.srv\n    Job_Name = wait\n" + OWN + "    job_state = Q\n    queue = gpu\n"
    "    ctime = Sat Apr  5 09:06:40 2031\n    mtime = Sat Apr  5 09:06:40 2031\n    Resource_List.ngpus = 2\n"
)
TORQUE = (
    "Job Id: 80.srv\n    Job_Name = old\n" + OWN + "    job_state = C\n    queue = gpu\n"
    "    ctime = Sat Apr  5 09:06:40 2031\n    exit_status = 0\n    start_time = Sat Apr  5 09:10:00 2031\n"
    "    comp_time = Sat Apr  5 09:40:00 2031\n    exec_host = m3/0\n"
)


def rows(folder: Path, text: str) -> dict[str, Any]:
    """Return the rows of jobs by their id."""
    return {row["id"]: row for row in jobs(read(folder / "qstat.txt", "pbs_qstat", text, zone="UTC"))}


def test_an_ended_job(tmp_path: Path) -> None:
    """271 is signal 15; a value that goes on behind a tab is one value; the last change is the end."""
    row = rows(tmp_path, ENDED)["77.srv"]
    assert (row["name"], row["user"], row["partition"], row["clock"]) == ("pre", "kim", "gpu", "zone_set")
    assert (row["submit_us"], row["start_us"]) == (us("2031-04-05T09:06:40"), us("2031-04-05T09:16:40"))
    assert (row["end_us"], row["exit_signal"]) == (us("2031-04-05T10:16:40"), 15)
    assert (row["nodes"], row["cpus"], row["gpus"], row["gpus_requested"]) == (2, 16, 8, 8)


def test_jobs_that_run_or_wait_have_no_end(tmp_path: Path) -> None:
    """The last change of a running job is no end, and a waiting one holds nothing."""
    found = rows(tmp_path, RUNNING + WAITING)
    assert (found["78.srv"]["start_us"], found["78.srv"]["end_us"]) == (us("2031-04-05T09:26:40"), None)
    assert (found["79.srv"]["start_us"], found["79.srv"]["end_us"]) == (None, None)
    assert (found["79.srv"]["gpus"], found["79.srv"]["gpus_requested"]) == (None, 2)


def test_torque_names_its_times_otherwise(tmp_path: Path) -> None:
    """`start_time`, `comp_time`, and a small letter in the exit status."""
    row = rows(tmp_path, TORQUE)["80.srv"]
    assert (row["start_us"], row["end_us"]) == (us("2031-04-05T09:10:00"), us("2031-04-05T09:40:00"))
    assert row["exit_code"] == 0


def test_a_job_that_is_listed_twice_counts_once_and_a_torn_one_not(tmp_path: Path) -> None:
    """Listings are often appended to one file; every line has an outcome."""
    parsed = read(tmp_path / "qstat.txt", "pbs_qstat", ENDED + ENDED + "Job Id: 81.srv\n    Job_Name = cut", zone="UTC")
    assert [row["id"] for row in jobs(parsed)] == ["77.srv"]
    assert (parsed.lines["duplicate"], parsed.lines["torn"]) == (17, 2)


def test_an_end_before_the_start_is_no_time(tmp_path: Path) -> None:
    """Such a job gives no row."""
    text = TORQUE.replace("09:40:00", "09:00:00")
    parsed = read(tmp_path / "qstat.txt", "pbs_qstat", text, zone="UTC")
    assert (jobs(parsed), parsed.lines["bad_time"]) == ([], 10)
