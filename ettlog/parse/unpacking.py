"""What decompressors share: bytes that were read ahead of what is used, and how damage is told."""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from isal import isal_zlib

if TYPE_CHECKING:
    from ettlog.parse.ahead import Ahead

Read = Callable[[int], bytes]

CHUNK = 1 << 18
"""Packed bytes asked for at once."""

DAMAGE: Any = (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error, isal_zlib.error)
"""What decompressors raise for bytes that are not what they should be."""


class Torn(Exception):  # noqa: N818 - a state of the bytes, not a failure of the program
    """The packed bytes end or break before their end; what came before is good."""

    def __init__(self, why: str) -> None:
        """Keep the reason as one sentence."""
        super().__init__(why)
        self.why = why


class Unpacker(Protocol):
    """What a packed source is read through; what comes out before damage does not hang on the size of the targets."""

    def readinto(self, target: memoryview) -> int:
        """Fill `target` partly and return the number of bytes, 0 at a clean end; raises Torn."""
        ...

    def spread(self, ahead: Ahead) -> None:
        """Unpack by threads from now on what can be unpacked apart from what stands before it."""
        ...


class Cursor:
    """A place in the stored bytes, and the bytes that were read behind it."""

    def __init__(self, head: bytes, read: Read) -> None:
        """Stand before the bytes already read."""
        self._data, self._at, self._read = head, 0, read

    def have(self, size: int) -> int:
        """Read as many bytes as make `size` at the place, and return how many there are: fewer only at the end."""
        while (lacks := size - len(self._data) + self._at) > 0:
            more = self._read(max(CHUNK, lacks))
            if not more:
                break
            self._data, self._at = self._data[self._at :] + more, 0
        return min(size, len(self._data) - self._at)

    def look(self, at: int, size: int) -> bytes:
        """Return `size` bytes that stand `at` bytes behind the place, or those that are there."""
        self.have(at + size)
        return self._data[self._at + at : self._at + at + size]

    def take(self, size: int) -> bytes:
        """Return `size` bytes, or those that are there, and stand behind them."""
        self.have(size)
        data = self._data[self._at : self._at + size]
        self._at += len(data)
        return data

    def back(self, data: bytes) -> None:
        """Put bytes that were taken, the last ones, before the place again."""
        if data and self._data[max(0, self._at - len(data)) : self._at] == data:
            self._at -= len(data)
        else:
            self._data, self._at = data + self._data[self._at :], 0
