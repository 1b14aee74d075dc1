"""Fleet against models: what moved inside models, and what only because their weights moved."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import NamedTuple, TypeVar

from ettlog.summing import exact_sum


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


class Parts(NamedTuple):
    """What one model adds to the four parts of a fleet's change."""

    within: float
    mix: float
    entry: float
    exit: float


K = TypeVar("K", bound=Hashable)


def shift(before: Mapping[K, Side], after: Mapping[K, Side]) -> Shift:
    """Split the change of a weighted mean: Kitagawa among models that stayed, entry and exit against them.

    The form of Melitz and Polanec: with weights normalised among those that stayed,
    within = sum mean(w) de, mix = sum (mean(e) - mean) dw, entry = w_new (e_new - e_stayed), exit likewise before.
    Needs at least one model that stayed.
    """
    parts = by_model(before, after).values()
    sums = (exact_sum(getattr(part, name) for part in parts) for name in Parts._fields)
    return Shift(_mean(before), _mean(after), *sums)


def by_model(before: Mapping[K, Side], after: Mapping[K, Side]) -> dict[K, Parts]:
    """Return what each model adds to within, mix, entry and exit; all of them add up to the fleet's change."""
    stayed = [name for name in before if name in after]
    w0, w1 = (_weights(side, stayed) for side in (before, after))
    e0, e1 = exact_sum(w0[m] * before[m].ett for m in stayed), exact_sum(w1[m] * after[m].ett for m in stayed)
    whole0, whole1 = (exact_sum(side.weight for side in sides.values()) for sides in (before, after))
    found: dict[K, Parts] = {}
    for m in {**before, **after}:
        if m not in after:
            found[m] = Parts(0.0, 0.0, 0.0, before[m].weight / whole0 * (e0 - before[m].ett))
        elif m not in before:
            found[m] = Parts(0.0, 0.0, after[m].weight / whole1 * (after[m].ett - e1), 0.0)
        else:
            within = (w0[m] + w1[m]) / 2 * (after[m].ett - before[m].ett)
            tilt = ((before[m].ett + after[m].ett) / 2 - (e0 + e1) / 2) * (w1[m] - w0[m])
            found[m] = Parts(within, tilt, 0.0, 0.0)
    return found


def _weights(side: Mapping[K, Side], names: list[K]) -> dict[K, float]:
    whole = exact_sum(side[name].weight for name in names)
    return {name: side[name].weight / whole for name in names}


def _mean(side: Mapping[K, Side]) -> float:
    return exact_sum(s.weight * s.ett for s in side.values()) / exact_sum(s.weight for s in side.values())
