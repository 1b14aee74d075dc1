"""Budgets of overhead per effective hour, as of an instant: what was used, and which burn too fast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from ettlog.alerts import burn
from ettlog.alerts.match import BURN
from ettlog.alerts.series import EFFECTIVE, FLEET
from ettlog.attribute import tiers
from ettlog.attribute.frames import GPU_HOUR
from ettlog.lifecycle import PART_BY_NAME, PARTS
from ettlog.windows import moment

if TYPE_CHECKING:
    from collections.abc import Mapping

BUDGET: dict[str, pl.DataType] = {
    "component": pl.String(), "owner": pl.String(), "budget": pl.Float64(), "overhead": pl.Float64(),
    "used": pl.Float64(), "days": pl.Float64(), "gpu_hours": pl.Float64(), "burning": pl.String(),
}  # fmt: skip
"""Columns of the table of budgets: `overhead` per effective GPU-hour over `days`, `used` as a share of the budget."""
TRAINED = [part.part for part in PARTS if part.role == tiers.EFFECTIVE]


def looked_at(
    segment: pl.DataFrame, budgets: Mapping[str, float], owners: Mapping[str, str], until_us: int
) -> tuple[list[dict[str, Any]], pl.DataFrame]:
    """Return alert rows of the budgets that burn at `until_us`, and the table of all budgets.

    `budgets` maps a component or part to GPU-hours of overhead per effective GPU-hour over thirty days.
    """
    rows, table = [], []
    mine = segment.filter(pl.col("allocated") & (pl.col("begin_us") < until_us))
    for name, allowed in sorted(budgets.items()) if not mine.is_empty() else ():
        one, line = _one(mine, name, allowed, owners.get(name, ""), until_us)
        table.append(line)
        rows.extend([one] if one else [])
    return rows, pl.DataFrame(table, schema=BUDGET)


def _one(
    segment: pl.DataFrame, name: str, allowed: float, owner: str, until_us: int
) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    edges = burn.grid(until_us, int(segment["begin_us"].min()))  # type: ignore[arg-type]
    sized = segment.with_columns(pl.col("gpus").fill_null(1 if segment["gpus"].null_count() == segment.height else 0))
    key = "part" if name in PART_BY_NAME else "component"
    spent = burn.held(sized.filter(pl.col(key) == name), edges)
    trained = burn.held(sized.filter(pl.col("part").is_in(TRAINED)), edges)
    over, effective = int(spent[-1] - spent[0]), int(trained[-1] - trained[0])
    rate = over / effective if effective else None
    fires = burn.burning(spent, trained, edges, allowed)
    line = {
        "component": name, "owner": owner, "budget": allowed, "overhead": rate,
        "used": None if rate is None else rate / allowed, "days": float(edges[-1] - edges[0]) / 86_400e6,
        "gpu_hours": over / GPU_HOUR, "burning": fires.rule.urgency if fires else "",
    }  # fmt: skip
    return (_alert(name, allowed, owner, fires) if fires else None), line


def _alert(name: str, allowed: float, owner: str, fires: burn.Burn) -> dict[str, Any]:
    return {
        "kind": BURN, "fires": True, "owner": owner, "component": name, "model": FLEET, "per": EFFECTIVE,
        "since_us": fires.since_us, "before": allowed, "after": fires.overhead if np.isfinite(fires.overhead) else None,
        "change": fires.times - 1, "lost_gpu_hours": fires.over_us / GPU_HOUR, "events": None,
        "found_by": f"burn over {fires.rule.name}", "p": None, "q": None, "rollout": "", "declares": False,
        "models": None, "job": "", "urgency": fires.rule.urgency,
        "look": f"ettlog ett --by job -S {moment(fires.since_us):%Y-%m-%dT%H:%M}",
    }  # fmt: skip
