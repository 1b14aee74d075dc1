"""Dates in the names of logs: they tell the year of stamps that have none, where month and day agree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from ettlog.parse.parsed import Parsed, ScanOptions

_MONTH, _DAY = r"(0[1-9]|1[0-2])", r"(0[1-9]|[12]\d|3[01])"
_SHAPES = tuple(
    re.compile(shape)
    for shape in (
        rf"(?<!\d)20(\d\d)([-_.]){_MONTH}\2{_DAY}(?!\d)",
        rf"(?<!\d)20(\d\d)(){_MONTH}{_DAY}(?!\d|\.\d)",
        rf"(?<!\d)20(\d\d)(){_MONTH}{_DAY}(?=[T_-]?[0-2]\d[0-5]\d)",
        rf"(?<!\d)(\d\d)(){_MONTH}{_DAY}(?=[T_-][0-2]\d[0-5]\d)",
    )
)
"""`2031-03-09`, `20310309`, `20310309_080000`, `310309_080000`; the last ones only before a time of day."""
_BEFORE, _BEHIND = timedelta(days=1), timedelta(days=2)
"""How long before the named day, of which zone nobody knows, and behind its beginning the first line may stand."""
_MOST = 4096


def readings(name: str, options: ScanOptions) -> Iterator[ScanOptions]:
    """Yield how a source may have been read: as it was told to, or in a year that its name shows."""
    yield options
    if options.year_hint is None:
        for number in years(name):
            yield replace(options, year_hint=number)


def settled(name: str, options: ScanOptions, parsed: Parsed) -> ScanOptions | None:
    """Return how to read a source again whose stamps show no year but whose name does; None for others."""
    if parsed.clock != "date_nominal" or options.year_hint is not None:
        return None
    number = year(name, parsed.first_us)
    return None if number is None else replace(options, year_hint=number)


def years(name: str) -> tuple[int, ...]:
    """Return the years near all dates in the name of a source, those of the file's own name first."""
    return tuple(dict.fromkeys(day.year + more for day in _days(name) for more in (0, -1, 1)))


def year(name: str, first_us: int | None) -> int | None:
    """Return the year of a source whose stamps lack it, by the date in its name that its first one has too; else None.

    `first_us` is its first instant, read in any year: a number that is no date, such as that of a job, agrees with it
    by chance only.
    """
    if first_us is None:
        return None
    first = datetime.fromtimestamp(first_us // 1_000_000, UTC)
    for day in _days(name):
        for number in (day.year - 1, day.year, day.year + 1):
            there = _in(first, number)
            if there is not None and day - _BEFORE <= there <= day + _BEHIND:
                return number
    return None


def _days(name: str) -> list[datetime]:
    parts = name[-_MOST:].split("/")[::-1]
    found = [_day(match) for part in parts for shape in _SHAPES for match in shape.finditer(part)]
    return [day for day in found if day is not None]


def _day(match: re.Match[str]) -> datetime | None:
    try:
        return datetime(2000 + int(match[1]), int(match[3]), int(match[4]), tzinfo=UTC)
    except ValueError:
        return None


def _in(instant: datetime, number: int) -> datetime | None:
    try:
        return instant.replace(year=number)
    except ValueError:
        return None
