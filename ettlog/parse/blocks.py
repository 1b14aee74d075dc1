"""Opens one source and hands out its bytes: bounded, plain or compressed, hashed while they pass.

A source is read at most to the size it had at `open` (a log may grow under the reader), by plain reads into a buffer
of the caller, never by a memory map (a file cut short under a map kills the process). The digest covers the bytes as
stored.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from ettlog.errors import EttlogError
from ettlog.parse.packed import Torn, opener

if TYPE_CHECKING:
    from ettlog.parse.ahead import Ahead

CHUNK = 1 << 18
"""Bytes read at once from a compressed source."""

OUTPUT_BUDGET = 1 << 40
"""Decompressed bytes after which a source counts as torn: a packed bomb must end some time."""

SWOLLEN_BYTES, SWOLLEN_RATIO = 4 << 30, 2000
"""Text longer than this, and so many times as long as what is stored, is told: honest logs of one repeated line come
near it, so that it is a warning and no limit."""


class SourceRefusedError(EttlogError):
    """The path is no regular file that may be read: a link, a device, a folder, or closed to this user."""


class _Hash(Protocol):
    def update(self, data: memoryview, /) -> object: ...
    def hexdigest(self) -> str: ...


class Stored:
    """The bytes of a file as stored, bounded by the size at open, hashed as they are read."""

    def __init__(self, handle: int, size: int) -> None:
        """Take over an open descriptor; `size` bytes of it may be read."""
        from blake3 import blake3

        self.handle, self.left, self.n_bytes = handle, size, 0
        self._hash: _Hash = blake3()

    def readinto(self, target: memoryview) -> int:
        """Fill `target` as far as the file goes and return the number of bytes; 0 only at the end."""
        filled, want = 0, min(len(target), self.left)
        while filled < want:
            got = os.readv(self.handle, [target[filled:want]])
            if not got:  # the file was cut short since it was opened
                self.left = filled
                break
            filled += got
        self.left -= filled
        self.n_bytes += filled
        self._hash.update(target[:filled])
        return filled

    def read(self, size: int = CHUNK) -> bytes:
        """Return up to `size` stored bytes; empty at the end."""
        room = bytearray(min(size, self.left))
        got = self.readinto(memoryview(room))
        return bytes(memoryview(room)[:got])

    def digest(self) -> str:
        """Return the BLAKE3 of all stored bytes in hex, reading what nobody has read yet."""
        room = memoryview(bytearray(min(CHUNK, self.left)))
        while self.left and self.readinto(room):
            pass
        return self._hash.hexdigest()


class Reader:
    """One open source: text bytes out, state and digest at the end; a context manager."""

    def __init__(self, stored: Stored, budget: int) -> None:
        """Look at the first bytes and choose plain reading or a decompressor."""
        from blake3 import blake3

        self._stored, self._budget, self._allowed = stored, budget, budget
        self._head = stored.read(min(CHUNK, 64))
        self._packed = opener(self._head, stored.read)
        self._ahead = memoryview(b"")
        self.compressed = self._packed is not None
        self._text: _Hash | None = blake3() if self.compressed else None
        self._ended = False
        self.torn = ""
        """Why the bytes end early, as one sentence; empty when they are whole."""

    def __enter__(self) -> Reader:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        os.close(self._stored.handle)

    @property
    def n_bytes(self) -> int:
        """Return the number of stored bytes read so far."""
        return self._stored.n_bytes

    @property
    def handle(self) -> int:
        """Return the descriptor of the stored bytes."""
        return self._stored.handle

    @property
    def size(self) -> int:
        """Return how many stored bytes may be read: as many as there were when it was opened."""
        return self._stored.n_bytes + self._stored.left

    def spread(self, ahead: Ahead) -> None:
        """Unpack by threads from here on, as far as the packed bytes allow it; the text is the same."""
        if self._packed is not None:
            self._packed.spread(ahead)

    def digest(self) -> str:
        """Return the BLAKE3 of the stored bytes in hex; reads the rest of the file where it was not read."""
        return self._stored.digest()

    def text_digest(self) -> str:
        """Return the BLAKE3 of the text of a packed source in hex, when all of it was read; nothing for a plain one.

        Of a source that is torn, or was not read to its end, nobody knows the whole text: there it is that of the
        stored bytes.
        """
        if self._text is None:
            return ""
        return self._text.hexdigest() if self._ended and not self.torn else self.digest()

    def swollen(self) -> list[str]:
        """Return a sentence where the text read so far is very much longer than what is stored of it, else nothing."""
        text = self._allowed - self._budget
        if not self.compressed or text <= max(SWOLLEN_BYTES, SWOLLEN_RATIO * self.n_bytes):
            return []
        return [f"its text is {text // max(1, self.n_bytes):,} times as long as the packed file: is it a log?"]

    def peek(self, size: int) -> memoryview:
        """Return the first `size` bytes of text, or all there are, before anything is read; they are read again."""
        if len(self._ahead) < size:
            stored = len(self._ahead) + self._stored.left + len(self._head)
            room = memoryview(bytearray(size if self.compressed else min(size, stored)))
            self._ahead = room[: self.readinto(room)]
        return self._ahead[:size]

    def readinto(self, target: memoryview) -> int:
        """Fill `target` with text as far as it goes and return the number of bytes; 0 only at the end."""
        seen = min(len(self._ahead), len(target))
        if seen:
            target[:seen], self._ahead = self._ahead[:seen], self._ahead[seen:]
        return seen + self._next(target[seen:])

    def _next(self, target: memoryview) -> int:
        if self._packed is None:
            return self._plain(target)
        filled = 0
        while filled < len(target) and not self.torn:
            got = self._unpack(target[filled:])
            if not got:
                self._ended = True
                break
            filled += got
        return filled

    def read_all(self, limit: int) -> bytes:
        """Return at most `limit` bytes of text from here on, for readers of small self-describing files."""
        parts, room = [], memoryview(bytearray(min(limit, 4 * CHUNK)))
        while limit > 0:
            got = self.readinto(room[: min(limit, len(room))])
            if not got:
                break
            parts.append(bytes(room[:got]))
            limit -= got
        return b"".join(parts)

    def _plain(self, target: memoryview) -> int:
        head = min(len(self._head), len(target))
        target[:head] = self._head[:head]
        self._head = self._head[head:]
        return head + self._stored.readinto(target[head:])

    def _unpack(self, target: memoryview) -> int:
        assert self._packed is not None
        try:
            got = self._packed.readinto(target)
        except Torn as torn:
            self.torn = torn.why
            return 0
        if self._text is not None:
            self._text.update(target[:got])
        over = max(0, got - self._budget)
        if over:
            self.torn = "the text is longer than the budget for decompressed bytes"
        self._budget -= got - over
        return got - over


def open_source(path: Path, *, budget: int = OUTPUT_BUDGET) -> Reader:
    """Open a regular file without following a link or waiting for a pipe.

    Gzip, zstd, bzip2 and xz are recognised by their first bytes, whatever the name. `budget` bounds the decompressed
    bytes. Raises SourceRefusedError when the path is no regular file or may not be opened.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        handle = os.open(path, flags)
    except OSError as error:
        raise _refused(path, "it is a symbolic link" if error.errno == errno.ELOOP else str(error.strerror)) from error
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        os.close(handle)
        raise _refused(path, "it is no regular file")
    return Reader(Stored(handle, found.st_size), budget)


def _refused(path: Path, why: str) -> SourceRefusedError:
    return SourceRefusedError(
        "The source cannot be read", where=str(path), why=why, todo="Give the path of a readable regular file"
    )
