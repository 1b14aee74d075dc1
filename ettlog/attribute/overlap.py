"""Several optimizations on one place: exact Shapley values, and the range of answers other rules would give."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")


class Credit(NamedTuple):
    """One player's part of a joint saving; `low` and `high` are the least and most it could add over all orders."""

    name: str
    first_in: float
    last_in: float
    shapley: float
    low: float
    high: float


def shapley(names: Sequence[str], value: Callable[[frozenset[str]], float]) -> list[Credit]:
    """Split value(all) among players by the exact Shapley value; 2^n evaluations, so n up to about 15.

    `value` maps the set of optimizations that are switched on to the saving; value(empty) is zero.
    """
    n = len(names)
    known = {
        frozenset(group): value(frozenset(group))
        for size in range(n + 1)
        for group in combinations(sorted(names), size)
    }
    whole = frozenset(names)
    return [_credit(name, whole, known, n) for name in names]


def _credit(name: str, whole: frozenset[str], known: dict[frozenset[str], float], n: int) -> Credit:
    gains = {group: known[group | {name}] - known[group] for group in known if name not in group}
    weighted = math.fsum(
        gain * math.factorial(len(group)) * math.factorial(n - len(group) - 1) / math.factorial(n)
        for group, gain in gains.items()
    )
    return Credit(name, gains[frozenset()], gains[whole - {name}], weighted, min(gains.values()), max(gains.values()))


def multiplicative(cuts: dict[str, float], amount: float = 1.0) -> list[Credit]:
    """Split the saving of cuts that multiply, amount x (1 - product(1 - r)), among optimizations by Shapley.

    A product is multilinear, so the value is Owen's integral of r_i x product over the others of (1 - t r_j) for t
    from 0 to 1; Gauss and Legendre's points are exact for it, and no set has to be tried. A cut may be negative.
    """
    import numpy as np

    names = list(cuts)
    r = np.array([cuts[name] for name in names], dtype=np.float64)
    points, weights = np.polynomial.legendre.leggauss(len(names) // 2 + 1)
    t = (points + 1) / 2
    left = 1 - t[:, None] * r[None, :]
    found = []
    for index, name in enumerate(names):
        others = np.delete(left, index, axis=1).prod(axis=1)
        kept = np.delete(1 - r, index)
        ends = [float(r[index] * factor) for factor in (1.0, kept.prod(), *_extremes(kept))]
        value = float(r[index] * (weights / 2 * others).sum())
        found.append(Credit(name, *(amount * part for part in (ends[0], ends[1], value, min(ends), max(ends)))))
    return found


def _extremes(kept: NDArray[np.float64]) -> tuple[float, float]:
    """Return the least and the greatest product over all subsets of what others leave."""
    return float(kept[kept < 1].prod()), float(kept[kept > 1].prod())


def owen(
    owners: Mapping[str, Sequence[str]], value: Callable[[frozenset[str]], float]
) -> tuple[dict[str, float], dict[str, float]]:
    """Split value(all) first among owners, then among the optimizations of each, by Owen's value for unions.

    Return (by owner, by optimization). The owners' parts are the Shapley values of the game they play as blocks; an
    optimization's is its Shapley value inside its block, averaged over the blocks that may have come before.
    """
    blocks = {owner: frozenset(members) for owner, members in owners.items()}
    found: dict[str, float] = {}
    for owner, members in blocks.items():
        others = [block for name, block in blocks.items() if name != owner]
        for name in sorted(members):
            found[name] = math.fsum(
                _weight(len(before), len(others)) * _weight(len(inside), len(members) - 1)
                * (value(held | {name}) - value(held))
                for before in _subsets(others)
                for inside in _subsets(sorted(members - {name}))
                for held in [frozenset().union(*before) | frozenset(inside)]
            )  # fmt: skip
    return {owner: math.fsum(found[name] for name in members) for owner, members in blocks.items()}, found


def _subsets(items: Sequence[T]) -> list[tuple[T, ...]]:
    return [group for size in range(len(items) + 1) for group in combinations(items, size)]


def _weight(before: int, others: int) -> float:
    """Return the share of all orders of `others` + 1 players in which a given set of `before` stands ahead of one."""
    return math.factorial(before) * math.factorial(others - before) / math.factorial(others + 1)


def log_share(cuts: dict[str, float], amount: float = 1.0) -> dict[str, float]:
    """Split the same saving in proportion to ln(1 - r): LMDI's answer, close to Shapley and quicker."""
    total = amount * (1.0 - math.prod(1.0 - cut for cut in cuts.values()))
    logs = {name: math.log1p(-cut) for name, cut in cuts.items()}
    whole = math.fsum(logs.values())
    return {name: total * value / whole if whole else 0.0 for name, value in logs.items()}


def rolled_out(order: Sequence[str], value: Callable[[frozenset[str]], float]) -> dict[str, float]:
    """Split value(all) by the order of rollout: each gets what it added to those before it (the calendar's luck)."""
    added: dict[str, float] = {}
    for index, name in enumerate(order):
        added[name] = value(frozenset(order[: index + 1])) - value(frozenset(order[:index]))
    return added
