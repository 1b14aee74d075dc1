"""Accounting of PBS Pro and Torque: types of lines, one attempt in two lines, GPUs in many shapes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ettlog
from tests.scheduling import jobs, read, us

SUBMIT, START, END = 1_933_135_600, 1_933_135_660, 1_933_139_260
STAMP = "04/05/2031 09:00:00"


def line(kind: str = "E", job: str = "77.srv", **more: Any) -> str:
    """Write a line; `more` adds or replaces values, None takes one away."""
    pairs: dict[str, object] = {"user": "kim", "jobname": "pre", "queue": "gpu", "ctime": SUBMIT, "qtime": SUBMIT}
    pairs |= {"etime": SUBMIT, "start": START, "exec_host": "m1/0*8+m2/0*8", "end": END, "Exit_status": 0}
    pairs |= {"resources_used.walltime": "01:00:00"}
    pairs |= {key.replace("__", "."): value for key, value in more.items()}
    text = " ".join(f"{key}={value}" for key, value in pairs.items() if value is not None)
    return f"{STAMP};{kind};{job};{text}\n"


def test_an_ended_job(tmp_path: Path) -> None:
    """Values are seconds since 1970, whatever the zone of the stamp."""
    (row,) = jobs(read(tmp_path / "20310405", "pbs", line(), zone="Asia/Tokyo"))
    assert (row["id"], row["user"], row["name"], row["partition"]) == ("77.srv", "kim", "pre", "gpu")
    assert (row["submit_us"], row["clock"]) == (us("2031-04-05T06:06:40"), "exact")
    assert (row["start_us"] - row["submit_us"], row["end_us"] - row["start_us"]) == (60_000_000, 3_600_000_000)
    assert (row["nodes"], row["cpus"], row["exit_code"], row["gpus"]) == (2, 16, 0, None)


def short(kind: str, at: str, rest: str = "requestor=Scheduler@srv") -> str:
    """Write a line without the values of a run."""
    return f"04/05/2031 {at};{kind};77.srv;{rest}\n"


def test_a_job_that_is_suspended_and_resumed_is_one_run(tmp_path: Path) -> None:
    """A resumption (r) is no rerun (R): the run goes on to its end, and the time it stood is summed."""
    parts = short("z", "08:10:00"), short("r", "08:25:00"), short("z", "08:50:00"), short("r", "08:50:30")
    (row,) = jobs(read(tmp_path / "20310405", "pbs", line("S", end=None) + "".join(parts) + line()))
    assert (row["state"], row["end_us"] - row["start_us"], row["suspended_us"]) == ("E", 3_600_000_000, 930_000_000)
    (row,) = jobs(read(tmp_path / "20310405", "pbs", line("S", end=None) + parts[0] + line()))
    assert row["suspended_us"] == 3_000_000_000


@pytest.mark.parametrize(
    ("kind", "rest"), [("a", "Priority=9"), ("u", "session=3"), ("c", "session=3"), ("e", "end=1933136000")]
)
def test_changes_and_parts_of_a_job_end_nothing(tmp_path: Path, kind: str, rest: str) -> None:
    """What is altered in a job that waits aborts nothing; released nodes end no run."""
    waits = short("Q", "08:00:00", "queue=gpu") + short(kind, "08:01:00", rest)
    (row,) = jobs(read(tmp_path / "20310405", "pbs", waits))
    assert (row["state"], row["end_us"]) == ("Q", None)
    runs = line("S", end=None) + short(kind, "08:01:00", f"start={START} exec_host=m1/0 {rest}") + line()
    (row,) = jobs(read(tmp_path / "20310405", "pbs", runs))
    assert (row["state"], row["end_us"] - row["start_us"]) == ("E", 3_600_000_000)


def test_the_exit_code_tells_how_a_run_ended(tmp_path: Path) -> None:
    """What a signal ended may have been deleted, or have run out of its time: that is not known."""
    codes = {"1": 0, "2": 3, "3": 271, "4": -11}
    (tmp_path / "20310405").write_text("".join(line(job=job, Exit_status=code) for job, code in codes.items()))
    ettlog.ingest([tmp_path / "20310405"], tmp_path / "lake")
    held = ettlog.open(tmp_path / "lake").sql("SELECT job, end_state FROM _held").rows()
    assert dict(held) == {"1": "completed", "2": "failed", "3": None, "4": None}


@pytest.mark.parametrize(
    ("hosts", "nodes", "cpus"),
    [("m1/5", 1, 1), ("m1/7+m1/6", 1, 2), ("m1/4+m2/5", 2, 2), ("m1/0-3", 1, 4), ("m1/0*13+m2/0*13", 2, 26)],
)
def test_shapes_of_hosts(tmp_path: Path, hosts: str, nodes: int, cpus: int) -> None:
    """All ways to write where a job ran."""
    (row,) = jobs(read(tmp_path / "20310405", "pbs", line(exec_host=hosts)))
    assert (row["nodes"], row["cpus"]) == (nodes, cpus)


@pytest.mark.parametrize(
    ("values", "gpus"),
    [
        ({"Resource_List__nodes": "2:ppn=8:gpus=4+1:ppn=1:gpus=1"}, 9),
        ({"Resource_List__ngpus": 4, "Resource_List__select": "1:ncpus=8:ngpus=4"}, 4),
        ({"exec_vnode": "(m1:ngpus=2:ncpus=4+m2:ngpus=2)", "Resource_List__ngpus": 8}, 4),
        ({"exec_gpus": "m1-gpu/0+m1-gpu/1"}, 2),
        ({"Resource_List__gpu": 2, "Resource_List__neednodes": "1:ppn=8:gpus=1"}, None),
        ({"Resource_List__ncpus": 8}, None),
    ],
)
def test_shapes_of_gpus(tmp_path: Path, values: dict[str, Any], gpus: int | None) -> None:
    """GPUs of the nodes count before those asked for; two askings that contradict each other give none."""
    (row,) = jobs(read(tmp_path / "20310405", "pbs", line(**values)))
    assert row["gpus"] == gpus


@pytest.mark.parametrize(
    ("status", "code", "signal"), [(0, 0, None), (1, 1, None), (271, None, 15), (10271, None, 15), (-11, -11, None)]
)
def test_exit_status(tmp_path: Path, status: int, code: int | None, signal: int | None) -> None:
    """Above 256 it is a signal."""
    (row,) = jobs(read(tmp_path / "20310405", "pbs", line(Exit_status=status)))
    assert (row["exit_code"], row["exit_signal"]) == (code, signal)


def test_two_ends_of_one_start_are_one_attempt(tmp_path: Path) -> None:
    """The second E line of the same start adds no time."""
    parsed = read(tmp_path / "20310405", "pbs", line(Exit_status=271) + line(end=END + 134))
    assert ([row["end_us"] for row in jobs(parsed)], parsed.lines) == (
        [END * 1_000_000],
        {"duplicate": 1, "matched": 1},
    )


def test_a_requeued_job_has_two_attempts(tmp_path: Path) -> None:
    """An R line with times is a run that is over; Torque's bare R line ends the run that began before it."""
    pro = line("R", Exit_status=-3) + line(start=END + 60, end=END + 90, run_count=2)
    found = jobs(read(tmp_path / "pro", "pbs", pro))
    assert [(row["state"], row["start_us"], row["restarts"]) for row in found] == [
        ("R", START * 1_000_000, None),
        ("E", (END + 60) * 1_000_000, 1),
    ]
    bare = "04/05/2031 06:30:00;R;77.srv;queue=gpu\n"
    torque = line("S", end=None, Exit_status=None) + bare + line(start=END + 60, end=END + 90)
    first, second = jobs(read(tmp_path / "torque", "pbs", torque, zone="UTC"))
    assert (first["state"], first["end_us"]) == ("R", us("2031-04-05T06:30:00"))
    assert (second["state"], second["start_us"]) == ("E", (END + 60) * 1_000_000)


