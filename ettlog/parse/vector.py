"""One template ready for numpy: tells which lines of a block are its like, and reads the numbers of all of them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ettlog.parse import clock as clocks
from ettlog.parse.clockwork import Clock
from ettlog.parse.envelope import peel
from ettlog.parse.template import COLUMNS, MAX_DIGITS, NULL, TIME, Learnt, Number
from ettlog.parse.uniform import ZEROS

Ints = NDArray[np.int64]

_INT32 = (1 << 31) - 1
_NULL, _NO_CLOCK = np.array([NULL]), np.array([-1], np.int8)
_NULL.flags.writeable = _NO_CLOCK.flags.writeable = False
_EXACT = 1 << 53
"""Whole numbers below it are exact as float64."""
_SMALL = 1 << 12
"""Values so near each other are counted in a table."""
_NEAR = 200_000
"""Bytes of lines that are looked at in one call: they stay in the processor's cache."""
_SERIAL = 1 << 18
"""Multiplications up to which OpenBLAS works in the calling thread."""

_SECOND = 1_000_000
_QUARTER = 900 * _SECOND
_BACK = 60 * _SECOND
_DAY = 86_400 * _SECOND


class Rows(NamedTuple):
    """Steps read from one block: columns as arrays of equal length, missing values NULL."""

    at: Ints
    """Where the line begins in the block."""
    ts: Ints
    clock: NDArray[np.int8]
    """Index into lifecycle.CLOCKS, or -1 where the line holds no stamp."""
    pattern: NDArray[np.int16]
    values: tuple[Ints, ...]
    """One array for each of `template.COLUMNS`."""


