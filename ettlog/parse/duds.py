"""Remembers lines with literals of step lines on which the regexes found nothing, for all lines that differ from them
in digits only.

Progress bars of other work look like those of steps: a hundred thousand of them hold `s/it]` and no step. Where the
regexes treat all digits of a line alike (see uniform.py), what holds of one holds of its like.
"""

from __future__ import annotations

from collections.abc import Sequence

from ettlog.parse.envelope import peel, split_states
from ettlog.parse.finder import STEP
from ettlog.parse.format import Pattern
from ettlog.parse.recipe import OTHER_DIGITS, digit_literals, key
from ettlog.parse.template import allowed
from ettlog.parse.uniform import ZEROS, prove

KEPT = 1024
"""Most lines remembered."""

MAX_LINE = 4096
"""Longest line in bytes that is remembered."""


class Duds:
    """Remembers lines on which some patterns find nothing."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        """Keep the patterns."""
        self._patterns = patterns
        self.digits = digit_literals(one.anchor for one in patterns if one.kind == STEP)
        """Finds in a line with its digits zeroed that an anchor of a step with digits in it may be on its like."""
        self._known: dict[tuple[int, ...], set[bytes]] = {}
        self._size = 0

    def name(self, line: bytes) -> bytes:
        """Return what a line has in common with its like; nothing where lines like it are not remembered."""
        return key(line) if len(line) <= MAX_LINE and b"\x1b" not in line else b""

    def of(self, patterns: tuple[int, ...]) -> set[bytes]:
        """Return the names of the lines on which these patterns are known to find nothing."""
        if self._size >= KEPT or len(self._known) >= KEPT:
            self._known.clear()
            self._size = 0
        return self._known.setdefault(patterns, set())

    def learn(self, names: set[bytes], name: bytes, line: bytes, wanted: tuple[int, ...]) -> bool:
        """Add the name of a line on which patterns found nothing, `wanted` those whose anchors are on it, where that
        holds of all its like; tell whether it does."""
        if not name or any(part in name for part in OTHER_DIGITS) or self.digits.search(line.translate(ZEROS)):
            return False
        if self._size >= KEPT or not all(self._alike(line, one) for one in wanted):
            return False
        self._size += name not in names
        names.add(name)
        return True

    def barren(self, line: bytes, wanted: tuple[int, ...]) -> bool:
        """Tell whether all patterns of steps whose anchors are on a line that was learnt find nothing on it, nor on its
        like: those too that could not count when it was read."""
        bodies = [peel(state).body for state in split_states(line.rstrip(b"\r"))]
        return all(
            self._alike(line, index) and not any(self._patterns[index].regex.search(body) for body in bodies)
            for index in wanted
        )

    def _alike(self, line: bytes, index: int) -> bool:
        """Tell whether a pattern is looked for on all lines like this one, and finds nothing there if not here."""
        proof = prove(self._patterns[index].expression)
        return proof.usable and not allowed(line, proof)
