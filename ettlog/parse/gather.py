"""What a reader of self-describing input fills: rows of events, steps and allocations, lines by outcome, clocks."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from ettlog.lifecycle import CAUSES, CLOCKS, KIND_BY_NAME
from ettlog.parse import launches, shapes
from ettlog.parse.clock import SourceClock
from ettlog.parse.parsed import NONE, Parsed, ScanOptions
from ettlog.parse.rows import Table
from ettlog.parse.stamp_like import Printed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ettlog.parse.blocks import Reader

    Ints = NDArray[np.int64]

EXACT, UNDATED = CLOCKS[0], CLOCKS[-1]
MATCHED, IGNORED, UNMATCHED, BAD_TIME, BAD_RECORD = "matched", "ignored", "unmatched", "bad_time", "bad_record"
DUPLICATE, LONG, TORN = "duplicate", "long", "torn"
MAX_NAME = 256
_STAMPS = frozenset(("submit_us", "start_us", "ready_us", "end_us"))
INSTANTS = range(946_684_800_000_000, 4_102_444_800_000_000)
"""Microseconds since 1970 outside 2000 to 2100 are no instants."""


class Instant(NamedTuple):
    """An instant and the authority it has: microseconds since 1970 UTC, or None, and a word of `lifecycle.CLOCKS`."""

    us: int | None
    clock: str


NO_CLOCK = Instant(None, UNDATED)


def exact(us: int | None) -> Instant | None:
    """Return the instant of an epoch value in microseconds; None where it lies outside 2000 to 2100."""
    return Instant(us, EXACT) if us is not None and us in INSTANTS else None


class Facts:
    """Collects what one source says; every line is counted once, by its outcome."""

    def __init__(self, name: str, options: ScanOptions) -> None:
        """Start empty; `name` is the format the rows are told to come from."""
        self.name, self.options = name, options
        self.clock = SourceClock(options.zone, options.year_hint)
        self.events, self.steps, self.allocs = Table("event"), Table("step"), Table("alloc")
        self.lines: Counter[str] = Counter()
        self.hints: dict[str, str] = {}
        self.notes: dict[str, None] = {}
        self._unmatched = shapes.Unmatched()
        self._printed = Printed()
        self._marks: list[launches.Mark] = []
        self._clocks: Counter[str] = Counter()
        self._first: int | None = None
        self._last: int | None = None

    def event(self, line: int, kind: str, pattern: str, at: Instant, **fields: Any) -> None:
        """Add an event; `fields` are columns of the event table, `name` is cut to its width."""
        row = {"line": line, "kind": kind, **self._common(pattern, at), **fields}
        row["name"] = shown(fields.get("name"))
        self.events.add(row)
        meaning = KIND_BY_NAME[kind]
        if meaning.opens or meaning.end_state:
            writer = (self.name, pattern, fields.get("rank"), fields.get("node"))
            self._marks.append(launches.Mark(line, meaning.opens, bool(meaning.end_state), writer))

    def step(self, line: int, pattern: str, at: Instant, step: int, **fields: Any) -> None:
        """Add a step, unless steps are not asked for."""
        if self.options.steps != NONE:
            self.steps.add({"line": line, "step": step, **self._common(pattern, at), **fields})

    def many_steps(self, lines: Ints, pattern: str, us: Ints, steps: Ints, durations: Ints) -> None:
        """Add steps with exact instants and durations in microseconds, unless steps are not asked for."""
        if self.options.steps != NONE and len(lines):
            numbers = {"line": lines, "ts": us, "step": steps, "duration_us": durations}
            self.steps.extend(numbers, {"clock": EXACT, "format": self.name, "pattern": pattern})
            self._clocks[EXACT] += len(lines)
            for at in (int(us.min()), int(us.max())):
                self.saw(Instant(at, EXACT))

    def alloc(self, line: int, record: str, clock: str = EXACT, **fields: Any) -> None:
        """Add a row of a scheduler; `fields` are columns of the alloc table, texts cut to one line of 256 characters.

        A row without any instant has no clock.
        """
        row: dict[str, Any] = {"line": line, "record": record, "clock": UNDATED}
        for key, value in fields.items():
            if value is None:
                continue
            row[key] = shown(value) if isinstance(value, str) else value
            if key in _STAMPS:
                row["clock"] = clock
                self._widen(value)
        self._clocks[row["clock"]] += 1
        self.allocs.add(row)

    def local(self, text: str | bytes) -> Instant | None:
        """Return the instant of a stamp as printed, None where it is no stamp."""
        found = self._printed.parse(text)
        if found is None:
            return None
        us, clock = self.clock.instant(found)
        return None if us is None else Instant(us, clock)

    def count(self, outcome: str, text: bytes = b"", lines: int = 1) -> None:
        """Count lines by outcome; the text of an unmatched line is looked at for its shape."""
        self.lines[outcome] += lines
        if outcome == UNMATCHED:
            self._unmatched.look(text)

    def saw(self, at: Instant) -> None:
        """Widen the time the source covers by a dated line that gives no row."""
        if at.us is not None:
            self._widen(at.us)

    def _widen(self, us: int) -> None:
        if self._first is None or us < self._first:
            self._first = us
        if self._last is None or us > self._last:
            self._last = us

    def note(self, sentence: str) -> None:
        """Remember an inference, once."""
        self.notes.setdefault(sentence)

    def _common(self, pattern: str, at: Instant) -> dict[str, Any]:
        self._clocks[at.clock] += 1
        self.saw(at)
        return {"ts": at.us, "clock": at.clock, "format": self.name, "pattern": pattern}

    def parsed(self, source: Reader) -> Parsed:
        """Return all that was collected; the source is read to its end for its digest."""
        torn = bool(source.torn or self.lines[TORN])
        count = sum(self.lines.values())
        begins = launches.number(sorted(self._marks, key=lambda mark: mark.line), sorted(self.steps.lines))
        digest = source.digest()
        return Parsed(
            events=self.events.table(begins),
            steps=self.steps.table(begins),
            allocs=self.allocs.table([]),
            lines={outcome: lines for outcome, lines in sorted(self.lines.items()) if lines},
            n_lines=count,
            n_bytes=source.n_bytes,
            digest=digest,
            text=source.text_digest(),
            formats={self.name: self.lines[MATCHED]} if self.lines[MATCHED] else {},
            state="torn" if torn else "whole" if count else "empty",
            inferences=[*self.clock.inferences, *self.notes],
            unmatched=self._unmatched.shapes(),
            sampled=self._unmatched.samples,
            first_us=self._first,
            last_us=self._last,
            clock=max(self._clocks, key=lambda name: (self._clocks[name], name)) if self._clocks else UNDATED,
            hints=self.hints,
        )


def shown(value: object) -> str | None:
    """Return a value as one line of printable text of at most 256 characters; None for nothing."""
    if value is None or value == "":
        return None
    if isinstance(value, str) and len(value) <= MAX_NAME and value.isprintable():
        return value
    text = str(value)[: MAX_NAME * 4]
    if text.isprintable():
        return text[:MAX_NAME]
    return "".join(mark if mark.isprintable() else " " for mark in text)[:MAX_NAME]


_CAUSES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("oom", ("OutOfMemory", "out of memory", "RESOURCE_EXHAUSTED", "oom-kill", "OOMKilled")),
    ("nccl_timeout", ("collective operation timeout", "NCCL timeout", "Watchdog caught", "DistBackendError")),
    ("cuda_error", ("CUDA error", "cudaError", "CUDA_ERROR", "CUBLAS_STATUS", "CUDNN_STATUS", "Xid", "ECC error")),
    ("import_error", ("ModuleNotFoundError", "ImportError")),
    ("sigint", ("KeyboardInterrupt", "SIGINT")),
    ("sigterm", ("SIGTERM", "SignalException")),
    ("preemption", ("preempt", "Preempt")),
    ("user_error", ("FileNotFoundError", "PermissionError", "ArgumentError", "unrecognized arguments", "ConfigError")),
)


def cause_of(text: str) -> str:
    """Return the cause (`lifecycle.CAUSES`) that an error's own words name; `other` where they name none."""
    return next((cause for cause, words in _CAUSES if any(word in text for word in words)), CAUSES[-1])
