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
BLOCK = 50
"""Replicates handled at once: keeps memory flat for fleets of hundreds of models."""


def replicates(panel: Panel, seed: int, n: int = REPLICATES) -> Iterator[Array]:
    """Yield resampled totals in blocks of shape (<= BLOCK, periods, columns).

    Jobs are drawn with replacement within unit and period: the job is the cluster, never the start or the line. The
    identity of the ledger holds in every replicate. Same seed, same bytes.
    """
    rng = np.random.default_rng(seed)
    order = np.argsort(panel.slot, kind="stable")
    stats = panel.stats[order].astype(np.float64)
    edges = np.searchsorted(panel.slot[order], np.arange(panel.slots + 1))
    for begin in range(0, n, BLOCK):
        size = min(BLOCK, n - begin)
        totals = np.zeros((size, panel.slots, stats.shape[1]))
        for slot in range(panel.slots):
            mine = stats[edges[slot] : edges[slot + 1]]
            weights = rng.multinomial(len(mine), np.full(len(mine), 1 / len(mine)), size=size)
            totals[:, slot] = weights @ mine
        yield totals


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
