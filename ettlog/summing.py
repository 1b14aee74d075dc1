"""Sums of floats that are the same on every Python: since 3.12 `sum` rounds otherwise than before."""

from __future__ import annotations

import math
from collections.abc import Iterable


def exact_sum(values: Iterable[float]) -> float:
    """Return the exact sum of numbers, rounded once; of whole numbers a whole number."""
    items = list(values)
    return sum(items) if all(isinstance(item, int) for item in items) else math.fsum(items)
