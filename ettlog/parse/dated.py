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
from ettlog.parse.template import NULL


class Place(NamedTuple):
    """Where the stamp of a line stands: of a prefix from `begin` to `end`, else from `begin` of the body that begins at
    `body`."""

    begin: int
    end: int
    body: int = -1


_NOWHERE = Place(-1, 0)
"""No line like it holds a stamp."""
_ANYWHERE = Place(-2, 0)
"""Each line has to be read as if it were the first of its kind."""


class DatedLikes:
    """Tells the instants of dated lines of many sources; remembers where it found their stamps."""

    def __init__(self) -> None:
        """Start without memory."""
        self._known: dict[bytes, Place] = {}

    def instant(self, line: bytes, reader: LineReader) -> int:
        """Return what `reader.dated` returns of a line: its instant in microseconds UTC, or NULL."""
        if not repeats(line):
            return reader.dated(line)
        name = key(line)
        place = self._known.get(name)
        if place is None:
            if len(self._known) >= KEPT:
                self._known.clear()
            place = self._known[name] = _place(name, line)
        if place.begin >= 0:
            stamp = _stamp(line, place)
            if stamp is not None and (place.body >= 0 or stamp.zone == "local"):
                return reader.instant(stamp)
        elif place is _NOWHERE:
            return NULL
        return reader.dated(line)


def _stamp(line: bytes, place: Place) -> stamps.Stamp | None:
    if place.body < 0:
        return stamps.parse(line[place.begin : place.end])
    return stamps.at(line[place.body :], place.begin)


def _place(name: bytes, line: bytes) -> Place:
    """Return where on a line, and on all its like, the stamp lies that `LineReader.dated` reads."""
    if any(part in name for part in OTHER_DIGITS):
        return _ANYWHERE
    prefix = walk(line)
    if "stamp" in prefix.spans:
        return Place(*prefix.spans["stamp"])
    body = line[prefix.end :]
    first = stamps.first(body)
    if first < 0:
        return _ANYWHERE if stamps.may_be_epoch(body) else _NOWHERE
    return Place(first, 0, prefix.end)
