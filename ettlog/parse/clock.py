"""What turns the stamps of one source into instants: its zone, its year, its date, and what was inferred about them."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ettlog.errors import UsageError
from ettlog.parse.stamp import DAY, SECOND, Stamp, find, has_clock, may_be_dated, parse

__all__ = ["SourceClock", "Stamp", "find", "has_clock", "may_be_dated", "moved", "parse"]

_EPOCH = datetime(1970, 1, 1)
_QUARTER = 900 * SECOND
_MAX_OFFSET = 15 * 3600 * SECOND
_SLACK = 120 * SECOND
"""Most an epoch value and a local stamp of one instant may differ beside whole quarters of an hour."""
_BACK = 60 * SECOND
_HALF_A_YEAR = 182 * DAY
NOMINAL = date(2000, 1, 1)
"""Day of stamps without a date, and the year of those without one, until the source shows a better one."""


class ClockState(NamedTuple):
    """What the stamps of a source read so far tell of those that follow."""

    last: int | None
    last_local: int | None
    offset: int | None
    missing: str
    shift: int | None


class SourceClock:
    """Turns stamps of one source, in the order of its lines, into UTC microseconds with the authority they have.

    `zone` is an IANA name or None; `year_hint` is the year to read stamps without one in, until a dated one is seen.
    With `nominal`, stamps that lack what no stamp before them shows stand in a nominal year until one does; else they
    give no instant. Raises `UsageError` for a zone nobody knows.
    """

    def __init__(self, zone: str | None = None, year_hint: int | None = None, *, nominal: bool = False) -> None:
        """Keep the settings; nothing is inferred yet."""
        self._nominal = nominal
        self._zone = _zone(zone)
        self._year_hint = year_hint
        self._last: int | None = None
        self._last_local: int | None = None
        self._offset: int | None = None
        self._notes: dict[str, None] = {}
        self._missing = ""
        """`year` or `date`: what the first stamps lack while no stamp has shown it."""
        self._shift: int | None = None

    @property
    def state(self) -> ClockState:
        """Return what a clock must know that is to go on from here."""
        return ClockState(self._last, self._last_local, self._offset, self._missing, self._shift)

    def resume(self, state: ClockState) -> None:
        """Go on from where another clock of this source stood."""
        self._last, self._last_local, self._offset, self._missing, self._shift = state

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what was inferred from single stamps, in the order it first was."""
        return tuple(self._notes)

    def renote(self, notes: Iterable[str]) -> None:
        """Keep no notes but these."""
        self._notes = dict.fromkeys(notes)

    @property
    def inferences(self) -> list[str]:
        """Return one sentence for each thing that was inferred, in the order it first was."""
        if not self._missing or not self._nominal:
            return list(self._notes)
        if self._shift is None:
            first = f"no stamp of this source shows a {self._missing}: they are read as of {NOMINAL.year}"
        else:
            first = f"the {self._missing} of the first stamps, which have none, comes from the first one that has it"
        return [first, *self._notes]

    @property
    def guessing(self) -> bool:
        """Tell whether incomplete stamps stand in the nominal year because none has shown a better one."""
        return self._nominal and self._missing != "" and self._shift is None

    @property
    def shift(self) -> int:
        """Return what instants in the nominal year have to be moved by once all lines are read, in microseconds."""
        return self._shift or 0

    def observe(self, epoch_us: int, local_stamp: Stamp) -> None:
        """Learn from an epoch value and a local stamp of the same instant: the zone's offset, and the year."""
        if local_stamp.zone != "local" or not local_stamp.date:
            return
        local = local_stamp.us if local_stamp.year else _nearest_year(local_stamp.us, epoch_us)
        offset = round((local - epoch_us) / _QUARTER) * _QUARTER
        if abs(local - epoch_us - offset) > _SLACK or abs(offset) > _MAX_OFFSET:
            return
        if offset != self._offset:
            self._offset = offset
            self._note(f"zone {_show(offset)} inferred from an epoch value beside a local stamp")
        self._settle(epoch_us + offset)
        self._keep(epoch_us, epoch_us + offset)

    def instant(self, stamp: Stamp) -> tuple[int | None, str]:
        """Return (UTC microseconds, word of `lifecycle.CLOCKS`); (None, `none`) when a missing date cannot be inferred.

        With `nominal` it is in the nominal year then, to be moved by `shift` when all is read.
        """
        if stamp.year and stamp.date:
            if self._missing:
                self._settle(stamp.us + (self._offset or 0))
            if stamp.zone != "local":
                self._keep(stamp.us, stamp.us + (self._offset or 0))
                return stamp.us, "exact"
            us, clock = self._to_utc(stamp.us)
            self._keep(us, stamp.us)
            return us, clock
        local = self._with_year(stamp.us) if stamp.date else self._with_date(stamp.us)
        if local is None:
            return None, "none"
        us = local if stamp.zone != "local" else self._to_utc(local)[0]
        self._keep(us, local)
        return us, "date_inferred"

    def _note(self, sentence: str) -> None:
        self._notes.setdefault(sentence)

    def _keep(self, us: int, local: int) -> None:
        self._last, self._last_local = us, local

    def _settle(self, real: int) -> None:
        """Learn from the first whole stamp (local microseconds) where the stamps of the nominal year belong."""
        if self.guessing and self._last_local is not None:
            near = _nearest_year(self._last_local, real) - self._last_local
            self._shift = near if self._missing == "year" else round((real - self._last_local) / DAY) * DAY

    def _with_year(self, us: int) -> int | None:
        if self._last_local is not None:
            if not self.guessing:
                self._note("the year of stamps without one comes from the dated stamp before them")
            return _nearest_year(us, self._last_local)
        if self._year_hint is None:
            self._missing = self._missing or "year"
            return _in_year(us, NOMINAL.year) if self._nominal else None
        self._note(f"the year of stamps without one is taken as {self._year_hint}")
        return _in_year(us, self._year_hint)

    def _with_date(self, us: int) -> int | None:
        if self._last_local is None:
            self._missing = self._missing or "date"
            return us + (NOMINAL - _EPOCH.date()).days * DAY if self._nominal else None
        if not self.guessing:
            self._note("the date of stamps with a time of day only comes from the dated stamp before them")
        return us + round((self._last_local - us) / DAY) * DAY

    def _to_utc(self, local: int) -> tuple[int, str]:
        if self._zone is not None:
            return self._from_zone(local), "zone_set"
        if self._offset is not None:
            return local - self._offset, "zone_inferred"
        self._note("local stamps without a zone are read as UTC")
        return local, "zone_assumed"

    def _from_zone(self, local: int) -> int:
        when = (_EPOCH + timedelta(microseconds=local)).replace(tzinfo=self._zone)
        first, second = (local - _offset_us(when.replace(fold=fold)) for fold in (0, 1))
        if first == second:
            return first
        if second > first:  # the hour that comes twice: the first time, unless that would go back
            return second if self._last is not None and first < self._last - _BACK else first
        return first  # the hour that never was


