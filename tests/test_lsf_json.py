"""`bjobs -json`: fields as they were asked for, times without seconds and years, forecasts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.scheduling import jobs, read, us


def record(**told: str) -> dict[str, str]:
    """Return one record of the listing."""
    return {
        "JOBID": "8812", "JOBINDEX": "0", "JOB_NAME": "pre", "STAT": "DONE", "USER": "ada", "QUEUE": "gpu",
        "EXIT_CODE": "", "EXEC_HOST": "m1:m1:m2", "SUBMIT_TIME": "Apr 05 06:00", "START_TIME": "Apr 05 06:10",
        "FINISH_TIME": "Apr 05 07:10 L", "RUN_TIME": "3612 second(s)", "NALLOC_SLOT": "32", "GPU_NUM": "8",
    } | told  # fmt: skip


def listing(*records: dict[str, str]) -> str:
    """Write records as bjobs does."""
    return json.dumps({"COMMAND": "bjobs", "JOBS": len(records), "RECORDS": records}, indent=2)


def rows(tmp_path: Path, *records: dict[str, str], **options: Any) -> list[dict[str, Any]]:
    """Return the attempts that records tell of."""
    return jobs(read(tmp_path / "bjobs.json", "lsf_json", listing(*records), **options))


def test_a_job_that_ended(tmp_path: Path) -> None:
    """Its finish is a fact; GPUs are those of all hosts, hosts are counted once."""
    (row,) = rows(tmp_path, record(), zone="UTC", year_hint=2031)
    assert (row["submit_us"], row["start_us"]) == (us("2031-04-05T06:00:00"), us("2031-04-05T06:10:00"))
    assert (row["end_us"], row["elapsed_us"]) == (us("2031-04-05T07:10:00"), 3_612_000_000)
    assert (row["id"], row["gpus"], row["nodes"], row["node"], row["cpus"]) == ("8812", 8, 2, None, 32)
    assert (row["state"], row["exit_code"], row["name"], row["partition"]) == ("DONE", 0, "pre", "gpu")


def test_what_runs_and_what_waits(tmp_path: Path) -> None:
    """The finish of a running job is foretold, and so is a start of one that waits; an array has an index."""
    runs, waits = rows(
        tmp_path,
        record(STAT="RUN", JOBINDEX="3", SUBMIT_TIME="Apr  5 06:00:30 2031", START_TIME="Apr  5 06:10:05 2031"),
        record(JOBID="8813", STAT="PEND", EXEC_HOST="", START_TIME="Apr  6 06:10:05 2031", FINISH_TIME=""),
        zone="UTC",
    )
    assert (runs["id"], runs["start_us"], runs["end_us"]) == ("8812[3]", us("2031-04-05T06:10:05"), None)
    assert (waits["start_us"], waits["gpus"], waits["nodes"]) == (None, None, None)


def test_a_year_that_ends_within_a_job(tmp_path: Path) -> None:
    """Stamps without a year go on after New Year."""
    told = record(
        SUBMIT_TIME="Dec 31 23:00",
        START_TIME="Dec 31 23:30",
        FINISH_TIME="Jan  1 01:00 L",
        STAT="EXIT",
        EXIT_CODE="130",
    )
    (row,) = rows(tmp_path, told)
    assert (row["end_us"] - row["start_us"], row["exit_code"], row["clock"]) == (5_400_000_000, 130, "date_nominal")


@pytest.mark.parametrize(
    ("told", "outcome"),
    [
        ({"FINISH_TIME": "soon"}, "bad_time"),
        ({"START_TIME": "Apr  5 06:10:05 2031", "FINISH_TIME": "Apr  5 06:10:04 2031 X"}, "bad_time"),
        ({"JOBID": ""}, "bad_record"),
    ],
)
def test_records_that_cannot_be_used(tmp_path: Path, told: dict[str, str], outcome: str) -> None:
    """Times that are none or run backwards, and records without an id, are losses; a record twice is one."""
    parsed = read(tmp_path / "bjobs.json", "lsf_json", listing(record(**told), record(), record()))
    assert (len(jobs(parsed)), parsed.lines[outcome] > 0, parsed.lines["duplicate"] > 0) == (1, True, True)
