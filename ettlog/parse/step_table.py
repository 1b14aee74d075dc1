"""The step table of one source: in memory, or batch by batch where it is too large for that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ettlog.lifecycle import CLOCKS
from ettlog.parse import columns
from ettlog.parse.book import Book
from ettlog.parse.chunks import KEPT_ROWS, Chunks, Columns
from ettlog.parse.passes import CLOCK, LINE, PATTERN, STEP, TS
from ettlog.parse.template import COLUMNS
from ettlog.schema import arrow_schema


class StepTable:
    """Settled steps as rows of the table `step`; every batch has the same dictionaries."""

    def __init__(self, book: Book, steps: Chunks, patterns: frozenset[int], clocks: NDArray[np.bool_]) -> None:
        """Take the chunks of `passes.settled`, the patterns in them, and which clocks are."""
        self.schema = arrow_schema("step")
        self.num_rows = steps.rows
        self._book, self._steps, self._patterns = book, steps, patterns
        self._clocks = np.flatnonzero(clocks)

    def table(self) -> pa.Table | StepTable:
        """Return a table where all rows are in memory, else this."""
        if self.num_rows > KEPT_ROWS:
            return self
        if not self.num_rows:
            return columns.empty("step")
        return pa.Table.from_batches(list(self.batches()), self.schema).combine_chunks()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows in their order."""
        for chunk in self._steps:
            made = self._columns(chunk)
            yield pa.RecordBatch.from_arrays([made[name] for name in self.schema.names], schema=self.schema)

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return all rows, as a table does."""
        return [row for batch in self.batches() for row in batch.to_pylist()]

    def _columns(self, chunk: Columns) -> dict[str, pa.Array]:
        book = self._book
        made = {name: book.column(name, chunk[PATTERN], self._patterns) for name in ("format", "pattern")}
        made["clock"] = columns.words(chunk[CLOCK], CLOCKS, self._clocks)
        numbers = dict(zip(COLUMNS, chunk[STEP:-1], strict=True))
        numbers |= {"line": chunk[LINE], "launch": chunk[-1], "ts": chunk[TS]}
        return made | {name: columns.integers(values, self.schema.field(name).type) for name, values in numbers.items()}
