"""Keeps the facts of one source while it is read, and makes the tables of them at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ettlog.lifecycle import CLOCKS
from ettlog.parse.book import Book
from ettlog.parse.chunks import Chunks, Columns
from ettlog.parse.clock import NOMINAL_US
from ettlog.parse.clockwork import INFERRED, NOMINAL
from ettlog.parse.counting import Evidence
from ettlog.parse.event_rows import Event, EventRows
from ettlog.parse.event_table import EventTable
from ettlog.parse.launches import Mark
from ettlog.parse.passes import CLOCK, LINE, PATTERN, TARGET, TS, Clocks, Neighbours, chosen, launches_of, settled
from ettlog.parse.step_table import StepTable
from ettlog.parse.template import NULL
from ettlog.parse.twins import loose_twins

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Event", "Facts", "Steps", "Undated"]

Ints = NDArray[np.int64]
CARRIED = CLOCKS.index("carried")
UNDATED = CLOCKS.index("none")
FLUSH = 4096
"""Events kept as Python rows before they become arrays."""


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
        self._evidence = Evidence(book.needs)
        self._steps = Chunks()
        self._undated = Chunks()
        self._behind: list[tuple[int, int]] = []
        """Rows of `_undated` so far, and the first dated line behind those that had none."""
        self._rows = EventRows()
        self.waiting = False
        """Some undated line has no dated line behind it yet."""

    def add_events(self, events: Sequence[Event]) -> None:
        """Take the events of one block, sorted by line."""
        self.events.extend(events)
        opens = self.book.opens
        for event in events:
            self._evidence.note(event.line, event.pattern, opens[event.pattern], event.values.get("target"))
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

    def tables(self, shift: int = 0, nominal: bool = False) -> tuple[pa.Table | EventTable, pa.Table | StepTable]:
        """Return the event table and the step table; each in batches where it is too large for memory.

        Instants in the nominal year are moved by `shift` microseconds; with `nominal` they stay there and say so.
        """
        book, clocks = self.book, Clocks(CARRIED, UNDATED)
        self._flush()
        events = EventTable(book, self._rows, self._loose(), partial(_settle, shift, nominal), clocks)
        self._evidence.learn(self._steps.some((LINE, PATTERN, TARGET)))
        launches = launches_of(self._places(), self._marks(), self._marked(), book.tiers)
        near = Neighbours(self._neighbours(shift), events.undated())
        counted = self._counted(shift, nominal=nominal)
        steps = Chunks()
        seen = np.zeros(len(CLOCKS), bool)
        for chunk in settled(counted, launches, book.tiers, book.totals, near, clocks):
            seen[chunk[CLOCK]] = True
            steps.add(chunk)
        near.finish()
        events.finish(launches.begins, near.found)
        return events.table(), StepTable(book, steps, launches.patterns, seen).table()

    def _marks(self) -> Iterator[Mark]:
        """Yield the events that open or end a launch."""
        book = self.book
        for columns in self._rows.some("line", "index", "rank", "node"):
            at = np.flatnonzero(book.marks[columns[1]])
            rows = (column[at].tolist() for column in columns)
            for line, index, of_rank, of_node in zip(*rows, strict=True):
                pattern = book.patterns[index]
                who = (None if of_rank == NULL else of_rank, None if of_node < 0 else of_node)
                writer = (pattern.format, pattern.name, *who)
                yield Mark(line, book.opens[index], book.ends[index], writer)

    def _marked(self) -> Ints:
        """Return the lines of `_marks`."""
        found = [line[self.book.marks[index]] for line, index in self._rows.some("line", "index")]
        return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)

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

    def _loose(self) -> list[Event]:
        """Return dated lines about a step whose undated line is in another file: events, then."""
        twins = loose_twins(*self._steps.ends(), self.book.tiers) if self._steps.rows else ()
        return [Event(line, 0, ts, clock, pattern, {"step": step}) for line, ts, clock, pattern, step in twins]

    def _flush(self) -> None:
        self._rows.add(self.events)
        self.events = []


def _settle(shift: int, nominal: bool, ts: Ints, clock: NDArray[np.int8] | None = None) -> None:
    if shift:
        first, end = NOMINAL_US
        ts[(ts >= first) & (ts < end)] += shift
    if nominal and clock is not None:
        clock[clock == INFERRED] = NOMINAL
