"""Steps from their begins alone: a step is known to be done when a later one begins.

The row of step n stands on the line of step n + 1, with the time between less what custom events took of it. Entries
of one start may arrive out of order, once for each writing rank, and beside those of an older attempt that has not
noticed its end: they are sorted by time, copies and the old attempt's steps are dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median_low
from typing import NamedTuple

from ettlog.parse.gather import DUPLICATE, MATCHED, Facts, Instant, exact

_MANY = 64
"""Steps of a start from which numpy makes their rows."""
_SAFE = 1 << 60
"""Step numbers whose differences are 64-bit numbers."""
_CLOSE = 4
"""A last interval may differ from what it should be by one part in so many."""


class Begun(NamedTuple):
    """One step that began."""

    us: int
    line: int
    step: int


class Steps:
    """The steps of one start; `close` makes rows of them."""

    def __init__(self, facts: Facts, words: Mapping[str, str]) -> None:
        """Start with nothing begun; `words` gives the kinds of what is concluded."""
        self._facts, self._words = facts, words
        self._open: Begun | None = None
        """The last step of the start before, whose end nobody logged."""
        self._usual = self._old_next = 0
        self._reset()

    def _reset(self) -> None:
        self.begun: list[tuple[int, int, int]] = []
        """Instant, line and number of each step that began."""
        self.end: tuple[int, int] | None = None
        """Instant and line of the end of the job."""
        self.away: list[tuple[int, int]] = []
        """Intervals in which the loop did something else."""
        self._every, self._times = 1, list[int]()

    def close(self) -> None:
        """Make rows of the steps since the last call: call it at every start and at the end of the file."""
        begun = sorted(self.begun)
        if len(begun) >= _MANY and not self.away and self._rise(begun):
            self._last(Begun(*begun[-1]))
            self._reset()
            return
        last: Begun | None = None
        for now in map(Begun._make, begun):
            if last is None:
                self._first(now)
            elif now.step == last.step or (now.step == self._old_next and now.step != last.step + 1):
                self._old_next += now.step == self._old_next
                self._drop()
                continue
            elif now.step > last.step:
                self._between(last, now)
            last = now
        if last is not None:
            self._last(last)
        self._reset()

    def _rise(self, begun: list[tuple[int, int, int]]) -> bool:
        """Make rows of all steps but the last where each has a higher number than the one before; else make none."""
        import numpy as np

        us, line, step = np.array(begun, np.int64).T
        steps = np.diff(step)
        if np.abs(step).max() > _SAFE or (steps <= 0).any() or ((step[1:] == self._old_next) & (steps != 1)).any():
            return False
        means = np.diff(us) // steps
        first = Begun(*begun[0])
        self._first(first)
        self._every, self._times = int(steps[-1]), means.tolist()
        if steps[0] > 1:  # the log skips numbers: the first of them is a row too
            self._row(first.line, first.us + self._times[0], first.step, self._times[0])
        self._facts.many_steps(line[1:], "step_start", us[1:], step[1:] - 1, means)
        return True

    def _first(self, now: Begun) -> None:
        before, self._open = self._open, None
        if before is not None and now.step > before.step and self._usual:
            self._facts.note("a start that continues behind the last step begun before it proves that step done")
            self._row(before.line, before.us + self._usual, before.step, self._usual)
        self._facts.event(now.line, self._words["first_step"], "first_step_start", _at(now.us), step=now.step)

    def _between(self, last: Begun, now: Begun) -> None:
        steps = now.step - last.step
        mean = self._own(last.us, now.us) // steps
        if steps > 1 and not self._times:  # the log skips numbers: the first of them is a row too
            self._row(last.line, last.us + mean, last.step, mean)
        self._row(now.line, now.us, now.step - 1, mean)
        self._every = steps
        self._times.append(mean)

    def _last(self, last: Begun) -> None:
        self._old_next = last.step + 1
        self._usual = median_low(self._times) if self._times else 0
        if self.end is None or self.end[0] < last.us:
            self._open = last
            self._facts.event(last.line, self._words["step_without_end"], "step_start", _at(last.us), step=last.step)
            return
        end, line = self.end
        own, most = self._own(last.us, end), self._usual * self._every
        if self._every > 1 and abs(own - most) * _CLOSE <= most:
            self._facts.note("a log that skips step numbers is taken to skip as many behind its last one")
            self._row(line, end, last.step + self._every - 1, own // self._every)
        else:
            self._row(line, end, last.step, own)

    def _own(self, begin: int, end: int) -> int:
        return end - begin - sum(max(0, min(until, end) - max(since, begin)) for since, until in self.away)

    def _row(self, line: int, us: int, step: int, duration: int) -> None:
        for since, until in sorted(self.away, reverse=True):  # the step was over when the loop left for something else
            if since < us <= until:
                us = since
        self._facts.step(line, "step_start", _at(us), step, duration_us=duration)

    def _drop(self) -> None:
        self._facts.count(MATCHED, lines=-1)
        self._facts.count(DUPLICATE)


def _at(us: int) -> Instant:
    found = exact(us)
    assert found is not None  # every instant here was checked, or lies between two that were
    return found
