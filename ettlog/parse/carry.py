"""Gives undated lines an instant: that of the nearest dated line before them, advanced by the printed durations of
steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ettlog.parse.finder import Rest
from ettlog.parse.lines import Lines
from ettlog.parse.stamp import clock_in
from ettlog.parse.template import NULL

Ints = NDArray[np.int64]
Dated = Callable[[bytes], int]
"""Returns the instant of a line in microseconds UTC, or NULL."""

Room = Callable[[int], NDArray[np.bool_]]
"""Gives room for truth values: new memory is slow to touch."""

_NONE: Ints = np.zeros(0, np.int64)

WINDOWS = (1 << 14, 1 << 17)
"""Bytes looked at in turn for the dated line nearest to one place; the last size repeats."""

NEAR, FAR = 3, 4096
"""Lines before that are tried one by one, and the most bytes one of them may have."""

MANY = 32
"""Undated steps in a block from which all its stamps are found at once."""


class Neighbours(NamedTuple):
    """For undated lines: the nearest dated line before (its place in the block and instant) and the first one
    behind."""

    place: Ints
    before: Ints
    behind: Ints


class Left(NamedTuple):
    """What is left of a block when step lines are covered."""

    rest: Rest
    clocked: Callable[[], Ints]
    """Where those of the covered lines begin (others may be among them) on which a time of day stands."""


class DatedLines:
    """The lines of one block that hold an instant; a line is read only when a neighbour needs it."""

    def __init__(
        self,
        data: bytearray,
        end: int,
        dated: Dated,
        read: tuple[Ints, Ints] = (_NONE, _NONE),
        lines: Lines | None = None,
        room: Room | None = None,
        left: Left | None = None,
    ) -> None:
        """Keep `data[:end]`, whole lines; `dated` reads one, `read` has begins (sorted) and instants of lines read."""
        self._data, self._end, self._dated, self._read_at, self._read_us = data, end, dated, *read
        self._text = np.frombuffer(data, np.uint8, end)
        self._known: dict[int, int] = {}
        self._room = room or (lambda size: np.empty(size, bool))
        self._lines = lines or Lines(data, end, self._room)
        self._left = left

    def before(self, at: int, floor: int = 0) -> tuple[int, int]:
        """Return (place, instant) of the last dated line in `[floor, at)`, where lines begin at both; (-1, NULL)
        without one."""
        data, high = self._data, at
        for _ in range(NEAR):  # most often a line just before is dated
            if high <= floor:
                return -1, NULL
            begin = data.rfind(b"\n", max(floor - 1, high - FAR, 0), high - 1) + 1
            if begin < floor or (begin == 0 and high > FAR):
                break
            if clock_in(data, begin, high - 1) is not None:
                us = self._line(begin)
                if us != NULL:
                    return begin, us
            high = begin
        return self._searched(high, floor)

    def _searched(self, at: int, floor: int) -> tuple[int, int]:
        high, round_ = at, 0
        while high > floor:
            low = max(floor, high - WINDOWS[min(round_, len(WINDOWS) - 1)])
            for clock in self._colons(low, min(high + 7, at))[::-1].tolist():
                begin, us = self._read(clock) if clock_in(self._data, clock - 2, clock + 6) else (-1, NULL)
                if us != NULL:
                    return begin, us
            high, round_ = low, round_ + 1
        return -1, NULL

    def behind(self, at: int) -> int:
        """Return the instant of the first dated line after the one that begins at `at`, or NULL; -1 stands before
        all."""
        low = self._data.find(b"\n", at, self._end) + 1 if at >= 0 else 0
        round_ = 0
        while low < self._end:
            high = min(self._end, low + WINDOWS[min(round_, len(WINDOWS) - 1)])
            for clock in self._clocks(low, min(high + 7, self._end)).tolist():
                us = self._read(clock)[1]
                if us != NULL:
                    return us
            low, round_ = high, round_ + 1
        return NULL

    def around(self, at: Ints, capped: NDArray[np.bool_]) -> Neighbours:
        """Return the neighbours of undated lines that begin at `at` (sorted); place -1 and NULL where this block has
        none.

        The line behind is looked for only where `capped` says so, or where there is none before.
        """
        if np.count_nonzero(capped) >= MANY:
            return self._all_around(at, capped)
        rows, last, floor = [], (-1, NULL), 0
        for begin, wanted in zip(at.tolist(), capped.tolist(), strict=True):
            found = self.before(begin, floor)
            last, floor = (found if found[1] != NULL else last), begin
            rows.append((*last, self.behind(begin) if wanted or last[1] == NULL else NULL))
        return Neighbours(*np.array(rows, np.int64).reshape(-1, 3).T)

    def _all_around(self, at: Ints, capped: NDArray[np.bool_]) -> Neighbours:
        begins = self._timed()
        index = np.searchsorted(begins, at)
        first = _first(index)
        distinct, which = index[first], np.cumsum(first) - 1
        known = self._known_of(begins)
        before, after = (np.append(known, NULL)[group] for group in (distinct - 1, distinct))
        place = np.append(begins, -1)[distinct - 1]
        for row in np.flatnonzero(before == NULL).tolist():
            place[row], before[row] = self._walk(begins, int(distinct[row]) - 1, -1)
        wanted = np.bincount(which, capped) > 0
        for row in np.flatnonzero((after == NULL) & (wanted | (before == NULL))).tolist():
            after[row] = self._walk(begins, int(distinct[row]), 1)[1]
        return Neighbours(place[which], before[which], after[which])

    def _timed(self) -> Ints:
        """Return where the lines begin on which a time of day stands, sorted."""
        if self._left is None:
            return self._begins(self._clocks(0, self._end))
        rest, clocked = self._left
        found = _clocks(np.frombuffer(rest.text, np.uint8), 0, len(rest.text), self._room)
        return np.union1d(self._begins(rest.places(found)), clocked())

    def _begins(self, at: Ints) -> Ints:
        """Return where the lines begin that some places (sorted) are on, each once."""
        ends = self._lines.ends
        lines = np.searchsorted(ends, at)
        lines = lines[_first(lines)]
        return np.where(lines > 0, ends[lines - 1] + 1, 0)

    def _known_of(self, begins: Ints) -> Ints:
        """Return the instants of lines where they were read already, else NULL."""
        found = np.full(len(begins), NULL)
        if len(self._read_at):
            index = np.minimum(np.searchsorted(self._read_at, begins), len(self._read_at) - 1)
            same = self._read_at[index] == begins
            found[same] = self._read_us[index[same]]
        return found

    def _walk(self, begins: Ints, index: int, step: int) -> tuple[int, int]:
        while 0 <= index < len(begins):
            begin = int(begins[index])
            us = self._line(begin)
            if us != NULL:
                return begin, us
            index += step
        return -1, NULL

    def _clocks(self, low: int, high: int) -> Ints:
        return _clocks(self._text, low, high, self._room)

    def _colons(self, low: int, high: int) -> Ints:
        return _colons(self._text, low, high, self._room)

    def _read(self, at: int) -> tuple[int, int]:
        """Return where the line around `at` begins, and its instant."""
        begin = self._data.rfind(b"\n", 0, at) + 1
        return begin, self._line(begin)

    def _line(self, begin: int) -> int:
        if begin not in self._known:
            self._known[begin] = self._dated(bytes(self._data[begin : self._data.find(b"\n", begin, self._end)]))
        return self._known[begin]


def _clocks(text: NDArray[np.uint8], low: int, high: int, room: Room) -> Ints:
    """Return where `dd:dd:dd` stands in `text[low:high]`: the place of its first colon."""
    colon = _colons(text, low, high, room)
    for shift in (-2, -1, 1, 2, 4, 5):
        if not len(colon):
            break
        colon = colon[text[colon + shift] - 48 < 10]
    return colon


def _colons(text: NDArray[np.uint8], low: int, high: int, room: Room) -> Ints:
    """Return where a colon stands in `text[low:high]` with another one three bytes behind it, and room for a time
    around them: few bytes are left of many colons."""
    size = max(0, high - low - 4)
    rooms = room(2 * size)
    colons = np.equal(text[low + 2 : low + 2 + size], 58, out=rooms[:size])
    both = np.logical_and(colons[:-3], colons[3:], out=rooms[size : size + max(0, size - 3)])
    return np.asarray(np.flatnonzero(both) + low + 2, np.int64)


def _first(ordered: Ints) -> NDArray[np.bool_]:
    """Return which values are the first of their kind."""
    first = np.ones(len(ordered), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return first


def advance(place: Ints, before: Ints, behind: Ints, durations: Ints) -> Ints:
    """Return instants of undated steps, in line order, in microseconds; NULL where there is no dated line at all.

    A step comes at the instant of the dated line before it plus the durations of all undated steps since (its own
    included), never later than the first dated line behind it, unless that one tells of an earlier time. Before the
    first dated line that line's instant is taken.
    """
    new = _first(place)
    total = np.cumsum(durations)
    group = np.cumsum(new) - 1
    run = total - (total - durations)[new][group] if len(place) else total
    found = np.where(before == NULL, behind, before + np.where(before == NULL, 0, run))
    return np.where((behind != NULL) & (behind >= before) & (found > behind), behind, found)


def per_step(steps: Ints, launches: Ints, durations: Ints, total: NDArray[np.bool_]) -> Ints:
    """Return printed durations of one step in microseconds, in line order: where `total`, the text gives the time
    since the loop began.

    The difference to the line before is shared by the steps between; a first line shares its own by its number. A
    line that goes back, or repeats a number, has none.
    """
    which = np.flatnonzero(total & (durations != NULL))
    if not len(which):
        return durations
    step, since, launch = steps[which], durations[which], launches[which]
    first = np.r_[True, launch[1:] != launch[:-1]]
    gap = np.where(first, np.maximum(step, 1), np.diff(step, prepend=0))
    passed = np.where(first, since, np.diff(since, prepend=0))
    found = durations.copy()
    found[which] = np.where((gap > 0) & (passed >= 0), passed // np.maximum(gap, 1), NULL)
    return found


def spans(steps: Ints, launches: Ints, durations: Ints) -> Ints:
    """Return the time each step line stands for: its printed duration of one step times the steps since the line
    before.

    With a log interval of n one line speaks of n steps. The first line of a launch takes the interval of the second
    one where its number is a multiple of that, else one step. A repeated number stands for no time.
    """
    if not len(steps):
        return durations
    gap = np.ones(len(steps), np.int64)
    same = launches[1:] == launches[:-1]
    delta = np.diff(steps)
    gap[1:] = np.where(same & (delta >= 0), delta, 1)
    first = np.flatnonzero(np.r_[True, ~same] & np.r_[same, False])
    interval = np.maximum(gap[first + 1], 1)
    gap[first] = np.where(steps[first] % interval == 0, np.where(steps[first] > 0, interval, 1), 1)
    return np.where(durations == NULL, 0, np.maximum(durations, 0) * gap)
