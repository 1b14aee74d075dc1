"""Keeps the facts of one source while it is read, and makes the tables of them at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ettlog.lifecycle import CLOCKS, KIND_BY_NAME
from ettlog.parse.carry import advance, per_step, spans
from ettlog.parse.clock import moved
from ettlog.parse.clockwork import INFERRED, NOMINAL
from ettlog.parse.counting import Evidence
from ettlog.parse.decode import TOTALS
from ettlog.parse.format import Pattern
from ettlog.parse.launches import Mark, number
from ettlog.parse.template import COLUMNS, NULL
from ettlog.schema import EVENT, STEP, arrow_schema

Ints = NDArray[np.int64]
CARRIED = CLOCKS.index("carried")
UNDATED = CLOCKS.index("none")
FLUSH = 20_000
"""Events kept as Python rows before they become arrays."""

_ENDS = {kind.kind: bool(kind.end_state) for kind in KIND_BY_NAME.values()}
_OPENS = {kind.kind: kind.opens for kind in KIND_BY_NAME.values()}
_EVENT_FIELDS = tuple(
    column.name for column in EVENT if column.name not in ("line", "launch", "ts", "clock", "kind", "format", "pattern")
)
_WORDS = {column.name for column in (*EVENT, *STEP) if column.type == "word"}


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

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        """Start with nothing."""
        self.patterns = patterns
        self.events: list[Event] = []
        self._marks: list[Mark] = []
        self._evidence = Evidence(patterns)
        self._steps: list[Steps] = []
        self._undated: list[Undated] = []
        self._rows: list[pa.Table] = []
        self.waiting = False
        """Some undated line has no dated line behind it yet."""

    def add_events(self, events: Sequence[Event]) -> None:
        """Take the events of one block, sorted by line."""
        self.events.extend(events)
        for event in events:
            pattern = self.patterns[event.pattern]
            self._evidence.note(event.line, event.pattern, _OPENS[pattern.kind], event.values.get("target"))
            if _OPENS[pattern.kind] or _ENDS[pattern.kind]:
                writer = (pattern.format, pattern.name, event.values.get("rank"), event.values.get("node"))
                self._marks.append(Mark(event.line, _OPENS[pattern.kind], _ENDS[pattern.kind], writer))
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
        tiers = np.array([pattern.tier for pattern in self.patterns] or [1])[steps.pattern]
        # a bar of something else before the loop begins is no step that could end a launch
        sure = steps.line[tiers == tiers.min(initial=tiers.max(initial=1))]
        launches = np.array(number(self._marks, sure.tolist()), np.int64)
        step_launch = np.searchsorted(launches, steps.line, "right")
        kept = _lowest_tier(step_launch, tiers, len(launches))
        steps, step_launch = _chosen(steps, kept), step_launch[kept]
        totals = np.array([not TOTALS.isdisjoint(pattern.groups) for pattern in self.patterns] or [False])
        steps.values[2][:] = per_step(steps.values[0], step_launch, steps.values[2], totals[steps.pattern])
        undated = _all_undated(self._undated)
        for column in (undated.before, undated.behind):
            _settle(shift, nominal, column)
        steps, late = _carry_steps(steps, step_launch, undated)
        return self._event_table(launches, undated, late, shift, nominal), self._step_table(steps, step_launch)

    def _flush(self) -> None:
        if self.events or not self._rows:
            self._rows.append(_event_rows(self.events, self.patterns))
            self.events = []

    def _event_table(
        self, launches: Ints, undated: Undated, late: tuple[Ints, Ints, Ints], shift: int, nominal: bool
    ) -> pa.Table:
        rows = pa.concat_tables(self._rows).unify_dictionaries().combine_chunks()
        line = rows["line"].to_numpy()
        ts, clock = rows["ts"].to_numpy().copy(), rows["clock"].to_numpy().astype(np.int8)
        _settle(shift, nominal, ts, clock)
        _carry_events(line, ts, clock, undated, late)
        schema = arrow_schema("event")
        made = {
            "launch": pa.array(np.searchsorted(launches, line, "right"), pa.int32()),
            "ts": _nullable(ts, pa.int64()),
            "clock": _words(clock, CLOCKS),
        }
        return pa.table(
            [made.get(name, rows[name] if name in rows.column_names else None) for name in schema.names], schema=schema
        )

    def _step_table(self, steps: Steps, launch: Ints) -> pa.Table:
        schema = arrow_schema("step")
        formats, names = [one.format for one in self.patterns], [one.name for one in self.patterns]
        made = {
            "line": pa.array(steps.line),
            "launch": pa.array(launch, pa.int32()),
            "ts": _nullable(steps.ts, pa.int64()),
            "clock": _words(steps.clock, CLOCKS),
            "format": _words(steps.pattern, formats),
            "pattern": _words(steps.pattern, names),
        }
        for name, values in zip(COLUMNS, steps.values, strict=True):
            made[name] = _nullable(values, schema.field(name).type)
        return pa.table([made[name] for name in schema.names], schema=schema)


def _settle(shift: int, nominal: bool, ts: Ints, clock: NDArray[np.int8] | None = None) -> None:
    if shift:
        ts[:] = [moved(us, shift) for us in ts.tolist()]
    if nominal and clock is not None:
        clock[clock == INFERRED] = NOMINAL


def _chosen(steps: Steps, kept: NDArray[np.bool_]) -> Steps:
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


def _event_rows(events: Sequence[Event], patterns: Sequence[Pattern]) -> pa.Table:
    schema = arrow_schema("event")
    columns: dict[str, pa.Array] = {
        "line": pa.array([event.line for event in events], pa.int64()),
        "ts": pa.array([event.ts for event in events], pa.int64()),
        "clock": pa.array([event.clock for event in events], pa.int64()),
    }
    for name in ("kind", "format", "pattern"):
        key = "name" if name == "pattern" else name
        values = pa.array([getattr(patterns[event.pattern], key) for event in events], pa.string())
        columns[name] = values.dictionary_encode()
    for name in _EVENT_FIELDS:
        kind = schema.field(name).type
        values = pa.array([event.values.get(name) for event in events], pa.string() if name in _WORDS else kind)
        columns[name] = values.dictionary_encode() if name in _WORDS else values
    return pa.table(columns)


def _nullable(values: Ints, kind: pa.DataType) -> pa.Array:
    missing = values == NULL
    return pa.array(np.where(missing, 0, values), mask=missing).cast(kind)


def _words(codes: NDArray[np.int8] | NDArray[np.int16], words: Sequence[str]) -> pa.Array:
    """Return codes as dictionary words; the dictionary holds only the words in use, so equal tables have equal
    bytes."""
    used, which = np.unique(codes, return_inverse=True)
    names = [words[code] for code in used]
    distinct = sorted(set(names))
    position = np.array([distinct.index(name) for name in names] or [0])
    return pa.DictionaryArray.from_arrays(pa.array(position[which].astype(np.int32)), pa.array(distinct, pa.string()))
