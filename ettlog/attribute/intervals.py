"""Intervals of ledger rows: resample jobs within unit and period, split again, take percentiles."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ettlog.attribute.panel import Panel

    Array = NDArray[np.float64]

REPLICATES = 400
WEEK = 7 * 86_400_000_000
LEVEL = 0.95
DRAW_CELLS, BLOCK_CELLS = 8_000_000, 200_000
"""Numbers drawn and handled at once: keeps memory flat, and the working set in the cache, for hundreds of models."""


def replicates(panel: Panel, seed: int, n: int = REPLICATES, cluster: str = "job") -> Iterator[Array]:
    """Yield resampled totals in blocks of shape (some replicates, periods, columns).

    `job` draws jobs with replacement within unit and period: the job is the cluster, never the start or the line.
    `model`, `week` and `model+week` give whole models, whole weeks of launch, or both, a random weight of mean one
    (exponential, so that none vanishes). The identity of the ledger holds in every replicate. Same seed, same bytes.
    """
    rng = np.random.default_rng(seed)
    order = np.argsort(panel.slot, kind="stable")
    stats = panel.stats[order].astype(np.float64)
    edges = np.searchsorted(panel.slot[order], np.arange(panel.slots + 1))
    groups = [group[order] for group in _groups(panel, cluster)]
    width = max(1, panel.slots * stats.shape[1])
    draw, block = max(1, DRAW_CELLS // width), max(1, BLOCK_CELLS // width)
    for begin in range(0, n, draw):
        size = min(draw, n - begin)
        totals = np.zeros((size, panel.slots, stats.shape[1]))
        shared = [_weights(rng, group, size) for group in groups]
        for slot in range(panel.slots):
            mine = slice(edges[slot], edges[slot + 1])
            totals[:, slot] = _drawn(rng, shared, mine, size) @ stats[mine]
        yield from (totals[at : at + block] for at in range(0, size, block))


def _drawn(rng: np.random.Generator, shared: list[Array], rows: slice, size: int) -> Array:
    """Return the weights of the rows of one period: (replicates, rows)."""
    if not shared:
        count = rows.stop - rows.start
        return rng.multinomial(count, np.full(count, 1 / count), size=size).astype(np.float64)
    found = shared[0][:, rows]
    for other in shared[1:]:
        found = found * other[:, rows]
    return found


def _weights(rng: np.random.Generator, group: NDArray[np.int64], size: int) -> Array:
    found: Array = rng.exponential(1.0, (size, int(group.max()) + 1))
    scaled: Array = found / found.mean(axis=1, keepdims=True)
    return scaled[:, group]


def _groups(panel: Panel, cluster: str) -> list[NDArray[np.int64]]:
    """Return the number of the cluster of every row of the statistics, for each kind of cluster but jobs."""
    unit = np.searchsorted(np.array(panel.first_slot), panel.slot, side="right") - 1
    found = []
    if "model" in cluster:
        found.append(unit.astype(np.int64))
    if "week" in cluster:
        begun = panel.starts.group_by("slot", "job").agg(pl.col("launched_us").min()).sort("slot", "job")
        found.append((begun["launched_us"] // WEEK).rank("dense").to_numpy().astype(np.int64) - 1)
    return found


def clusters(panel: Panel, cluster: str) -> list[int]:
    """Return how many clusters stand behind each period: its jobs, or all models or weeks of the window."""
    if cluster == "job":
        return [int(count) for count in panel.jobs()]
    fewest = min(len(np.unique(group)) for group in _groups(panel, cluster))
    return [fewest] * panel.slots


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
    from scipy import special

    freedom, mean = sum(n - 1 for n in strata), sum(strata) / len(strata)
    wide = math.sqrt(mean / (mean - 1)) * float(special.stdtrit(freedom, (1 + level) / 2))
    return float(special.ndtr(-wide)) * 100


def bounds(values: Array, estimate: float, strata: tuple[int, ...]) -> tuple[float, float]:
    """Return the 95 % basic bootstrap interval of an estimate, expanded for the few jobs behind it.

    `values` are the replicates. The basic (reversed) form takes the bias of a ratio out where the percentile form
    doubles it.
    """
    edge = tail(strata)
    low, high = np.percentile(values, (edge, 100 - edge))
    return 2 * estimate - float(high), 2 * estimate - float(low)
