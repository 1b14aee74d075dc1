"""Remembers where the stamp of a dated line lies, for all lines that differ from it in digits only.

The neighbours of undated lines repeat as events do (see recipe.py): a million iterations, a thousand equal warnings.
Prefixes and layouts of stamps treat all digits alike, so of a line whose like was seen only the stamp is read. Never
wrong: where the digits make no instant, or a prefix may look at them, the line is read as if it were the first one.
"""

from __future__ import annotations

from typing import NamedTuple

from ettlog.parse import stamp as stamps
from ettlog.parse.envelope import walk
from ettlog.parse.line import LineReader
from ettlog.parse.recipe import KEPT, OTHER_DIGITS, key, repeats
from ettlog.parse.stamp_like import Days, Shape, shape_of
from ettlog.parse.template import NULL


class Place(NamedTuple):
    """Where the stamp of a line stands: of a prefix from `begin` to `end`, else from `begin` of the body that begins at
    `body`."""

    begin: int
    end: int
    body: int = -1
    shape: Shape | None = None


_NOWHERE = Place(-1, 0)
"""No line like it holds a stamp."""
_ANYWHERE = Place(-2, 0)
"""Each line has to be read as if it were the first of its kind."""


class DatedLikes:
    """Tells the instants of dated lines of many sources; remembers where it found their stamps."""

    def __init__(self) -> None:
        """Start without memory."""
        self._known: dict[bytes, Place] = {}
        self._days = Days()

    def instant(self, line: bytes, reader: LineReader) -> int:
        """Return what `reader.dated` returns of a line: its instant in microseconds UTC, or NULL."""
        name = key(line)
        place = self._known.get(name) or self._place_on(name, line)
        stamp = self._stamp(line, place)
        if stamp is None:
            return NULL if place is _NOWHERE else reader.dated(line)
        return reader.instant(stamp)[0]

    def stamp(self, name: bytes, line: bytes) -> stamps.Stamp | None:
        """Return the stamp that dates a line, whose key is `name`; None where there is none, or the line has to be read
        as if it were the first of its kind."""
        return self._stamp(line, self._known.get(name) or self._place_on(name, line))

    def _place_on(self, name: bytes, line: bytes) -> Place:
        """Return where the stamp of a line stands whose like was not seen, and remember it for its like."""
        if not name or not repeats(line):
            return _ANYWHERE
        if len(self._known) >= KEPT:
            self._known.clear()
        place = self._known[name] = _place(name, line)
        return place

    def _stamp(self, line: bytes, place: Place) -> stamps.Stamp | None:
        begin, end, body, shape = place
        if begin < 0:
            return None
        stamp = None if shape is None else self._days.read(line, shape)
        if stamp is None:
            stamp = stamps.parse(line[begin:end]) if body < 0 else stamps.at(line[body:], begin)
            if stamp is not None and shape is not None:
                self._days.learn(line, shape, stamp)
        # a prefix with a zone may be the local stamp's of the body behind it: what that teaches is not passed over
        return stamp if stamp is not None and (body >= 0 or stamp.zone == "local") else None


def _place(name: bytes, line: bytes) -> Place:
    """Return where on a line, and on all its like, the stamp lies that `LineReader.dated` reads."""
    if any(part in name for part in OTHER_DIGITS):
        return _ANYWHERE
    prefix = walk(line)
    if "stamp" in prefix.spans:
        begin, end = prefix.spans["stamp"]
        text = line[begin:end]
        return Place(begin, end, -1, shape_of(text, 0, begin) if text == text.strip() else None)
    body = line[prefix.end :]
    first = stamps.first(body)
    if first < 0:
        return _ANYWHERE if stamps.may_be_epoch(body) else _NOWHERE
    return Place(first, 0, prefix.end, shape_of(body, first, prefix.end))
