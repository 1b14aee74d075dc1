"""The full listing of PBS as JSON: the same rows as the listing that people read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.scheduling import jobs, read, us

JOB: dict[str, Any] = {
    "Job_Name": "pre",
    "Job_Owner": "kim@login",
    "resources_used": {"cput": "09:00:00", "ncpus": 64, "walltime": "01:00:00"},
    "job_state": "F",
    "queue": "big",
    "ctime": "Sat Apr  5 06:00:00 2031",
    "etime": "Sat Apr  5 06:00:00 2031",
    "stime": "Sat Apr  5 06:10:00 2031",
    "obittime": "Sat Apr  5 07:10:00 2031",
    "mtime": "Sat Apr  5 07:10:01 2031",
    "exec_host": "m7/0*64",
    "exec_vnode": "(m7:ncpus=64:ngpus=4)",
    "Exit_status": 271,
    "run_count": 2,
    "Resource_List": {"ncpus": 64, "ngpus": 4, "nodect": 1, "walltime": "02:00:00"},
    "Variable_List": {"HOME": "/home/kim", "N": [1]},
}
HEAD = {"timestamp": 1933139401, "pbs_version": "23.1", "pbs_server": "moon"}


def listing(**told: dict[str, Any]) -> str:
    """Return a listing of jobs."""
    return json.dumps(HEAD | {"Jobs": told}, indent=4) + "\n"


def test_an_ended_job_has_its_times_its_gpus_and_its_end(tmp_path: Path) -> None:
    """An hour on four GPUs after ten minutes of waiting, ended by signal 15 (271 is 256 and it)."""
    parsed = read(tmp_path / "q.json", "pbs_json", listing(**{"71.moon": JOB}))
    (row,) = jobs(parsed)
    assert (row["id"], row["name"], row["user"], row["partition"]) == ("71.moon", "pre", "kim", "big")
    assert (row["submit_us"], row["start_us"]) == (us("2031-04-05T06:00:00"), us("2031-04-05T06:10:00"))
    assert (row["end_us"], row["elapsed_us"]) == (us("2031-04-05T07:10:00"), 3_600_000_000)
    assert (row["gpus"], row["nodes"], row["node"], row["exit_signal"]) == (4, 1, "m7", 15)
    assert row["clock"] == "zone_assumed"


def test_waiting_and_running_jobs_have_no_end(tmp_path: Path) -> None:
    """What runs holds its hardware; what waits asked for it."""
    waits = {key: value for key, value in JOB.items() if key not in ("stime", "obittime", "exec_host", "exec_vnode")}
    told = {"1.moon": JOB | {"job_state": "R"}, "2.moon": waits | {"job_state": "Q"}}
    running, waiting = jobs(read(tmp_path / "q.json", "pbs_json", listing(**told)))
    assert (running["start_us"], running["end_us"], running["gpus"]) == (us("2031-04-05T06:10:00"), None, 4)
    assert (waiting["start_us"], waiting["end_us"], waiting["gpus"], waiting["gpus_requested"]) == (None, None, None, 4)


def test_the_listing_without_jobs_and_a_torn_one_tell_nothing(tmp_path: Path) -> None:
    """An empty listing is ignored, one that breaks off is torn, and one whose jobs are none is rejected."""
    assert read(tmp_path / "a.json", "pbs_json", listing()).lines == {"ignored": 6}
    text = listing(**{"71.moon": JOB})
    assert "torn" in read(tmp_path / "b.json", "pbs_json", text[: len(text) // 2]).lines
    broken = json.dumps(HEAD | {"Jobs": {"1": 7}}) + "\n"
    assert read(tmp_path / "c.json", "pbs_json", broken).lines == {"bad_record": 1}
