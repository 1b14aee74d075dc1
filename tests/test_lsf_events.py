"""LSF's log of events: attempts, requeues, suspensions, arrays, fields that releases leave out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ettlog
from tests.scheduling import jobs, read

AT = 1_893_456_000


def new(job: int = 77, name: str = "pre", at: int = 0) -> str:
    """Write a submission."""
    limits = " ".join(["-1"] * 11)
    return (
        f'"JOB_NEW" "10.1" {AT + at} {job} 4100 33816578 8 {AT + at} 0 0 0 0 -1 "ada" {limits} "" 0.0 18 "gpu" '
        f'"span[ptile=8]" "login1" "/home" "" "" "out" "" "/home" "1.{job}" 0 "" 0 "{name}" "run ""x""" 0 0 "" 0\n'
    )


def start(job: int = 77, at: int = 60, hosts: str = '2 "8*m1" "8*m2"', tail: str = '"" "" 0 "" 0 ""') -> str:
    """Write a start."""
    return f'"JOB_START" "10.1" {AT + at} {job} 4 0 0 12.5 {hosts} {tail}\n'


def status(
    state: int, at: int, job: int = 77, end: int = 0, usage: bool = False, code: int = 0, index: int = 0, why: int = 0
) -> str:
    """Write a change of status."""
    used = f"1 {' '.join(['-1.000000'] * 19)}" if usage else "0"
    ended = AT + end if end else 0
    return f'"JOB_STATUS" "10.1" {AT + at} {job} {state} 0 0 31.5000 {ended} {used} {code} {index} {why}\n'


def rows(tmp_path: Path, *records: str) -> list[dict[str, Any]]:
    """Return the attempts that records tell of."""
    return jobs(read(tmp_path / "lsb.events", "lsf_events", "#1893456000\n" + "".join(records)))


def seconds(row: dict[str, Any]) -> list[float | None]:
    """Return submission, start and end in seconds behind the first instant."""
    return [None if row[key] is None else row[key] / 1e6 - AT for key in ("submit_us", "start_us", "end_us")]


@pytest.mark.parametrize("usage", [False, True])
def test_a_job_that_ends(tmp_path: Path, usage: bool) -> None:
    """It holds its hosts from the start to the end that is told, with or without the usage between the fields."""
    (row,) = rows(tmp_path, new(), start(), status(32, 4000, end=3990, usage=usage, code=35072, why=5))
    assert seconds(row) == [0, 60, 3990]
    assert (row["state"], row["reason"], row["exit_code"], row["exit_signal"]) == ("EXIT", "TERM_RUNLIMIT", 137, 0)
    assert (row["id"], row["user"], row["partition"], row["nodes"], row["node"]) == ("77", "ada", "gpu", 2, None)


def test_a_job_that_goes_back_to_its_queue(tmp_path: Path) -> None:
    """A status of waiting ends the attempt, and so does the command; the next waits from there."""
    first, second, third = rows(
        tmp_path, new(), start(), status(1, 900, why=1), start(at=1000), '"JOB_REQUEUE" "10.1" '
        f"{AT + 1900} 77 0\n", start(at=2000, hosts='1 "m9"'), status(64, 3000, end=3000),
    )  # fmt: skip
    assert [seconds(row) for row in (first, second, third)] == [[0, 60, 900], [900, 1000, 1900], [1900, 2000, 3000]]
    assert [(row["state"], row["reason"], row["restarts"]) for row in (first, second, third)] == [
        ("REQUEUED", "TERM_PREEMPT", 0),
        ("REQUEUED", "TERM_REQUEUE_OWNER", 1),
        ("DONE", None, 2),
    ]
    assert (third["node"], third["exit_code"]) == ("m9", 0)


def test_suspensions_are_summed(tmp_path: Path) -> None:
    """A job that the system or a person stops goes on later."""
    (row,) = rows(
        tmp_path,
        new(),
        start(),
        status(8, 100),
        status(4, 250),
        status(16, 300),
        status(4, 310),
        status(64, 900, end=900),
    )
    assert (row["suspended_us"], seconds(row)[2]) == (160_000_000, 900)


def test_elements_of_an_array_are_jobs(tmp_path: Path) -> None:
    """One submission stands for all; the array itself is none, and what never started waits."""
    done, runs = rows(
        tmp_path, new(name="pre[1-2]"), start(tail='"" "" 0 "" 1 ""'), start(at=70, tail='"" "" 0 2'),
        status(64, 500, end=500, index=1),
    )  # fmt: skip
    assert [(row["id"], row["state"], *seconds(row)) for row in (done, runs)] == [
        ("77[1]", "DONE", 0, 60, 500),
        ("77[2]", "RUN", 0, 70, None),
    ]


def test_a_job_that_never_started(tmp_path: Path) -> None:
    """Killed while it waits, it held nothing; waiting at the end of the log, it has no end."""
    killed, waits = rows(tmp_path, new(), status(32, 30, end=30, why=14), new(78, at=5))
    assert (killed["state"], killed["reason"], killed["nodes"], seconds(killed)) == (
        "EXIT",
        "TERM_OWNER",
        None,
        [0, None, 30],
    )
    assert (waits["state"], seconds(waits)) == ("PEND", [5, None, None])


def test_what_ended_a_job_and_what_still_runs(tmp_path: Path) -> None:
    """The reason that LSF names tells how a job ended; what runs holds its hosts up to the newest instant there is."""
    whys = {1: "preempted", 5: "time_limit", 14: "cancelled", 16: "failed", 17: "failed"}
    text = "".join(
        new(job) + start(job) + status(32, 960, job, end=960, code=9, why=job - 100)
        for job in (100 + why for why in whys)
    )
    (tmp_path / "lsb.events").write_text(
        text + new(99) + start(99) + new(98) + start(98) + status(64, 7260, 98, end=7260)
    )
    ettlog.ingest([tmp_path / "lsb.events"], tmp_path / "lake")
    told = {
        row["job"]: (row["end_state"], row["allocated_us"] // 1_000_000, row["open"])
        for row in ettlog.open(tmp_path / "lake").sql("SELECT * FROM job").to_dicts()
    }
    assert told == {str(100 + why): (state, 900, False) for why, state in whys.items()} | {
        "98": ("completed", 7200, False),
        "99": (None, 7200, True),
    }


def test_other_records_are_counted(tmp_path: Path) -> None:
    """Records of other kinds are ignored, broken ones and instants that are none are losses."""
    text = f'{new()}"HOST_CTRL" "10.1" {AT} 1 "m1" 0 ""\nnot a record\n"JOB_STATUS" "10.1" {AT} 77 64\n'
    text += '"JOB_START" "10.1" 99999999999 77 4\n'
    parsed = read(tmp_path / "lsb.events", "lsf_events", text)
    assert parsed.lines == {"bad_record": 2, "bad_time": 1, "ignored": 1, "matched": 1}
