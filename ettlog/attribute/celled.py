"""Many models times many components: which of their changes are more than chance, with false discoveries held down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ettlog.attribute import uncertainty
from ettlog.lifecycle import COMPONENTS, PART_BY_NAME

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ettlog.attribute.decompose import Links
    from ettlog.attribute.panel import Panel

    Array = NDArray[np.float64]

CELL: dict[str, pl.DataType] = {
    "model": pl.String(), "platform": pl.String(), "component": pl.String(), "jobs_before": pl.Int64(),
    "jobs_after": pl.Int64(), "before": pl.Float64(), "after": pl.Float64(), "change": pl.Float64(),
    "low": pl.Float64(), "high": pl.Float64(), "p": pl.Float64(), "q": pl.Float64(),
}  # fmt: skip
"""Columns of the cells: overhead per effective GPU-hour before and after, its change with Welch's bounds over jobs, the
p, and the false discovery rate at which it would be called (Benjamini and Hochberg).
"""
SURE = 0.05


def frame(panel: Panel, made: Links) -> pl.DataFrame:
    """Return one row per unit and component: the change from its first to its last period, p and q."""
    order = np.argsort(panel.slot, kind="stable")
    stats = panel.stats[order].astype(np.float64)
    edges = np.searchsorted(panel.slot[order], np.arange(panel.slots + 1))
    columns = _columns(panel)
    rows = []
    for unit, slots in made.ends.items():
        sides = [stats[edges[slot] : edges[slot + 1]] for slot in slots]
        for component, places in columns.items():
            row = _row([(side[:, places].sum(axis=1), side[:, 0]) for side in sides])
            if row is not None:
                rows.append({**panel.units[unit]._asdict(), "component": component, **row})
    table = pl.DataFrame(rows, schema=CELL)
    tested = table["p"].is_not_null().to_numpy()
    q = np.full(table.height, np.nan)
    q[tested] = uncertainty.benjamini_hochberg(table["p"].to_numpy()[tested])
    return table.with_columns(pl.Series("q", q).fill_nan(None)).sort("p", "model", "component", nulls_last=True)


def _columns(panel: Panel) -> dict[str, list[int]]:
    """Return the columns of the statistics that belong to each component, in the order of the lifecycle."""
    base = 2 + len(panel.drivers)
    found: dict[str, list[int]] = {}
    for index, cell in enumerate(panel.cells):
        found.setdefault(PART_BY_NAME[cell.part].component, []).append(base + index)
    return {name: found[name] for name in COMPONENTS if name in found}


def _row(sides: list[tuple[Array, Array]]) -> dict[str, float | int | None] | None:
    (u0, e0), (u1, e1) = sides
    if not (e0.sum() > 0 and e1.sum() > 0) or not (u0.any() or u1.any()):
        return None
    before, after = float(u0.sum() / e0.sum()), float(u1.sum() / e1.sum())
    row: dict[str, float | int | None] = {
        "jobs_before": len(e0), "jobs_after": len(e1), "before": before, "after": after, "change": after - before,
    }  # fmt: skip
    if min(len(e0), len(e1)) > 1:
        found, p = uncertainty.ratio_test(u0, e0, u1, e1)
        row |= {"low": found.low, "high": found.high, "p": p}
    return row
