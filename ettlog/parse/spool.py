"""Rows of one source that may be too many for memory: the first ones are kept, the others wait in a temporary file
that has no name, so that nothing is left behind however the process ends."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ettlog.scratch import scratch

if TYPE_CHECKING:
    import pyarrow as pa

KEPT_ROWS = 1 << 17
"""Rows kept in memory."""


class Spool:
    """A table that is written once, batch by batch, and read back in the same order."""

    def __init__(self, schema: pa.Schema) -> None:
        """Start without rows."""
        self.schema = schema
        self.num_rows = 0
        self._kept: list[pa.RecordBatch] = []
        self._file: Any = None
        self._writer: Any = None
        self._nulls: set[str] = set()

    def add(self, batch: pa.RecordBatch) -> None:
        """Take rows; OSError where the disk for temporary files is full."""
        if self.num_rows + batch.num_rows <= KEPT_ROWS and self._file is None:
            self._kept.append(batch)
        else:
            self._put(batch)
        self.num_rows += batch.num_rows

    def _put(self, batch: pa.RecordBatch) -> None:
        import pyarrow as pa

        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="ettlog-", dir=scratch())  # noqa: SIM115 - open as long as this
            # words have another dictionary in each batch: the file format cannot hold that, the stream can
            options = pa.ipc.IpcWriteOptions(compression="lz4", unify_dictionaries=False)
            self._writer = pa.ipc.new_stream(pa.PythonFile(self._file, "w"), self.schema, options=options)
        self._writer.write_batch(batch)

    def clear(self, column: str) -> None:
        """Let a column be null in all rows, also in those that were taken."""
        self._nulls.add(column)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows in the order in which they came; no more rows may follow."""
        import pyarrow as pa

        yield from map(self._cleared, self._kept)
        if self._file is not None:
            self._writer.close()
            self._file.seek(0)
            with pa.ipc.open_stream(pa.PythonFile(self._file, "r")) as stream:
                yield from map(self._cleared, stream)

    def _cleared(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        import pyarrow as pa

        for name in sorted(self._nulls):
            at = self.schema.get_field_index(name)
            batch = batch.set_column(at, self.schema.field(at), pa.nulls(batch.num_rows, self.schema.field(at).type))
        return batch

    def table(self) -> pa.Table | Spool:
        """Return the rows as a table where all are in memory, else this."""
        import pyarrow as pa

        if self._file is not None:
            return self
        return pa.Table.from_batches(list(self.batches()), self.schema).unify_dictionaries()
