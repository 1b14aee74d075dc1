"""Points of ETT: what each component's saved overhead is worth on the curved scale of a share of wall time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def ett(overheads: Mapping[str, float]) -> float:
    """Return ETT from overheads per effective hour, 1 / (1 + sum of o)."""
    return 1.0 / (1.0 + math.fsum(overheads.values()))


def per_overhead(before: float, after: float) -> float:
    """Return points of ETT per unit of saved overhead, between two sums of overhead per effective hour.

    Aumann and Shapley's value along the straight line from `before` to `after`: every component is paid the same
    price, dETT / do = 1 / ((1 + before) (1 + after)), so that points and hours are shared out alike.
    """
    return 100.0 / ((1.0 + before) * (1.0 + after))


def split(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """Return the points of ETT each component won, from its overhead per effective hour before and after.

    points = dETT x do / sum(do): the closed form of Aumann and Shapley. No order, and they add up to the change.
    """
    price = per_overhead(math.fsum(before.values()), math.fsum(after.values()))
    names = sorted(before.keys() | after.keys())
    return {name: price * (before.get(name, 0.0) - after.get(name, 0.0)) for name in names}
