"""The first pass over a block: which literals of the patterns stand where."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from ahocorasick_rs import BytesAhoCorasick, MatchKind
from numpy.typing import NDArray

from ettlog.lifecycle import KIND_BY_NAME
from ettlog.parse.format import Pattern
from ettlog.parse.gates import choose

Ints = NDArray[np.int64]

STEP = KIND_BY_NAME["step"].kind


class Hits(NamedTuple):
    """Literals found in a block, in order: which one and where it begins; those of step lines apart."""

    gates: Ints
    at: Ints
    step_gates: Ints
    step_at: Ints


class Finder:
    """Looks for all patterns' literals at once."""

    def __init__(self, patterns: Sequence[Pattern], *, steps: bool) -> None:
        """Choose the literals; without `steps` those of step patterns are left out."""
        chosen = [index for index, one in enumerate(patterns) if steps or one.kind != STEP]
        anchors = [patterns[index].anchor for index in chosen]
        frequent = [patterns[index].anchor for index in chosen if patterns[index].kind == STEP]
        gates = choose(anchors, kept=frequent)
        owners = [[chosen[owner] for owner in row] for row in gates.owners]
        self.events = tuple(tuple(i for i in row if patterns[i].kind != STEP) for row in owners)
        self.steps = tuple(tuple(i for i in row if patterns[i].kind == STEP) for row in owners)
        self._has_event = np.array([bool(row) for row in self.events] or [False])
        self._has_step = np.array([bool(row) for row in self.steps] or [False])
        self._search = BytesAhoCorasick(gates.literals, matchkind=MatchKind.LeftmostFirst) if gates.literals else None

    def find(self, text: memoryview) -> Hits:
        """Return all literals found in `text`."""
        found = self._search.find_matches_as_indexes(text) if self._search else []
        flat = np.fromiter(chain.from_iterable(found), np.int64, 3 * len(found)).reshape(-1, 3)
        gates, at = flat[:, 0], flat[:, 1]
        event, step = self._has_event[gates], self._has_step[gates]
        return Hits(gates[event], at[event], gates[step], at[step])