def test_jobs_without_an_end(tmp_path: Path) -> None:
    """A started job is open, a queued one waits, a deleted one never started."""
    short: dict[str, Any] = {
        "start": None,
        "end": None,
        "exec_host": None,
        "Exit_status": None,
        "resources_used__walltime": None,
    }
    text = line("Q", "1.srv", **short) + line("S", "1.srv", end=None) + line("Q", "2.srv", **short)
    text += line("Q", "3.srv", **short) + "04/05/2031 07:00:00;D;3.srv;requestor=kim@login\n"
    found = {row["id"]: row for row in jobs(read(tmp_path / "20310405", "pbs", text))}
    times = {name: (row["start_us"], row["end_us"]) for name, row in found.items()}
    assert times == {
        "1.srv": (START * 1_000_000, None),
        "2.srv": (None, None),
        "3.srv": (None, us("2031-04-05T07:00:00")),
    }


def test_a_job_deleted_while_it_waited_has_an_end_only(tmp_path: Path) -> None:
    """An E line without a start and without a host never ran and holds nothing."""
    (row,) = jobs(read(tmp_path / "20310405", "pbs", line(start=None, exec_host=None, Resource_List__ngpus=4)))
    assert (row["start_us"], row["gpus"], row["gpus_requested"]) == (None, 0, 4)


def test_broken_lines_are_counted(tmp_path: Path) -> None:
    """A missing blank, an end before the start, a line that is none, and a date before the date."""
    glued = line(etime=f"{SUBMIT}start={START}", start=None)
    text = glued + line(end=START - 1) + "what\n" + "20310405:" + line() + "\n" + line()[:30]
    parsed = read(tmp_path / "20310405", "pbs", text)
    assert parsed.lines == {"bad_record": 2, "bad_time": 1, "matched": 1, "ignored": 1, "torn": 1}


def test_walltime_in_seconds_or_hours(tmp_path: Path) -> None:
    """Both ways to print the time used; it is kept beside start and end, which count."""
    text = line() + line(job="78", resources_used__walltime=12767) + line(job="79", resources_used__walltime="19:23:4")
    found = jobs(read(tmp_path / "20310405", "pbs", text))
    assert [row["elapsed_us"] for row in found] == [3_600_000_000, 12_767_000_000, 69_784_000_000]
