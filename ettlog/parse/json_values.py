"""JSON of any layout as a stream of values: lists of objects, concatenated and pretty-printed objects, one a line.

An object that holds a list under one of some keys (`items`, `jobs`) is opened: its elements come one by one, so that
a list of any length is read in flat memory. Every line of the source is counted once.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ettlog.parse.blocks import Reader
from ettlog.parse.gather import IGNORED, TORN, Facts

CHUNK = 1 << 20
MAX_VALUE = 1 << 24
"""Longest single value in characters; no API server keeps an object of a tenth of that."""
LISTS = ("items", "jobs", "Jobs", "TrainingJobs")
_BLANK = " \t\r\n"
_BETWEEN = " \t\r\n,"


class Value(NamedTuple):
    """One value: the line it begins on, the lines it covers that no value before it does, and the object itself."""

    line: int
    lines: int
    found: Any
    """None for text that is no JSON."""


class _Short(Exception):  # noqa: N818 - a signal of the parser to itself, not an error
    """More text is needed."""


class Values:
    """Iterates over the values of a source; afterwards `rest` holds the lines that belong to none."""

    def __init__(self, source: Reader, lists: tuple[str, ...] = LISTS) -> None:
        """Read from an open source."""
        self._source, self._lists = source, lists
        self._decode = codecs.getincrementaldecoder("utf-8")("replace")
        self._room = memoryview(bytearray(CHUNK))
        self._text, self._at, self._ended = "", 0, False
        self._line, self._counted, self._last = 1, 0, "\n"
        self._json = json.JSONDecoder()
        self.torn = False
        """The text ends inside a value."""

    def __iter__(self) -> Iterator[Value]:
        """Yield the values in order; what is no JSON ends the reading and counts as one value of None."""
        try:
            while self._skip(_BETWEEN + "]"):
                begin = self._line
                mark = self._text[self._at]
                if mark == "[":
                    self._go(1)
                elif mark == "{":
                    yield from self._object()
                else:
                    yield self._value(begin, self._next())
        except _Short:
            self.torn = True
            yield self._broken()
        except (ValueError, RecursionError):
            yield self._broken()

    @property
    def rest(self) -> int:
        """Return the lines so far that no value covers; call it after the last value."""
        return self.total - self._counted

    @property
    def total(self) -> int:
        """Return the lines of the source: newlines, and one more where the last line has none."""
        return self._line - 1 + (self._last != "\n")

    def _object(self) -> Iterator[Value]:
        """Yield an object, or the elements of the list in it and then what remains of it."""
        begin, found = self._line, {}
        self._go(1)
        while self._skip(_BETWEEN) and self._text[self._at] != "}":
            key = self._next()
            if not isinstance(key, str) or not self._skip(_BLANK + ":"):
                raise ValueError
            if key in self._lists and self._text[self._at] == "[":
                self._go(1)
                yield from self._elements()
            else:
                found[key] = self._next()
        if self._at >= len(self._text):
            raise _Short
        self._go(1)
        yield self._value(begin, found)

    def _elements(self) -> Iterator[Value]:
        while self._skip(_BETWEEN) and self._text[self._at] != "]":
            begin = self._line
            yield self._value(begin, self._next())
        if self._at >= len(self._text):
            raise _Short
        self._go(1)

    def _value(self, begin: int, found: Any) -> Value:
        """Return a value; the line that it ends on is its own, unless a value before it ended there."""
        first = max(begin, self._counted_to() + 1)
        lines = max(self._line - first + 1, 0)
        self._counted += lines
        self._upto = self._line
        return Value(begin, lines, found)

    _upto = 0

    def _counted_to(self) -> int:
        return self._upto

    def _broken(self) -> Value:
        """Read the rest without looking at it."""
        begin = self._line
        self._go(len(self._text) - self._at)
        while self._more():
            self._go(len(self._text) - self._at)
        total = self.total
        lines = max(total - max(begin - 1, self._upto), 0)
        self._counted += lines
        return Value(begin, lines, None)

    def _next(self) -> Any:
        """Decode the value at the place; read on where the text ends inside it."""
        while True:
            try:
                found, end = self._json.raw_decode(self._text, self._at)
            except ValueError:
                if len(self._text) - self._at > MAX_VALUE:
                    raise
                if not self._more():
                    raise _Short from None
                continue
            size = end - self._at  # reading on moves the place
            if end >= len(self._text) - 1 and self._more():
                continue  # a number may go on
            self._go(size)
            return found

    def _skip(self, marks: str) -> bool:
        """Step over these characters; return whether text follows."""
        while True:
            text, at = self._text, self._at
            while at < len(text) and text[at] in marks:
                at += 1
            self._go(at - self._at)
            if self._at < len(self._text):
                return True
            if not self._more():
                return False

    def _go(self, count: int) -> None:
        end = self._at + count
        self._line += self._text.count("\n", self._at, end)
        if count:
            self._last = self._text[end - 1]
        self._at = end

    def _more(self) -> bool:
        """Read on; return whether there was more."""
        if self._ended:
            return False
        got = self._source.readinto(self._room)
        self._ended = not got
        text = self._decode.decode(bytes(self._room[:got]), final=not got)
        self._text, self._at = self._text[self._at :] + text, 0
        return bool(text) or not self._ended


def each(values: Values, facts: Facts, take: Callable[[int, Any], str]) -> None:
    """Give the line and the object of each value to `take`, which returns its outcome; all lines are counted."""
    for value in values:
        torn = values.torn and value.found is None
        facts.count(TORN if torn else take(value.line, value.found), lines=value.lines)
    facts.count(IGNORED, lines=values.rest)
