"""Evidence from staggered rollouts: for each optimization and tier, whether it may be called the cause of its
saving.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from ettlog.attribute import solo, staggered
from ettlog.attribute.frames import GPU_HOUR
from ettlog.attribute.periods import NEVER
from ettlog.lifecycle import PARTS

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
    "optimization": pl.String(), "tier": pl.String(), "estimator": pl.String(), "saved_gpu_hours": pl.Float64(),
    "cut": pl.Float64(), "low": pl.Float64(), "high": pl.Float64(), "p": pl.Float64(), "pretrend_p": pl.Float64(),
    "placebo_p": pl.Float64(), "control_p": pl.Float64(), "models": pl.Int64(), "untreated_cells": pl.Int64(),
    "dropped_cells": pl.Int64(), "grade": pl.String(), "why": pl.String(),
}  # fmt: skip
"""Columns of the effect table: `saved_gpu_hours` is cumulative, from the rollouts to the end of the window; `cut` the
share saved; `p` by randomisation (imputation), rank (synthetic control) or t (interrupted series).
"""

STUDY: dict[str, pl.DataType] = {
    "optimization": pl.String(), "tier": pl.String(), "week": pl.Int64(), "cut": pl.Float64(),
    "model_weeks": pl.Int64(),
}  # fmt: skip
"""Columns of an event study: the share saved by week since the rollout; negative weeks should lie around zero."""

IMPUTATION = "imputation"


class Grid(NamedTuple):
    """A panel by unit and week: amount (GPU-microseconds), starts, and the week of each unit's rollout."""

    amount: Array
    starts: Array
    rollout: NDArray[np.int64]


class Case(NamedTuple):
    """What is asked of a panel: an optimization (or those that rolled out as one), its parts, and when it came.

    `rivals` are the weeks in which another optimization of the same parts came to each unit: from then on the cells
    tell nothing of this one. `idle` are parts that nothing in the window works on.
    """

    name: str
    parts: frozenset[str]
    edges: NDArray[np.int64]
    rollout: NDArray[np.int64]
    rivals: list[NDArray[np.int64]]
    idle: frozenset[str]


class Found(NamedTuple):
    """Effects by optimization, tier and estimator, and the event study behind the imputed ones."""

    effects: pl.DataFrame
    study: pl.DataFrame


