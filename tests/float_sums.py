"""Keeps ettlog from adding floats by `sum` in any test: since Python 3.12 it rounds otherwise than before."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterable
from typing import Any

_SUM = builtins.sum
FEW = 2
"""So many floats give the same sum on every Python."""


class FloatSumError(AssertionError):
    """A module of ettlog added floats by `sum`."""


def checked(values: Iterable[Any], /, start: Any = 0) -> Any:
    """Add as `sum` does; raise FloatSumError where a module of ettlog adds more than two floats."""
    name = str(sys._getframe(1).f_globals.get("__name__", ""))
    if not name.startswith("ettlog"):
        return _SUM(values, start)
    items = list(values)
    if len(items) > FEW and any(type(item) is float for item in items):
        raise FloatSumError(f"{name} adds floats by `sum`: use ettlog.summing.exact_sum")
    return _SUM(items, start)


def watch() -> None:
    """Let every call of `sum` in this process be checked."""
    builtins.sum = checked
