"""The text of a packed source in ranges, unpacked into memory that several processes share."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import NamedTuple

from ettlog.parse.ahead import Ahead
from ettlog.parse.blocks import Reader
from ettlog.parse.ranges import Range


class LongLineError(Exception):
    """A line is longer than a block: its range could be of any length."""


class Memory:
    """Some bytes of shared memory, read as a source is."""

    crc = None
    """Nothing but this program can change them."""

    def __init__(self, shared: mmap.mmap, begin: int, end: int) -> None:
        """Stand at `begin`; nothing is read yet."""
        self._shared, self._at, self._end = shared, begin, end

    def readinto(self, target: memoryview) -> int:
        """Fill `target` as far as the bytes go and return the number; 0 only at the end."""
        size = min(len(target), self._end - self._at)
        with memoryview(self._shared) as view:
            target[:size] = view[self._at : self._at + size]
        self._at += size
        return size


class Room(NamedTuple):
    """What a source may take while it is unpacked."""

    slots: int
    """Places for ranges in the memory."""
    threads: int
    """Threads that unpack what can be unpacked apart, from the second range on."""


class Unpacked:
    """Unpacks a source range by range; places of a range are those in the memory."""

    def __init__(self, reader: Reader, block: int, count: int, room: Room) -> None:
        """Take places for ranges of `count` blocks, and one for the first block of the source."""
        self._reader, self._block, self._count, self._slots = reader, block, count, room.slots
        self._ahead = Ahead(room.threads) if room.threads else None
        self._shared = mmap.mmap(-1, block * (1 + room.slots * (count + 1)))
        self.size = 0
        """Bytes of the first block, which stays at the begin of the memory; known with the first range."""

    def open(self, begin: int, end: int) -> Memory:
        """Return some bytes of the memory."""
        return Memory(self._shared, begin, end)

    def close(self) -> None:
        """End all threads."""
        if self._ahead is not None:
            self._ahead.close()

    def ranges(self) -> Iterator[Range]:
        """Yield the ranges, as many of the last ones as there are places being there; raise LongLineError."""
        rest, last, number, more = b"", b"", 0, True
        with memoryview(self._shared) as view:
            while more:
                begin = self._block * (2 + number % self._slots * (self._count + 1))
                full = begin + self._count * self._block
                view[begin : begin + len(rest)] = rest
                filled = begin + len(rest)
                filled += self._reader.readinto(view[filled:full])
                more = filled == full
                before, end = self._cut(begin, filled) if more else (begin, filled)
                rest = bytes(view[end:filled])
                view[begin - len(last) : begin] = last
                if not number:
                    self.size = min(self._block, filled - begin)
                    view[: self.size] = view[begin : begin + self.size]
                if end > begin:
                    yield Range(number, begin - len(last), begin, end)
                last, number = bytes(view[before:end]), number + 1
                if number == 1 and self._ahead is not None:  # whoever reads was forked
                    self._reader.spread(self._ahead)

    def _cut(self, at: int, end: int) -> tuple[int, int]:
        """Return where the last block begins and ends that is cut as `cut.blocks` does, whatever follows."""
        before = at
        while at + self._block <= end:
            newline = self._shared.rfind(b"\n", at, at + self._block)
            if newline < 0:
                raise LongLineError
            before, at = at, newline + 1
        return before, at
