"""Evidence from staggered rollouts: for each optimization and tier, whether it may be called the cause of its
saving.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from ettlog.attribute import staggered
from ettlog.attribute.frames import GPU_HOUR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ettlog.attribute.panel import Panel
    from ettlog.registry import Optimization, Registry
    from ettlog.windows import Window

    Array = NDArray[np.float64]

WEEK = 7 * 86_400_000_000
DRAWS = 99
TIERS = ("direct", "cascade", "recovery_only")
"""Tiers with a count of their own, so that a week without starts is not a week without cost."""

EFFECT: dict[str, pl.DataType] = {
    "optimization": pl.String(), "tier": pl.String(), "saved_gpu_hours": pl.Float64(), "cut": pl.Float64(),
    "low": pl.Float64(), "high": pl.Float64(), "p": pl.Float64(), "pretrend_p": pl.Float64(), "models": pl.Int64(),
    "untreated_cells": pl.Int64(), "dropped_cells": pl.Int64(), "grade": pl.String(), "why": pl.String(),
}  # fmt: skip
"""Columns of the effect table: `saved_gpu_hours` is cumulative, from the rollouts to the end of the window."""


class Grid(NamedTuple):
    """A panel by unit and week: amount (GPU-microseconds), starts, and the week of each unit's rollout."""

    amount: Array
    starts: Array
    rollout: NDArray[np.int64]


def effects(panel: Panel, registry: Registry, window: Window, seed: int = 0) -> pl.DataFrame:
    """Return one row per optimization and tier: the imputed saving, its interval and p, the grade and why.

    Grade B needs a staggered rollout that passes its gates; everything else stays before/after, C.
    """
    starts = panel.starts.with_columns(((pl.col("launched_us") - window.since_us) // WEEK).alias("week"))
    weeks = int((window.until_us - 1 - window.since_us) // WEEK) + 1
    rows: list[dict[str, Any]] = []
    for optimization in registry.optimizations:
        rollout = _rollout(panel, optimization, window, weeks)
        if (rollout < weeks).any():
            rows.extend(_rows(panel, starts, optimization, rollout, weeks, seed))
    return pl.DataFrame(rows, schema=EFFECT)


def _rollout(panel: Panel, optimization: Optimization, window: Window, weeks: int) -> NDArray[np.int64]:
    """Return the week of each unit's first rollout; `weeks` where it never came inside the window."""
    found = []
    for unit in panel.units:
        edges = optimization.boundaries(unit.model, unit.platform)
        first = (edges[0] - window.since_us) // WEEK if edges else weeks
        found.append(min(max(first, 0), weeks))
    return np.array(found, dtype=np.int64)


def _rows(
    panel: Panel, starts: pl.DataFrame, optimization: Optimization, rollout: NDArray[np.int64], weeks: int, seed: int
) -> list[dict[str, Any]]:
    rows = []
    for tier in TIERS:
        grid = _grid(panel, starts, optimization.parts, tier, rollout, weeks)
        if not grid.amount.any():
            continue
        found = staggered.estimate(*grid, seed=seed, draws=DRAWS)
        hours = [None if value is None else value / GPU_HOUR for value in (found.saved, found.low, found.high)]
        rows.append(
            {
                "optimization": optimization.name, "tier": tier, "saved_gpu_hours": hours[0], "cut": found.share,
                "low": hours[1], "high": hours[2], "p": found.p, "pretrend_p": found.pretrend_p, "models": found.units,
                "untreated_cells": found.untreated_cells, "dropped_cells": found.dropped_cells, "grade": found.grade,
                "why": found.why,
            }
        )  # fmt: skip
    return rows


def _grid(
    panel: Panel, starts: pl.DataFrame, parts: frozenset[str], tier: str, rollout: NDArray[np.int64], weeks: int
) -> Grid:
    """Sum a tier's amounts of some parts, and the starts of its kinds, by unit and week of launch."""
    mine = panel.rows.filter((pl.col("tier") == tier) & pl.col("part").is_in(sorted(parts)))
    kinds = panel.rows.filter(pl.col("tier") == tier)["kind"].unique().to_list()
    spent = mine.join(starts.select("id", "unit", "week"), on="id").group_by("unit", "week").agg(pl.col("amount").sum())
    came = starts.filter(pl.col("kind").is_in(kinds)).group_by("unit", "week").agg(pl.len().alias("amount"))
    return Grid(_placed(spent, len(rollout), weeks), _placed(came, len(rollout), weeks), rollout)


def _placed(sums: pl.DataFrame, units: int, weeks: int) -> Array:
    grid = np.zeros((units, weeks))
    grid[sums["unit"].to_numpy(), sums["week"].to_numpy()] = sums["amount"].to_numpy()
    return grid


def grades(found: pl.DataFrame) -> dict[tuple[str, str], str]:
    """Return (optimization, tier) -> B where the gates hold, the p is at most .05 and the saving is above zero."""
    sure = found.filter((pl.col("grade") == "B") & (pl.col("p") <= staggered.LATE_P) & (pl.col("saved_gpu_hours") > 0))
    return dict.fromkeys(sure.select("optimization", "tier").rows(), "B")
