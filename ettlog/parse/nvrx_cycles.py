"""Cycle info files of nvidia-resiliency-ext: one JSON object a file for each (job, attempt, cycle) of a launcher.

A cycle is one time the workers came up: cycle 0 of an attempt is its launch, every further one a restart in place. An
attempt is the scheduler's restart count. The end of a cycle says when, not how.
"""

from __future__ import annotations

import re
from pathlib import Path

from ettlog.parse import jsonl, vocabulary
from ettlog.parse.blocks import open_source
from ettlog.parse.gather import BAD_RECORD, BAD_TIME, LONG, MATCHED, Facts
from ettlog.parse.jsonl import Record
from ettlog.parse.parsed import Parsed, ScanOptions

NAME = "nvrx_cycles"
WORDS = vocabulary.load(NAME)["cycle"]
_KEYS = {"job_id", "attempt_index", "cycle_number", "cycle_start_time"}
_RANGE = re.compile(r"(\d{1,7})(?:-(\d{1,7}))?\Z")


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell whether a whole small file is one cycle info object."""
    if head.lstrip()[:1] != b"{" or b'"cycle_number"' not in head:
        return False
    record = jsonl.parse(head)
    return record is not None and record.keys() >= _KEYS


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read one cycle; all lines of the file have the same outcome, events stand on line 1."""
    facts = Facts(NAME, options)
    with open_source(path, budget=options.limits.output) as source:
        text = source.read_all(jsonl.MAX_LINE + 1)
        record = jsonl.parse(text) if len(text) <= jsonl.MAX_LINE else None
        outcome = LONG if len(text) > jsonl.MAX_LINE else BAD_RECORD if record is None else _take(facts, record)
        lines = text.count(b"\n") + (not text.endswith(b"\n") and bool(text))
        while rest := source.read_all(jsonl.CHUNK):
            lines += rest.count(b"\n")
        facts.count(outcome, lines=lines)
        return facts.parsed(source)


def _take(facts: Facts, record: Record) -> str:
    job, cycle = jsonl.text(record, "job_id"), jsonl.whole(record, "cycle_number")
    if cycle is None:
        return BAD_RECORD
    begin = facts.local(jsonl.text(record, "cycle_start_time") or "")
    if begin is None:
        return BAD_TIME
    if job:
        facts.hints["allocation"] = job
    kind, pattern = (WORDS["first_begins"], "first_cycle") if cycle == 0 else (WORDS["later_begins"], "cycle")
    facts.event(
        1, kind, pattern, begin, world=_count(record.get("active_ranks")), name=jsonl.text(record, "cycle_log_file")
    )
    end = facts.local(jsonl.text(record, "cycle_end_time") or "")
    if end is not None:
        facts.event(1, WORDS["ends"], "cycle_end", end, name=job)
    return MATCHED


def _count(ranks: object) -> int | None:
    """Return how many ranks a text such as `0-7,12` holds."""
    if not isinstance(ranks, str) or not ranks.strip():
        return None
    total = 0
    for part in ranks.split(","):
        match = _RANGE.match(part.strip())
        if match is None:
            return None
        total += int(match[2] or match[1]) - int(match[1]) + 1
    return total
