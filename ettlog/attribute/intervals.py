"""Intervals of ledger rows: resample jobs within unit and period, split again, take percentiles."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ettlog.attribute.panel import Panel

    Array = NDArray[np.float64]

REPLICATES = 400
LEVEL = 0.95
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


@lru_cache(maxsize=4096)
def tail(strata: tuple[int, ...], level: float = LEVEL) -> float:
    """Return the percentile to read for a lower bound: 2.5 for many jobs, less for few.

    `strata` holds the jobs of every period behind a row. Drawing n of n jobs again shrinks the spread by (n - 1) / n,
    and a normal tail is too short for few; the expanded percentile Phi(-sqrt(n / (n - 1)) t) mends both (Hesterberg
    2015), with the degrees of freedom of all strata.
    """
    from scipy import stats

    freedom, mean = sum(n - 1 for n in strata), sum(strata) / len(strata)
    wide = math.sqrt(mean / (mean - 1)) * float(stats.t.ppf((1 + level) / 2, freedom))
    return float(stats.norm.sf(wide)) * 100


def bounds(values: Array, estimate: float, strata: tuple[int, ...]) -> tuple[float, float]:
    """Return the 95 % basic bootstrap interval of an estimate, expanded for the few jobs behind it.

    `values` are the replicates. The basic (reversed) form takes the bias of a ratio out where the percentile form
    doubles it.
    """
    edge = tail(strata)
    low, high = np.percentile(values, (edge, 100 - edge))
    return 2 * estimate - float(high), 2 * estimate - float(low)
