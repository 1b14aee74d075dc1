"""One treated model among several untreated ones: the mixture of the others that resembles it before the rollout."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ettlog.errors import NoDataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

HEAVY = 1e3
"""Weight of the row that makes the shares of the mixture add up to one, in units of the largest value."""
FEWEST_DONORS, FEWEST_POINTS = 3, 4


class Effect(NamedTuple):
    """The mean gap to the mixture after the rollout; `p` ranks it among the same gap of every donor."""

    change: float
    p: float
    floor: float
    """Smallest p that so few donors can show: 1 / (donors + 1)."""
    weights: Array
    gap: Array


def weights(target: Array, donors: Array) -> Array:
    """Return shares (>= 0, sum one) of `donors` (points, d) whose mixture is nearest to `target` (points)."""
    from scipy import optimize

    scale = HEAVY * max(float(np.abs(donors).max()), 1.0)
    rows = np.vstack([donors, np.full(donors.shape[1], scale)])
    found, _ = optimize.nnls(rows, np.append(target, scale))
    return np.asarray(found / found.sum()) if found.sum() else np.full(donors.shape[1], 1 / donors.shape[1])


def effect(target: Array, donors: Array, at: int) -> Effect:
    """Return the effect of a rollout at point `at` of `target` (points), against `donors` (points, d).

    The p is the rank of (squared gap after / squared gap before) among the donors, each taken for the treated one in
    turn. Raises NoDataError with fewer than three donors or four points before the rollout.
    """
    if donors.shape[1] < FEWEST_DONORS or at < FEWEST_POINTS or at >= len(target):
        raise NoDataError(
            "there is no mixture to compare with", where=f"{donors.shape[1]} donors, {at} points before",
            why=f"{FEWEST_DONORS} untreated models and {FEWEST_POINTS} points are needed", todo="widen the window",
        )  # fmt: skip
    share = weights(target[:at], donors[:at])
    gap = target - donors @ share
    mine = _ratio(gap, at)
    others = [_placebo(donors, donor, at) for donor in range(donors.shape[1])]
    p = (1 + sum(other >= mine * (1 - 1e-9) for other in others)) / (len(others) + 1)
    return Effect(float(gap[at:].mean()), p, 1 / (len(others) + 1), share, gap)


def _placebo(donors: Array, donor: int, at: int) -> float:
    rest = np.delete(donors, donor, axis=1)
    return _ratio(donors[:, donor] - rest @ weights(donors[:at, donor], rest[:at]), at)


def _ratio(gap: Array, at: int) -> float:
    before = float((gap[:at] ** 2).mean())
    return float((gap[at:] ** 2).mean()) / max(before, 1e-12)
