"""SageMaker training jobs: replies of describe-training-job, and state events, with their secondary status transitions.

Times are milliseconds or seconds since 1970 or ISO text, by the channel. A status may follow itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ettlog.parse.blocks import open_source
from ettlog.parse.gather import BAD_RECORD, IGNORED, MATCHED, TORN, Facts, exact
from ettlog.parse.json_values import Values
from ettlog.parse.k8s_object import Fields, Object, count, part, parts, word
from ettlog.parse.parsed import Parsed, ScanOptions
from ettlog.parse.sacct_cells import micros

NAME = "sagemaker"
WAITING = frozenset(
    ("Starting", "Pending", "LaunchingMLInstances", "PreparingTrainingStack", "Insufficient capacity error")
)
BROKEN = frozenset(("Interrupted", "Restarting"))
ENDED = frozenset(("Completed", "Failed", "Stopped", "MaxRuntimeExceeded", "MaxWaitTimeExceeded"))
GPUS = {
    "ml.p3.2xlarge": 1, "ml.p3.8xlarge": 4, "ml.p3.16xlarge": 8, "ml.p3dn.24xlarge": 8, "ml.p4d.24xlarge": 8,
    "ml.p4de.24xlarge": 8, "ml.p5.4xlarge": 1, "ml.p5.48xlarge": 8, "ml.p5e.48xlarge": 8, "ml.p5en.48xlarge": 8,
    "ml.p6-b200.48xlarge": 8, "ml.p6-b300.48xlarge": 8, "ml.p6e-gb200.36xlarge": 4, "ml.g4dn.12xlarge": 4,
    "ml.g4dn.16xlarge": 1, "ml.g4dn.2xlarge": 1, "ml.g4dn.4xlarge": 1, "ml.g4dn.8xlarge": 1, "ml.g4dn.xlarge": 1,
    "ml.g5.12xlarge": 4, "ml.g5.16xlarge": 1, "ml.g5.24xlarge": 4, "ml.g5.2xlarge": 1, "ml.g5.48xlarge": 8,
    "ml.g5.4xlarge": 1, "ml.g5.8xlarge": 1, "ml.g5.xlarge": 1, "ml.g6.12xlarge": 4, "ml.g6.16xlarge": 1,
    "ml.g6.24xlarge": 4, "ml.g6.2xlarge": 1, "ml.g6.48xlarge": 8, "ml.g6.4xlarge": 1, "ml.g6.8xlarge": 1,
    "ml.g6.xlarge": 1, "ml.g6e.12xlarge": 4, "ml.g6e.24xlarge": 4, "ml.g6e.48xlarge": 8,
}  # fmt: skip
"""GPUs of an instance; of a type that is not here they are not known."""
NO_GPUS = ("ml.m", "ml.c", "ml.r", "ml.t")
_MOST_SECONDS = 1 << 33


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first record whether a file holds training jobs of SageMaker."""
    return head.lstrip()[:1] in (b"{", b"[") and b'"TrainingJobName"' in head and b'"TrainingJobStatus"' in head


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read the jobs. Raise SourceRefusedError like the scanner."""
    facts = Facts(NAME, options)
    jobs: dict[str, tuple[int, Object]] = {}
    with open_source(path, budget=options.limits.output) as source:
        values = Values(source, lists=("TrainingJobs",))
        for value in values:
            outcome = _take(jobs, value.line, value.found)
            facts.count(TORN if values.torn and value.found is None else outcome, lines=value.lines)
        facts.count(IGNORED, lines=values.rest)
        for line, job in jobs.values():
            for fields in rows(job):
                facts.alloc(line, fields.pop("record"), **fields)
        return facts.parsed(source)


def _take(jobs: dict[str, tuple[int, Object]], line: int, found: Any) -> str:
    if not isinstance(found, dict):
        return BAD_RECORD
    job = part(found, "detail") or found
    name = word(job, "TrainingJobName")
    if name is None:
        return IGNORED
    key = word(job, "TrainingJobArn") or name
    jobs[key] = (jobs.get(key, (line, job))[0], job)
    return MATCHED


def rows(job: Object) -> Iterator[Fields]:
    """Yield one row per attempt, parted by interruptions, and a mark per status."""
    name = word(job, "TrainingJobName")
    named = {"id": name, "raw": word(job, "TrainingJobArn") or name, "name": name}
    asked, nodes = _gpus(job), count(job, "ResourceConfig", "InstanceCount")
    spans = [_span(found) for found in parts(job, "SecondaryStatusTransitions")]
    attempts = list(_attempts(job, spans))
    for number, (start, ready, end, last) in enumerate(attempts):
        final = number == len(attempts) - 1
        times = {"submit_us": time(job.get("CreationTime")), "start_us": start, "ready_us": ready, "end_us": end}
        held = {"gpus": asked if start is not None else None, "gpus_requested": asked, "nodes": nodes}
        told = {
            "state": word(job, "TrainingJobStatus") if final else last,
            "reason": word(job, "FailureReason") if final else last,
        }
        yield {**named, "record": "job", "raw": f"{named['raw']}/{number}", **times, **held, **told, "restarts": number}
    for status, begin, end, message in spans:
        yield {
            **named,
            "record": "mark",
            "name": "TrainingJob",
            "state": status,
            "reason": message,
            "start_us": begin,
            "end_us": end,
        }


Span = tuple[str, int | None, int | None, str | None]


def _span(found: Object) -> Span:
    times = (time(found.get("StartTime")), time(found.get("EndTime")))
    return (word(found, "Status") or "", *times, word(found, "StatusMessage"))


def _attempts(job: Object, spans: list[Span]) -> Iterator[tuple[int | None, int | None, int | None, str]]:
    """Yield (start, trainer up, end, last status) of each attempt; instances are there once the waiting is over."""
    start = ready = end = None
    last = ""
    for status, begin, until, _ in spans:
        if status in BROKEN and start is not None:
            yield start, ready, begin, status
            start = ready = end = None
        elif status not in WAITING | BROKEN:
            start = begin if start is None else start
            ready = begin if ready is None and status == "Training" else ready
            end, last = (until if status not in ENDED else until or begin), status
    over = word(job, "TrainingJobStatus") in ENDED
    stop = time(job.get("TrainingEndTime")) or end
    start = start if spans else time(job.get("TrainingStartTime"))
    yield start, ready or start, stop if over else None, last


def time(found: object) -> int | None:
    """Return the microseconds of milliseconds, seconds or ISO text; None for anything else."""
    if isinstance(found, bool) or not isinstance(found, int | float | str):
        return None
    if isinstance(found, str):
        try:
            stamp = datetime.fromisoformat(found[:40])
        except ValueError:
            return None
        us = micros(stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC))
    elif found != found or abs(found) > 1 << 53:
        return None
    else:
        us = round(found * 1_000_000) if found < _MOST_SECONDS else round(found * 1000)
    known = exact(us)
    return known.us if known else None


def _gpus(job: Object) -> int | None:
    kind, number = word(job, "ResourceConfig", "InstanceType") or "", count(job, "ResourceConfig", "InstanceCount")
    each = GPUS.get(kind, 0 if kind.startswith(NO_GPUS) else None)
    return None if each is None or number is None else each * number
