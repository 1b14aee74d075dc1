"""Entries of ml-goodput-measurement: one JSON object each, POSIX seconds, from its cache file or a Cloud Logging
export.

An entry says that something began or ended: job, device init, preparation, data loading, custom events, and for a
step only its begin. A step is therefore known to be done when the next one begins: the row of step n stands on the
line of step n + 1, with the time between. Where the log skips numbers, the time is shared evenly among them. Entries
of a job may arrive out of order, and once for each writing rank; between two job starts they are sorted by their own
time and copies are dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ettlog.parse import goodput_orbax, jsonl
from ettlog.parse.gather import BAD_RECORD, BAD_TIME, DUPLICATE, IGNORED, MATCHED, UNMATCHED, Facts, Instant, exact
from ettlog.parse.jsonl import SECOND, Record
from ettlog.parse.parsed import Parsed, ScanOptions

NAME = "goodput_entries"
SAME_START_US = 5 * SECOND
"""Job starts this close together are one start told by several ranks."""

_KINDS: Mapping[str, str] = {
    "job_start_time": "launch",
    "job_end_time": "train_end",
    "tpu_init_start_time": "init_mark",
    "tpu_init_end_time": "process_group",
    "training_prep_start_time": "init_mark",
    "training_prep_end_time": "init_mark",
    "data_loading_start_time": "init_mark",
    "data_loading_end_time": "data_ready",
    "elastic_reinit_start_time": "restart",
    "elastic_reinit_end_time": "init_mark",
}
_CUSTOM = ("custom_badput_event", "elastic_wait")
_SLICES = "elastic_slice_counts_timestamp"
_CUSTOM_TIMES = tuple(f"{base}_{edge}_time" for base in _CUSTOM for edge in ("start", "end"))
_KNOWN = {*_KINDS, *_CUSTOM_TIMES, "step_start_time", _SLICES}
_EVALUATION = ("eval", "validation")


class _Step(NamedTuple):
    us: int
    line: int
    step: int


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first record whether a file holds goodput entries."""
    record = jsonl.first_record(head)
    if record is None:
        return False
    entry = unwrap(record)
    return bool(_KNOWN & entry.keys()) or goodput_orbax.knows(entry)


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read the entries of one job."""
    facts = Facts(NAME, options)
    reader = _Reader(facts)
    return jsonl.read(path, options, facts, reader.take, jsonl.parse, reader.flush)


def unwrap(record: Record) -> Record:
    """Return the payload of a Cloud Logging record, or the record itself."""
    inner = record.get("jsonPayload")
    return inner if isinstance(inner, dict) else record


class _Reader:
    """The steps and custom events since the last job start."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._steps: list[_Step] = []
        self._end: tuple[int, int] | None = None
        self._away: list[tuple[int, int]] = []
        self._custom: dict[str, int] = {}
        self._start: int | None = None
        self._loaded = False

    def take(self, line: int, record: Record) -> str:
        entry = unwrap(record)
        job = jsonl.text(entry, "job_name")
        if job:
            self._facts.hints.setdefault("job", job)
        if "step_start_time" in entry:
            return self._step(line, entry)
        for key, kind in _KINDS.items():
            if key in entry:
                return self._mark(line, key, kind, exact(jsonl.micros(entry, key)))
        for base in _CUSTOM:
            for edge in ("start", "end"):
                if f"{base}_{edge}_time" in entry:
                    return self._custom_event(line, base, edge, entry)
        if goodput_orbax.knows(entry):
            return goodput_orbax.take(self._facts, line, entry)
        return IGNORED if _SLICES in entry else UNMATCHED

    def _step(self, line: int, entry: Record) -> str:
        step, at = jsonl.whole(entry, "step_count"), exact(jsonl.micros(entry, "step_start_time"))
        if step is None:
            return BAD_RECORD
        if at is None or at.us is None:
            return BAD_TIME
        self._steps.append(_Step(at.us, line, step))
        return MATCHED

    def _mark(self, line: int, key: str, kind: str, at: Instant | None) -> str:
        if at is None or at.us is None:
            return BAD_TIME
        if kind == "launch":
            if self._start is not None and abs(at.us - self._start) <= SAME_START_US:
                self._facts.note("job starts within 5 s of each other are one start told by several ranks")
                return DUPLICATE
            self._start = at.us
        if kind in ("launch", "restart"):
            self.flush()
        if kind == "train_end":
            self._end = (at.us, line)
        if key.startswith("data_loading"):
            if self._loaded or self._steps:  # later loads run behind the steps
                return IGNORED
            self._loaded = key == "data_loading_end_time"
        self._facts.event(line, kind, key, at)
        return MATCHED

    def _custom_event(self, line: int, base: str, edge: str, entry: Record) -> str:
        name = jsonl.text(entry, f"{base}_type") or jsonl.text(entry, f"{base}_event_type") or base
        at = exact(jsonl.micros(entry, f"{base}_{edge}_time"))
        if at is None or at.us is None:
            return BAD_TIME
        looks = any(word in name.lower() for word in _EVALUATION)
        if edge == "start":
            self._custom[name] = at.us
            if looks:
                self._facts.event(line, "evaluation_begin", base, at, name=name)
            return MATCHED
        begin = self._custom.pop(name, None)
        if begin is not None and at.us > begin:
            self._away.append((begin, at.us))
        duration = None if begin is None else at.us - begin
        self._facts.event(line, "evaluation_end" if looks else "timer", base, at, name=name, duration_us=duration)
        return MATCHED

    def flush(self) -> None:
        """Make rows of the steps since the last start: call it at every start and at the end of the file."""
        steps = sorted(self._steps)
        last: _Step | None = None
        for now in steps:
            if last is not None and now.step == last.step:
                self._again()
                continue
            if last is not None and now.step > last.step:
                self._row(last, now.us, now.line, now.step - 1)
            last = now
        if last is not None:
            self._close(last)
        self._steps, self._end, self._away, self._loaded = [], None, [], False

    def _again(self) -> None:
        self._facts.count(MATCHED, lines=-1)
        self._facts.count(DUPLICATE)

    def _close(self, last: _Step) -> None:
        if self._end is not None and self._end[0] >= last.us:
            self._row(last, self._end[0], self._end[1], last.step)
        else:
            at = exact(last.us)
            assert at is not None
            self._facts.event(last.line, "heartbeat", "step_start", at, step=last.step)

    def _row(self, begun: _Step, end_us: int, line: int, step: int) -> None:
        """Add the step that ended at `end_us`: with the mean of those since `begun`, less the custom events in
        between.
        """
        away = sum(max(0, min(end, end_us) - max(begin, begun.us)) for begin, end in self._away)
        duration = (end_us - begun.us - away) // (step - begun.step + 1)
        at = exact(end_us)
        assert at is not None
        self._facts.step(line, "step_start", at, step, duration_us=duration)
