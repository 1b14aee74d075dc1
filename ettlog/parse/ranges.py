"""Cuts a plain source into ranges of whole blocks: where one reader's blocks begin, ranges may."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

_PEEK = 1 << 12
"""Bytes looked at for a newline in one call."""


class Range(NamedTuple):
    """Bytes of a source from `begin` to `end`; the block before it begins at `before`."""

    number: int
    before: int
    begin: int
    end: int


class Bytes:
    """Some bytes of an open file, read without moving its place: several processes share the descriptor."""

    def __init__(self, handle: int, begin: int, end: int) -> None:
        """Stand at `begin`; nothing is read yet."""
        self._handle, self._at, self._end = handle, begin, end
        self._crc = 0

    @property
    def crc(self) -> int | None:
        """Return the CRC-32 of all bytes; None where not all were read, or some are not there any more."""
        return self._crc if self._at == self._end else None

    def readinto(self, target: memoryview) -> int:
        """Fill `target` as far as the bytes go and return the number; 0 only at the end."""
        from isal import isal_zlib

        filled, want = 0, min(len(target), self._end - self._at)
        while filled < want:
            got = os.preadv(self._handle, [target[filled:want]], self._at + filled)
            if not got:
                break
            filled += got
        self._at += filled
        self._crc = isal_zlib.crc32(target[:filled], self._crc)
        return filled


def ranges(handle: int, size: int, block: int, count: int) -> list[Range]:
    """Return the ranges of the first `size` bytes of an open file that is read in blocks, about `count` blocks each."""
    borders = list(_borders(handle, size, block))
    found = []
    for number, index in enumerate(range(0, len(borders), count)):
        end = borders[index + count] if index + count < len(borders) else size
        found.append(Range(number, borders[max(0, index - 1)], borders[index], end))
    return found


def _borders(handle: int, size: int, block: int) -> Iterator[int]:
    """Yield where blocks of whole lines begin, as `cut.blocks` cuts them; those behind a line longer than a block, of
    which only the beginning is kept, are one with it."""
    at = 0
    while at < size:
        yield at
        end = at + block
        while end < size and (newline := _last_newline(handle, max(at, end - block), end)) < 0:
            end += block
        if end >= size:  # whoever reads these bytes cuts them
            return
        at = newline + 1


def _last_newline(handle: int, low: int, high: int) -> int:
    """Return where the last newline between two places stands, or -1."""
    while high > low:
        begin = max(low, high - _PEEK)
        found = os.pread(handle, high - begin, begin).rfind(b"\n")
        if found >= 0:
            return begin + found
        high = begin
    return -1
