"""Ray's export events, AWS Batch and SageMaker: attempts, and times in milliseconds, seconds or text."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettlog.parse import aws_batch, ray_export, sagemaker
from ettlog.parse.parsed import Parsed, ScanOptions
from tests.examples import few

OPTIONS = ScanOptions()
DAY = 1_930_000_000
"""Seconds since 1970 of the day of all examples, in 2031."""
Row = dict[str, Any]


def us(second: float) -> int:
    """Return microseconds of a second of that day."""
    return round((DAY + second) * 1_000_000)


def ms(second: float) -> int:
    """Return milliseconds of a second of that day."""
    return round((DAY + second) * 1000)


def read(tmp_path: Path, reader: Any, text: str) -> Parsed:
    """Read a text that the reader knows and check that every line has one outcome."""
    path = tmp_path / "x.json"
    path.write_text(text)
    assert reader.sniff(text.encode()[: 1 << 16], OPTIONS)
    parsed: Parsed = reader.read(path, OPTIONS)
    assert sum(parsed.lines.values()) == parsed.n_lines
    return parsed


def jobs(parsed: Parsed) -> list[Row]:
    """Return the rows of attempts."""
    return [row for row in parsed.allocs.to_pylist() if row["record"] == "job"]


def ray_line(second: float, status: str, **data: Any) -> str:
    """Return an export event of a submission job."""
    event = {"submission_job_id": "sub-1", "status": status, "entrypoint": "python t.py", "start_time": ms(1), **data}
    line = {"event_id": "e", "timestamp": DAY + second, "source_type": "EXPORT_SUBMISSION_JOB", "event_data": event}
    return json.dumps(line) + "\n"


def test_ray_submission_runs_from_its_running_line(tmp_path: Path) -> None:
    """The start time of the data is that of the submission."""
    text = (
        ray_line(2, "PENDING")
        + ray_line(95, "RUNNING")
        + ray_line(1000, "FAILED", end_time=str(ms(999)), driver_exit_code=1, error_type="X")
    )
    (row,) = jobs(read(tmp_path, ray_export, text))
    assert (row["submit_us"], row["start_us"], row["end_us"]) == (us(1), us(95), us(999))
    assert (row["id"], row["state"], row["exit_code"], row["reason"]) == ("sub-1", "FAILED", 1, "X")


def test_ray_driver_and_other_sources(tmp_path: Path) -> None:
    """A driver job has its own times; other sources are ignored; a line without a time is counted as such."""
    driver = {"job_id": "02000000", "is_dead": True, "start_time": ms(5), "end_time": ms(65)}
    lines = [
        {"timestamp": DAY + 66, "source_type": "EXPORT_DRIVER_JOB", "event_data": driver},
        {"timestamp": DAY, "source_type": "EXPORT_ACTOR", "event_data": {}},
        {"timestamp": "x", "source_type": "EXPORT_DRIVER_JOB", "event_data": driver},
        {"timestamp": DAY, "source_type": "EXPORT_DRIVER_JOB", "event_data": {}},
    ]
    parsed = read(tmp_path, ray_export, "".join(json.dumps(line) + "\n" for line in lines))
    assert parsed.lines == {"matched": 1, "ignored": 1, "bad_time": 1, "bad_record": 1}
    assert [(row["start_us"], row["end_us"]) for row in jobs(parsed)] == [(us(5), us(65))]


def batch(**job: Any) -> Row:
    """Return a job of AWS Batch on two nodes of eight GPUs."""
    needs = {"resourceRequirements": [{"type": "GPU", "value": "8"}, {"type": "VCPU", "value": "96"}]}
    nodes = {"numNodes": 2, "nodeRangeProperties": [{"targetNodes": "0:1", "container": needs}]}
    head = {
        "jobId": "j-1",
        "jobName": "exp",
        "jobQueue": "arn:aws:batch:x:1:job-queue/gpu",
        "createdAt": ms(0),
        "nodeProperties": nodes,
    }
    return head | job


def test_batch_attempts_have_their_own_times(tmp_path: Path) -> None:
    """The times of the job are those of the last attempt; the first was lost with its host."""
    attempts = [
        {
            "startedAt": ms(60),
            "stoppedAt": ms(600),
            "statusReason": "Host EC2 (instance i-1) terminated.",
            "container": {},
        },
        {
            "startedAt": ms(900),
            "stoppedAt": ms(1500),
            "statusReason": "Essential container exited",
            "container": {"exitCode": 0},
        },
    ]
    job = batch(status="SUCCEEDED", attempts=attempts, startedAt=ms(900), stoppedAt=ms(1500))
    rows = jobs(read(tmp_path, aws_batch, json.dumps({"jobs": [job]}, indent=2)))
    assert [(row["start_us"], row["end_us"], row["state"]) for row in rows] == [
        (us(60), us(600), "FAILED"),
        (us(900), us(1500), "SUCCEEDED"),
    ]
    assert [row["raw"] for row in rows] == ["j-1/0", "j-1/1"]
    assert {(row["id"], row["submit_us"], row["gpus"], row["nodes"], row["partition"]) for row in rows} == {
        ("j-1", us(0), 16, 2, "gpu")
    }
    assert rows[0]["reason"] == "Host EC2 (instance i-1) terminated."


def test_batch_without_a_start_is_never_negative(tmp_path: Path) -> None:
    """A missing start, and one behind the end, leave the start unknown."""
    missing = batch(
        status="FAILED", attempts=[{"stoppedAt": ms(30), "container": {"reason": "CannotPullContainerError"}}]
    )
    behind = batch(jobId="j-2", status="FAILED", attempts=[{"startedAt": ms(50), "stoppedAt": ms(30), "container": {}}])
    rows = jobs(read(tmp_path, aws_batch, json.dumps({"jobs": [missing, behind]})))
    assert [(row["start_us"], row["end_us"], row["gpus"], row["gpus_requested"]) for row in rows] == [
        (None, us(30), None, 16)
    ] * 2


def test_batch_events_are_versions_of_one_job(tmp_path: Path) -> None:
    """State change events come one a line; the newest of a job counts."""
    steps: list[tuple[str, Row]] = [
        ("RUNNABLE", {}),
        ("RUNNING", {"startedAt": ms(40)}),
        ("SUCCEEDED", {"startedAt": ms(40), "stoppedAt": ms(99), "attempts": []}),
    ]
    text = "".join(
        json.dumps({"detail-type": "Batch Job State Change", "detail": batch(status=state, **more)}) + "\n"
        for state, more in steps
    )
    (row,) = jobs(read(tmp_path, aws_batch, text))
    assert (row["line"], row["start_us"], row["end_us"], row["state"]) == (1, us(40), us(99), "SUCCEEDED")


def maker(*spans: tuple[str, float, float | None], form: Any = ms, **job: Any) -> Row:
    """Return a training job of SageMaker with its transitions."""
    told = [
        {"Status": status, "StartTime": form(begin)} | ({} if end is None else {"EndTime": form(end)})
        for status, begin, end in spans
    ]
    shape = {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 4}
    head = {
        "TrainingJobName": "exp",
        "TrainingJobStatus": "Completed",
        "CreationTime": form(0),
        "ResourceConfig": shape,
    }
    return head | {"SecondaryStatusTransitions": told} | job


def iso(second: float) -> str:
    """Return a second of the day as text with an offset."""
    return datetime.fromtimestamp(DAY + second, timezone(timedelta(hours=2))).isoformat()


@pytest.mark.parametrize("form", [ms, lambda second: DAY + second, iso])
def test_sagemaker_times_in_all_their_forms(tmp_path: Path, form: Any) -> None:
    """Waiting is before the download; the trainer is up when training begins; a status may follow itself."""
    spans = [
        ("Starting", 0, 5),
        ("Starting", 5, 60),
        ("Downloading", 60, 90),
        ("Training", 90, 600),
        ("Uploading", 600, 640),
        ("Completed", 640, 640),
    ]
    (row,) = jobs(read(tmp_path, sagemaker, json.dumps(maker(*spans, form=form), indent=1)))
    assert (row["submit_us"], row["start_us"], row["ready_us"], row["end_us"]) == (us(0), us(60), us(90), us(640))
    assert (row["state"], row["gpus"], row["nodes"]) == ("Completed", 32, 4)


def test_sagemaker_interruption_parts_attempts(tmp_path: Path) -> None:
    """Spot interruption ends an attempt; the next begins when its instances are there; unknown types give no GPUs."""
    spans = [
        ("Starting", 0, 60),
        ("Training", 60, 300),
        ("Interrupted", 300, 310),
        ("Starting", 310, 500),
        ("Training", 500, 900),
    ]
    job = maker(
        *spans,
        TrainingJobStatus="Stopped",
        TrainingEndTime=ms(901),
        ResourceConfig={"InstanceType": "ml.new.9", "InstanceCount": 1},
    )
    parsed = read(tmp_path, sagemaker, json.dumps(job))
    rows = jobs(parsed)
    assert [(row["start_us"], row["end_us"], row["state"]) for row in rows] == [
        (us(60), us(300), "Interrupted"),
        (us(500), us(901), "Stopped"),
    ]
    assert [row["gpus"] for row in rows] == [None, None]
    assert len(parsed.allocs) == 2 + 5


@settings(max_examples=few(60), deadline=None)
@given(st.binary(max_size=200), st.sampled_from([aws_batch, ray_export, sagemaker]))
def test_any_bytes_are_read_without_an_error(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes, reader: Any
) -> None:
    """Noise behind a record gives outcomes, never an exception."""
    path = tmp_path_factory.mktemp("noise") / "x"
    path.write_bytes(json.dumps(batch(status="RUNNING")).encode() + b"\n" + noise)
    parsed = reader.read(path, OPTIONS)
    assert sum(parsed.lines.values()) == parsed.n_lines
