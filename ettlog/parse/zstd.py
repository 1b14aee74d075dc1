"""Zstandard frames: where they and their blocks end, by their headers; unpacked one after the other or apart."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

from ettlog.parse import ahead as limits
from ettlog.parse.ahead import Ahead, Part
from ettlog.parse.unpacking import CHUNK, Cursor, Read, Torn

if TYPE_CHECKING:
    import zstandard

WINDOW = 1 << 27
"""Largest zstd window, 128 MiB: what `zstd --ultra --long=27` makes."""

MAGIC = b"\x28\xb5\x2f\xfd"
BLOCK = 1 << 17
"""Text of one block at most, and text asked for at once."""
UNIT = 1 << 11
"""Packed bytes up to which small blocks are fed together."""


class _Header(NamedTuple):
    size: int
    window: int
    content: int
    """Text of the frame; less than 0 where it is not said."""
    checksum: int


class _Span(NamedTuple):
    """A whole frame that is unpacked apart."""

    stored: int
    text: int
    """Bytes of its text at most."""
    fed: int
    """Bytes to feed first, then the rest; none of a frame without text. One reader feeds frames of several blocks block
    by block: seen as a whole they would be unpacked in another way, which may find other frames damaged."""


class Frames(Cursor):
    """Stored bytes that know where frames and blocks end."""

    def __init__(self, head: bytes, read: Read) -> None:
        """Stand before the first frame."""
        super().__init__(head, read)
        self.border = True
        """The place is where a frame ends, or at the begin."""
        self._checksum = 0
        self._cut = False

    def unit(self) -> bytes:
        """Return the next bytes of a frame of text, whole blocks unless the source ends in one, and pass them; nothing
        at the end. The units of a frame are the same wherever it stands."""
        if self._cut:
            return self._rest()
        self._pass()
        size = 0
        if self.border:
            header = self._header(0)
            if header is None:
                return self._rest()
            size, self._checksum, self.border = header.size, header.checksum, False
        first = True
        while True:
            word = self.look(size, 3)
            end = size + 3 + _stored(word) + (self._checksum if _last(word) else 0)
            if not first and end > UNIT:
                break
            if len(word) < 3 or self.have(end) < end:
                return self.take(size) if not first else self._rest()
            size, first = end, False
            if _last(word):
                self.border = True
                break
        return self.take(size)

    def _pass(self) -> None:
        """Pass frames that hold no text."""
        while self.border and _skippable(head := self.look(0, 8)):
            left = 8 + int.from_bytes(head[4:], "little")
            while left and (data := self.take(min(left, CHUNK))):
                left -= len(data)
            self.border = not left

    def _rest(self) -> bytes:
        """Return what is there of a frame that is cut."""
        data = self.take(CHUNK)
        self._cut = True
        self.border = self.border and not data
        return data

    def _header(self, at: int) -> _Header | None:
        """Return the header of a frame that begins `at` bytes behind the place; None where it is cut."""
        head = self.look(at, 18)
        if len(head) < 5:
            return None
        flags = head[4]
        single = flags >> 5 & 1
        window, place = 0, 5
        if not single:
            window, place = _window(head[5:6]), 6
        place += (0, 1, 2, 4)[flags & 3]
        length = (1 if single else 0, 2, 4, 8)[flags >> 6]
        if len(head) < place + length:
            return None
        content = -1
        if length:
            content = int.from_bytes(head[place : place + length], "little") + (256 if length == 2 else 0)
        return _Header(place + length, content if single else window, content, 4 if flags & 4 else 0)

    def part(self) -> Part | None:
        """Return the next frames, as far as they are small, and pass them; None where the next one is not, or there is
        none."""
        self._pass()
        size, room, frames = 0, 0, list[_Span]()
        while self.border and room < limits.GROUP and size < limits.PART_STORED:
            found = self._measured(size)
            if found is None:
                break
            if room and room + found.text > limits.GROUP:
                break
            frames.append(found)
            size, room = size + found.stored, room + found.text
        return Part(self.take(size), room, partial(_unpack, frames)) if frames else None

    def _measured(self, at: int) -> _Span | None:
        """Return the whole frame that begins `at` bytes behind the place; None where there is none, or it is large."""
        head = self.look(at, 8)
        if _skippable(head):
            size = 8 + int.from_bytes(head[4:], "little")
            return _Span(size, 0, 0) if size <= limits.PART_STORED and self.have(at + size) == at + size else None
        header = self._header(at) if head.startswith(MAGIC) else None
        if header is None or header.window > WINDOW or header.content > limits.PART_TEXT:
            return None
        size, text, blocks = header.size, 0, 0
        while True:
            word = self.look(at + size, 3)
            if len(word) < 3:
                return None
            size, blocks = size + 3 + _stored(word), blocks + 1
            text += min(BLOCK, int.from_bytes(word, "little") >> 3) if word[0] >> 1 & 3 < 2 else BLOCK
            if size > limits.PART_STORED or (header.content < 0 and text > limits.PART_TEXT):
                return None
            if _last(word):
                break
        size += header.checksum
        fed = size if (blocks == 1 or size <= UNIT) and header.content <= BLOCK else size - 1
        text = text if header.content < 0 else min(text, header.content)
        return _Span(size, text, fed) if self.have(at + size) == at + size else None


def _skippable(head: bytes) -> bool:
    return len(head) == 8 and head[1:4] == b"\x2a\x4d\x18" and 0x50 <= head[0] <= 0x5F


def _window(descriptor: bytes) -> int:
    if not descriptor:
        return 0
    base = 1 << 10 + (descriptor[0] >> 3)
    return base + base // 8 * (descriptor[0] & 7)


def _last(word: bytes) -> int:
    return word[0] & 1 if word else 0


def _stored(word: bytes) -> int:
    """Return the bytes of a block behind its first three."""
    number = int.from_bytes(word, "little")
    return 1 if number >> 1 & 3 == 1 else number >> 3


def _unpack(frames: list[_Span], stored: bytes, room: memoryview) -> int:
    """Unpack some whole frames."""
    import zstandard

    begin = filled = 0
    for one in frames:
        end = begin + one.stored
        if one.fed:
            given = _Given(iter((stored[begin : begin + one.fed], stored[begin + one.fed : end])))
            try:
                filled += int(_stream(given).readinto(room[filled:]))
            except zstandard.ZstdError:
                return -1
        begin = end
    return filled


def _stream(source: object) -> zstandard.ZstdDecompressionReader:
    """Return what unpacks one frame. It is made anew for each: what it takes a damaged frame for hangs on the buffers
    that it has from frames before."""
    import zstandard

    tool = zstandard.ZstdDecompressor(max_window_size=WINDOW)
    return tool.stream_reader(cast("IO[bytes]", source), read_size=CHUNK, read_across_frames=True)


class _Given:
    """An iterator of bytes as a file."""

    def __init__(self, data: Iterator[bytes]) -> None:
        self._data = data

    def read(self, _size: int) -> bytes:
        return next(self._data, b"")


class _Feed:
    """The units of one frame as a file."""

    def __init__(self, frames: Frames) -> None:
        self._frames, self._fed = frames, False

    def read(self, _size: int) -> bytes:
        if self._fed and self._frames.border:
            return b""
        self._fed = True
        return self._frames.unit()


class Zstd:
    """Zstandard frames one after the other, output bounded by the caller's buffer."""

    def __init__(self, head: bytes, read: Read) -> None:
        """Start with the bytes already read."""
        import zstandard

        self._error: type[Exception] = zstandard.ZstdError
        self._frames = Frames(head, read)
        self._ahead: Ahead | None = None
        self._own, self._out = memoryview(bytearray(BLOCK)), memoryview(b"")
        self._stream: Any = None

    def spread(self, ahead: Ahead) -> None:
        """Unpack by threads from the end of this frame on what is small enough."""
        self._ahead = ahead

    def readinto(self, target: memoryview) -> int:
        """Fill `target` partly and return the number of bytes, 0 at a clean end; raises Torn."""
        while True:
            if self._stream is not None:
                got = self._piece(target)
                if got:
                    return got
                if not self._frames.border:
                    raise Torn("the compressed data ends in the middle")
                self._stream = None
            if self._ahead is not None:
                got = self._ahead.readinto(target, self._frames.part)
                if got:
                    return got
                if self._ahead.ended:
                    self._frames.back(self._ahead.left())
                    self._ahead = None
            if self._frames.border and not self._frames.have(1):
                return 0
            self._stream = _stream(_Feed(self._frames))

    def _piece(self, target: memoryview) -> int:
        """Fill `target` partly; the library is asked for as many bytes whatever there is room for."""
        if not self._out:
            try:
                if len(target) >= BLOCK:
                    return int(self._stream.readinto1(target[:BLOCK]))
                self._out = self._own[: int(self._stream.readinto1(self._own))]
            except self._error as error:
                raise Torn(f"the compressed data is damaged ({error})") from error
        size = min(len(target), len(self._out))
        target[:size], self._out = self._out[:size], self._out[size:]
        return size