class Template:
    """A learnt line made ready for numpy: bounds of its bytes, and one matrix that turns digit columns into numbers."""

    def __init__(self, learnt: Learnt) -> None:
        """Build the bounds and the matrix."""
        self.learnt = learnt
        self.whole = learnt.cover > len(learnt.line)
        self.silent = False
        """No line of this template holds a literal of events."""
        self.timed = TIME.search(learnt.line) is not None
        """A time of day stands on each line of it, if it is whole."""
        self.plain = learnt.line[: learnt.cover].translate(ZEROS)
        self.width = learnt.cover
        line = np.frombuffer((learnt.line + b"\n")[: learnt.cover], np.uint8)
        digit = (line >= 48) & (line < 58)
        sensitive = [(at, chars) for at, chars in learnt.allowed if at < learnt.cover]
        digit[[at for at, chars in sensitive if len(chars) == 1]] = False
        self._allowed = [(at, np.isin(np.arange(48, 304), list(chars))) for at, chars in sensitive if len(chars) > 1]
        self._least, self._span = np.where(digit, np.uint8(48), line), np.where(digit, np.uint8(9), np.uint8(0))
        sixty = [part[0] for part in learnt.clock.parts[4:6]] if learnt.clock else []  # tens of minutes and seconds
        self._span[sixty] = np.minimum(self._span[sixty], 5)
        dated = {at for part in (learnt.clock.parts if learnt.clock else ()) for at in part}
        label = [at for at in range(learnt.offset) if digit[at] and at not in dated]
        self._label = tuple(label) if len(label) <= MAX_DIGITS else ()
        self._peel_all = len(label) > MAX_DIGITS
        self._peeled: dict[int, tuple[int, bool]] = {}
        """Label -> rank, and whether the prefix ends where it does on the line learnt from."""
        groups = self._digit_groups()
        self._columns = np.array([at for group in groups for at in group], np.int64)
        self._powers = np.zeros((len(groups), len(self._columns)))
        self._piece = max(64, min(_NEAR // self.width, _SERIAL // max(1, self._powers.size)))
        row = 0
        for index, group in enumerate(groups):
            self._powers[index, row : row + len(group)] = [*group.values()]
            row += len(group)
        fixed = np.where(digit[self._columns], 0, line[self._columns] - 48.0)
        self._fixed = (self._powers @ fixed).astype(np.int64)[:, None]
        """What digits that have to be what they are add to each number."""

    def _digit_groups(self) -> list[dict[int, float]]:
        """Return the columns of each number and what a one there is worth: the values, some by head and tail, the label
        of the prefix, the parts of the date."""
        groups = [part for number in self.learnt.numbers for part in _parts(number)]
        groups.append(_powers(self._label))
        if self.learnt.clock is not None:
            year, month, day, hour, minute, second, fraction = self.learnt.clock.parts
            time = _powers(hour, 3600 * _SECOND) | _powers(minute, 60 * _SECOND) | _powers(second, _SECOND)
            groups += [_powers((*year, *month, *day)), time | _powers(fraction, 10 ** (6 - len(fraction)))]
        return groups

    def match(self, block: bytearray, at: Ints) -> tuple[NDArray[np.bool_], Ints]:
        """Return which of the lines that begin at `at` are of this template, and their numbers, one column a line.

        Works on pieces that stay in the processor's cache and below the size from which BLAS starts threads. A byte
        less the least one that may stand there is 0 where text is equal, and the digit where there is one.
        """
        fits = np.empty(len(at), bool)
        found = [np.empty((len(self._powers), 0), np.int64)]
        windows: NDArray[np.void] = np.ndarray((len(block) - self.width + 1,), f"V{self.width}", block, strides=(1,))
        room = np.empty((min(self._piece, len(at)), self.width), bool)
        for start in range(0, len(at), self._piece):
            lines = windows[at[start : start + self._piece]].view(np.uint8).reshape(-1, self.width)
            lines -= self._least
            good = np.logical_and.reduce(np.less_equal(lines, self._span, out=room[: len(lines)]), axis=1)
            for column, chars in self._allowed:
                good &= chars[lines[:, column]]
            fits[start : start + self._piece] = good
            digits = (lines if good.all() else lines[good])[:, self._columns].astype(np.float64)
            found.append((self._powers @ digits.T).astype(np.int64))
        numbers = np.concatenate(found, axis=1)
        if self._fixed.any():
            numbers += self._fixed
        return fits, numbers

    def rows(self, found: Ints, at: Ints, source: Clock) -> tuple[NDArray[np.bool_], Rows]:
        """Return which lines are good after all, and the rows of the good ones, from the numbers of `match`.

        Columns of one value only may be views of it: they are to be read.
        """
        size = len(at)
        label = len(found) - 1 - (2 if self.learnt.clock else 0)
        good, rank = self._ranks(found[label])
        ts, clock = _alike(_NULL, size), _alike(_NO_CLOCK, size)
        if self.learnt.clock is not None:
            naive, valid = _instants(*found[label + 1 :])
            good &= valid
            ts, clock = self._to_utc(np.where(good, naive + self.learnt.clock.shift, 0), good, source)
            good &= clock >= 0
        values = self._values(found, rank, size)
        pattern = _alike(np.array([self.learnt.pattern], np.int16), size)
        rows = Rows(at, ts, clock, pattern, values)
        return good, rows if good.all() else select(rows, good)

    def _values(self, found: Ints, rank: Ints, size: int) -> tuple[Ints, ...]:
        columns = dict.fromkeys(COLUMNS, _alike(_NULL, size)) | {"rank": rank}
        for name, value in self.learnt.constants:
            if name in columns:
                columns[name] = _alike(np.array([value]), size)
        row = 0
        for number in self.learnt.numbers:
            parts = found[row : row + len(_parts(number))]
            columns[number.column] = _scaled(parts, number)
            row += len(parts)
        return tuple(columns[name] for name in COLUMNS)

    def _ranks(self, labels: Ints) -> tuple[NDArray[np.bool_], Ints]:
        """Return the rank of each line, and which lines have the envelope that was learnt: each distinct label is
        peeled."""
        learnt, size = self.learnt, len(labels)
        if not self._label:
            good = np.full(size, not self._peel_all)
            return good, _alike(_NULL if learnt.rank is None else np.array([learnt.rank]), size)
        every, which = _distinct(labels)
        for label in every:
            if label not in self._peeled:
                peeled = peel(self._relabelled(label))
                self._peeled[label] = NULL if peeled.rank is None else peeled.rank, peeled.offset == learnt.offset
        ranks, fitting = zip(*(self._peeled[label] for label in every), strict=True) if every else ((), ())
        return np.array(fitting, bool)[which], np.array(ranks, np.int64)[which]

    def _relabelled(self, label: int) -> bytes:
        """Return the line learnt from with other digits in its prefix; its date stays."""
        line = bytearray(self.learnt.line)
        for column, digit in zip(self._label, str(label).zfill(len(self._label)), strict=True):
            line[column] = ord(digit)
        return bytes(line)

    def _to_utc(self, local: Ints, good: NDArray[np.bool_], source: Clock) -> tuple[Ints, NDArray[np.int8]]:
        """Turn stamps into UTC; a zone's offset changes only at quarters of an hour, so one stamp stands for its
        quarter."""
        assert self.learnt.clock is not None
        zone, layout = self.learnt.clock.zone, self.learnt.clock.layout
        ts, clock = np.full(len(local), NULL), np.full(len(local), -1, np.int8)
        chosen = np.flatnonzero(good)
        moving = zone == "local" and source.zoned
        if not len(chosen) or (moving and (np.diff(local[chosen]) < -_BACK).any()):
            return ts, clock  # an hour may come twice: the clock must see these one by one
        first, which = np.zeros(1, np.int64), np.zeros(len(chosen), np.int64)
        if moving:
            _, first, which = np.unique(local[chosen] // _QUARTER, return_index=True, return_inverse=True)
        shifts, codes = np.zeros(len(first), np.int64), np.full(len(first), -1, np.int8)
        for index, row in enumerate(chosen[first]):
            us, codes[index] = source.instant(clocks.Stamp(int(local[row]), zone, True, True, layout))
            shifts[index] = us - int(local[row])
        ts[chosen], clock[chosen] = local[chosen] + shifts[which], codes[which]
        for code in _distinct(codes[codes >= 0])[0]:
            seen = ts[chosen][codes[which] == code]
            source.saw(int(seen.min()), int(seen.max()), code, len(seen))
        return ts, clock


def _alike(value: NDArray[Any], size: int) -> NDArray[Any]:
    """Return a column that holds one value `size` times: a view of it, to be read."""
    return np.ndarray((size,), value.dtype, value.data, strides=(0,))


def _distinct(values: NDArray[np.integer[Any]]) -> tuple[list[int], NDArray[np.integer[Any]]]:
    """Return the distinct values, sorted, and which of them each value is; most often there are few."""
    if not len(values):
        return [], values
    low, high = int(values.min()), int(values.max())
    if high - low >= _SMALL:
        every, which = np.unique(values, return_inverse=True)
        return [int(value) for value in every], which
    if low == high:
        return [low], np.zeros(len(values), np.int8)
    values = values - low
    seen = np.bincount(values) > 0
    return [int(value) + low for value in np.flatnonzero(seen)], (np.cumsum(seen) - 1)[values]


def _powers(columns: Sequence[int], least: int = 1) -> dict[int, float]:
    """Return what a one in each column of digits is worth, the last one `least`."""
    return {at: float(least * 10**power) for at, power in zip(columns, range(len(columns) - 1, -1, -1), strict=True)}


def _parts(number: Number) -> list[dict[int, float]]:
    """Return the columns of a number and what a one there is worth: in its unit where a float64 holds that to the last
    digit, else head and tail by themselves."""
    scale = 10 ** len(number.tail)
    if number.unit % scale == 0 and number.unit * 10 ** len(number.head) < _EXACT:
        return [_powers((*number.head, *number.tail), number.unit // scale)]
    return [_powers(number.head), _powers(number.tail)]


def _scaled(parts: Ints, number: Number) -> Ints:
    value = parts[0]
    if len(parts) > 1:
        value = value * number.unit
        if number.tail:
            value = value + parts[1] * number.unit // 10 ** len(number.tail)
    if number.sign < 0:
        value = -value
    return np.where(np.abs(value) <= _INT32, value, NULL) if number.column in ("skipped", "rank") else value


def _instants(date: Ints, of_day: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Return microseconds since 1970 of dates, written as numbers of eight digits, and microseconds of the day, and
    which are real ones.

    Days from civil: the proleptic Gregorian calendar in eras of 400 years, years beginning in March.
    """
    valid = of_day < _DAY
    if len(date) and (date == date[0]).all():  # one day, as most often: no need to reckon for each line
        number, exists = _day(int(date[0]))
        return number * _DAY + of_day, valid & exists
    days, real = _days(date)
    return days * _DAY + of_day, valid & real


@functools.lru_cache(maxsize=1024)
def _day(date: int) -> tuple[int, bool]:
    days, real = _days(np.array([date], np.int64))
    return int(days[0]), bool(real[0])


def _days(date: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    year, month, day = date // 10_000, date // 100 % 100, date % 100
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    lengths = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
    valid = (year >= 2000) & (year < 2100) & (month >= 1) & (month <= 12) & (day >= 1)
    valid &= day <= lengths[np.clip(month, 0, 12)] + (leap & (month == 2))
    shifted = year - (month <= 2)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    of_era = (shifted % 400) * 365 + (shifted % 400) // 4 - (shifted % 400) // 100 + of_year
    return shifted // 400 * 146_097 + of_era - 719_468, valid


def select(rows: Rows, which: NDArray[np.bool_] | Ints) -> Rows:
    """Return the chosen rows, in the order of `which`."""
    values = tuple(column[which] for column in rows.values)
    return Rows(rows.at[which], rows.ts[which], rows.clock[which], rows.pattern[which], values)
