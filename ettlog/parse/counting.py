"""Which step lines count where their shape alone does not tell: behind a line of their trainer, and with its target."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any

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
        by_needs: dict[tuple[str, ...], list[int]] = {}
        for index in self.needy:
            by_needs.setdefault(patterns[index].needs, []).append(index)
        self.groups = tuple(tuple(group) for group in by_needs.values())
        """Needy patterns that are borne out by the same lines: the shapes of one trainer's bar."""


class Evidence:
    """Lines of one source that bear out steps of patterns which `needs` others, in the order of the lines."""

    def __init__(self, needs: Needs) -> None:
        """Start with no line."""
        self._lines = {index: array("q") for index in needs.needy}
        self._bears = needs.bears
        self._groups = needs.groups
        self._loops: dict[int, Ints] = {}
        self._openers = array("q")
        self._targets = array("q"), array("q")
        """Lines that announce a last step, and these steps."""

    def note(self, line: int, pattern: int, opens: int, target: object) -> None:
        """Take note of an event: its line, pattern, whether it opens a launch, and the last step it announces."""
        for needy in self._bears.get(pattern, ()):
            self._lines[needy].append(line)
        if opens:
            self._openers.append(line)
        if isinstance(target, int):
            for column, value in zip(self._targets, (line, target), strict=True):
                column.append(value)

    def idle(self, seen: Iterable[int]) -> frozenset[int]:
        """Return the patterns that cannot count yet: needy ones that neither a line before nor one of the events `seen`
        bears out."""
        borne = {needy for pattern in seen for needy in self._bears.get(pattern, ())}
        return frozenset(needy for needy, lines in self._lines.items() if not lines and needy not in borne)

    def learn(self, steps: Iterable[tuple[NDArray[Any], ...]]) -> None:
        """Learn from line, pattern and target of all steps which loop each line that bears out steps speaks of.

        It is the one of the step before it, or, where its launch has none yet, of the step behind it: a trainer draws
        its bar before it prints a loss, and the bars of its evaluation have another target.
        """
        groups = [group for group in self._groups if self._lines[group[0]]]
        runs: list[list[tuple[Ints, Ints]]] = [[] for _ in groups]
        for line, pattern, target in steps if groups else ():
            for group, found in zip(groups, runs, strict=True):
                mine = np.isin(pattern, group)
                found.append(_runs(line[mine], target[mine], _before(self._openers, line[mine])))
        for group, found in zip(groups, runs, strict=True):
            loops = self._spoken_of(np.array(self._lines[group[0]], np.int64), found)
            self._loops.update(dict.fromkeys(group, loops))

    def _spoken_of(self, lines: Ints, runs: Sequence[tuple[Ints, Ints]]) -> Ints:
        """Return the target of the loop that each of some lines speaks of."""
        begin, target = (np.concatenate([run[place] for run in runs] or [np.zeros(0, np.int64)]) for place in (0, 1))
        if not len(begin):
            return np.full(len(lines), NONE)
        run = np.searchsorted(begin, lines) - 1
        here = _before(self._openers, begin)
        other = (run < 0) | (here[np.maximum(run, 0)] != _before(self._openers, lines))
        spoken: Ints = target[np.minimum(run + other, len(begin) - 1)]
        return spoken

    def counted(self, line: Ints, pattern: NDArray[np.int16] | Ints, target: Ints) -> NDArray[np.bool_]:
        """Tell which steps count, given line, pattern and target of each, sorted by line; `learn` came before.

        A step of a needy pattern counts in the launch of a line that bears it out, if the nearest such line before or
        behind it speaks of its loop. Where a last step was announced before it, only a step of that loop does.
        """
        kept = np.ones(len(line), bool)
        told, goals = (np.array(column, np.int64) for column in self._targets)
        for needy in self._lines:
            mine = np.flatnonzero(pattern == needy)
            if len(mine):
                opened, at = _before(self._openers, line[mine]), line[mine]
                good = self._borne_out(needy, at, opened, target[mine])
                if len(told):
                    index = np.searchsorted(told, at, "right") - 1
                    same = (index < 0) | (told[index] < opened) | (goals[index] == target[mine])
                    good &= same
                kept[mine] = good
        return kept

    def _borne_out(self, needy: int, at: Ints, opened: Ints, target: Ints) -> NDArray[np.bool_]:
        """Tell which steps the line before or behind them bears out."""
        lines = np.array(self._lines[needy], np.int64)
        if not len(lines):
            return np.zeros(len(at), bool)
        loops, launch = self._loops[needy], _before(self._openers, lines)
        behind = np.searchsorted(lines, at, "right")
        good = np.zeros(len(at), bool)
        for near in (behind - 1, behind):
            inside = (near >= 0) & (near < len(lines))
            place = np.clip(near, 0, len(lines) - 1)
            good |= inside & (launch[place] == opened) & (loops[place] == target)
        return good


def _runs(line: Ints, target: Ints, launch: Ints) -> tuple[Ints, Ints]:
    """Return line and target of each step whose target or launch is not that of the step before it."""
    other = np.flatnonzero((target[1:] != target[:-1]) | (launch[1:] != launch[:-1])) + 1
    first = np.r_[0, other] if len(line) else other
    return line[first], target[first]


def _before(lines: Sequence[int], at: Ints) -> Ints:
    """Return the last of `lines` at or before each line, or NONE."""
    if not lines:
        return np.full(len(at), NONE)
    index = np.searchsorted(np.array(lines, np.int64), at, "right") - 1
    return np.where(index < 0, NONE, np.array(lines, np.int64)[index])
