"""Numbers the launches inside one source: a small state machine over opener lines, end lines and steps, in line
order."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

Writer = tuple[object, ...]
NOBODY = (None, None)
"""Rank and node of a writer that does not say who it is."""
ANNOUNCED = 3
"""Level of a trainer that announces itself, maybe in several copies."""


class Mark(NamedTuple):
    """One line that opens or ends a launch."""

    line: int
    opens: int
    """1: a launcher, 2: a worker, 3: a trainer that announces itself, 0: this line only ends."""
    ends: bool
    writer: Writer
    """Pattern, rank and node: who wrote it."""


class _Launch:
    """The open launch."""

    def __init__(self, mark: Mark, before: _Launch | None) -> None:
        self.level = mark.opens
        self.writers = {mark.writer}
        self.below: set[Writer] = set()
        """Writers of lower levels."""
        self.announced: set[Writer] = set()
        """Writers that announced it before its workers showed."""
        self.usual: set[Writer] = set()
        """Writers that announced the launches before it, where its workers came first."""
        self.ended = self.stepped = False
        if before is not None and 1 < mark.opens < ANNOUNCED:
            self.usual = before.announced | before.usual

    def joined_by(self, mark: Mark) -> bool:
        """Tell whether an opener belongs to this launch, and remember its writer if so."""
        if self.stepped or (self.ended and not self._late(mark)):
            return False
        if mark.opens > self.level:  # a worker below the launcher
            self.below.add(mark.writer)
            return True
        if mark.opens == self.level == ANNOUNCED:  # copies from ranks that do not say who they are
            self.writers.add(mark.writer)
            return True
        if mark.opens == self.level and mark.writer in self.writers:
            # nodes that do not say who they are print the same first line one after another
            return mark.opens > 1 and mark.writer[-2:] == NOBODY and len(self.writers) == 1
        if self.level == ANNOUNCED:  # what it announced goes on: the first worker or launcher line counts from here
            self.announced, self.level, self.writers = self.writers, mark.opens, {mark.writer}
            return True
        if mark.opens < self.level:  # a launcher comes before its workers: these were another launch's
            return False
        self.writers.add(mark.writer)
        return True

    def _late(self, mark: Mark) -> bool:
        """Tell whether a worker of the same launch is late: something failed before all had printed their first
        line."""
        same = any(writer[0] == mark.writer[0] for writer in self.writers)
        if mark.opens > self.level:
            # who announced what has ended since announces the next one: a crash loop
            said = mark.writer in self.announced or mark.writer in self.usual
            return not said and (mark.writer not in self.below or mark.writer[-2:] == NOBODY)
        return mark.opens == self.level > 1 and same and mark.writer not in self.writers


def number(marks: Iterable[Mark], steps: Sequence[int]) -> list[int]:
    """Return the line on which each launch begins, in order: launch k is opened by line `result[k - 1]`.

    `marks` and `steps` (lines of steps) are sorted by line. An opener opens a launch when none is open, when the open
    one has made a step or ended, or when its writer has already opened this one; another worker joins, a launcher
    behind workers opens. Workers before the first launcher that made no step are no launches.
    """
    begins: list[int] = []
    launch: _Launch | None = None
    trained = False
    for mark in marks:
        if launch is not None and not launch.stepped:
            launch.stepped = bisect_right(steps, mark.line - 1) > bisect_right(steps, begins[-1])
            trained = trained or launch.stepped
        if mark.opens and (launch is None or not launch.joined_by(mark)):
            if mark.opens == 1 and not trained:
                begins.clear()
            launch = _Launch(mark, launch)
            trained = trained or mark.opens == 1
            begins.append(mark.line)
        if mark.ends and launch is not None:
            launch.ended = True
    return begins
