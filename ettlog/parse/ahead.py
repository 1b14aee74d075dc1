"""Threads that unpack parts of a packed source before they are asked for, in memory that is bounded.

The libraries let other threads run while they unpack. A process with threads must not be forked: they are started with
the first part and are gone when `close` returns.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

PART_TEXT = 32 << 20
"""Text of one part at most; a part that may hold more is read by one thread, as it comes."""
PART_STORED = 8 << 20
"""Stored bytes of one part at most."""
GROUP = 1 << 20
"""Text up to which small parts are put together."""
ROOM = 64 << 20
"""Text of all parts that are unpacked and not used yet, at most."""
PIECE = 1 << 18
"""Text handed out at once: few, so that it is hashed while it is near."""


class Part(NamedTuple):
    """Some stored bytes that can be unpacked by themselves."""

    stored: bytes
    room: int
    """Text at most."""
    unpack: Callable[[bytes, memoryview], int]
    """Unpacks the bytes into a buffer that is longer than `room`; returns the length of the text, more than `room` or
    less than 0 where anything about the bytes is not as it should be."""


class Ahead:
    """Parts in their order, the next ones being unpacked by threads."""

    def __init__(self, threads: int) -> None:
        """Start nothing yet."""
        self._threads = threads
        self._pool: ThreadPoolExecutor | None = None
        self._parts: deque[tuple[Part, bytearray, Future[int]]] = deque()
        self._free: list[bytearray] = []
        self._buffer: bytearray | None = None
        self._text = memoryview(b"")
        self.ended = False
        """A part was not as it should be, or no more are wanted: what is left is for one reader."""
        self._left: list[bytes] = []

    def readinto(self, target: memoryview, following: Callable[[], Part | None]) -> int:
        """Fill `target` partly and return the number of bytes; 0 where `following` gives no part, or one failed."""
        while not self._text:
            if self.ended:
                return 0
            self._start(following)
            if not self._parts:
                return 0
            self._next()
        size = min(len(target), len(self._text), PIECE)
        target[:size], self._text = self._text[:size], self._text[size:]
        return size

    def left(self) -> bytes:
        """Return the stored bytes of all parts whose text was not handed out, once there are no more."""
        left, self._left = b"".join(self._left), []
        return left

    def _start(self, following: Callable[[], Part | None]) -> None:
        while len(self._parts) <= self._threads:
            if self._parts and sum(len(buffer) for _, buffer, _ in self._parts) + PART_TEXT > ROOM:
                return
            part = following()
            if part is None:
                return
            buffer = self._room(part.room + 1)
            self._parts.append((part, buffer, self._threaded().submit(part.unpack, part.stored, memoryview(buffer))))

    def _next(self) -> None:
        if self._buffer is not None:
            self._text = memoryview(b"")
            self._free.append(self._buffer)
            self._buffer = None
        part, buffer, done = self._parts[0]
        size = done.result()
        if not 0 <= size <= part.room:
            self.close()
            return
        self._parts.popleft()
        self._buffer, self._text = buffer, memoryview(buffer)[:size]

    def _room(self, size: int) -> bytearray:
        """Return a buffer that is free, or a new one: pages that were used before cost nothing."""
        for index, buffer in enumerate(self._free):
            if len(buffer) >= size:
                return self._free.pop(index)
        if self._free:
            self._free.pop()
        return bytearray(size)

    def _threaded(self) -> ThreadPoolExecutor:
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(self._threads, "unpack")
        return self._pool

    def close(self) -> None:
        """End the threads: no more parts."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
        self._left += [part.stored for part, _, _ in self._parts]
        self._parts.clear()
        self._free.clear()
        if not self._text:
            self._buffer = None
        self.ended = True
