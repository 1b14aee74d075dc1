"""Rows of whole numbers that may be too many for memory: the first ones are kept, the others wait, packed, in a
temporary file that has no name, so that nothing is left behind however the process ends."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ettlog.scratch import scratch

KEPT_ROWS = 1 << 17
"""Rows kept in memory."""

Columns = tuple[NDArray[Any], ...]


class _Packed(NamedTuple):
    """A column in the file: its type, what is added to each number, and the type there; without one all are alike."""

    kind: np.dtype[Any]
    base: int
    stored: np.dtype[Any] | None
    at: int


class Chunks:
    """Columns of whole numbers, taken chunk by chunk; read in the same order, as often as one likes."""

    def __init__(self) -> None:
        """Start without rows."""
        self.rows = 0
        self._kept: list[Columns] = []
        self._packed: list[tuple[int, list[_Packed]]] = []
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
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="ettlog-", dir=scratch())  # noqa: SIM115 - open as long as this
        self._file.seek(self._size)
        told = []
        for column in columns:
            base, high = int(column.min()), int(column.max())
            stored = _stored(column.dtype, high - base)
            told.append(_Packed(column.dtype, base, stored, self._size))
            if stored is not None:
                data = column if stored == column.dtype else (column - base).astype(stored)
                self._size += self._file.write(np.ascontiguousarray(data).data)
        self._packed.append((rows, told))

    def __iter__(self) -> Iterator[Columns]:
        """Yield all rows: those in memory as one chunk, then the others as they came."""
        return self.some(None)

    def ends(self) -> tuple[Columns, Columns]:
        """Return the first and the last chunk, of which there must be one."""
        self._kept = [_joined(self._kept)] if self._kept else []
        packed = [*([] if self._kept else self._packed[:1]), *self._packed[-1:]]
        found = [*self._kept, *(tuple(self._read(one, rows) for one in told) for rows, told in packed)]
        return found[0], found[-1]

    def some(self, which: Sequence[int] | None) -> Iterator[Columns]:
        """Yield some columns of all rows, by their numbers; None stands for all columns."""
        if self._kept:
            self._kept = [_joined(self._kept)]
            yield _those(self._kept[0], which)
        for rows, packed in self._packed:
            yield tuple(self._read(one, rows) for one in _those(packed, which))

    def _read(self, packed: _Packed, rows: int) -> NDArray[Any]:
        if packed.stored is None:
            return np.full(rows, packed.base, packed.kind)
        self._file.seek(packed.at)
        data = np.frombuffer(bytearray(self._file.read(rows * packed.stored.itemsize)), packed.stored)
        return data if packed.stored == packed.kind else data.astype(packed.kind) + packed.kind.type(packed.base)


def _stored(kind: np.dtype[Any], span: int) -> np.dtype[Any] | None:
    """Return the narrowest type that holds what is above the least number; none where there is nothing."""
    if not span:
        return None
    narrow = next((np.dtype(one) for one in (np.uint8, np.uint16, np.uint32) if span <= np.iinfo(one).max), kind)
    return narrow if narrow.itemsize < kind.itemsize else kind


def _those(columns: Sequence[Any], which: Sequence[int] | None) -> tuple[Any, ...]:
    return tuple(columns) if which is None else tuple(columns[index] for index in which)


def _joined(chunks: Sequence[Columns]) -> Columns:
    if len(chunks) == 1:
        return chunks[0]
    return tuple(np.concatenate([chunk[index] for chunk in chunks]) for index in range(len(chunks[0])))