def _zone(name: str | None) -> tzinfo | None:
    if name is None:
        return None
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        todo = "use an IANA name such as Europe/Paris, or UTC"
        raise UsageError(f"unknown zone {name!r}", where="zone", why=str(error), todo=todo) from error


def _offset_us(when: datetime) -> int:
    offset = when.utcoffset()
    return 0 if offset is None else offset // timedelta(microseconds=1)


def _in_year(us: int, year: int) -> int:
    return _day_in_year(us // DAY, year) * DAY + us % DAY


@functools.lru_cache(1024)
def _day_in_year(day: int, year: int) -> int:
    """Return the same day of another year, in days since 1970; the 29th of February is its last day."""
    when = _EPOCH + timedelta(days=day)
    if (when.month, when.day) == (2, 29):
        return (date(year, 3, 1) - _EPOCH.date()).days - 1
    return (date(year, when.month, when.day) - _EPOCH.date()).days


def _nearest_year(us: int, near: int) -> int:
    year = _year_of(near // DAY)
    same = _in_year(us, year)
    if abs(same - near) <= _HALF_A_YEAR:
        return same
    return min((_in_year(us, year + step) for step in (-1, 0, 1)), key=lambda local: abs(local - near))


@functools.lru_cache(1024)
def _year_of(day: int) -> int:
    return (_EPOCH + timedelta(days=day)).year


NOMINAL_US = ((NOMINAL - _EPOCH.date()).days * DAY - DAY, (NOMINAL - _EPOCH.date()).days * DAY + 368 * DAY)
"""Instants that may be in the nominal year: the first one, and the first one after them, in microseconds."""


def moved(us: int, shift: int) -> int:
    """Return an instant that may lie in the nominal year at the real one; a missing instant stays what it is."""
    return us + shift if shift and NOMINAL_US[0] <= us < NOMINAL_US[1] else us


def _show(offset: int) -> str:
    hours, minutes = divmod(abs(offset) // (60 * SECOND), 60)
    return f"UTC{'-' if offset < 0 else '+'}{hours:02d}:{minutes:02d}"
