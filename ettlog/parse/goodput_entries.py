"""Entries of ml-goodput-measurement: one JSON object each, POSIX seconds, from its cache file or a Cloud Logging
export.

An entry says that something began or ended: job, device init, preparation, data loading, custom events, waits for
slices. A step has only its begin; what follows from that is in `goodput_steps.py`. No entry names its rank or its
start: a new start is a `job_start_time`, or a re-initialisation after a slice was lost.
"""

from __future__ import annotations

import re
from pathlib import Path

from ettlog.parse import goodput_orbax, jsonl, vocabulary
from ettlog.parse.gather import (
    BAD_RECORD,
    BAD_TIME,
    DUPLICATE,
    IGNORED,
    INSTANTS,
    MATCHED,
    UNMATCHED,
    Facts,
    Instant,
    exact,
)
from ettlog.parse.goodput_steps import Steps
from ettlog.parse.jsonl import SECOND, Record
from ettlog.parse.parsed import Parsed, ScanOptions

NAME = "goodput_entries"
SAME_START_US = 5 * SECOND
"""Job starts this close together are one start told by several ranks."""

WORDS = vocabulary.load(NAME)
_ENTRIES, _TOLD = WORDS["entry"], WORDS["told"]
_CUSTOM = ("custom_badput_event", "elastic_wait")
_CUSTOM_TIMES = tuple(f"{base}_{edge}_time" for base in _CUSTOM for edge in ("start", "end"))
_SLICES = "elastic_slice_counts_timestamp"
_KNOWN = {*_ENTRIES, *_CUSTOM_TIMES, "step_start_time", _SLICES}
_NEW_START = ("job_start_time", "elastic_reinit_start_time")
_LOST = "slice_down"
_STEP = re.compile(
    rb'\{"job_name": "([\w./:-]*)", "step_count": (0|[1-9]\d{0,14}), "step_start_time": ([1-9]\d{0,11}(?:\.\d{1,9})?)\}'
)
"""A step's entry as the library writes it: nearly all entries are, and need no JSON parser."""
_STEP_KEYS = 3


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first record whether a file holds goodput entries."""
    record = jsonl.first_record(head)
    if record is None:
        return False
    entry = jsonl.unwrap(record)
    return bool(_KNOWN & entry.keys()) or goodput_orbax.knows(entry)


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read the entries of one job."""
    facts = Facts(NAME, options)
    reader = _Reader(facts)
    known = reader.step_line if options.limits.keys >= _STEP_KEYS and options.limits.depth else None
    return jsonl.read(path, options, facts, reader.take, jsonl.parse, reader.finish, known)


class _Reader:
    """The start that is being told of."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._steps = Steps(facts, _TOLD)
        self._custom: dict[str, int] = {}
        self._start: int | None = None
        self._loaded = False

    def take(self, line: int, record: Record) -> str:
        entry = jsonl.unwrap(record)
        job = jsonl.text(entry, "job_name")
        if job:
            self._facts.hints.setdefault("job", job)
        if "step_start_time" in entry:
            return self._step(line, entry)
        for key, kind in _ENTRIES.items():
            if key in entry:
                return self._mark(line, key, kind, exact(jsonl.micros(entry, key)))
        for key in _CUSTOM_TIMES:
            if key in entry:
                return self._custom_event(line, key, entry)
        if goodput_orbax.knows(entry):
            return goodput_orbax.take(self._facts, WORDS["orbax"], line, entry)
        return IGNORED if _SLICES in entry else UNMATCHED

    def step_line(self, line: int, text: bytes) -> str | None:
        """Take the entry of a step that is written as the library does; None for any other line."""
        match = _STEP.fullmatch(text)
        if match is None:
            return None
        job, step, time = match.groups()
        if job and "job" not in self._facts.hints:
            self._facts.hints["job"] = job.decode("ascii")
        us = round(float(time) * SECOND) if b"." in time else int(time) * SECOND
        if us not in INSTANTS:
            return BAD_TIME
        self._steps.begun.append((us, line, int(step)))
        return MATCHED

    def finish(self) -> None:
        self._steps.close()

    def _step(self, line: int, entry: Record) -> str:
        step, at = jsonl.whole(entry, "step_count"), exact(jsonl.micros(entry, "step_start_time"))
        if step is None:
            return BAD_RECORD
        if at is None or at.us is None:
            return BAD_TIME
        self._steps.begun.append((at.us, line, step))
        return MATCHED

    def _mark(self, line: int, key: str, kind: str, at: Instant | None) -> str:
        if at is None or at.us is None:
            return BAD_TIME
        if key == "job_start_time":
            if self._start is not None and abs(at.us - self._start) <= SAME_START_US:
                self._facts.note("job starts within 5 s of each other are one start told by several ranks")
                return DUPLICATE
            self._start = at.us
        if key in _NEW_START:
            self._steps.close()
            self._loaded = False
        if key == "job_end_time":
            self._steps.end = (at.us, line)
        if key.startswith("data_loading"):
            if self._loaded or self._steps.begun:  # later loads run behind the steps
                return IGNORED
            self._loaded = key == "data_loading_end_time"
        self._facts.event(line, kind, key, at)
        return MATCHED

    def _custom_event(self, line: int, key: str, entry: Record) -> str:
        base, edge, _ = key.rsplit("_", 2)
        name = jsonl.text(entry, f"{base}_type") or jsonl.text(entry, f"{base}_event_type") or base
        at = exact(jsonl.micros(entry, key))
        if at is None or at.us is None:
            return BAD_TIME
        if edge == "start":
            self._custom[name] = at.us
            lost = _LOST in name
            kind = _TOLD["slice_lost" if lost else "custom_begins"]
            self._facts.event(line, kind, base, at, name=name, cause="node" if lost else None)
            return MATCHED
        begin = self._custom.pop(name, None)
        if begin is not None and at.us > begin:
            self._steps.away.append((begin, at.us))
        duration = None if begin is None else at.us - begin
        kind = _TOLD["slice_back" if _LOST in name else "custom_ends"]
        self._facts.event(line, kind, base, at, name=name, duration_us=duration)
        return MATCHED
