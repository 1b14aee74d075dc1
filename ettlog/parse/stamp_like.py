"""Reads the stamp of a line by that of another one that differs from it in digits only.

Where hour, minute, second and fraction lie is known from the first line; the day is looked up by its text. A line whose
digits make no time of day, or whose day was not met before, is read by the layouts (see stamp.py).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ettlog.parse import stamp as stamps
from ettlog.parse.stamp import SECOND, Stamp
from ettlog.parse.uniform import ZEROS

_MAY_BE_YEAR = re.compile(rb" \d{4}\b")
KEPT = 4096
"""Most days and shapes remembered."""
LONGEST = 64
"""Longest stamp in bytes whose shape is remembered."""


class Shape(NamedTuple):
    """Where the parts of a stamp lie in its line; all stamps of this shape have the words of `like`."""

    day: int
    hour: int
    fraction: int
    end: int
    like: Stamp


class Days:
    """Reads stamps by their shapes; remembers the days that it met."""

    def __init__(self) -> None:
        """Start without memory."""
        self._known: dict[bytes, int] = {}

    def read(self, line: bytes, shape: Shape) -> Stamp | None:
        """Return the stamp of a line, or None where it has to be read by the layouts."""
        hour = shape.hour
        day = self._known.get(line[shape.day : hour])
        seconds = _seconds(line, hour)
        if day is None or seconds < 0:
            return None
        fraction = line[shape.fraction : shape.end]
        us = day + seconds * SECOND + (int(fraction[:6].ljust(6, b"0")) if fraction else 0)
        _, zone, year, date, layout = shape.like
        return Stamp(us, zone, year, date, layout)

    def learn(self, line: bytes, shape: Shape, stamp: Stamp) -> None:
        """Remember the day of a stamp that was read by the layouts."""
        seconds = _seconds(line, shape.hour)
        if seconds >= 0:
            if len(self._known) >= KEPT:
                self._known.clear()
            self._known[line[shape.day : shape.hour]] = stamp.us // stamps.DAY * stamps.DAY


class Printed:
    """Reads stamps that stand alone as `stamp.parse` does; those that differ from an earlier one in digits only by its
    shape."""

    def __init__(self) -> None:
        """Start without memory."""
        self._shapes: dict[bytes, Shape | None] = {}
        self._days = Days()

    def parse(self, text: bytes | str) -> Stamp | None:
        """Return the stamp a text begins with, or None."""
        line = text.encode() if isinstance(text, str) else text
        name = line.translate(ZEROS)
        shape = self._shapes.get(name)
        found = None if shape is None else self._days.read(line, shape)
        if found is not None:
            return found
        found = stamps.parse(line)
        if found is not None and len(line) <= LONGEST:
            if name not in self._shapes:
                if len(self._shapes) >= KEPT:
                    self._shapes.clear()
                shape = self._shapes[name] = shape_of(line, 0, 0) if line == line.strip() else None
            if shape is not None:
                self._days.learn(line, shape, found)
        return found


def shape_of(text: bytes, place: int, offset: int) -> Shape | None:
    """Return the shape of the stamp that begins at a place of a text, which begins at an offset of its line.

    None where a part of the stamp beside its day and time of day counts, or there is none.
    """
    match = stamps.match_at(text, place)
    stamp = None if match is None else stamps.at(text, place)
    if match is None or stamp is None or match["ap"] or match["cy"] or stamp.zone == "offset":
        return None
    if _MAY_BE_YEAR.match(text, match.end()):  # with other digits it is the year
        return None
    fraction, end = match.span("f") if match["f"] else (-offset, -offset)
    return Shape(match.start() + offset, match.start("h") + offset, fraction + offset, end + offset, stamp)


def _seconds(line: bytes, at: int) -> int:
    """Return the second of the day that `hh:mm:ss` at a place means; -1 where it is none."""
    hour, minute, second = int(line[at : at + 2]), int(line[at + 3 : at + 5]), int(line[at + 6 : at + 8])
    return (hour * 60 + minute) * 60 + second if hour < 24 and minute < 60 and second < 60 else -1
