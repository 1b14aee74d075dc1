"""Data files that may be too large for memory: those lie in a temporary file that has no name, so that nothing is left
behind however the process ends, and are read piece by piece."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator

from ettlog.errors import LakeError
from ettlog.scratch import scratch

PIECE = 1 << 20
"""Bytes handed on at once."""
HELD = 4 << 20
"""Most bytes that are held in memory where they come from another process."""


class Bulk:
    """Bytes in a temporary file: written once, then read as often as one likes."""

    def __init__(self) -> None:
        """Start without bytes; raise OSError where no temporary file can be made."""
        self.file = tempfile.TemporaryFile(prefix="ettlog-", dir=scratch())  # noqa: SIM115 - open as long as this
        """Where to write them."""

    def __len__(self) -> int:
        """Return how many bytes there are."""
        return self.file.seek(0, 2)

    def pieces(self, size: int) -> Iterator[bytes]:
        """Yield all bytes, at most `size` at once; nothing may be written, or read by another, meanwhile."""
        self.file.seek(0)
        while piece := self.file.read(size):
            yield piece


Data = bytes | Bulk
"""What a data file holds."""


def pieces(data: Data, size: int = PIECE) -> Iterator[bytes]:
    """Yield the bytes of a data file, at most `size` at once."""
    if isinstance(data, Bulk):
        yield from data.pieces(size)
    elif len(data) <= size:
        yield data
    else:
        yield from (data[begin : begin + size] for begin in range(0, len(data), size))


def whole(data: Data) -> bytes:
    """Return all bytes of a data file at once."""
    return data if isinstance(data, bytes) else b"".join(data.pieces(PIECE))


def taken(size: int, receive: Callable[[], bytes]) -> Data:
    """Return a data file of so many bytes whose pieces are received one after the other: in memory where it is small.

    Raise LakeError where temporary files have no room; what `receive` raises is passed on.
    """
    if size <= HELD:
        parts, left = [receive()], size
        while (left := left - len(parts[-1])) > 0:
            parts.append(receive())
        return b"".join(parts)
    try:
        found = Bulk()
    except OSError as error:
        raise _full(error) from error
    while size > 0:
        piece = receive()
        size -= len(piece)
        try:
            found.file.write(piece)
        except OSError as error:
            raise _full(error) from error
    return found


def _full(error: OSError) -> LakeError:
    return LakeError(
        "a large table cannot wait for its place in the lake",
        where=str(scratch()),
        why=error.strerror or type(error).__name__,
        todo="free some space there, or name another folder with TMPDIR, and run the same command again",
    )
