"""Events of one source as columns of whole numbers and one of texts: in memory, or on disk where they are too many."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ettlog.parse import chunks, columns
from ettlog.parse.chunks import Chunks, Columns
from ettlog.parse.template import NULL
from ettlog.schema import EVENT
from ettlog.scratch import scratch

Ints = NDArray[np.int64]

INTEGERS = tuple(
    column.name for column in EVENT
    if column.type.startswith("int") and column.name not in ("line", "launch", "ts")
)  # fmt: skip
WORDS = tuple(
    column.name for column in EVENT
    if column.type == "word" and column.name not in ("clock", "kind", "format", "pattern")
)  # fmt: skip
TEXT = next(column.name for column in EVENT if column.type == "string")
"""The one column of texts."""
NUMBERS = ("line", "ts", "clock", "index", *INTEGERS, *WORDS)
"""Columns of whole numbers: instants and fields (NULL), the pattern's number, words by their numbers (-1)."""
LINE, TS, CLOCK, INDEX = range(4)


class Event(NamedTuple):
    """One event line: where it lies in the source, its own instant if any, and its fields."""

    line: int
    place: int
    ts: int
    clock: int
    pattern: int
    values: dict[str, int | str]


class EventRows:
    """Events in the order of their lines; taken part by part, read as often as one likes."""

    def __init__(self) -> None:
        """Start without rows."""
        self._numbers = Chunks()
        self._texts = _Texts()
        self._words = {name: columns.Words() for name in WORDS}

    @property
    def rows(self) -> int:
        """Return how many there are."""
        return self._numbers.rows

    def words(self, name: str) -> list[str]:
        """Return the words of a column in the order of their numbers."""
        return self._words[name].words

    def add(self, events: Sequence[Event]) -> None:
        """Take events; raise OSError where the disk for temporary files is full."""
        if events:
            found, texts = self._taken(events)
            self._numbers.add((*(found[name] for name in NUMBERS), self._texts.add(texts)))

    def some(self, *names: str) -> Iterator[Columns]:
        """Yield some columns of all rows, by their names, part by part."""
        return self._numbers.some([NUMBERS.index(name) for name in names])

    def parts(self, more: Sequence[Event] = ()) -> Iterator[tuple[Columns, pa.Array]]:
        """Yield the columns `NUMBERS` and the texts of all rows part by part, and a few `more` events without texts,
        each behind those of its line."""
        waiting = sorted(more, key=lambda event: event.line)
        self._texts.rewind()
        for *numbers, lengths in self._numbers:
            texts = self._texts.read(lengths)
            early = [event for event in waiting if event.line < numbers[LINE][-1]]
            waiting = waiting[len(early) :]
            yield self._beside(tuple(numbers), texts, early) if early else (tuple(numbers), texts)
        if waiting:
            found, _ = self._taken(waiting)
            yield tuple(found[name] for name in NUMBERS), pa.nulls(len(waiting), pa.string())

    def _beside(self, numbers: Columns, texts: pa.Array, more: Sequence[Event]) -> tuple[Columns, pa.Array]:
        found, _ = self._taken(more)
        at = np.searchsorted(numbers[LINE], found["line"], "right")
        place = np.insert(np.arange(len(texts)), at, NULL)
        both = tuple(np.insert(column, at, found[name]) for name, column in zip(NUMBERS, numbers, strict=True))
        return both, texts.take(columns.integers(place, pa.int64()))

    def _taken(self, events: Sequence[Event]) -> tuple[dict[str, NDArray[Any]], list[str | None]]:
        """Return events as columns by name, and their texts."""
        rows, size = _by_field(events), len(events)
        absent, none = np.full(size, NULL), np.full(size, -1)
        found = {name: columns.placed(*rows[name], size) if name in rows else absent for name in INTEGERS}
        for name in WORDS:
            found[name] = none
            if name in rows:
                at, values = rows[name]
                found[name] = columns.codes(at, self._words[name].codes(map(_text, values)), size)
        found["line"] = np.array([event.line for event in events], np.int64)
        found["ts"] = np.array([event.ts for event in events], np.int64)
        found["clock"] = np.array([event.clock for event in events], np.int8)
        found["index"] = np.array([event.pattern for event in events], np.int64)
        texts: list[str | None] = [None] * size
        for number, value in zip(*rows.get(TEXT, ((), ())), strict=True):
            texts[number] = _text(value)
        return found, texts


class _Texts:
    """Texts one behind the other: the first ones in memory, the others in a file without a name; read in order."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._file: Any = None
        self._rows = self._read = 0

    def add(self, texts: Sequence[str | None]) -> Ints:
        """Take texts and return their lengths in bytes; no text has the length -1."""
        encoded = [None if text is None else text.encode() for text in texts]
        data = b"".join(text for text in encoded if text)
        self._rows += len(texts)
        if self._file is None and self._rows <= chunks.KEPT_ROWS:
            self._kept += data
        elif data:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="ettlog-", dir=scratch())  # noqa: SIM115 - open as long as this
            self._file.seek(0, os.SEEK_END)
            self._file.write(data)
        return np.array([-1 if text is None else len(text) for text in encoded], np.int64)

    def read(self, lengths: Ints) -> pa.Array:
        """Return the next texts, of these lengths."""
        missing = lengths < 0
        if missing.all():
            return pa.nulls(len(lengths), pa.string())
        ends = np.where(missing, 0, lengths).cumsum()
        return columns.strings(self._bytes(int(ends[-1])), ends, missing)

    def _bytes(self, size: int) -> bytes:
        begin = self._read
        self._read += size
        found = bytes(self._kept[begin : begin + size])
        if len(found) == size:
            return found
        if begin <= len(self._kept):
            self._file.seek(0)
        rest: bytes = self._file.read(size - len(found))
        return found + rest

    def rewind(self) -> None:
        """Begin again with the first one."""
        self._read = 0


def _by_field(events: Sequence[Event]) -> dict[str, tuple[list[int], list[int | str]]]:
    """Return which events have a field, and its values: most events have one or two of them."""
    rows: dict[str, tuple[list[int], list[int | str]]] = {}
    for number, event in enumerate(events):
        for name, value in event.values.items():
            if name not in rows:
                rows[name] = ([], [])
            at, values = rows[name]
            at.append(number)
            values.append(value)
    return rows


def _text(value: int | str | None) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)
