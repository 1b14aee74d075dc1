"""Reads one line by its regexes: states, prefixes, patterns, stamp. The truth that faster ways must agree with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ettlog.parse import clock as clocks
from ettlog.parse.clockwork import Clock
from ettlog.parse.envelope import Peeled, peel, split_states
from ettlog.parse.format import Pattern, fields
from ettlog.parse.template import NULL


class Found(NamedTuple):
    """What one pattern found on a line; `begin` and `end` are the match in the body, `state` counts carriage returns
    before it."""

    pattern: int
    values: dict[str, int | str]
    ts: int
    clock: int
    bad_time: bool
    state: int
    begin: int
    end: int


class LineReader:
    """Reads single lines of one source."""

    def __init__(self, patterns: Sequence[Pattern], clock: Clock, states: int) -> None:
        """Keep the patterns and the clock; at most `states` carriage-return states of a line are tried."""
        self._patterns, self._clock, self._states = patterns, clock, states

    def read(self, line: bytes, candidates: Sequence[int], *, many: bool = False, whole: bool = True) -> list[Found]:
        """Return what the candidate patterns find, in the order of their places; `many` allows a pattern several
        matches.

        Matches of different patterns that overlap are one fact: the first, then the longer, then the earlier pattern.
        Where the line is not `whole`, a match that touches its end may have lost digits and does not count.
        """
        found: list[Found] = []
        states = split_states(line)
        if len(states) == 1:
            return _apart(self._state(peel(line), candidates, 0, many, not whole))
        for number, state in enumerate(states[-self._states :], max(0, len(states) - self._states)):
            wanted = [index for index in candidates if self._patterns[index].anchor in state]
            if wanted:
                cut = not whole and number == len(states) - 1
                found += _apart(self._state(peel(state), wanted, number, many, cut))
        return found

    def _state(self, peeled: Peeled, wanted: Sequence[int], number: int, many: bool, cut: bool) -> list[Found]:
        found = []
        for index in wanted:
            pattern = self._patterns[index]
            if pattern.anchor not in peeled.body:
                continue
            for match in pattern.regex.finditer(peeled.body):
                if cut and match.end() == len(peeled.body) and peeled.body[-1:].isalnum():
                    continue
                found.append(self.finish(index, fields(pattern, match), peeled, number, match.span()))
                if not many:
                    break
        return found

    def finish(
        self,
        index: int,
        values: dict[str, int | str],
        peeled: Peeled,
        number: int,
        span: tuple[int, int],
        timeless: bool = False,
    ) -> Found:
        """Return a match with its instant, and with the rank and node of the prefix where it has none itself.

        `timeless` tells that neither prefix nor body holds a stamp; the match may still name one.
        """
        ts, clock, bad = NULL, -1, False
        if not timeless or "stamp" in values:
            ts, clock, bad = self._instant(peeled, values)
        if peeled.rank is not None:
            values.setdefault("rank", peeled.rank)
        if peeled.node is not None:
            values.setdefault("node", peeled.node.decode("utf-8", "replace"))
        return Found(index, values, ts, clock, bad, number, *span)

    def _instant(self, peeled: Peeled, values: dict[str, int | str]) -> tuple[int, int, bool]:
        """Return (instant or NULL, clock, whether there is a stamp that is none): of the prefix, the pattern, or the
        text.

        A stamp that the pattern names stands above the prefix where it is an instant by itself: it says when it
        happened.
        """
        named = values.pop("stamp", None)
        own = clocks.parse(str(named)) if named is not None else None
        if peeled.stamp is not None and (own is None or own.zone == "local"):
            stamp = clocks.parse(peeled.stamp)
            self._learn_zone(stamp, peeled.body)
        elif named is not None:
            stamp = own
        else:
            stamp = clocks.find(peeled.body)
        if stamp is None:
            return NULL, -1, peeled.stamp is not None or named is not None
        ts, clock = self._clock.instant(stamp)
        return ts, clock, False

    def _learn_zone(self, stamp: clocks.Stamp | None, body: bytes) -> None:
        if stamp is not None and stamp.zone != "local":
            inner = clocks.find(body)
            if inner is not None and inner.zone == "local":
                self._clock.source.observe(stamp.us, inner)

    def instant(self, stamp: clocks.Stamp) -> tuple[int, int]:
        """Return the instant of a stamp in microseconds UTC, or NULL, and the number of its clock."""
        return self._clock.instant(stamp)

    def dated(self, line: bytes) -> int:
        """Return the instant of any line in microseconds UTC, or NULL."""
        peeled = peel(line.rpartition(b"\r")[2] if b"\r" in line.rstrip(b"\r") else line)
        return self._instant(peeled, {})[0]


def _apart(found: list[Found]) -> list[Found]:
    if len(found) < 2:
        return found
    kept: list[Found] = []
    for one in sorted(found, key=lambda one: (one.begin, -one.end, one.pattern)):
        if all(one.begin >= other.end or one.end <= other.begin for other in kept):
            kept.append(one)
    return kept
