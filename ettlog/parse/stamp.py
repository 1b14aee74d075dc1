"""Stamps: the closed list of layouts in which logs print an instant.

Months are read by number or by English name from a fixed table: the process locale has no say.
"""

from __future__ import annotations

import re
from datetime import date
from typing import NamedTuple

SECOND = 1_000_000
DAY = 86_400 * SECOND
FIRST_YEAR, LAST_YEAR = 2000, 2100
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_LEAP = 2000
"""Year a stamp without a year is read in: it has a 29 February."""
_MONTHS = {name: number for number, name in enumerate(b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)}
_MIN_EPOCH, _MAX_EPOCH = 946_684_800 * SECOND, 4_133_980_800 * SECOND


class Stamp(NamedTuple):
    """A stamp as read: `us` counts microseconds since 1970 as if it were UTC.

    `zone` is `utc`, `offset` (already applied: `us` is UTC) or `local`. Without `year` the year is 2000; without
    `date` the day is 1970-01-01.
    """

    us: int
    zone: str
    year: bool
    date: bool
    layout: str


_FIND = re.compile(
    rb"(?<![\w.:])(?:"
    rb"(?P<y>\d{4})(?P<dash>[-/]?)(?P<mo>\d\d)(?P=dash)(?P<d>\d\d)(?P<sep>[T _,-])"
    rb"|(?P<usmo>\d\d)/(?P<usd>\d\d)(?:/(?P<usy>\d{4}) "
    rb"| (?=\d\d:\d\d:\d\d(?: \[[A-Z]{4,8}\|| - | [a-z][\w.]{1,60}\]:|\] [a-z]|$)))"
    rb"|[IWEFVC](?P<gmo>\d{1,2})(?P<gd>\d\d) "
    rb"|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?P<cmo>[A-Z][a-z][a-z]) {1,2}(?P<cd>\d{1,2}) "
    rb"|(?P<tod>\[?)(?=\d\d:\d\d:\d\d))"
    rb"(?P<h>\d\d):(?P<mi>\d\d):(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))?(?![\d:])"
    rb"(?: ?(?P<ap>[AP]M)\b)?(?: ?(?P<z>Z|UTC\b|[+-]\d\d:?\d\d\b)|(?: [A-Z]{3,4}\b))?(?: (?P<cy>20\d\d)\b)?"
)
_TIME = re.compile(rb"\d\d:\d\d:\d\d")
clock_in = _TIME.search
"""Finds the shape of a time in a text, between two places: if `find` gives None there, it is invalid or a duration."""
_LEAD = 26
"""Bytes that can stand before the time of day in one stamp."""
_EPOCH = re.compile(
    rb"^\[?(?P<s>1\d{9}|[2-3]\d{9})\.(?P<f>\d{1,9})\b"
    rb"|\"(?:time_ms|ts_ms)\": ?(?P<ms>1\d{12}|[2-3]\d{12})\b"
    rb"|^:::MLPv\S{1,12} \S{1,40} (?P<ms5>1\d{9})\.(?P<f5>\d{1,9})\b"
)


_TRIES = 32
"""Most impossible stamps of one line that are passed over."""
_EPOCH_FIRST = (b"[", b"1", b"2", b"3", b":")


def find(line: bytes) -> Stamp | None:
    """Return the first valid stamp in a line, or None; a bare time of day counts only at the start or in brackets."""
    first = _TIME.search(line)
    at = -1 if first is None else max(0, first.start() - _LEAD)
    for _ in range(_TRIES):
        match = _FIND.search(line, at) if at >= 0 else None
        if match is None:
            break
        stamp = _read(match, line)
        if stamp is not None:
            return stamp
        at = match.end()
    return _epoch(line)


def first(line: bytes) -> int:
    """Return where the first text of a stamp's layout stands in a line, be it an instant or not; -1 without one."""
    match = _FIND.search(line)
    return -1 if match is None else match.start()


def match_at(line: bytes, place: int) -> re.Match[bytes] | None:
    """Return the text of a stamp's layout that begins at a place of a line, be it an instant or not."""
    return _FIND.match(line, place)


def at(line: bytes, place: int) -> Stamp | None:
    """Return the stamp that stands at a place of a line where `first` found one on a line that differs in digits only;
    None where it is no instant."""
    match = match_at(line, place)
    return None if match is None else _read(match, line)


