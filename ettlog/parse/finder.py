"""The first pass over a block: which literals of the patterns stand where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from ahocorasick_rs import BytesAhoCorasick, MatchKind
from numpy.typing import NDArray

from ettlog.lifecycle import KIND_BY_NAME
from ettlog.parse.envelope import peel
from ettlog.parse.format import Pattern
from ettlog.parse.gates import COMMON, MAX_GATES, choose
from ettlog.parse.uniform import needle

Ints = NDArray[np.int64]

_LOOK = 6
"""Bytes looked at behind a literal."""

STEP = KIND_BY_NAME["step"].kind


class Hits(NamedTuple):
    """Where literals of events begin in a block, in order; which literal of step lines begins where."""

    at: Ints
    step_gates: Ints
    step_at: Ints


class Finder:
    """Looks for all patterns' literals at once."""

    def __init__(self, patterns: Sequence[Pattern], *, steps: bool) -> None:
        """Choose the literals; without `steps` those of step patterns are left out."""
        chosen = [index for index, one in enumerate(patterns) if steps or one.kind != STEP]
        frequent = [index for index in chosen if patterns[index].kind == STEP]
        avoid = b"\n".join(sample.line.encode() for one in patterns if one.kind == STEP for sample in one.samples)
        anchors = [patterns[index].anchor for index in chosen]
        events = [patterns[index].anchor for index in chosen if patterns[index].kind != STEP]
        gates = choose(anchors, kept=[patterns[index].anchor for index in frequent], avoid=avoid + COMMON)
        owners = [[chosen[owner] for owner in row] for row in gates.owners]
        self.steps = tuple(tuple(index for index in row if patterns[index].kind == STEP) for row in owners)
        self._has_step = np.array([bool(row) for row in self.steps] or [False])
        self._searches = _shared_out(gates.literals, [bool(row) for row in self.steps])
        self._events: dict[bytes, list[int]] = {}
        for index in chosen:
            if patterns[index].kind != STEP:
                self._events.setdefault(_literal(patterns[index]), []).append(index)
        self._owners = list(self._events.values())
        stepping = {gate for gate in gates.literals if any(gate in patterns[index].anchor for index in frequent)}
        self._anchors = _automaton(tuple(self._events), MatchKind.Standard)
        self._has_event = np.array([gate not in stepping for gate in gates.literals] or [False])
        self._goes_on = {
            number: (len(gate), _goes_on(gate, events, gates.literals))
            for number, gate in enumerate(gates.literals)
            if gate in stepping
        }
        anchored: dict[bytes, list[int]] = {}
        for index in frequent:
            anchored.setdefault(patterns[index].anchor, []).append(index)
        self._step_owners = list(anchored.values())
        self._step_search = _automaton(tuple(anchored), MatchKind.Standard)

    def find(self, text: memoryview) -> Hits:
        """Return all literals found in `text`."""
        parts = [_found(automaton, numbers, text) for automaton, numbers in self._searches]
        gates, at = (np.concatenate(one) for one in zip(*parts, strict=True)) if parts else (_NONE, _NONE)
        if len(parts) > 1:
            order = np.argsort(at, kind="stable")
            gates, at = gates[order], at[order]
        event, step = self._has_event[gates], self._has_step[gates]
        for number in np.unique(gates[step]).tolist():
            if number in self._goes_on:
                size, rests = self._goes_on[number]
                mine = np.flatnonzero(gates == number)
                event[mine] = _followed(text, at[mine] + size, rests)
        return Hits(at[event], gates[step], at[step])

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
        return sorted(index for anchor in found for index in self._owners[anchor])


def _literal(pattern: Pattern) -> bytes:
    """Return what the text of a line must hold: the anchor, or a longer literal that the regex cannot do without."""
    return max(pattern.anchor, needle(pattern.expression), key=len)


_NONE: Ints = np.zeros(0, np.int64)


def _found(automaton: BytesAhoCorasick, numbers: Ints, text: memoryview) -> tuple[Ints, Ints]:
    found = automaton.find_matches_as_indexes(text)
    flat = np.fromiter(chain.from_iterable(found), np.int64, 3 * len(found)).reshape(-1, 3)
    return numbers[flat[:, 0]], flat[:, 1]


def _shared_out(literals: Sequence[bytes], frequent: Sequence[bool]) -> list[tuple[BytesAhoCorasick, Ints]]:
    """Return as few automata as hold all literals, with the literals' numbers; the frequent ones together in the
    first."""
    order = sorted(range(len(literals)), key=lambda number: (not frequent[number], number))
    count = -(-len(order) // MAX_GATES)
    size = -(-len(order) // max(count, 1))
    shares = [order[start : start + size] for start in range(0, len(order), max(size, 1))]
    made = [
        (_automaton(tuple(literals[number] for number in share), MatchKind.LeftmostFirst), share) for share in shares
    ]
    return [(automaton, np.array(share, np.int64)) for automaton, share in made if automaton is not None]


def _goes_on(gate: bytes, anchors: Iterable[bytes], gates: Iterable[bytes]) -> tuple[bytes, ...]:
    """Return what behind a literal of step lines shows that it may be part of an event's anchor, or hide a literal.

    An empty text among them means that anything does.
    """
    found: set[bytes] = set()
    for anchor in anchors:
        at = anchor.find(gate)
        while at >= 0:
            found.add(anchor[at + len(gate) :])
            at = anchor.find(gate, at + 1)
        if anchor in gate:
            found.add(b"")
    for other in gates:
        shared = (size for size in range(1, min(len(gate), len(other))) if gate[-size:] == other[:size])
        found.update(other[size:] for size in shared)
    return tuple(sorted({rest[:_LOOK] for rest in found}))


def _followed(text: memoryview, at: Ints, rests: Sequence[bytes]) -> NDArray[np.bool_]:
    """Return at which places one of the texts stands; near the end of the block any may."""
    found = at > len(text) - _LOOK
    if b"" in rests:
        return np.ones(len(at), bool)
    windows: NDArray[np.void] = np.ndarray((max(len(text) - _LOOK + 1, 0),), f"V{_LOOK}", text, strides=(1,))
    inside = np.flatnonzero(~found)
    bytes_ = windows[at[inside]].view(np.uint8).reshape(-1, _LOOK)
    for rest in rests:
        same = (bytes_[:, : len(rest)] == np.frombuffer(rest, np.uint8)).all(axis=1)
        found[inside[same]] = True
    return found


def _automaton(literals: tuple[bytes, ...], kind: MatchKind) -> BytesAhoCorasick | None:
    return BytesAhoCorasick(literals, matchkind=kind) if literals else None
