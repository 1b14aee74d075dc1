"""Ray's export events: JSON lines about submission jobs and driver jobs, times in milliseconds (of the line: seconds).

`start_time` of a submission job is when it was handed in; that it ran is told by its line with status RUNNING.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ettlog.parse import jsonl
from ettlog.parse.gather import BAD_RECORD, BAD_TIME, IGNORED, MATCHED, Facts, exact
from ettlog.parse.jsonl import Record
from ettlog.parse.parsed import Parsed, ScanOptions

NAME = "ray_export"
SUBMISSION, DRIVER = "EXPORT_SUBMISSION_JOB", "EXPORT_DRIVER_JOB"
_MILLI = 1000
MOST = 100_000


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first record whether a file holds export events of Ray."""
    record = jsonl.first_record(head)
    return record is not None and str(record.get("source_type", "")).startswith("EXPORT_") and "event_data" in record


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read the events. Raise SourceRefusedError like the scanner."""
    facts = Facts(NAME, options)
    reader = _Reader(facts)
    return jsonl.read(path, options, facts, reader.take, jsonl.parse, reader.finish)


@dataclass
class _Job:
    line: int
    status: str = "PENDING"
    submit_us: int | None = None
    start_us: int | None = None
    end_us: int | None = None
    reason: str | None = None
    code: int | None = None
    node: str | None = None


class _Reader:
    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._jobs: dict[str, _Job] = {}

    def take(self, line: int, record: Record) -> str:
        data, source = jsonl.object_in(record, "event_data"), record.get("source_type")
        if source not in (SUBMISSION, DRIVER):
            return IGNORED
        at = exact(jsonl.micros(record, "timestamp"))
        if at is None or at.us is None:
            return BAD_TIME
        name = jsonl.text(data, "submission_job_id") or jsonl.text(data, "job_id")
        if name is None:
            return BAD_RECORD
        job = self._jobs.setdefault(name, _Job(line))
        (self._submission if source == SUBMISSION else self._driver)(job, data, at.us)
        if len(self._jobs) > MOST:
            self._flush(next(iter(self._jobs)))
        return MATCHED

    def _submission(self, job: _Job, data: Record, at: int) -> None:
        job.status = jsonl.text(data, "status") or job.status
        job.submit_us = _time(data, "start_time") or job.submit_us or at
        if job.status == "RUNNING" and job.start_us is None:
            job.start_us = at
        job.end_us = _time(data, "end_time") or job.end_us
        job.reason = jsonl.text(data, "error_type") or jsonl.text(data, "message") or job.reason
        job.code = jsonl.whole(data, "driver_exit_code") if "driver_exit_code" in data else job.code
        job.node = jsonl.text(data, "driver_node_id") or job.node

    def _driver(self, job: _Job, data: Record, at: int) -> None:
        job.start_us = _time(data, "start_time") or job.start_us
        dead = data.get("is_dead") is True
        job.end_us = (_time(data, "end_time") or at) if dead else job.end_us
        job.status = "DEAD" if dead else "RUNNING"

    def finish(self) -> None:
        for name in list(self._jobs):
            self._flush(name)

    def _flush(self, name: str) -> None:
        job = self._jobs.pop(name)
        row: dict[str, Any] = {
            "id": name,
            "raw": name,
            "state": job.status,
            "reason": job.reason,
            "node": job.node,
            "exit_code": job.code,
        }
        row |= {"submit_us": job.submit_us, "start_us": job.start_us, "ready_us": job.start_us, "end_us": job.end_us}
        self._facts.alloc(job.line, "job", **row)


def _time(record: Record, key: str) -> int | None:
    found = exact(jsonl.micros(record, key, _MILLI))
    return found.us if found else None
