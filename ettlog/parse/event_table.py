"""The event table of one source: in memory, or batch by batch where it is too large for that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ettlog.lifecycle import CLOCKS
from ettlog.parse import chunks, columns
from ettlog.parse.book import Book
from ettlog.parse.chunks import Columns
from ettlog.parse.event_rows import CLOCK, INDEX, LINE, NUMBERS, TEXT, TS, WORDS, Event, EventRows
from ettlog.parse.passes import Clocks
from ettlog.parse.template import NULL
from ettlog.schema import arrow_schema

Ints = NDArray[np.int64]
Settle = Callable[[Ints, NDArray[np.int8]], None]
"""Moves instants, in place, out of the nominal year, and lets their clocks say so."""


class EventTable:
    """Events as rows of the table `event`; every batch has the same dictionaries."""

    def __init__(self, book: Book, rows: EventRows, more: Sequence[Event], settle: Settle, clocks: Clocks) -> None:
        """Take all events, and a few more that belong between them; `clocks` are those of events without an instant."""
        self.schema = arrow_schema("event")
        self.num_rows = rows.rows + len(more)
        self._book, self._rows, self._more, self._settle = book, rows, more, settle
        self._undated = clocks
        self._begins = self._found = np.zeros(0, np.int64)
        self._patterns = np.zeros(len(book.patterns), bool)
        self._clocks = np.zeros(len(CLOCKS), bool)

    def undated(self) -> Ints:
        """Return the lines of the events without an instant, an entry an event."""
        lines = [np.zeros(0, np.int64)]
        for numbers, _ in self._rows.parts(self._more):
            dated = numbers[TS] != NULL
            lines.append(numbers[LINE][~dated])
            self._patterns[numbers[INDEX]] = True
            self._clocks[self._settled(numbers)[CLOCK][dated]] = True
        return np.concatenate(lines)

    def finish(self, begins: Ints, found: Ints) -> None:
        """Take the lines on which launches begin, and the instants of the events of `undated` (NULL)."""
        self._begins, self._found = begins, found
        self._clocks[self._undated.carried] |= bool((found != NULL).any())
        self._clocks[self._undated.undated] |= bool((found == NULL).any())

    def table(self) -> pa.Table | EventTable:
        """Return a table where all rows are in memory, else this."""
        if self.num_rows > chunks.KEPT_ROWS:
            return self
        if not self.num_rows:
            return columns.empty("event")
        return pa.Table.from_batches(list(self.batches()), self.schema).combine_chunks()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows in their order."""
        done = 0
        for numbers, texts in self._rows.parts(self._more):
            numbers = self._settled(numbers)
            missing = np.flatnonzero(numbers[TS] == NULL)
            found = self._found[done : done + len(missing)]
            done += len(missing)
            numbers[TS][missing] = found
            numbers[CLOCK][missing] = np.where(found == NULL, self._undated.undated, self._undated.carried)
            made = self._columns(numbers) | {TEXT: texts}
            yield pa.RecordBatch.from_arrays([made[name] for name in self.schema.names], schema=self.schema)

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return all rows, as a table does."""
        return [row for batch in self.batches() for row in batch.to_pylist()]

    def _settled(self, numbers: Columns) -> Columns:
        ts, clock = numbers[TS].copy(), numbers[CLOCK].copy()
        self._settle(ts, clock)
        return (numbers[LINE], ts, clock, *numbers[INDEX:])

    def _columns(self, numbers: Columns) -> dict[str, pa.Array]:
        found = dict(zip(NUMBERS, numbers, strict=True))
        index = found.pop("index")
        patterns, clocks = np.flatnonzero(self._patterns).tolist(), np.flatnonzero(self._clocks)
        made = {name: self._book.column(name, index, patterns) for name in ("kind", "format", "pattern")}
        made["clock"] = columns.words(found.pop("clock"), CLOCKS, clocks)
        for name in WORDS:
            known = self._rows.words(name)
            made[name] = columns.words(found.pop(name), known, np.arange(len(known)))
        found["launch"] = np.searchsorted(self._begins, found["line"], "right")
        return made | {name: columns.integers(values, self.schema.field(name).type) for name, values in found.items()}
