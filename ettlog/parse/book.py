"""What facts need to know of the patterns, and words of patterns as columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ettlog.lifecycle import KIND_BY_NAME
from ettlog.parse import columns
from ettlog.parse.counting import Needs
from ettlog.parse.decode import TOTALS
from ettlog.parse.format import Pattern

Ints = NDArray[np.int64]
STEP, TWIN = KIND_BY_NAME["step"].kind, KIND_BY_NAME["step_twin"].kind


class Book:
    """What facts need to know of the patterns, made once for many sources."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        """Take the columns of the patterns."""
        self.patterns = patterns
        kinds = [KIND_BY_NAME.get(one.kind) for one in patterns]  # what is ignored is of no kind
        self.opens = [0 if kind is None else kind.opens for kind in kinds]
        self.ends = [kind is not None and bool(kind.end_state) for kind in kinds]
        told = zip(self.opens, self.ends, strict=True)
        self.marks = np.array([bool(opens) or ends for opens, ends in told] or [False])
        """Which patterns open or end a launch."""
        self.tiers = np.array([one.tier for one in patterns] or [1])
        self.totals = np.array([not TOTALS.isdisjoint(one.groups) for one in patterns] or [False])
        self.stamped = np.array(["stamp" in one.groups for one in patterns] or [False])
        self.needs = Needs(patterns)
        self._names = {
            # a step line that becomes an event is one that another line counts
            "kind": _numbered([TWIN if one.kind == STEP else one.kind for one in patterns]),
            "format": _numbered([one.format for one in patterns]),
            "pattern": _numbered([one.name for one in patterns]),
        }

    def column(self, name: str, pattern: Ints | NDArray[np.int16], used: Iterable[int] | None = None) -> pa.Array:
        """Return the kind, format or name of patterns as a column of words; `used` keeps the words of other patterns
        too."""
        numbers, names = self._names[name]
        kept = None if used is None else numbers[sorted(used)]
        return columns.words(numbers[pattern], names, kept)


def _numbered(names: Sequence[str]) -> tuple[Ints, list[str]]:
    distinct = sorted(set(names))
    number = {name: index for index, name in enumerate(distinct)}
    return np.array([number[name] for name in names], np.int64), distinct
