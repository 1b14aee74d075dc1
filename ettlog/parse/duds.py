"""Remembers lines with literals of step lines on which the regexes found nothing, for all lines that differ from them
in digits only.

Progress bars of other work look like those of steps: a hundred thousand of them hold `s/it]` and no step. Where the
regexes treat all digits of a line alike (see uniform.py), what holds of one holds of its like.
"""

from __future__ import annotations

from collections.abc import Sequence

from ettlog.parse.format import Pattern
from ettlog.parse.recipe import OTHER_DIGITS, key
from ettlog.parse.template import allowed
from ettlog.parse.uniform import prove

DIGITS = b"0123456789"
KEPT = 1024
"""Most lines remembered."""

MAX_LINE = 4096
"""Longest line in bytes that is remembered."""


class Duds:
    """Tells lines on which the regexes of some patterns find nothing."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        """Keep the patterns."""
        self._patterns = patterns
        self._known: set[tuple[Sequence[int], bytes]] = set()

    def name(self, line: bytes) -> bytes:
        """Return what a line has in common with its like; nothing where lines like it are not remembered."""
        return key(line) if len(line) <= MAX_LINE and b"\x1b" not in line else b""

    def known(self, name: bytes, wanted: tuple[int, ...]) -> bool:
        """Tell whether the wanted patterns are known to find nothing on lines of a name."""
        return (wanted, name) in self._known

    def learn(self, name: bytes, line: bytes, wanted: tuple[int, ...]) -> None:
        """Remember that the wanted patterns found nothing on a line, where that holds of all its like."""
        if name and not any(part in name for part in OTHER_DIGITS) and all(self._alike(line, one) for one in wanted):
            if len(self._known) >= KEPT:
                self._known.clear()
            self._known.add((wanted, name))

    def _alike(self, line: bytes, index: int) -> bool:
        """Tell whether a pattern is looked for on all lines like this one, and finds nothing there if not here."""
        pattern = self._patterns[index]
        proof = prove(pattern.expression)
        return pattern.anchor.translate(None, DIGITS) == pattern.anchor and proof.usable and not allowed(line, proof)
