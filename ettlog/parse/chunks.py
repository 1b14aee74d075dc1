"""Rows of whole numbers that may be too many for memory: the first ones are kept, the others wait, packed, in a
temporary file that has no name, so that nothing is left behind however the process ends."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

KEPT_ROWS = 1 << 17
"""Rows kept in memory."""
CODEC = "lz4"

Columns = tuple[NDArray[Any], ...]


class _Packed(NamedTuple):
    """Where a chunk lies in the file: its rows, and for each column its type and length there."""

    at: int
    rows: int
    columns: tuple[tuple[np.dtype[Any], int], ...]


class Chunks:
    """Columns of whole numbers, taken chunk by chunk; read in the same order, as often as one likes."""

    def __init__(self) -> None:
        """Start without rows."""
        self.rows = 0
        self._kept: list[Columns] = []
        self._packed: list[_Packed] = []
        self._file: Any = None
        self._size = 0

    def add(self, columns: Columns) -> None:
        """Take a chunk, columns of one length each; raise OSError where the disk for temporary files is full."""
        rows = len(columns[0])
        if not rows:
            return
        if self._file is None and self.rows + rows <= KEPT_ROWS:
            self._kept.append(columns)
        else:
            self._put(columns, rows)
        self.rows += rows

    def _put(self, columns: Columns, rows: int) -> None:
        import pyarrow as pa

        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="ettlog-")  # noqa: SIM115 - open as long as this
        parts = [pa.compress(np.ascontiguousarray(column), CODEC, asbytes=True) for column in columns]
        self._file.seek(self._size)
        self._file.writelines(parts)
        told = tuple((column.dtype, len(part)) for column, part in zip(columns, parts, strict=True))
        self._packed.append(_Packed(self._size, rows, told))
        self._size += sum(map(len, parts))

    def __iter__(self) -> Iterator[Columns]:
        """Yield all rows: those in memory as one chunk, then the others as they came."""
        if self._kept:
            self._kept = [_joined(self._kept)]
            yield self._kept[0]
        for packed in self._packed:
            yield self._read(packed)

    def _read(self, packed: _Packed) -> Columns:
        import pyarrow as pa

        self._file.seek(packed.at)
        found = []
        for kind, size in packed.columns:
            data = pa.decompress(self._file.read(size), packed.rows * kind.itemsize, CODEC)
            found.append(np.frombuffer(data, kind).copy())
        return tuple(found)


def _joined(chunks: Sequence[Columns]) -> Columns:
    if len(chunks) == 1:
        return chunks[0]
    return tuple(np.concatenate([chunk[index] for chunk in chunks]) for index in range(len(chunks[0])))
