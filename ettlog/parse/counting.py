"""Which step lines count where their shape alone does not tell: behind a line of their trainer, and with its target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ettlog.parse.format import Pattern

Ints = NDArray[np.int64]
NONE = -1
"""Stands for no line."""


class Needs:
    """Which patterns need lines of which others."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        """Find out which patterns need which."""
        self.needy = tuple(index for index, one in enumerate(patterns) if one.needs)
        needed = {name for index in self.needy for name in patterns[index].needs}
        named = ((index, f"{one.format}.{one.name}") for index, one in enumerate(patterns))
        self.bears = {
            index: [needy for needy in self.needy if name in patterns[needy].needs]
            for index, name in named
            if name in needed
        }


class Evidence:
    """Lines of one source that bear out steps of patterns which `needs` others, in the order of the lines."""

    def __init__(self, needs: Needs) -> None:
        """Start with no line."""
        self._lines: dict[int, list[int]] = {index: [] for index in needs.needy}
        self._bears = needs.bears
        self._openers: list[int] = []
        self._targets: list[tuple[int, int]] = []

    def note(self, line: int, pattern: int, opens: int, target: object) -> None:
        """Take note of an event: its line, pattern, whether it opens a launch, and the last step it announces."""
        for needy in self._bears.get(pattern, ()):
            self._lines[needy].append(line)
        if opens:
            self._openers.append(line)
        if isinstance(target, int):
            self._targets.append((line, target))

    def idle(self, seen: Iterable[int]) -> frozenset[int]:
        """Return the patterns that cannot count yet: needy ones that neither a line before nor one of the events `seen`
        bears out."""
        borne = {needy for pattern in seen for needy in self._bears.get(pattern, ())}
        return frozenset(needy for needy, lines in self._lines.items() if not lines and needy not in borne)

    def counted(self, line: Ints, pattern: NDArray[np.int16] | Ints, target: Ints) -> NDArray[np.bool_]:
        """Tell which steps count, given line, pattern and target of each, sorted by line.

        A step of a needy pattern counts behind a line that bears it out, with no line of another launch between; where
        a last step was announced there, only a step of that loop does.
        """
        kept = np.ones(len(line), bool)
        told, goals = np.array([row[0] for row in self._targets], np.int64), np.array([row[1] for row in self._targets])
        for needy, lines in self._lines.items():
            mine = np.flatnonzero(pattern == needy)
            if len(mine):
                opened, at = _before(self._openers, line[mine]), line[mine]
                good = _before(lines, at) >= np.maximum(opened, NONE + 1)
                if len(told):
                    index = np.searchsorted(told, at, "right") - 1
                    same = (index < 0) | (told[index] < opened) | (goals[index] == target[mine])
                    good &= same
                kept[mine] = good
        return kept


def _before(lines: Sequence[int], at: Ints) -> Ints:
    """Return the last of `lines` at or before each line, or NONE."""
    if not lines:
        return np.full(len(at), NONE)
    index = np.searchsorted(np.array(lines, np.int64), at, "right") - 1
    return np.where(index < 0, NONE, np.array(lines, np.int64)[index])
