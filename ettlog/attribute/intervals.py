"""Intervals of ledger rows: resample jobs within unit and period, split again, take percentiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ettlog.attribute.panel import Panel

    Array = NDArray[np.float64]

REPLICATES = 400
LEVEL = (2.5, 97.5)
DRAW_CELLS, BLOCK_CELLS = 8_000_000, 200_000
"""Numbers drawn and handled at once: keeps memory flat, and the working set in the cache, for hundreds of models."""


def replicates(panel: Panel, seed: int, n: int = REPLICATES) -> Iterator[Array]:
    """Yield resampled totals in blocks of shape (some replicates, periods, columns).

    Jobs are drawn with replacement within unit and period: the job is the cluster, never the start or the line. The
    identity of the ledger holds in every replicate. Same seed, same bytes.
    """
    rng = np.random.default_rng(seed)
    order = np.argsort(panel.slot, kind="stable")
    stats = panel.stats[order].astype(np.float64)
    edges = np.searchsorted(panel.slot[order], np.arange(panel.slots + 1))
    width = max(1, panel.slots * stats.shape[1])
    draw, block = max(1, DRAW_CELLS // width), max(1, BLOCK_CELLS // width)
    for begin in range(0, n, draw):
        size = min(draw, n - begin)
        totals = np.zeros((size, panel.slots, stats.shape[1]))
        for slot in range(panel.slots):
            mine = stats[edges[slot] : edges[slot + 1]]
            weights = rng.multinomial(len(mine), np.full(len(mine), 1 / len(mine)), size=size)
            totals[:, slot] = weights @ mine
        yield from (totals[at : at + block] for at in range(0, size, block))


def usable(totals: Array, basis: str) -> NDArray[np.bool_]:
    """Tell which replicates have exposure in every period; one that drew only jobs that never trained has no
    overhead.
    """
    exposed = totals[..., 1 if basis == "wall" else 0]
    return np.asarray((exposed > 0).all(axis=1))


def percentiles(values: Array) -> tuple[Array, Array]:
    """Return the 95 % percentile interval over the leading axis."""
    low, high = np.percentile(values, LEVEL, axis=0)
    return low, high
