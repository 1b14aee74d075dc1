"""The job log of Microsoft's Philly cluster: a JSON list of jobs, each with its attempts.

Times are local without a zone (the publisher says Pacific time). `None` as text stands for a time that is not known.
Array order is attempt order. The job's status is that of its last attempt; how the others ended is not told.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ettlog.parse.blocks import open_source
from ettlog.parse.gather import BAD_RECORD, BAD_TIME, IGNORED, MATCHED, TORN, Facts
from ettlog.parse.json_values import Values
from ettlog.parse.k8s_object import parts, word
from ettlog.parse.parsed import Parsed, ScanOptions
from ettlog.parse.sacct_cells import Clock
from ettlog.parse.sacct_rows import ASSUMED
from ettlog.parse.traces.cells import BadCellError, Fields, end_after, stamp

NAME = "philly"
_KEYS = (b'"attempts"', b'"jobid"', b'"submitted_time"', b'"vc"')


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first job whether a file is the job log of Philly."""
    return head.lstrip()[:1] in (b"[", b"{") and all(key in head for key in _KEYS)


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read the job log. Raise SourceRefusedError like the scanner."""
    facts = Facts(NAME, options)
    clock = Clock(options.zone)
    with open_source(path, budget=options.limits.output) as source:
        values = Values(source, lists=())
        for value in values:
            outcome = _take(facts, clock, value.line, value.found)
            facts.count(TORN if values.torn and value.found is None else outcome, lines=value.lines)
        facts.count(IGNORED, lines=values.rest)
        return facts.parsed(source)


def _take(facts: Facts, clock: Clock, line: int, job: Any) -> str:
    if not isinstance(job, dict) or not isinstance(job.get("jobid"), str) or not isinstance(job.get("attempts"), list):
        return BAD_RECORD
    try:
        rows = [_row(job, number, attempt, clock) for number, attempt in enumerate(job["attempts"] or [{}])]
    except BadCellError:
        return BAD_TIME
    authority = "zone_set" if facts.options.zone else "zone_assumed"
    if not facts.options.zone:
        facts.note(ASSUMED)
    for fields in rows:
        facts.alloc(line, "job", authority, **fields)
    return MATCHED


def _row(job: dict[str, Any], number: int, attempt: Any, clock: Clock) -> Fields:
    attempt = attempt if isinstance(attempt, dict) else {}
    start = stamp(_text(attempt, "start_time"), clock)
    end = end_after(start, _text(attempt, "end_time"), clock)
    last = number >= len(job["attempts"]) - 1
    machines = parts(attempt, "detail")
    held = [found["gpus"] for found in machines if isinstance(found.get("gpus"), list)]
    return {
        "id": job["jobid"],
        "raw": f"{job['jobid']}/{number}",
        "user": _text(job, "user"),
        "partition": _text(job, "vc"),
        "state": _text(job, "status") if last else None,
        "submit_us": stamp(_text(job, "submitted_time"), clock),
        "start_us": start,
        "end_us": end,
        "nodes": len(machines),
        "gpus": sum(map(len, held)),
        "node": word(machines[0], "ip") if len(machines) == 1 else None,
        "restarts": number,
    }


def _text(record: dict[str, Any], key: str) -> str:
    found = record.get(key)
    return found if isinstance(found, str) else ""
