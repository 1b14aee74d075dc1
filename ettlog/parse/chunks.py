"""Rows of whole numbers that may be too many for memory: few are kept there, many wait, packed, in a temporary file
that has no name, so that nothing is left behind however the process ends."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ettlog.parse.template import NULL
from ettlog.scratch import scratch

KEPT_ROWS = 1 << 16
"""Rows kept in memory, where there are no more."""

PART_ROWS = 1 << 15
"""Rows that lie in the file together: what is known of a part takes memory, too."""

Columns = tuple[NDArray[Any], ...]


class Narrow(NamedTuple):
    """A column of whole numbers in few bytes: its type, what is added to each number, and the rest; all numbers are
    alike where nothing is left."""

    kind: np.dtype[Any]
    base: int
    rest: NDArray[Any] | None
    gaps: bool = False
    """Where the rest is 0, there is no number (NULL)."""


class _Packed(NamedTuple):
    """A column in the file: what `Narrow` says of it, the type of the rest, if any, and its place."""

    kind: np.dtype[Any]
    base: int
    gaps: bool
    stored: np.dtype[Any] | None
    at: int


def narrow(column: NDArray[Any]) -> Narrow:
    """Return a column of at least one number in the narrowest type that holds what is above the least one."""
    base, high = int(column.min()), int(column.max())
    gaps = base == NULL < high
    if gaps:
        present = column != NULL
        base = int(column.min(where=present, initial=high)) - 1
    stored = _stored(column.dtype, high - base)
    if stored is None:
        return Narrow(column.dtype, base, None)
    if stored == column.dtype:
        return Narrow(column.dtype, base, column)
    rest = np.where(present, column - base, 0) if gaps else column - base
    return Narrow(column.dtype, base, rest.astype(stored), gaps)


def widened(column: Narrow, rows: int) -> NDArray[Any]:
    """Return the numbers of a narrow column of so many rows."""
    kind, base, rest, gaps = column
    if rest is None:
        return np.full(rows, base, kind)
    if rest.dtype == kind:
        return rest
    found: NDArray[Any] = rest.astype(kind) + kind.type(base)
    if gaps:
        found[rest == 0] = NULL
    return found


class Chunks:
    """Columns of whole numbers, taken chunk by chunk; read in the same order, as often as one likes."""

    def __init__(self) -> None:
        """Start without rows."""
        self.rows = 0
        self._kept: list[Columns] = []
        """The last rows, behind those in the file."""
        self._waiting = 0
        self._packed: list[tuple[int, list[_Packed]]] = []
        self._file: Any = None
        self._size = 0

    def add(self, columns: Columns) -> None:
        """Take a chunk, columns of one length each; raise OSError where the disk for temporary files is full."""
        rows = len(columns[0])
        if not rows:
            return
        self._kept.append(columns)
        self._waiting += rows
        self.rows += rows
        if self.rows > KEPT_ROWS and self._waiting >= min(PART_ROWS, KEPT_ROWS):
            self._spill()

    def _spill(self) -> None:
        """Put rows into the file, but for the last ones where they are few."""
        part, rows = list[Columns](), 0
        for one in self._kept:
            part.append(one)
            rows += len(one[0])
            if rows >= min(PART_ROWS, KEPT_ROWS):
                self._put(_joined(part), rows)
                part, rows = [], 0
        self._kept, self._waiting = part, rows

    def _put(self, columns: Columns, rows: int) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="ettlog-", dir=scratch())  # noqa: SIM115 - open as long as this
        self._file.seek(self._size)
        told = []
        for kind, base, rest, gaps in map(narrow, columns):
            told.append(_Packed(kind, base, gaps, None if rest is None else rest.dtype, self._size))
            if rest is not None:
                self._size += self._file.write(np.ascontiguousarray(rest).data)
        self._packed.append((rows, told))

    def __iter__(self) -> Iterator[Columns]:
        """Yield all rows: those in the file part by part, then those in memory as one chunk."""
        return self.some(None)

    def ends(self) -> tuple[Columns, Columns]:
        """Return the first and the last chunk, of which there must be one."""
        told = self._packed[:1] + self._packed[-1:]
        found = [tuple(self._read(one, rows) for one in packed) for rows, packed in told]
        if self._kept:
            found.append(_joined(self._kept))
        return found[0], found[-1]

    def some(self, which: Sequence[int] | None) -> Iterator[Columns]:
        """Yield some columns of all rows, by their numbers; None stands for all columns."""
        for rows, packed in self._packed:
            yield tuple(self._read(one, rows) for one in _those(packed, which))
        if self._kept:
            self._kept = [_joined(self._kept)]
            yield _those(self._kept[0], which)

    def _read(self, packed: _Packed, rows: int) -> NDArray[Any]:
        rest = None
        if packed.stored is not None:
            self._file.seek(packed.at)
            rest = np.frombuffer(bytearray(self._file.read(rows * packed.stored.itemsize)), packed.stored)
        return widened(Narrow(packed.kind, packed.base, rest, packed.gaps), rows)


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
