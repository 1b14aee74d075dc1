"""AWS Batch: replies of describe-jobs, and job state events, times in milliseconds.

The times of the job itself are those of its last attempt; each attempt has its own. A time may be missing; a job's
record vanishes after a day, so an open job may have ended long ago.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ettlog.parse import jsonl
from ettlog.parse.blocks import open_source
from ettlog.parse.gather import BAD_RECORD, IGNORED, MATCHED, TORN, Facts, exact
from ettlog.parse.json_values import Values
from ettlog.parse.k8s_object import Fields, Object, count, part, parts, word
from ettlog.parse.parsed import Parsed, ScanOptions

NAME = "aws_batch"
MOST = 50_000
_MILLI = 1000
_STATES = rb"SUBMITTED|PENDING|RUNNABLE|STARTING|RUNNING|SUCCEEDED|FAILED"
_HEAD = re.compile(rb'\s*+[\[{]\s*+(?:\{\s*+)?"')
_STATUS = re.compile(rb'"status"\s*:\s*"(?:' + _STATES + rb')"')
ENDED = ("SUCCEEDED", "FAILED")


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first record whether a file holds jobs of AWS Batch."""
    known = b'"jobId"' in head and b'"jobQueue"' in head and b'"createdAt"' in head
    return known and _HEAD.match(head) is not None and _STATUS.search(head) is not None


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read the jobs. Raise SourceRefusedError like the scanner."""
    facts = Facts(NAME, options)
    jobs: dict[str, tuple[int, Object]] = {}
    with open_source(path, budget=options.limits.output) as source:
        values = Values(source, lists=("jobs",))
        for value in values:
            outcome = _take(facts, jobs, value.line, value.found)
            facts.count(TORN if values.torn and value.found is None else outcome, lines=value.lines)
        facts.count(IGNORED, lines=values.rest)
        for name in list(jobs):
            _flush(facts, jobs, name)
        return facts.parsed(source)


def _take(facts: Facts, jobs: dict[str, tuple[int, Object]], line: int, found: Any) -> str:
    """Keep the newest version of a job; events of one job come in order."""
    if not isinstance(found, dict):
        return BAD_RECORD
    job = part(found, "detail") or found
    name = word(job, "jobId")
    if name is None:
        return IGNORED if len(found) < 2 else BAD_RECORD
    jobs[name] = (jobs.pop(name, (line, job))[0], job)
    if len(jobs) > MOST:
        _flush(facts, jobs, next(iter(jobs)))
    return MATCHED


def _flush(facts: Facts, jobs: dict[str, tuple[int, Object]], name: str) -> None:
    line, job = jobs.pop(name)
    for fields in rows(job):
        facts.alloc(line, "job", **fields)


def rows(job: Object) -> Iterator[Fields]:
    """Yield one row per attempt; one for a job without attempts."""
    name, state = word(job, "jobId"), word(job, "status")
    named: Fields = {
        "id": name,
        "name": word(job, "jobName"),
        "partition": (word(job, "jobQueue") or "").rpartition("/")[2] or None,
    }
    asked, nodes = _gpus(job), count(job, "nodeProperties", "numNodes")
    attempts = parts(job, "attempts")
    if not attempts or (state == "RUNNING" and _time(job, "startedAt") != _time(attempts[-1], "startedAt")):
        attempts = [*attempts, job]
    for number, attempt in enumerate(attempts):
        final = number == len(attempts) - 1
        start, end = _time(attempt, "startedAt"), _time(attempt, "stoppedAt")
        if start is not None and end is not None and end < start:
            start = None
        times = {"submit_us": _time(job, "createdAt"), "start_us": start, "ready_us": start, "end_us": end}
        held = {"gpus": asked if start is not None else None, "gpus_requested": asked, "nodes": nodes}
        told: Fields = {"reason": word(attempt, "statusReason") or word(attempt, "container", "reason")}
        told |= {"exit_code": count(attempt, "container", "exitCode"), "state": state if final else "FAILED"}
        yield {**named, "raw": f"{name}/{number}", **times, **held, **told, "restarts": number}


def _gpus(job: Object) -> int | None:
    """Return the GPUs asked for on all nodes; none where the container names its needs and no GPU is among them."""
    total, seen = 0, False
    ranges = parts(job, "nodeProperties", "nodeRangeProperties")
    sets = [(_width(word(found, "targetNodes")), part(found, "container")) for found in ranges] or [
        (1, part(job, "container"))
    ]
    for number, container in sets:
        needs = parts(container, "resourceRequirements")
        seen = seen or bool(container)
        total += number * sum(count(need, "value") or 0 for need in needs if word(need, "type") == "GPU")
    return total if seen else None


def _width(nodes: str | None) -> int:
    """Return the number of nodes of a range such as 0:3."""
    low, _, high = (nodes or "").partition(":")
    return int(high) - int(low) + 1 if low.isdigit() and high.isdigit() and len(high) < 6 and len(low) < 6 else 1


def _time(record: Object, key: str) -> int | None:
    found = exact(jsonl.micros(record, key, _MILLI))
    return found.us if found else None