def effects(panel: Panel, registry: Registry, window: Window, seed: int = 0) -> Found:
    """Return the imputed saving of each optimization and tier, its interval and p, the grade and why.

    Grade B needs a staggered rollout that passes its gates; everything else stays before/after, C. Where no untreated
    model is left, or one model alone was treated, an interrupted series or a synthetic control stands beside it.
    """
    starts = panel.every.with_columns(((pl.col("launched_us") - window.since_us) // WEEK).alias("week"))
    weeks = int((window.until_us - 1 - window.since_us) // WEEK) + 1
    rows: list[dict[str, Any]] = []
    study: list[tuple[Any, ...]] = []
    for case in _cases(panel, registry, window, weeks):
        clean = _clean(starts, case)
        for tier in TIERS:
            grid = _alone(_grid(panel, clean, case.parts, tier, case.rollout, weeks), case.rivals)
            if grid.amount.any():
                rows.extend(_rows(panel, clean, case, tier, grid, seed))
                study.extend((case.name, tier, *row) for row in staggered.event_study(*grid))
    return Found(pl.DataFrame(rows, schema=EFFECT), pl.DataFrame(study, schema=STUDY, orient="row"))


def _cases(panel: Panel, registry: Registry, window: Window, weeks: int) -> list[Case]:
    """Return what can be asked: each optimization that came inside the window; those that came as one, as one."""
    edges = {item.name: _edges(panel, item) for item in registry.optimizations}
    came = {name: _weeks(at, window, weeks) for name, at in edges.items()}
    live = [item for item in registry.optimizations if (came[item.name] < weeks).any()]
    busy = frozenset().union(*(item.parts for item in live))
    groups: dict[tuple[Any, ...], list[Optimization]] = {}
    for item in live:
        shared = any(other is not item and _twins(item, other, came) for other in live)
        groups.setdefault((came[item.name].tobytes(), "" if shared else item.name), []).append(item)
    found = []
    for group in groups.values():
        names, parts = [item.name for item in group], frozenset().union(*(item.parts for item in group))
        rivals = [came[item.name] for item in live if item.name not in names and item.parts & parts]
        idle = frozenset(part.part for part in PARTS if part.part not in busy)
        found.append(Case(" + ".join(names), parts, edges[names[0]], came[names[0]], rivals, idle))
    return found


def _twins(item: Optimization, other: Optimization, came: dict[str, NDArray[np.int64]]) -> bool:
    return bool(item.parts & other.parts) and np.array_equal(came[item.name], came[other.name])


def _alone(grid: Grid, rivals: list[NDArray[np.int64]]) -> Grid:
    """Leave out the cells in which a rival has come since: they would credit its saving too."""
    weeks = grid.amount.shape[1]
    mask = np.zeros(grid.amount.shape, dtype=bool)
    for rival in rivals:
        mask |= staggered.treated(rival, weeks) & (rival > 0)[:, None]
    return Grid(np.where(mask, 0.0, grid.amount), np.where(mask, 0.0, grid.starts), grid.rollout)


def _edges(panel: Panel, optimization: Optimization) -> NDArray[np.int64]:
    """Return the instant of each unit's first rollout; NEVER where there is none."""
    found = [optimization.boundaries(unit.model, unit.platform) for unit in panel.units]
    return np.array([edges[0] if edges else NEVER for edges in found], dtype=np.int64)


def _weeks(edges: NDArray[np.int64], window: Window, weeks: int) -> NDArray[np.int64]:
    """Return the week of each unit's first rollout; `weeks` where it never came inside the window."""
    return np.clip((edges - window.since_us) // WEEK, 0, weeks)


def _clean(starts: pl.DataFrame, case: Case) -> pl.DataFrame:
    """Leave out what a unit launched in the week of its rollout and before it: that cell counts as treated."""
    units = pl.DataFrame({"unit": np.arange(len(case.edges)), "edge": case.edges, "on": case.rollout})
    early = (pl.col("week") == pl.col("on")) & (pl.col("launched_us") < pl.col("edge"))
    return starts.join(units, on="unit").filter(~early).drop("edge", "on")


def _rows(panel: Panel, starts: pl.DataFrame, case: Case, tier: str, grid: Grid, seed: int) -> list[dict[str, Any]]:
    weeks = grid.amount.shape[1]
    idle = _alone(_grid(panel, starts, case.idle, tier, case.rollout, weeks), case.rivals).amount
    found = staggered.estimate(*grid, seed=seed, draws=DRAWS, control=idle if idle.any() else None)
    hours = [None if value is None else value / GPU_HOUR for value in (found.saved, found.low, found.high)]
    row = {
        "optimization": case.name, "tier": tier, "estimator": IMPUTATION, "saved_gpu_hours": hours[0],
        "cut": found.share, "low": hours[1], "high": hours[2], "p": found.p, "pretrend_p": found.pretrend_p,
        "placebo_p": found.placebo_p, "control_p": found.control_p, "models": found.units,
        "untreated_cells": found.untreated_cells, "dropped_cells": found.dropped_cells,
        "grade": "B" if _shown(found) else "C", "why": found.why + _unshown(found),
    }  # fmt: skip
    beside = solo.effect(grid.amount, grid.starts, grid.rollout)
    if beside is None:
        return [row]
    hours = [None if value is None else value / GPU_HOUR for value in (beside.saved, beside.low, beside.high)]
    other = {
        "optimization": case.name, "tier": tier, "estimator": beside.estimator, "saved_gpu_hours": hours[0],
        "cut": beside.cut, "low": hours[1], "high": hours[2], "p": beside.p, "models": beside.models, "grade": "C",
        "why": beside.why,
    }  # fmt: skip
    return [row, other]


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


def _shown(found: staggered.Effect) -> bool:
    """Tell whether the gates hold, the p is at most .05 and the saving is above zero: then it is caused, B."""
    return found.grade == "B" and found.p is not None and found.p <= staggered.LATE_P and found.saved > 0


def _unshown(found: staggered.Effect) -> str:
    return f"; no saving shown (p {found.p:.2f})" if found.grade == "B" and not _shown(found) else ""


def grades(found: pl.DataFrame) -> dict[tuple[str, str], str]:
    """Return (optimization, tier) -> B where a staggered rollout passed its gates and showed its saving."""
    return dict.fromkeys(found.filter(pl.col("grade") == "B").select("optimization", "tier").rows(), "B")
