"""Keeps the facts of one source while it is read, and makes the tables of them at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ettlog.lifecycle import CLOCKS, KIND_BY_NAME
from ettlog.parse import columns
from ettlog.parse.carry import advance, per_step, spans
from ettlog.parse.clock import NOMINAL_US
from ettlog.parse.clockwork import INFERRED, NOMINAL
from ettlog.parse.counting import Evidence, Needs
from ettlog.parse.decode import TOTALS
from ettlog.parse.format import Pattern
from ettlog.parse.launches import Mark, number
from ettlog.parse.template import COLUMNS, NULL
from ettlog.schema import EVENT, arrow_schema

Ints = NDArray[np.int64]
CARRIED = CLOCKS.index("carried")
UNDATED = CLOCKS.index("none")
FLUSH = 20_000
"""Events kept as Python rows before they become arrays."""

_INTEGERS = tuple(
    column for column in EVENT
    if column.type.startswith("int") and column.name not in ("line", "launch", "ts")
)  # fmt: skip
_WORDS = tuple(
    column.name for column in EVENT
    if column.type == "word" and column.name not in ("clock", "kind", "format", "pattern")
)  # fmt: skip
_TEXTS = tuple(column.name for column in EVENT if column.type == "string")


class Book:
    """What facts need to know of the patterns, made once for many sources."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        """Take the columns of the patterns."""
        self.patterns = patterns
        kinds = [KIND_BY_NAME.get(one.kind) for one in patterns]  # what is ignored is of no kind
        self.opens = [0 if kind is None else kind.opens for kind in kinds]
        self.ends = [kind is not None and bool(kind.end_state) for kind in kinds]
        self.tiers = np.array([one.tier for one in patterns] or [1])
        self.totals = np.array([not TOTALS.isdisjoint(one.groups) for one in patterns] or [False])
        self.stamped = np.array(["stamp" in one.groups for one in patterns] or [False])
        self.needs = Needs(patterns)
        self._names = {
            "kind": _numbered([one.kind for one in patterns]),
            "format": _numbered([one.format for one in patterns]),
            "pattern": _numbered([one.name for one in patterns]),
        }

    def column(self, name: str, pattern: Ints | NDArray[np.int16]) -> pa.Array:
        """Return the kind, format or name of patterns as a column of words."""
        numbers, names = self._names[name]
        return columns.words(numbers[pattern], names)


def _numbered(names: Sequence[str]) -> tuple[Ints, list[str]]:
    distinct = sorted(set(names))
    number = {name: index for index, name in enumerate(distinct)}
    return np.array([number[name] for name in names], np.int64), distinct


class Event(NamedTuple):
    """One event line: where it lies in the source, its own instant if any, and its fields."""

    line: int
    place: int
    ts: int
    clock: int
    pattern: int
    values: dict[str, int | str]


class Undated(NamedTuple):
    """Neighbours of undated lines, one entry a line, in line order."""

    line: Ints
    place: Ints
    before: Ints
    behind: Ints


class Steps(NamedTuple):
    """Steps of one block, or of all: numbered by line."""

    line: Ints
    ts: Ints
    clock: NDArray[np.int8]
    pattern: NDArray[np.int16]
    values: tuple[Ints, ...]


class Facts:
    """Collects blocks of facts."""

    def __init__(self, book: Book) -> None:
        """Start with nothing."""
        self.book = book
        self.events: list[Event] = []
        self._marks: list[Mark] = []
        self._evidence = Evidence(book.needs)
        self._steps: list[Steps] = []
        self._undated: list[Undated] = []
        self._rows: list[_Rows] = []
        self._words = {name: columns.Words() for name in _WORDS}
        self.waiting = False
        """Some undated line has no dated line behind it yet."""

    def add_events(self, events: Sequence[Event]) -> None:
        """Take the events of one block, sorted by line."""
        self.events.extend(events)
        for event in events:
            opens, ends = self.book.opens[event.pattern], self.book.ends[event.pattern]
            self._evidence.note(event.line, event.pattern, opens, event.values.get("target"))
            if opens or ends:
                pattern = self.book.patterns[event.pattern]
                writer = (pattern.format, pattern.name, event.values.get("rank"), event.values.get("node"))
                self._marks.append(Mark(event.line, opens, ends, writer))
        if len(self.events) >= FLUSH:
            self._flush()

    def idle(self, events: Sequence[Event]) -> frozenset[int]:
        """Return the step patterns that cannot count in a block whose events these are."""
        return self._evidence.idle(event.pattern for event in events)

    def add_steps(self, steps: Steps) -> None:
        """Take the steps of one block, sorted by line."""
        self._steps.append(steps)

    def add_undated(self, undated: Undated) -> None:
        """Take the neighbours of the undated lines of one block."""
        self._undated.append(undated)
        self.waiting = self.waiting or bool((undated.behind == NULL).any())

    def next_dated(self, us: int) -> None:
        """Give the lines that wait for it the first dated line behind them."""
        for undated in reversed(self._undated):
            missing = undated.behind == NULL
            if not missing.any():
                break
            undated.behind[missing] = us
        self.waiting = False

    def tables(self, shift: int = 0, nominal: bool = False) -> tuple[pa.Table, pa.Table]:
        """Return the event table and the step table.

        Instants in the nominal year are moved by `shift` microseconds; with `nominal` they stay there and say so.
        """
        self._flush()
        steps = _joined(self._steps)
        self._steps.clear()
        steps = _chosen(steps, self._evidence.counted(steps.line, steps.pattern, steps.values[1]))
        _settle(shift, nominal, steps.ts, steps.clock)
        tiers = self.book.tiers[steps.pattern]
        # a bar of something else before the loop begins is no step that could end a launch
        sure = steps.line[tiers == tiers.min(initial=tiers.max(initial=1))]
        launches = np.array(number(self._marks, sure.tolist()), np.int64)
        step_launch = np.searchsorted(launches, steps.line, "right")
        kept = _lowest_tier(step_launch, tiers, len(launches))
        steps, step_launch = _chosen(steps, kept), step_launch[kept]
        steps.values[2][:] = per_step(steps.values[0], step_launch, steps.values[2], self.book.totals[steps.pattern])
        undated = _all_undated(self._undated)
        for column in (undated.before, undated.behind):
            _settle(shift, nominal, column)
        steps, late = _carry_steps(steps, step_launch, undated)
        return self._event_table(launches, undated, late, shift, nominal), self._step_table(steps, step_launch)

    def _flush(self) -> None:
        if self.events or not self._rows:
            self._rows.append(self._taken(self.events))
            self.events = []

    def _taken(self, events: Sequence[Event]) -> _Rows:
        values = [event.values for event in events]
        found = {column.name: columns.whole([one.get(column.name) for one in values]) for column in _INTEGERS}
        found |= {name: self._words[name].codes([_text(one.get(name)) for one in values]) for name in _WORDS}
        found["line"] = np.array([event.line for event in events], np.int64)
        found["ts"] = np.array([event.ts for event in events], np.int64)
        found["clock"] = np.array([event.clock for event in events], np.int8)
        found["index"] = np.array([event.pattern for event in events], np.int64)
        return _Rows(found, {name: columns.texts([_text(one.get(name)) for one in values]) for name in _TEXTS})

    def _event_table(
        self, launches: Ints, undated: Undated, late: tuple[Ints, Ints, Ints], shift: int, nominal: bool
    ) -> pa.Table:
        rows = {name: np.concatenate([one.numbers[name] for one in self._rows]) for name in self._rows[0].numbers}
        line, ts, clock = rows["line"], rows["ts"], rows["clock"]
        _settle(shift, nominal, ts, clock)
        _carry_events(line, ts, clock, undated, late)
        schema = arrow_schema("event")
        if not len(line):
            return columns.empty("event")
        made = {name: self.book.column(name, rows["index"]) for name in ("kind", "format", "pattern")}
        made |= {name: columns.words(rows[name], self._words[name].words) for name in _WORDS}
        made |= {name: pa.concat_arrays([one.texts[name] for one in self._rows]) for name in _TEXTS}
        made["clock"] = columns.words(clock, CLOCKS)
        rows["launch"] = np.searchsorted(launches, line, "right")
        for name in schema.names:
            if name not in made:
                made[name] = columns.integers(rows[name], schema.field(name).type)
        return pa.table([made[name] for name in schema.names], schema=schema)

    def _step_table(self, steps: Steps, launch: Ints) -> pa.Table:
        schema = arrow_schema("step")
        if not len(launch):
            return columns.empty("step")
        made = {name: self.book.column(name, steps.pattern) for name in ("format", "pattern")}
        made["clock"] = columns.words(steps.clock, CLOCKS)
        numbers = dict(zip(COLUMNS, steps.values, strict=True))
        numbers |= {"line": steps.line, "launch": launch, "ts": steps.ts}
        for name, values in numbers.items():
            made[name] = columns.integers(values, schema.field(name).type)
        return pa.table([made[name] for name in schema.names], schema=schema)


class _Rows(NamedTuple):
    """Events as arrays: whole numbers (NULL), words by number (-1), and texts."""

    numbers: dict[str, NDArray[Any]]
    texts: dict[str, pa.Array]


def _text(value: int | str | None) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)


def _settle(shift: int, nominal: bool, ts: Ints, clock: NDArray[np.int8] | None = None) -> None:
    if shift:
        first, end = NOMINAL_US
        ts[(ts >= first) & (ts < end)] += shift
    if nominal and clock is not None:
        clock[clock == INFERRED] = NOMINAL


def _chosen(steps: Steps, kept: NDArray[np.bool_]) -> Steps:
    if kept.all():
        return steps
    values = tuple(column[kept] for column in steps.values)
    return Steps(steps.line[kept], steps.ts[kept], steps.clock[kept], steps.pattern[kept], values)


def _joined(chunks: Sequence[Steps]) -> Steps:
    def column(get: object) -> Ints:
        parts = [get(chunk) for chunk in chunks]  # type: ignore[operator]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    return Steps(
        column(lambda one: one.line), column(lambda one: one.ts),
        column(lambda one: one.clock).astype(np.int8), column(lambda one: one.pattern).astype(np.int16),
        tuple(column(lambda one, i=i: one.values[i]) for i in range(len(COLUMNS))),
    )  # fmt: skip


def _all_undated(chunks: Sequence[Undated]) -> Undated:
    if not chunks:
        return Undated(*(np.zeros(0, np.int64) for _ in range(4)))
    return Undated(*(np.concatenate([chunk[i] for chunk in chunks]) for i in range(4)))


def _lowest_tier(launch: Ints, tiers: Ints, launches: int) -> NDArray[np.bool_]:
    """Return which steps are of the lowest tier of their launch."""
    best = np.full(launches + 1, np.iinfo(np.int64).max)
    np.minimum.at(best, launch, tiers)
    return np.asarray(tiers == best[launch])


def _carry_steps(steps: Steps, launch: Ints, undated: Undated) -> tuple[Steps, tuple[Ints, Ints, Ints]]:
    """Return steps with carried instants, and (place, line, running time) of the undated ones for the events between
    them."""
    missing = np.flatnonzero(steps.ts == NULL)
    if not len(missing) or not len(undated.line):
        return steps, (np.zeros(0, np.int64),) * 3
    index = np.minimum(np.searchsorted(undated.line, steps.line[missing]), len(undated.line) - 1)
    durations = spans(steps.values[0], launch, steps.values[2])[missing]
    place, before, behind = undated.place[index], undated.before[index], undated.behind[index]
    steps.ts[missing] = advance(place, before, behind, durations)
    steps.clock[missing] = np.where(steps.ts[missing] == NULL, UNDATED, CARRIED)
    return steps, (place, steps.line[missing], steps.ts[missing])


def _carry_events(
    line: Ints, ts: Ints, clock: NDArray[np.int8], undated: Undated, late: tuple[Ints, Ints, Ints]
) -> None:
    """Give undated events the instant of the dated line before them, or of a later undated step between the two."""
    missing = np.flatnonzero(ts == NULL)
    clock[missing] = UNDATED
    if not len(missing) or not len(undated.line):
        return
    index = np.minimum(np.searchsorted(undated.line, line[missing]), len(undated.line) - 1)
    found = np.where(undated.before[index] == NULL, undated.behind[index], undated.before[index])
    place, step_line, step_ts = late
    if len(step_line):
        step = np.searchsorted(step_line, line[missing], "right") - 1
        between = (step >= 0) & (place[step] == undated.place[index]) & (step_ts[step] != NULL)
        found = np.where(between, step_ts[step], found)
    ts[missing] = found
    clock[missing] = np.where(found == NULL, UNDATED, CARRIED)
