"""Decompressors behind one small interface: several members, bounded output, torn tails told apart from whole ones."""

from __future__ import annotations

import bz2
import lzma
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ettlog.parse import bgzf
from ettlog.parse.unpacking import CHUNK, DAMAGE, Cursor, Read, Torn, Unpacker
from ettlog.parse.zstd import MAGIC as ZSTD
from ettlog.parse.zstd import Zstd

if TYPE_CHECKING:
    from ettlog.parse.ahead import Ahead

__all__ = ["Torn", "Unpacker", "opener"]

FEED = 1 << 16
"""Packed bytes given to a decompressor at once, counted from the begin of its member."""

PIECE = 3 << 15
"""Unpacked bytes asked for at once from decompressors that return new bytes: few, so that they stay near."""

XZ_MEMORY = 1 << 28


class Members:
    """Gzip, bzip2 or xz: one decompressor a member, made anew as long as another member follows."""

    def __init__(self, head: bytes, read: Read, magic: bytes, make: Callable[[], Any]) -> None:
        """Start with the bytes already read."""
        self._stored, self._magic, self._make = Cursor(head, read), magic, make
        self._now: Any = make()
        self._out = memoryview(b"")
        self._ahead: Ahead | None = None

    def spread(self, ahead: Ahead) -> None:
        """Unpack members that say their own size by threads, from the end of this one on."""
        if self._make is _gzip:
            self._ahead = ahead

    def readinto(self, target: memoryview) -> int:
        """Fill `target` partly and return the number of bytes, 0 at a clean end; raises Torn."""
        while not self._out:
            if self._now.eof:
                if self._ahead is not None:
                    got = self._apart(target, self._ahead)
                    if got:
                        return got
                if not self._next():
                    return 0
            self._out = memoryview(self._step())
        size = min(len(target), len(self._out))
        target[:size], self._out = self._out[:size], self._out[size:]
        return size

    def _apart(self, target: memoryview, ahead: Ahead) -> int:
        got = ahead.readinto(target, partial(bgzf.part, self._stored, _gzip))
        if not got and ahead.ended:
            self._stored.back(ahead.left())
            self._ahead = None
        return got

    def _step(self) -> bytes:
        """Return some bytes; as many are given and asked for whatever there is room for, and wherever the member
        stands, so that damage takes the same text with it."""
        data = self._stored.take(FEED) if self._now.needs_input else b""
        if not data and self._now.needs_input:
            raise Torn("the compressed data ends in the middle")
        try:
            out = bytes(self._now.decompress(data, PIECE))
        except DAMAGE as error:
            raise Torn(f"the compressed data is damaged ({error})") from error
        if self._now.eof:
            self._stored.back(self._now.unused_data)
        return out

    def _next(self) -> bool:
        """Begin with the member that follows; False at the end."""
        if self._stored.look(0, len(self._magic)) != self._magic:
            while rest := self._stored.take(CHUNK):
                if rest.strip(b"\0"):
                    raise Torn("bytes that are no compressed data follow the last member")
            return False
        self._now = self._make()
        return True


def _gzip() -> Any:
    from isal import igzip_lib

    return igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)


def _xz() -> Any:
    return lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=XZ_MEMORY)


_MEMBERS: tuple[tuple[bytes, Callable[[], Any]], ...] = (
    (b"\x1f\x8b\x08", _gzip),
    (b"BZh", bz2.BZ2Decompressor),
    (b"\xfd7zXZ\0", _xz),
)


def opener(head: bytes, read: Read) -> Unpacker | None:
    """Return the unpacker for what begins with `head`, or None for plain text; `read` gives the bytes that follow."""
    for magic, make in _MEMBERS:
        if head.startswith(magic) and (magic != b"BZh" or head[4:10] in (b"1AY&SY", b"\x17rE8P\x90")):
            return Members(head, read, magic, make)
    if head[:4] == ZSTD or (head[1:4] == b"\x2a\x4d\x18" and 0x50 <= head[0] <= 0x5F):
        return Zstd(head, read)
    return None
