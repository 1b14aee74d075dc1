"""Gives undated lines an instant: that of the nearest dated line before them, advanced by the printed durations of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ettlog.parse.template import NULL

Ints = NDArray[np.int64]
Dated = Callable[[bytes], int]
"""Returns the instant of a line in microseconds UTC, or NULL."""

TAIL = 1 << 16
"""Bytes at the end of a block that are looked at for its last dated line when the block holds no undated fact."""


class Neighbours(NamedTuple):
    """For undated lines: the nearest dated line before (its place in the source and instant) and the first one behind."""

    place: Ints
    before: Ints
    behind: Ints


class DatedLines:
    """The lines of one block that hold the shape of a time of day; read only where a neighbour needs them."""

    def __init__(self, data: bytearray, begin: int, end: int, dated: Dated) -> None:
        """Find `dd:dd:dd` in `data[begin:end]`, where a line begins at `begin`."""
        self._data, self._dated = data, dated
        self.begins, self._ends = _candidates(data, begin, end)
        self._known = np.zeros(len(self.begins), np.int8)
        self._us = np.full(len(self.begins), NULL)

    def last(self) -> tuple[int, int]:
        """Return (place in the block, instant) of the last dated line, or (-1, NULL)."""
        return self._walk(len(self.begins) - 1, -1)

    def first(self) -> int:
        """Return the instant of the first dated line, or NULL."""
        return self._walk(0, 1)[1]

    def around(self, at: Ints) -> Neighbours:
        """Return the neighbours of lines that begin at `at` (sorted); place -1 and NULL where this block has none."""
        index = np.searchsorted(self.begins, at)
        distinct, which = np.unique(index, return_inverse=True)
        before = np.array([self._walk(int(k) - 1, -1) for k in distinct], np.int64).reshape(-1, 2)
        same = {int(at[i]) for i in np.flatnonzero(np.isin(at, self.begins))}
        behind = np.array([self._walk(int(k), 1, same)[1] for k in distinct], np.int64)
        return Neighbours(before[which, 0], before[which, 1], behind[which])

    def _walk(self, index: int, step: int, skip: set[int] | frozenset[int] = frozenset()) -> tuple[int, int]:
        while 0 <= index < len(self.begins):
            us = self._read(index)
            if us != NULL and int(self.begins[index]) not in skip:
                return int(self.begins[index]), us
            index += step
        return -1, NULL

    def _read(self, index: int) -> int:
        if not self._known[index]:
            self._known[index] = 1
            self._us[index] = self._dated(bytes(self._data[self.begins[index] : self._ends[index]]))
        return int(self._us[index])


def _candidates(data: bytearray, begin: int, end: int) -> tuple[Ints, Ints]:
    """Return where the lines begin and end that hold `dd:dd:dd`."""
    text = np.frombuffer(data, np.uint8)
    colon = np.flatnonzero(text[begin + 2 : max(begin + 2, end - 5)] == 58) + begin + 2
    colon = colon[text[colon + 3] == 58]
    for shift in (-2, -1, 1, 2, 4, 5):
        colon = colon[text[colon + shift] - 48 < 10]
    begins, ends, line_end = [], [], -1
    for at in colon.tolist():
        if at > line_end:
            begins.append(data.rfind(b"\n", begin, at) + 1 or begin)
            line_end = data.find(b"\n", at, end)
            line_end = end if line_end < 0 else line_end
            ends.append(line_end)
    return np.array(begins, np.int64), np.array(ends, np.int64)


def advance(place: Ints, before: Ints, behind: Ints, durations: Ints) -> Ints:
    """Return instants of undated steps, in line order, in microseconds; NULL where there is no dated line at all.

    A step comes at the instant of the dated line before it plus the durations of all undated steps since (its own included),
    never later than the first dated line behind it. Before the first dated line that line's instant is taken.
    """
    new = np.ones(len(place), bool)
    new[1:] = place[1:] != place[:-1]
    total = np.cumsum(durations)
    group = np.cumsum(new) - 1
    run = total - (total - durations)[new][group] if len(place) else total
    found = np.where(before == NULL, behind, before + np.where(before == NULL, 0, run))
    return np.where((behind != NULL) & (found > behind), behind, found)


def per_step(steps: Ints, launches: Ints, durations: Ints, total: NDArray[np.bool_]) -> Ints:
    """Return printed durations of one step in microseconds, in line order: where `total`, the text gives the time since the loop began.

    The difference to the line before is shared by the steps between; a first line shares its own by its number. A line that
    goes back, or repeats a number, has none.
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
    """Return the time each step line stands for: its printed duration of one step times the steps since the line before.

    With a log interval of n one line speaks of n steps. The first line of a launch takes the interval of the second one where
    its number is a multiple of that, else one step. A repeated number stands for no time.
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