def parse(text: bytes | str) -> Stamp | None:
    """Return the stamp a text begins with, or None; a time of day may stand in brackets."""
    line = text.encode() if isinstance(text, str) else text
    match = _FIND.match(line.strip())
    return _epoch(line) if match is None else _read(match, line.strip())


def has_clock(line: bytes) -> bool:
    """Tell whether a line holds the shape of a time: if `find` gives None then, it is invalid or a duration."""
    return clock_in(line) is not None


def may_be_dated(line: bytes) -> bool:
    """Tell whether `find` could give a stamp for a line with these or other digits."""
    return has_clock(line) or may_be_epoch(line)


def may_be_epoch(line: bytes) -> bool:
    """Tell whether seconds or milliseconds since 1970 could stand in a line with these or other digits."""
    return line[:1] in (b"[", b":") or line[:1].isdigit() or b'_ms"' in line


def _epoch(line: bytes) -> Stamp | None:
    match = _EPOCH.search(line) if line[:1] in _EPOCH_FIRST or b'_ms"' in line else None
    if match is None:
        return None
    if match["ms"]:
        us, layout = int(match["ms"]) * 1_000, "epoch_ms"
    else:
        seconds, fraction = match["s"] or match["ms5"], match["f"] or match["f5"]
        us, layout = int(seconds) * SECOND + _fraction(fraction), "epoch_s"
    return Stamp(us, "utc", True, True, layout) if _MIN_EPOCH <= us < _MAX_EPOCH else None


def _fraction(text: bytes | None) -> int:
    return int(text[:6].ljust(6, b"0")) if text else 0


def _read(match: re.Match[bytes], line: bytes) -> Stamp | None:
    second_of_day = _time_of_day(match)
    if second_of_day is None:
        return None
    us = second_of_day * SECOND + _fraction(match["f"])
    if match["tod"] is not None:
        return Stamp(us, "local", False, False, "time_of_day") if _stands_alone(match, line) else None
    day, layout, year = _day(match)
    if day is None:
        return None
    us += day * DAY
    zone = match["z"]
    if zone is None:
        return Stamp(us, "local", year, True, layout)
    if zone in (b"Z", b"UTC"):
        return Stamp(us, "utc", year, True, layout)
    hours, minutes = int(zone[1:3]), int(zone[-2:])
    if hours > 15 or minutes > 59:
        return None
    shift = (hours * 60 + minutes) * 60 * SECOND
    return Stamp(us + (shift if zone[:1] == b"-" else -shift), "offset", year, True, layout)


def _time_of_day(match: re.Match[bytes]) -> int | None:
    hour, minute, second = int(match["h"]), int(match["mi"]), int(match["s"])
    if match["ap"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if match["ap"] == b"PM" else 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    return (hour * 60 + minute) * 60 + second


def _stands_alone(match: re.Match[bytes], line: bytes) -> bool:
    after = line[match.end() : match.end() + 1]
    if match["tod"]:
        return after == b"]"
    return match.start() == 0 and after in (b"", b" ", b"\t", b"|")


def _day(match: re.Match[bytes]) -> tuple[int | None, str, bool]:
    if match["y"]:
        layout = {b"T": "iso", b" ": "iso_blank", b"_": "torchelastic", b"-": "hccl", b",": "comma"}[match["sep"]]
        layout = {b"/": "iso_slash", b"": "compact"}.get(match["dash"], layout)
        return _ordinal(int(match["y"]), int(match["mo"]), int(match["d"])), layout, True
    if match["usmo"]:
        year = match["usy"]
        return _ordinal(int(year or _LEAP), int(match["usmo"]), int(match["usd"])), "us_slash", bool(year)
    if match["gmo"]:
        return _ordinal(_LEAP, int(match["gmo"]), int(match["gd"])), "glog", False
    year = match["cy"]
    month = _MONTHS.get(match["cmo"], 0)
    return _ordinal(int(year) if year else _LEAP, month, int(match["cd"])), "ctime", bool(year)


def _ordinal(year: int, month: int, day: int) -> int | None:
    if not FIRST_YEAR <= year < LAST_YEAR:
        return None
    try:
        return date(year, month, day).toordinal() - _EPOCH_DAY
    except ValueError:
        return None
