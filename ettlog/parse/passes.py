"""Steps of one source in passes over their chunks: which count, of which launch they are, and the instants of undated
ones. What one chunk leaves to the next is one row at most, so that memory does not grow with the steps."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ettlog.parse.carry import advance, per_step, spans
from ettlog.parse.chunks import Columns
from ettlog.parse.launches import Mark, number
from ettlog.parse.template import NULL

Ints = NDArray[np.int64]
Settle = Callable[..., None]
"""Moves instants, in place, out of the nominal year; takes instants and, if any, their clocks."""

LINE, TS, CLOCK, PATTERN, STEP, TARGET, DURATION = range(7)
"""Columns of a chunk of steps; further ones follow, the last one of a settled chunk is the launch."""
BATCHES = 5
"""From this tier on lines number the batches of an epoch: beside steps in the same source they are none."""
NO_ROW = -2
"""Place of no line."""


class Clocks(NamedTuple):
    """Numbers of the clocks of carried instants and of missing ones."""

    carried: int
    undated: int


class Launches(NamedTuple):
    """The launches of one source."""

    begins: Ints
    """Line on which each begins."""
    tiers: Ints
    """Lowest tier of the steps of each, from launch 0."""
    patterns: frozenset[int]
    """Patterns of the steps of the lowest tier of their launch."""


def launches_of(steps: Iterable[tuple[Ints, Ints]], marks: Iterable[Mark], at: Ints, tiers: Ints) -> Launches:
    """Number the launches of a source by its marks, `at` these distinct lines, and the lines and patterns of its steps;
    `tiers` are the patterns'.

    One step a pattern is enough of each stretch between two marks, and of each marked line: only whether there is one
    decides.
    """
    lines, patterns = _one_of_each(steps, at, len(tiers))
    order = np.argsort(lines, kind="stable")
    lines, patterns = lines[order], patterns[order]
    tier = tiers[patterns]
    # a bar of something else before the loop begins is no step that could end a launch
    sure = lines[tier == tier.min(initial=tier.max(initial=1))]
    begins = np.array(number(marks, array("q", sure.tobytes())), np.int64)
    launch = np.searchsorted(begins, lines, "right")
    best = np.full(len(begins) + 1, np.iinfo(np.int64).max)
    np.minimum.at(best, launch, tier)
    if tier.min(initial=BATCHES) < BATCHES:  # a launch that ended before the trainer's first step made none
        best[best >= BATCHES] = np.iinfo(np.int64).max
    return Launches(begins, best, frozenset(patterns[tier == best[launch]].tolist()))


def _one_of_each(steps: Iterable[tuple[Ints, Ints]], at: Ints, patterns: int) -> tuple[Ints, Ints]:
    """Return line and pattern of the first step by stretch and pattern."""
    known = np.zeros(0, np.int64)
    """Stretch and pattern, as one number, of what was found in the stretch that goes on in the next chunk."""
    lines, found = [known], [known]
    for line, pattern in steps:
        stretch = _passed(at, line, "right") + _passed(at, line, "left")
        key = stretch * patterns + pattern
        turns = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
        distinct, first = np.unique(key[turns], return_index=True)
        new = ~np.isin(distinct, known)
        lines.append(line[turns[first[new]]])
        found.append(distinct[new] % patterns)
        known = np.union1d(known, distinct)
        known = known[known >= stretch[-1] * patterns]
    return np.concatenate(lines), np.concatenate(found)


class Neighbours:
    """The dated lines beside undated ones, handed out in the order of the lines, and kept for undated events."""

    def __init__(self, chunks: Iterable[Columns], events: Ints) -> None:
        """Take chunks of (line, place, before, behind) and the sorted lines of undated events."""
        self._chunks = iter(chunks)
        self._held: Columns = tuple(np.zeros(0, np.int64) for _ in range(4))
        self._events, self._done = events, 0
        self.place = np.full(len(events), NO_ROW)
        """Place of the dated line before each undated event."""
        self.found = np.full(len(events), NULL)
        """Instant of each undated event."""
        self._late = (NO_ROW, NULL)

    def of(self, lines: Ints) -> tuple[Ints, Ints, Ints]:
        """Return place, before and behind of undated steps; each call asks for later lines."""
        last = int(lines[-1])
        while (not len(self._held[0]) or self._held[0][-1] < last) and self._pull():
            pass
        held = self._held
        index = np.minimum(np.searchsorted(held[0], lines), len(held[0]) - 1)
        found = tuple(column[index] for column in held[1:])
        rest = np.searchsorted(held[0], last)
        self._held = tuple(column[rest:] for column in held)
        return found[0], found[1], found[2]

    def _pull(self) -> bool:
        chunk = next(self._chunks, None)
        if chunk is None:
            return False
        line, place, before, behind = chunk
        low, high = np.searchsorted(self._events, (line[0], line[-1] + 1))
        row = np.searchsorted(line, self._events[low:high])
        mine = np.flatnonzero(line[row] == self._events[low:high])
        row, to = row[mine], mine + low
        self.place[to] = place[row]
        self.found[to] = np.where(before[row] == NULL, behind[row], before[row])
        self._held = tuple(np.concatenate(pair) for pair in zip(self._held, chunk, strict=True))
        return True

    def late(self, lines: Ints, place: Ints, ts: Ints) -> None:
        """Give events the instants of undated steps that stand between them and their dated line."""
        end = int(np.searchsorted(self._events, lines[-1], "right"))
        events = self._events[self._done : end]
        index = np.searchsorted(lines, events, "right") - 1
        at = np.where(index < 0, self._late[0], place[index])
        us = np.where(index < 0, self._late[1], ts[index])
        self._give(slice(self._done, end), at, us)
        self._done, self._late = end, (int(place[-1]), int(ts[-1]))

    def finish(self) -> None:
        """Hand out what is left to the events behind the last undated step."""
        while self._pull():
            self._held = tuple(column[:0] for column in self._held)
        rest = slice(self._done, len(self._events))
        count = len(self._events) - self._done
        self._give(rest, np.full(count, self._late[0]), np.full(count, self._late[1]))

    def _give(self, which: slice, place: Ints, us: Ints) -> None:
        self.found[which] = np.where((place == self.place[which]) & (us != NULL), us, self.found[which])


def settled(
    steps: Iterable[Columns],
    launches: Launches,
    tiers: Ints,
    totals: NDArray[np.bool_],
    near: Neighbours,
    clocks: Clocks,
) -> Iterator[Columns]:
    """Yield the steps that stay, with their launch as last column: durations of one step, instants of undated ones.

    `totals` says of which patterns the printed time is that since the loop began.
    """
    carried, run = NO_ROW, 0
    for before, chunk, behind in _with_neighbours(_per_step(_lowest(steps, launches, tiers), totals)):
        missing = np.flatnonzero(chunk[TS] == NULL)
        if len(missing):
            place, first, last = near.of(chunk[LINE][missing])
            durations = _spans(before, chunk, behind)[missing]
            columns = zip((carried, NULL, NULL, run), (place, first, last, durations), strict=True)
            places, earlier, later, lasting = (np.concatenate(([one], column)) for one, column in columns)
            found = advance(places, earlier, later, lasting)[1:]
            chunk[TS][missing] = found
            chunk[CLOCK][missing] = np.where(found == NULL, clocks.undated, clocks.carried)
            near.late(chunk[LINE][missing], place, found)
            begin = np.flatnonzero(np.concatenate(([True], places[1:] != places[:-1])))[-1]
            carried, run = int(places[-1]), int(lasting[begin:].sum())
        yield chunk


def _lowest(steps: Iterable[Columns], launches: Launches, tiers: Ints) -> Iterator[Columns]:
    """Yield the steps of the lowest tier of their launch, with the launch."""
    for chunk in steps:
        launch = _passed(launches.begins, chunk[LINE], "left")
        kept = tiers[chunk[PATTERN]] == launches.tiers[launch]
        if kept.any():
            yield chosen((*chunk, launch), kept)


def _passed(marks: Ints, lines: Ints, side: Literal["left", "right"]) -> Ints:
    """Return how many marks stand before each line, or on it where the `side` is left: few marks, many lines, both
    sorted."""
    first = np.searchsorted(lines, marks, side)
    return np.repeat(np.arange(len(marks) + 1), np.diff(first, prepend=0, append=len(lines)))


def _per_step(steps: Iterable[Columns], totals: NDArray[np.bool_]) -> Iterator[Columns]:
    """Yield steps with durations of one step, where some print the time since the loop began."""
    last: Columns | None = None
    for chunk in steps:
        total = totals[chunk[PATTERN]] & (chunk[DURATION] != NULL)
        if total.any():
            row = int(np.flatnonzero(total)[-1])
            held = tuple(column[row : row + 1].copy() for column in chunk)
            told = chunk if last is None else joined(last, chunk)
            marked = total if last is None else np.r_[True, total]
            found = per_step(told[STEP], told[-1], told[DURATION], marked)
            chunk = (*chunk[:DURATION], found[len(found) - len(total) :], *chunk[DURATION + 1 :])
            last = held
        yield chunk


def _with_neighbours(steps: Iterable[Columns]) -> Iterator[tuple[Columns | None, Columns, Columns | None]]:
    """Yield each chunk with the row before it and the row behind it."""
    before: Columns | None = None
    chunk: Columns | None = None
    for following in steps:
        if chunk is not None:
            last = tuple(column[-1:].copy() for column in chunk)
            yield before, chunk, tuple(column[:1] for column in following)
            before = last
        chunk = following
    if chunk is not None:
        yield before, chunk, None


def _spans(before: Columns | None, chunk: Columns, behind: Columns | None) -> Ints:
    """Return the time that each step of a chunk stands for."""
    rows = joined(*(part for part in (before, chunk, behind) if part is not None))
    found = spans(rows[STEP], rows[-1], rows[DURATION])
    begin = 0 if before is None else 1
    return found[begin : begin + len(chunk[LINE])]


def joined(*chunks: Columns) -> Columns:
    """Return several chunks as one."""
    return tuple(np.concatenate(parts) for parts in zip(*chunks, strict=True))


def chosen(chunk: Columns, kept: NDArray[np.bool_]) -> Columns:
    """Return some rows of a chunk."""
    return chunk if kept.all() else tuple(column[kept] for column in chunk)
