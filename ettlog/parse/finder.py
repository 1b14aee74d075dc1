"""The first pass over a block: which literals of the patterns stand where."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from ahocorasick_rs import BytesAhoCorasick, MatchKind
from numpy.typing import NDArray

from ettlog.lifecycle import KIND_BY_NAME
from ettlog.parse.envelope import peel
from ettlog.parse.format import Pattern
from ettlog.parse.gates import COMMON, choose, rare_ends
from ettlog.parse.literals import AhoCorasick, Hits, Hyperscan, Search, has_hyperscan
from ettlog.parse.needles import needles

Ints = NDArray[np.int64]

_MOST_LEFT = 0.8
"""Share of a block beyond which what is not covered is not copied out of it."""

_LONG = 12
"""Bytes of an anchor that is rare enough by itself: to look for a longer literal costs more at every start."""

STEP = KIND_BY_NAME["step"].kind


class Covered(NamedTuple):
    """Lines of a block in which nothing has to be looked for, sorted: where they begin, and where the next line
    does."""

    begin: Ints
    end: Ints


class Rest:
    """The text of a block without its covered lines."""

    def __init__(self, text: memoryview, covered: Covered) -> None:
        """Copy what is left, unless it is most of the text."""
        self.covered = covered
        self.text, self._whole = text, not len(covered.begin)
        if self._whole:
            return
        begin, end = np.concatenate(([0], covered.end)), np.concatenate((covered.begin, [len(text)]))
        left = begin < end
        self._begin, size = begin[left], (end - begin)[left]
        self._before = np.cumsum(size) - size
        self.text, self._whole = text, int(size.sum()) > _MOST_LEFT * len(text)
        if not self._whole:
            pieces = zip(self._begin.tolist(), end[left].tolist(), strict=True)
            self.text = memoryview(b"".join([text[first:last] for first, last in pieces]))

    def places(self, at: Ints) -> Ints:
        """Return where in the block the places of `text` are."""
        if self._whole:
            return at
        piece = np.searchsorted(self._before, at, "right") - 1
        return np.asarray(at - self._before[piece] + self._begin[piece])

    def free(self, at: Ints) -> NDArray[np.bool_]:
        """Return which places in the block are on no covered line: what is most of the text was searched whole."""
        begin, end = self.covered
        if not (self._whole and len(begin)):
            return np.ones(len(at), bool)
        line = np.searchsorted(begin, at, "right") - 1
        return (line < 0) | (at >= end[line])


class Finder:
    """Looks for all patterns' literals at once: those of step lines, then those of events in what is left."""

    def __init__(self, patterns: Sequence[Pattern], *, steps: bool) -> None:
        """Choose the literals; without `steps` those of step patterns are left out."""
        frequent = [index for index, one in enumerate(patterns) if one.kind == STEP] if steps else []
        events = [index for index, one in enumerate(patterns) if one.kind != STEP]
        self._events = _by_literal(events, patterns)
        self._patterns = patterns
        self._event_search = event_search(patterns)
        gates = choose([patterns[index].anchor for index in frequent])
        self.steps = tuple(tuple(frequent[owner] for owner in row) for row in gates.owners)
        self.step_literals = gates.literals
        """What is looked for to find step lines."""
        self._frequent_search = AhoCorasick(gates.literals)
        self._owners = list(self._events.values())
        self._anchors = _automaton(tuple(self._events), MatchKind.Standard)
        anchored: dict[bytes, list[int]] = {}
        for index in frequent:
            anchored.setdefault(patterns[index].anchor, []).append(index)
        self._step_owners = list(anchored.values())
        self._step_search = _automaton(tuple(anchored), MatchKind.Standard)

    @property
    def literals(self) -> tuple[bytes, ...]:
        """Return the literals of events that decide which patterns a line is read by."""
        return tuple(self._events)

    def step_hits(self, rest: Rest) -> Hits:
        """Return which literals of step lines stand in what is left of a block, and where, in order."""
        number, at = self._frequent_search.find(rest.text)
        at = rest.places(at)
        free = rest.free(at)
        return Hits(number, at) if free.all() else Hits(number[free], at[free])

    def event_hits(self, rest: Rest, *, coloured: bool) -> Ints:
        """Return where literals of events stand in what is left of a block, in order; anchors alone where the block is
        `coloured`: an escape sequence may stand inside a longer literal."""
        search = self._anchor_search if coloured else self._event_search
        return rest.places(search.find(rest.text).at)

    @functools.cached_property
    def _anchor_search(self) -> Search:
        return event_search(self._patterns, long=False)

    def wanted_steps(self, line: bytes) -> list[int]:
        """Return the step patterns whose anchors are on a line, in their order."""
        if self._step_search is None:
            return []
        found = {hit[0] for hit in self._step_search.find_matches_as_indexes(line, overlapping=True)}
        return sorted(index for anchor in found for index in self._step_owners[anchor])

    def wanted(self, line: bytes) -> list[int]:
        """Return the event patterns whose literals are on a line, in their order."""
        if self._anchors is None:
            return []
        if b"\x1b" in line:  # a colour may stand inside a literal
            line = b"\r".join(peel(state).body for state in line.split(b"\r"))
        found = {hit[0] for hit in self._anchors.find_matches_as_indexes(line, overlapping=True)}
        return sorted({index for anchor in found for index in self._owners[anchor]})


def event_search(patterns: Sequence[Pattern], *, long: bool = True) -> Search:
    """Return the search for lines that events may stand on: for all their literals where it can take them, else for few
    literals in their anchors. Without `long` for anchors only."""
    events = [one for one in patterns if one.kind != STEP]
    anchors = tuple(one.anchor for one in events)
    avoid = b"\n".join(sample.line.encode() for one in patterns if one.kind == STEP for sample in one.samples)
    if not (anchors and has_hyperscan()):
        return _few(anchors, avoid)
    literals = tuple(literal for one in events for literal in _literals(one, plain=True)) if long else anchors
    return _every(literals, avoid)


@functools.lru_cache(maxsize=4)
def _few(anchors: tuple[bytes, ...], avoid: bytes) -> Search:
    return AhoCorasick(choose(anchors, avoid=avoid + COMMON).literals)


@functools.lru_cache(maxsize=4)
def _every(literals: tuple[bytes, ...], avoid: bytes) -> Search:
    """Return a search that was compiled before, by this process or by the one it was forked from."""
    return Hyperscan(rare_ends(literals, avoid))


def _literals(pattern: Pattern, *, plain: bool = False) -> tuple[bytes, ...]:
    """Return literals of which the text of a line must hold one: the anchor, or where that is short longer ones that
    the regex cannot do without."""
    found = needles(pattern.expression, plain=plain) if len(pattern.anchor) < _LONG else ()
    return found if min(map(len, found), default=0) > len(pattern.anchor) else (pattern.anchor,)


def _by_literal(events: Sequence[int], patterns: Sequence[Pattern]) -> dict[bytes, list[int]]:
    found: dict[bytes, list[int]] = {}
    for index in events:
        for literal in _literals(patterns[index]):
            found.setdefault(literal, []).append(index)
    return found


def _automaton(literals: tuple[bytes, ...], kind: MatchKind) -> BytesAhoCorasick | None:
    return BytesAhoCorasick(literals, matchkind=kind) if literals else None
