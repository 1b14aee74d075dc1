"""Cuts a stream of text into blocks of whole lines inside one reused buffer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from ettlog.parse.template import MAX_WIDTH

SLACK = MAX_WIDTH + 64
"""Bytes behind the text of a block, so that a template's width can be gathered from any line."""


class Source(Protocol):
    """Anything that fills a buffer; a short fill means the end."""

    def readinto(self, target: memoryview) -> int:
        """Fill `target` as far as the text goes and return the number of bytes."""
        ...


class Block(NamedTuple):
    """Whole lines in `data[:end]`, the last one with its newline; valid until the next block is asked for."""

    data: bytearray
    end: int
    whole: bool
    """The last line had a newline of its own: nothing is missing."""
    clipped: bool
    """The block is the beginning of one line longer than the buffer; the rest of the line was passed over."""

    @property
    def sealed(self) -> bool:
        """Return whether the last newline was added: the line before it may have lost its end."""
        return self.clipped or not self.whole


def blocks(
    source: Source,
    size: int,
    line: int,
    room: bytearray | None = None,
    begin_with: Callable[[memoryview], None] | None = None,
) -> Iterator[Block]:
    """Yield blocks of at most `size` bytes; of a line longer than that only the first `line` bytes. Memory stays at
    `size`. `room` is a buffer of `size + SLACK` bytes to use again; `begin_with` is shown the first `size` bytes, or
    all there are, before the first block."""
    data = bytearray(size + SLACK) if room is None else room
    view = memoryview(data)
    kept, passing, more = 0, False, True
    while more:
        got = source.readinto(view[kept:size])
        total, more = kept + got, kept + got == size
        if begin_with is not None:
            begin_with(view[:total])
            begin_with = None
        begin = 0
        if passing:
            begin = data.find(b"\n", 0, total) + 1
            passing, kept = begin == 0, 0
            if passing:
                continue
        cut = data.rfind(b"\n", begin, total) + 1
        if cut <= begin and more and not begin:
            yield _sealed(data, line, whole=True, clipped=True)
            kept, passing = 0, True
            continue
        if begin:
            view[: total - begin] = bytes(view[begin:total])
            cut, total = max(0, cut - begin), total - begin
        kept = total - cut
        rest = bytes(view[cut:total])
        if cut:
            yield Block(data, cut, True, False)
        view[:kept] = rest
    if kept and not passing:
        yield _sealed(data, kept, whole=False, clipped=False)


def _sealed(data: bytearray, end: int, *, whole: bool, clipped: bool) -> Block:
    data[end : end + 1] = b"\n"
    return Block(data, end + 1, whole, clipped)
