"""What a reader of self-describing input fills: rows of events, steps and allocations, lines by outcome, clocks."""

from __future__ import annotations

from array import array
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ettlog.lifecycle import CAUSES, CLOCKS, KIND_BY_NAME
from ettlog.parse import launches, shapes, stamp
from ettlog.parse.clock import SourceClock
from ettlog.parse.parsed import NONE, Parsed, ScanOptions
from ettlog.parse.spool import Spool
from ettlog.schema import TABLES, arrow_schema

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from ettlog.parse.blocks import Reader

    Ints = NDArray[np.int64]

EXACT, UNDATED = CLOCKS[0], CLOCKS[-1]
MATCHED, IGNORED, UNMATCHED, BAD_TIME, BAD_RECORD = "matched", "ignored", "unmatched", "bad_time", "bad_record"
DUPLICATE, LONG, TORN = "duplicate", "long", "torn"
MAX_NAME = 256
_STAMPS = ("submit_us", "start_us", "ready_us", "end_us")
_BATCH = 1 << 15
_INT64, _INT32 = (1 << 63) - 1, (1 << 31) - 1
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


class Table:
    """Rows of one fact table, kept as columns and packed every few thousand rows."""

    def __init__(self, name: str) -> None:
        """Start without rows."""
        self._schema = arrow_schema(name)
        self._columns = TABLES[name]
        self._rows: list[dict[str, Any]] = []
        self._spool = Spool(self._schema)
        self.lines = array("q")

    def add(self, row: dict[str, Any]) -> None:
        """Take one row; columns it lacks are null, numbers beyond a column's width too."""
        self.lines.append(row["line"])
        self._rows.append(row)
        if len(self._rows) >= _BATCH:
            self._pack()

    def _pack(self) -> None:
        import pyarrow as pa

        packed = []
        for column, field in zip(self._columns, self._schema, strict=True):
            values = [row.get(column.name) for row in self._rows]
            if all(value is None for value in values):
                packed.append(_nulls(field.type, len(values)))
                continue
            if column.type.startswith("int"):
                bound = _INT64 if column.type == "int64" else _INT32
                values = [value if value is not None and -bound <= value <= bound else None for value in values]
            array_of = pa.array(values, pa.string() if column.type == "word" else field.type)
            packed.append(array_of.dictionary_encode() if column.type == "word" else array_of)
        self._spool.add(pa.RecordBatch.from_arrays(packed, schema=self._schema))
        self._rows = []

    def extend(self, numbers: dict[str, Ints], words: dict[str, str]) -> None:
        """Take many rows as columns: whole numbers that fit their columns, and words that are alike in all rows."""
        import numpy as np
        import pyarrow as pa

        if self._rows:
            self._pack()
        size = len(numbers["line"])
        self.lines.frombytes(np.ascontiguousarray(numbers["line"], np.int64).tobytes())
        made = {name: pa.array(values).cast(self._schema.field(name).type) for name, values in numbers.items()}
        same = pa.array(np.zeros(size, np.int32))
        made |= {name: pa.DictionaryArray.from_arrays(same, pa.array([word])) for name, word in words.items()}
        columns = [made[field.name] if field.name in made else _nulls(field.type, size) for field in self._schema]
        self._spool.add(pa.RecordBatch.from_arrays(columns, schema=self._schema))

    def table(self, begins: list[int]) -> pa.Table | Spool:
        """Return all rows sorted by line, with the launch each belongs to; `begins` holds the first lines of
        launches. Rows that came sorted and have no launch may stay in their spool.
        """
        import numpy as np
        import pyarrow as pa

        self._pack()
        lines = np.frombuffer(self.lines, np.int64) if self.lines else np.empty(0, np.int64)
        at = self._schema.get_field_index("launch")
        mixed = bool(np.any(np.diff(lines) < 0))
        if at < 0 and not mixed:
            return self._spool.table()
        numbers = np.searchsorted(np.array(begins, np.int64), lines, side="right").astype(np.int32)
        table = pa.Table.from_batches(list(self._spool.batches()), self._schema).unify_dictionaries()
        if at >= 0:
            table = table.set_column(at, self._schema.field(at), pa.array(numbers))
        return table.take(pa.array(np.argsort(lines, kind="stable"))) if mixed else table


@lru_cache(maxsize=32)
def _nulls(kind: pa.DataType, count: int) -> pa.Array:
    """Return a column without a value; batches share it, for most columns of most sources are empty."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(pa.nulls(count, kind.index_type), pa.array([], kind.value_type))
    return pa.nulls(count, kind)


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
        row: dict[str, Any] = {key: shown(value) if isinstance(value, str) else value for key, value in fields.items()}
        stamps: list[int] = [row[name] for name in _STAMPS if row.get(name) is not None]
        clock = clock if stamps else UNDATED
        self._clocks[clock] += 1
        if stamps:
            self.saw(Instant(min(stamps), clock))
            self.saw(Instant(max(stamps), clock))
        self.allocs.add({"line": line, "record": record, "clock": clock, **row})

    def local(self, text: str | bytes) -> Instant | None:
        """Return the instant of a stamp as printed, None where it is no stamp."""
        found = stamp.parse(text)
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
            self._first = at.us if self._first is None else min(self._first, at.us)
            self._last = at.us if self._last is None else max(self._last, at.us)

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
