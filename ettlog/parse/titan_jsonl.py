"""torchtitan's structured log: one JSON line for each begin and end of a span, one file a rank, absolute
microseconds.

A record has `log_type_name` (`NAME_start`, `NAME_end`, `NAME_error`, or the name of an instant), `time_us`, `step`,
`relative_step`, `rank` and, on an end, `value`: the milliseconds of the span. The span `step` holds the whole turn of
the loop, a save and an evaluation in it too; the step itself ends where the first of those begins.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ettlog.parse import jsonl, vocabulary
from ettlog.parse.gather import BAD_RECORD, BAD_TIME, IGNORED, MATCHED, Facts, Instant, cause_of, exact
from ettlog.parse.jsonl import Record
from ettlog.parse.parsed import Parsed, ScanOptions

NAME = "titan_jsonl"
REAL_SAVE_US = 5_000
"""The span around `save` is written on every step; where nothing is due, the call returns within microseconds."""

WORDS = vocabulary.load(NAME)
"""`training_start` stands before the load of a checkpoint: the loop is entered with the first step."""
_WORK = frozenset(("fwd_bwd", "optim"))
_QUIET = frozenset(("fetching_batch", "gc_collect", *_WORK))
"""Spans of every step: they say nothing that the step does not say."""


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first record whether a file is a structured log of torchtitan."""
    record = jsonl.first_record(head)
    return record is not None and {"log_type_name", "time_us", "seq_id"} <= record.keys()


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read a structured log of one rank: spans of start-up, steps, saves, evaluations, errors."""
    facts = Facts(NAME, options)
    return jsonl.read(path, options, facts, _Reader(facts).take, jsonl.parse)


class _Reader:
    """The open step, and what has been seen inside it."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._common: dict[str, Any] = {}
        self._loop = False
        self._begin: int | None = None
        self._own_end: int | None = None
        self._worked = self._ever_worked = False
        self._saves: list[int] = []

    def take(self, line: int, record: Record) -> str:
        name = jsonl.text(record, "log_type_name")
        if name is None:
            return BAD_RECORD
        base, _, edge = name.rpartition("_")
        if base in _QUIET and edge != "error":
            self._worked |= base in _WORK and edge == "end"
            self._ever_worked |= self._worked
            return IGNORED
        at = exact(jsonl.whole(record, "time_us"))
        if at is None:
            return BAD_TIME
        self._common = _common(record)
        if edge == "start" and name not in WORDS["instant"]:
            return self._started(line, base, at, record)
        if edge == "end":
            return self._ended(line, base, at, record)
        if edge == "error":
            return self._failed(line, base, at, record)
        return self._instant(line, name, at)

    def _add(self, line: int, kind: str, pattern: str, at: Instant, **fields: Any) -> str:
        self._facts.event(line, kind, pattern, at, **self._common, **fields)
        return MATCHED

    def _started(self, line: int, base: str, at: Instant, record: Record) -> str:
        if base == "step":
            return self._step_started(line, at, record)
        if base == "checkpoint_save":
            self._saves.append(at.us or 0)
            return MATCHED
        if base == "eval":
            self._leave(at.us)
        kind = WORDS["start"].get(base)
        return IGNORED if kind is None else self._add(line, kind, f"{base}_start", at)

    def _step_started(self, line: int, at: Instant, record: Record) -> str:
        step, relative = self._common["step"], jsonl.whole(record, "relative_step")
        self._begin, self._own_end, self._worked = at.us, None, False
        if not self._loop:
            self._loop = True
            self._add(line, WORDS["told"]["first_step"], "step_start", at)
            if step is not None and relative is not None and step > relative:
                self._common["step"] = step - relative
                self._add(line, WORDS["told"]["loaded_step"], "relative_step", at)
        return MATCHED

    def _ended(self, line: int, base: str, at: Instant, record: Record) -> str:
        duration = jsonl.micros(record, "value", 1_000)
        if base == "step":
            return self._step_ended(line, at, duration)
        if base == "checkpoint_save":
            return self._saved(line, at, duration)
        kind = WORDS["end"].get(base, WORDS["told"]["other_span"])
        return self._add(line, kind, f"{base}_end", at, duration_us=duration, name=base)

    def _step_ended(self, line: int, at: Instant, duration: int | None) -> str:
        step, begin = self._common["step"], self._begin
        self._begin = None
        if step is None:
            return BAD_RECORD
        if self._ever_worked and not self._worked:  # the data ran out: the turn of the loop was left without a step
            return self._add(line, WORDS["told"]["no_more_data"], "step_without_work", at)
        if begin is None and at.us is not None and duration is not None:
            begin = at.us - duration
        end = exact(self._own_end) or at
        own = None if begin is None or end.us is None else max(0, end.us - begin)
        self._facts.step(line, "step_end", end, step, rank=self._common["rank"], duration_us=own)
        return MATCHED

    def _saved(self, line: int, at: Instant, duration: int | None) -> str:
        begin = self._saves.pop() if self._saves else None
        if begin is None and at.us is not None and duration is not None:
            begin = at.us - duration
        started = exact(begin)
        if started is None or started.us is None or at.us is None or at.us - started.us < REAL_SAVE_US:
            return IGNORED
        if self._saves:  # an outer span around the same call
            return IGNORED
        self._leave(started.us)
        self._facts.note("a checkpoint_save span under 5 ms is no save: the call returns at once where none is due")
        self._add(line, WORDS["told"]["save_begins"], "checkpoint_save_start", started)
        returns = WORDS["told"]["save_returns"]
        return self._add(line, returns, "checkpoint_save_end", at, duration_us=at.us - started.us)

    def _failed(self, line: int, base: str, at: Instant, record: Record) -> str:
        message = jsonl.text(record, "message") or base
        return self._add(line, WORDS["told"]["error"], f"{base}_error", at, cause=cause_of(message), name=message)

    def _instant(self, line: int, name: str, at: Instant) -> str:
        if name == "metric_value":
            return IGNORED
        kind = WORDS["instant"].get(name, WORDS["told"]["other_instant"])
        if name == "structured_logger_started":
            self._loop = False
        return self._add(line, kind, name, at, name=name)

    def _leave(self, us: int | None) -> None:
        """Remember where the open step's own work ended."""
        if self._begin is not None and self._own_end is None:
            self._own_end = us


def _common(record: Record) -> dict[str, Any]:
    """Return the columns that every event of a record shares."""
    rank = jsonl.whole(record, "global_rank")
    return {
        "rank": jsonl.whole(record, "rank") if rank is None else rank,
        "node": jsonl.text(record, "host_name"),
        "step": jsonl.whole(record, "step"),
    }
