"""Decompressors behind one small interface: several members, bounded output, torn tails told apart from whole ones."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from typing import IO, Any, Protocol, cast

from isal import isal_zlib

Read = Callable[[int], bytes]

CHUNK = 1 << 18
"""Packed bytes asked for at once."""

PIECE = 3 << 15
"""Unpacked bytes asked for at once from decompressors that return new bytes: few, so that they stay near."""

XZ_MEMORY = 1 << 28
WINDOW = 1 << 27
"""Largest zstd window, 128 MiB: what `zstd --ultra --long=27` makes."""


_DAMAGE: Any = (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error, isal_zlib.error)
"""What decompressors raise for bytes that are not what they should be."""


class Torn(Exception):  # noqa: N818 - a state of the bytes, not a failure of the program
    """The packed bytes end or break before their end; what came before is good."""

    def __init__(self, why: str) -> None:
        """Keep the reason as one sentence."""
        super().__init__(why)
        self.why = why


class Unpacker(Protocol):
    """What a packed source is read through."""

    def readinto(self, target: memoryview) -> int:
        """Fill `target` partly and return the number of bytes, 0 at a clean end; raises Torn."""
        ...


class Members:
    """Gzip, bzip2 or xz: one decompressor a member, made anew as long as another member follows."""

    def __init__(self, head: bytes, read: Read, magic: bytes, make: Callable[[], Any]) -> None:
        """Start with the bytes already read."""
        self._rest, self._read, self._magic, self._make = head, read, magic, make
        self._now: Any = make()

    def readinto(self, target: memoryview) -> int:
        """Fill `target` partly and return the number of bytes, 0 at a clean end; raises Torn."""
        while True:
            if self._now.eof and not self._next():
                return 0
            if not self._rest and self._now.needs_input:
                self._rest = self._read(CHUNK)
                if not self._rest:
                    raise Torn("the compressed data ends in the middle")
            out = self._step(min(len(target), PIECE))
            if out:
                target[: len(out)] = out
                return len(out)

    def _step(self, room: int) -> bytes:
        data, self._rest = self._rest, b""
        try:
            return bytes(self._now.decompress(data, room))
        except _DAMAGE as error:
            raise Torn(f"the compressed data is damaged ({error})") from error

    def _next(self) -> bool:
        self._rest = self._now.unused_data + self._rest
        while len(self._rest) < len(self._magic):
            more = self._read(CHUNK)
            if not more:
                break
            self._rest += more
        if not self._rest.startswith(self._magic):
            if self._rest.strip(b"\0"):
                raise Torn("bytes that are no compressed data follow the last member")
            return False
        self._now = self._make()
        return True


class _ZstdInput:
    """A file-like view of the packed bytes that walks the frames' blocks, so that a torn frame shows at the end."""

    def __init__(self, head: bytes, read: Read) -> None:
        self._head, self._read = head, read
        self._need, self._held, self._next = 4, b"", self._magic

    def read(self, size: int) -> bytes:
        data, self._head = (self._head, b"") if self._head else (b"", b"")
        data = data or self._read(max(size, 1))
        self._walk(data)
        return data

    @property
    def whole(self) -> bool:
        """Tell whether the bytes so far end at the end of a frame."""
        return self._next == self._magic and not self._held and self._need == 4

    def _walk(self, data: bytes) -> None:
        at = 0
        while at < len(data):
            if self._next == self._skip:
                taken = min(self._need, len(data) - at)
                self._need -= taken
                at += taken
                if not self._need:
                    self._after()
                continue
            taken = self._need - len(self._held)
            self._held += data[at : at + taken]
            at += taken
            if len(self._held) >= self._need:
                held, self._held = self._held, b""
                self._next(held)

    def _jump(self, size: int, after: Callable[[], None]) -> None:
        self._after, self._need, self._next = after, size, self._skip
        if not size:
            after()

    def _skip(self, held: bytes) -> None:
        """Mark the state in which bytes are passed over; never called."""

    def _start(self) -> None:
        self._need, self._next = 4, self._magic

    def _magic(self, held: bytes) -> None:
        if 0x50 <= held[0] <= 0x5F and held[1:4] == b"\x2a\x4d\x18":
            self._need, self._next = 4, self._skippable
        else:
            self._need, self._next = 1, self._descriptor

    def _skippable(self, held: bytes) -> None:
        self._jump(int.from_bytes(held, "little"), self._start)

    def _descriptor(self, held: bytes) -> None:
        flags = held[0]
        single = flags >> 5 & 1
        content = (1 if single else 0, 2, 4, 8)[flags >> 6]
        self._checksum = 4 if flags & 4 else 0
        self._jump((0 if single else 1) + (0, 1, 2, 4)[flags & 3] + content, self._block_start)

    def _block_start(self) -> None:
        self._need, self._next = 3, self._block

    def _block(self, held: bytes) -> None:
        word = int.from_bytes(held, "little")
        size = 1 if (word >> 1 & 3) == 1 else word >> 3
        self._jump(size, self._last if word & 1 else self._block_start)

    def _last(self) -> None:
        self._jump(self._checksum, self._start)


class Zstd:
    """Zstandard frames one after the other, output bounded by the caller's buffer."""

    def __init__(self, head: bytes, read: Read) -> None:
        """Start with the bytes already read."""
        import zstandard

        self._error: type[Exception] = zstandard.ZstdError
        self._input = _ZstdInput(head, read)
        self._stream = zstandard.ZstdDecompressor(max_window_size=WINDOW).stream_reader(
            cast("IO[bytes]", self._input), read_size=CHUNK, read_across_frames=True
        )

    def readinto(self, target: memoryview) -> int:
        """Fill `target` partly and return the number of bytes, 0 at a clean end; raises Torn."""
        try:
            got = int(self._stream.readinto1(target))
        except self._error as error:
            raise Torn(f"the compressed data is damaged ({error})") from error
        if not got and not self._input.whole:
            raise Torn("the compressed data ends in the middle")
        return got


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
    if head[:4] == b"\x28\xb5\x2f\xfd" or (head[1:4] == b"\x2a\x4d\x18" and 0x50 <= head[0] <= 0x5F):
        return Zstd(head, read)
    return None
