"""Blocked gzip (`bgzip`, BGZF): members that say in their header where they end, so that they are unpacked apart."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ettlog.parse import ahead as limits
from ettlog.parse.ahead import Part
from ettlog.parse.unpacking import DAMAGE, Cursor

TEXT = 1 << 16
"""Text of one member at most."""
_HEADER = 12
_LEAST = 26
"""Bytes of a member without text and without the field of its size."""


def size_of(stored: Cursor, at: int) -> int:
    """Return the bytes of the member that begins `at` bytes behind a place; 0 where it does not say, or is cut."""
    head = stored.look(at, _HEADER)
    if len(head) < _HEADER or head[:4] != b"\x1f\x8b\x08\x04":
        return 0
    fields = stored.look(at + _HEADER, int.from_bytes(head[10:], "little"))
    place = 0
    while place + 4 <= len(fields):
        length = int.from_bytes(fields[place + 2 : place + 4], "little")
        if fields[place : place + 2] == b"BC" and length == 2 and place + 6 <= len(fields):
            size = 1 + int.from_bytes(fields[place + 4 : place + 6], "little")
            return size if size >= _LEAST and stored.have(at + size) == at + size else 0
        place += 4 + length
    return 0


def part(stored: Cursor, make: Callable[[], Any]) -> Part | None:
    """Return the next members that say their size, and pass them; None where the next one does not. `make` makes a
    decompressor of one member."""
    sizes, total = list[int](), 0
    while (len(sizes) + 1) * TEXT <= max(TEXT, limits.GROUP) and (size := size_of(stored, total)):
        sizes.append(size)
        total += size
    return Part(stored.take(total), TEXT * len(sizes), partial(_unpack, sizes, make)) if sizes else None


def _unpack(sizes: list[int], make: Callable[[], Any], stored: bytes, room: memoryview) -> int:
    begin = filled = 0
    for size in sizes:
        one = make()
        try:
            text = one.decompress(stored[begin : begin + size], TEXT + 1)
        except DAMAGE:
            return -1
        if not one.eof or one.unused_data or len(text) > TEXT:
            return -1
        room[filled : filled + len(text)] = text
        begin, filled = begin + size, filled + len(text)
    return filled
