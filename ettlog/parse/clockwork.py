"""The clock of a source with its words as numbers, for columns."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from ettlog.lifecycle import CLOCKS
from ettlog.parse import clock as clocks
from ettlog.parse.template import NULL

INFERRED = CLOCKS.index("date_inferred")
NOMINAL = CLOCKS.index("date_nominal")
_CODES = {word: code for code, word in enumerate(CLOCKS)}


class Told(NamedTuple):
    """What a clock has seen: first and last instant, instants by clock, and what it inferred."""

    first: int | None
    last: int | None
    counts: Counter[int]
    notes: tuple[str, ...]


class Clock:
    """Wraps a SourceClock; clock words are indices into lifecycle.CLOCKS."""

    def __init__(self, zone: str | None, year_hint: int | None) -> None:
        """Start the clock of one source; raises UsageError for an unknown zone."""
        self.source = clocks.SourceClock(zone, year_hint, nominal=True)
        self.zoned = zone is not None
        self.first: int | None = None
        self.last: int | None = None
        self._counts: Counter[int] = Counter()

    def instant(self, stamp: clocks.Stamp) -> tuple[int, int]:
        """Return (microseconds UTC, index of the clock's word), or (NULL, -1) where no instant can be told."""
        us, word = self.source.instant(stamp)
        if us is None:
            return NULL, -1
        code = _CODES[word]
        if self.first is None or self.last is None or not self.first <= us <= self.last:
            self.saw(us, us, code, 1)
        else:
            self._counts[code] += 1
        return us, code

    def saw(self, first: int, last: int, code: int, count: int) -> None:
        """Take note of `count` instants between two, inclusive."""
        if self.first is None or first < self.first:
            self.first = first
        if self.last is None or last > self.last:
            self.last = last
        self._counts[code] += count

    def take(self) -> Told:
        """Return what was seen since the begin, or since this was called before."""
        told = Told(self.first, self.last, self._counts, self.source.notes)
        self.first = self.last = None
        self._counts = Counter()
        self.source.renote(())
        return told

    def add(self, told: Told) -> None:
        """Take note of what another clock has seen behind what this one has."""
        if told.first is not None and told.last is not None:
            self.first = told.first if self.first is None else min(self.first, told.first)
            self.last = told.last if self.last is None else max(self.last, told.last)
        self._counts.update(told.counts)
        self.source.renote((*self.source.notes, *told.notes))

    def settle(self) -> tuple[int, bool]:
        """Move the first and last instant out of the nominal year when all is read.

        Return what all instants in it have to be moved by, in microseconds, and whether they stay in it for good.
        """
        shift, guessing = self.source.shift, self.source.guessing
        self.first = None if self.first is None else clocks.moved(self.first, shift)
        self.last = None if self.last is None else clocks.moved(self.last, shift)
        if guessing:
            self._counts[NOMINAL] += self._counts.pop(INFERRED, 0)
        return shift, guessing

    @property
    def word(self) -> str:
        """Return the clock of most instants; `none` without any."""
        most = max(self._counts.items(), key=lambda item: (item[1], -item[0]), default=(CLOCKS.index("none"), 0))
        return CLOCKS[most[0]]
