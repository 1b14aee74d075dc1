"""Several optimizations on one place: exact Shapley values, and the range of answers other rules would give."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


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
    """Split the saving of cuts that multiply, amount x (1 - product(1 - r)), among optimizations by Shapley."""
    return shapley(list(cuts), lambda group: amount * (1.0 - math.prod(1.0 - cuts[name] for name in group)))


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
