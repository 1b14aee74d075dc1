"""Where any of some hundred literals stands in a text: by Aho-Corasick, or in one pass where Hyperscan is installed.

`pip install 'ettlog[fast]'` brings Hyperscan. Both find the same lines: Hyperscan reports every literal, Aho-Corasick
the leftmost ones that do not overlap, and of literals that overlap both are on one line.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np
from ahocorasick_rs import BytesAhoCorasick, MatchKind
from numpy.typing import NDArray

from ettlog.parse.gates import MAX_GATES

Ints = NDArray[np.int64]
_NONE: Ints = np.zeros(0, np.int64)

_MANY = 100
"""Literals from which Hyperscan looks for them by hashes of two bytes, and not all of them by vectors."""
_SHORT = b"\x01\x02\x03"
"""No text. Among many literals the shortest one decides how often Hyperscan takes a hash: where all are long it is
every fourth byte, which tells too little of some hundred of them, and most of its time goes into places where none
stands. Beside one of three bytes it is every second, and twice as fast."""


class Hits(NamedTuple):
    """Which literals are found, and where they begin, in the order of their places."""

    number: Ints
    at: Ints


class Search(Protocol):
    """Looks for literals."""

    def find(self, text: memoryview) -> Hits:
        """Return what stands in a text."""
        ...


def has_hyperscan() -> bool:
    """Tell whether Hyperscan is installed."""
    return find_spec("hyperscan") is not None


def every(literals: Sequence[bytes]) -> Search:
    """Return what finds all literals, those inside others too."""
    return Hyperscan(literals) if has_hyperscan() else Overlapping(literals)


class Overlapping:
    """Finds every literal, whatever it overlaps."""

    def __init__(self, literals: Sequence[bytes]) -> None:
        """Build the automaton."""
        self._automaton = BytesAhoCorasick(literals, matchkind=MatchKind.Standard)

    def find(self, text: memoryview) -> Hits:
        """Return what stands in a text."""
        found = self._automaton.find_matches_as_indexes(text, overlapping=True)
        return _in_order(
            [np.array([one[0] for one in found], np.int64)], [np.array([one[1] for one in found], np.int64)]
        )


class AhoCorasick:
    """Finds the leftmost literals that do not overlap, as few literals a pass as its vector search takes."""

    def __init__(self, literals: Sequence[bytes]) -> None:
        """Share the literals out."""
        count = -(-len(literals) // MAX_GATES)
        size = max(1, -(-len(literals) // max(count, 1)))
        self._parts = [
            (start, BytesAhoCorasick(literals[start : start + size], matchkind=MatchKind.LeftmostFirst))
            for start in range(0, len(literals), size)
        ]

    def find(self, text: memoryview) -> Hits:
        """Return what stands in a text."""
        parts = [_found(automaton, start, text) for start, automaton in self._parts]
        if len(parts) == 1:
            return parts[0]
        return _in_order([one.number for one in parts], [one.at for one in parts])


class Hyperscan:
    """Finds every literal, all of them in one pass."""

    def __init__(self, literals: Sequence[bytes]) -> None:
        """Compile the literals."""
        import hyperscan

        self._sizes = np.array([len(one) for one in literals], np.int64)
        self._database: Any = hyperscan.Database()
        every = [*literals, *([_SHORT] if len(literals) >= _MANY else [])]
        self._database.compile(expressions=every, ids=list(range(len(every))), elements=len(every), literal=True)
        self._lock = threading.Lock()  # its scratch space serves one scan at a time

    def find(self, text: memoryview) -> Hits:
        """Return what stands in a text."""
        found: list[tuple[int, int]] = []
        add = found.append

        def take(number: int, _begin: int, end: int, _flags: int, _context: Any) -> None:
            add((number, end))

        with self._lock:
            self._database.scan(text, match_event_handler=take)
        if not found:
            return Hits(_NONE, _NONE)
        number, end = np.array(found, np.int64).T
        real = number < len(self._sizes)
        number, end = number[real], end[real]
        return _in_order([number], [end - self._sizes[number]])


def _found(automaton: BytesAhoCorasick, start: int, text: memoryview) -> Hits:
    found = automaton.find_matches_as_indexes(text)
    flat = np.fromiter(chain.from_iterable(found), np.int64, 3 * len(found)).reshape(-1, 3)
    return Hits(flat[:, 0] + start, flat[:, 1])


def _in_order(numbers: Sequence[Ints], at: Sequence[Ints]) -> Hits:
    every = np.concatenate([_NONE, *at])
    order = np.argsort(every, kind="stable")
    return Hits(np.concatenate([_NONE, *numbers])[order], every[order])
