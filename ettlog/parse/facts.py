"""Keeps the facts of one source while it is read, and makes the tables of them at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ettlog.lifecycle import CLOCKS
from ettlog.parse import columns
from ettlog.parse.book import Book
from ettlog.parse.chunks import Chunks, Columns
from ettlog.parse.clock import NOMINAL_US
from ettlog.parse.clockwork import INFERRED, NOMINAL
from ettlog.parse.counting import Evidence
from ettlog.parse.launches import Mark
from ettlog.parse.passes import CLOCK, LINE, PATTERN, TARGET, TS, Clocks, Neighbours, chosen, launches_of, settled
from ettlog.parse.step_table import StepTable
from ettlog.parse.template import NULL
from ettlog.parse.twins import loose_twins
from ettlog.schema import EVENT, arrow_schema

Ints = NDArray[np.int64]
CARRIED = CLOCKS.index("carried")
UNDATED = CLOCKS.index("none")
FLUSH = 20_000
"""Events kept as Python rows before they become arrays."""

_INTEGERS = tuple(
    column.name for column in EVENT
    if column.type.startswith("int") and column.name not in ("line", "launch", "ts")
)  # fmt: skip
_WORDS = tuple(
    column.name for column in EVENT
    if column.type == "word" and column.name not in ("clock", "kind", "format", "pattern")
)  # fmt: skip
_TEXTS = tuple(column.name for column in EVENT if column.type == "string")


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
        self._steps = Chunks()
        self._undated = Chunks()
        self._behind: list[tuple[int, int]] = []
        """Rows of `_undated` so far, and the first dated line behind those that had none."""
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
        self._steps.add((steps.line, steps.ts, steps.clock, steps.pattern, *steps.values))

    def add_undated(self, undated: Undated) -> None:
        """Take the neighbours of the undated lines of one block."""
        self._undated.add(undated)
        self.waiting = self.waiting or bool((undated.behind == NULL).any())

    def next_dated(self, us: int) -> None:
        """Give the lines that wait for it the first dated line behind them."""
        self._behind.append((self._undated.rows, us))
        self.waiting = False

    def tables(self, shift: int = 0, nominal: bool = False) -> tuple[pa.Table, pa.Table | StepTable]:
        """Return the event table and the step table; the latter in batches where it is too large for memory.

        Instants in the nominal year are moved by `shift` microseconds; with `nominal` they stay there and say so.
        """
        book = self.book
        events, texts = self._gathered()
        _settle(shift, nominal, events["ts"], events["clock"])
        missing = np.flatnonzero(events["ts"] == NULL)
        self._evidence.learn(self._steps.some((LINE, PATTERN, TARGET)))
        launches = launches_of(self._places(), self._marks, book.tiers)
        near = Neighbours(self._neighbours(shift), events["line"][missing])
        counted, clocks = self._counted(shift, nominal=nominal), Clocks(CARRIED, UNDATED)
        steps = Chunks()
        seen = np.zeros(len(CLOCKS), bool)
        for chunk in settled(counted, launches, book.tiers, book.totals, near, clocks):
            seen[chunk[CLOCK]] = True
            steps.add(chunk)
        near.finish()
        events["ts"][missing] = near.found
        events["clock"][missing] = np.where(near.found == NULL, UNDATED, CARRIED)
        events["launch"] = np.searchsorted(launches.begins, events["line"], "right")
        return self._event_table(events, texts), StepTable(book, steps, launches.patterns, seen).table()

    def _places(self) -> Iterator[tuple[Ints, Ints]]:
        """Yield lines and patterns of the steps that count."""
        for line, pattern, target in self._steps.some((LINE, PATTERN, TARGET)):
            kept = self._evidence.counted(line, pattern, target)
            if kept.any():
                yield line[kept], pattern[kept]

    def _counted(self, shift: int, *, nominal: bool) -> Iterator[Columns]:
        """Yield the steps that count."""
        for chunk in self._steps:
            kept = chosen(chunk, self._evidence.counted(chunk[LINE], chunk[PATTERN], chunk[TARGET]))
            if len(kept[LINE]):
                _settle(shift, nominal, kept[TS], kept[CLOCK])
                yield kept

    def _neighbours(self, shift: int) -> Iterator[Columns]:
        """Yield line, place, before and behind of the undated lines, as far as a dated line stands there."""
        done = 0
        ends = np.array([rows for rows, _ in self._behind], np.int64)
        instants = np.array([us for _, us in self._behind] + [NULL], np.int64)
        for line, place, before, behind in self._undated:
            later = instants[np.searchsorted(ends, np.arange(done, done + len(line)), "right")]
            behind = np.where(behind == NULL, later, behind)
            done += len(line)
            for column in (before, behind):
                _settle(shift, False, column)
            yield line, place, before, behind

    def _gathered(self) -> _Rows:
        """Return all events in line order: those taken, and dated lines whose undated step is in another file."""
        self._flush()
        twins = list(loose_twins(*self._steps.ends(), self.book.tiers)) if self._steps.rows else []
        if not twins:
            return _one(self._rows)
        more = [Event(line, 0, ts, clock, pattern, {"step": step}) for line, ts, clock, pattern, step in twins]
        rows = _one([*self._rows, self._taken(more)])
        order = np.argsort(rows.numbers["line"], kind="stable")
        place = columns.integers(order, pa.int64())
        return _Rows(
            {name: column[order] for name, column in rows.numbers.items()},
            {name: column.take(place) for name, column in rows.texts.items()},
        )

    def _flush(self) -> None:
        if self.events or not self._rows:
            self._rows.append(self._taken(self.events))
            self.events = []

    def _taken(self, events: Sequence[Event]) -> _Rows:
        rows, size = _by_field(events), len(events)
        absent, none = np.full(size, NULL), np.full(size, -1)
        found = {name: columns.placed(*rows[name], size) if name in rows else absent for name in _INTEGERS}
        for name in _WORDS:
            found[name] = none
            if name in rows:
                at, values = rows[name]
                found[name] = none.copy()
                found[name][at] = self._words[name].codes(map(_text, values))
        found["line"] = np.array([event.line for event in events], np.int64)
        found["ts"] = np.array([event.ts for event in events], np.int64)
        found["clock"] = np.array([event.clock for event in events], np.int8)
        found["index"] = np.array([event.pattern for event in events], np.int64)
        texts: dict[str, list[str | None]] = {name: [None] * size for name in _TEXTS}
        for name in rows.keys() & texts.keys():
            for number, value in zip(*rows[name], strict=True):
                texts[name][number] = _text(value)
        return _Rows(found, {name: columns.texts(texts[name]) for name in _TEXTS})

    def _event_table(self, rows: dict[str, NDArray[Any]], texts: dict[str, pa.Array]) -> pa.Table:
        schema = arrow_schema("event")
        if not len(rows["line"]):
            return columns.empty("event")
        made = {name: self.book.column(name, rows["index"]) for name in ("kind", "format", "pattern")}
        made |= {name: columns.words(rows[name], self._words[name].words) for name in _WORDS}
        made |= texts
        made["clock"] = columns.words(rows["clock"], CLOCKS)
        for name in schema.names:
            if name not in made:
                made[name] = columns.integers(rows[name], schema.field(name).type)
        return pa.table([made[name] for name in schema.names], schema=schema)


def _by_field(events: Sequence[Event]) -> dict[str, tuple[list[int], list[int | str]]]:
    """Return which events have a field, and its values: most events have one or two of them."""
    rows: dict[str, tuple[list[int], list[int | str]]] = {}
    for number, event in enumerate(events):
        for name, value in event.values.items():
            if name not in rows:
                rows[name] = ([], [])
            at, values = rows[name]
            at.append(number)
            values.append(value)
    return rows


class _Rows(NamedTuple):
    """Events as arrays: whole numbers (NULL), words by number (-1), and texts."""

    numbers: dict[str, NDArray[Any]]
    texts: dict[str, pa.Array]


def _one(parts: Sequence[_Rows]) -> _Rows:
    """Return events as one, one part behind the other."""
    return _Rows(
        {name: np.concatenate([one.numbers[name] for one in parts]) for name in parts[0].numbers},
        {name: pa.concat_arrays([one.texts[name] for one in parts]) for name in _TEXTS},
    )


def _text(value: int | str | None) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)


def _settle(shift: int, nominal: bool, ts: Ints, clock: NDArray[np.int8] | None = None) -> None:
    if shift:
        first, end = NOMINAL_US
        ts[(ts >= first) & (ts < end)] += shift
    if nominal and clock is not None:
        clock[clock == INFERRED] = NOMINAL
