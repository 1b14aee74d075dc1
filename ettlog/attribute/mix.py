"""Fleet against models: what moved inside models, and what only because their weights moved."""

from __future__ import annotations

from typing import NamedTuple


class Side(NamedTuple):
    """A model in one period: its weight (GPU time) and its ETT."""

    weight: float
    ett: float


class Shift(NamedTuple):
    """The change of a fleet's ETT; the four parts add up to after - before."""

    before: float
    after: float
    within: float
    mix: float
    entry: float
    exit: float


def shift(before: dict[str, Side], after: dict[str, Side]) -> Shift:
    """Split the change of a weighted mean: Kitagawa among models that stayed, entry and exit against them.

    The form of Melitz and Polanec: with weights normalised among those that stayed,
    within = sum mean(w) de, mix = sum (mean(e) - mean) dw, entry = w_new (e_new - e_stayed), exit likewise before.
    Needs at least one model that stayed.
    """
    stayed = sorted(before.keys() & after.keys())
    w0, w1 = (_weights(side, stayed) for side in (before, after))
    e0, e1 = sum(w0[m] * before[m].ett for m in stayed), sum(w1[m] * after[m].ett for m in stayed)
    centre = (e0 + e1) / 2
    within = sum((w0[m] + w1[m]) / 2 * (after[m].ett - before[m].ett) for m in stayed)
    mix = sum(((before[m].ett + after[m].ett) / 2 - centre) * (w1[m] - w0[m]) for m in stayed)
    whole0, whole1 = _mean(before), _mean(after)
    return Shift(whole0, whole1, within, mix, entry=whole1 - e1, exit=e0 - whole0)


def _weights(side: dict[str, Side], names: list[str]) -> dict[str, float]:
    whole = sum(side[name].weight for name in names)
    return {name: side[name].weight / whole for name in names}


def _mean(side: dict[str, Side]) -> float:
    return sum(s.weight * s.ett for s in side.values()) / sum(s.weight for s in side.values())
