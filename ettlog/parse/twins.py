"""Dated lines about a step whose own, undated line stands in the file before or behind: where a log is cut into files
between the two, the step would lose its instant."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ettlog.parse.chunks import Columns
from ettlog.parse.passes import CLOCK, LINE, PATTERN, STEP, TS
from ettlog.parse.template import NULL

Ints = NDArray[np.int64]


def loose_twins(first: Columns, last: Columns, tiers: Ints) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield line, instant, clock, pattern and step of such lines at the two ends of a source.

    Takes its first and its last chunk of steps, before any were left out, and the tiers of the patterns.
    """
    for chunk in (tuple(column[::-1] for column in first), last):
        row = _outside(chunk, tiers[chunk[PATTERN]])
        if row is not None:
            line, ts, clock, pattern, step = (int(chunk[column][row]) for column in (LINE, TS, CLOCK, PATTERN, STEP))
            yield line, ts, clock, pattern, step


def _outside(chunk: Columns, tier: Ints) -> int | None:
    """Return the row behind the last step that counts, where a dated line is about another step."""
    edge = int(np.flatnonzero(tier == tier.min())[-1])
    pattern, step, ts = chunk[PATTERN], chunk[STEP], chunk[TS]
    behind = edge + 1 + np.flatnonzero(ts[edge + 1 :] != NULL)
    if not len(behind) or step[behind[0]] == step[edge]:
        return None
    # such lines have dated this step, so they number steps as it does
    lent = (tier[:edge] > tier[edge]) & (step[:edge] == step[edge]) & (ts[:edge] == ts[edge])
    return int(behind[0]) if pattern[behind[0]] in pattern[:edge][lent] else None
