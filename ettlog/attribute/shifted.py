"""The fleet's ETT split into what moved inside models and what only because their weights moved, model by model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from ettlog.attribute.mix import Side, by_model
from ettlog.summing import exact_sum

if TYPE_CHECKING:
    from ettlog.attribute.decompose import Links
    from ettlog.attribute.panel import Panel

SHIFT: dict[str, pl.DataType] = {
    "model": pl.String(), "platform": pl.String(), "weight_before": pl.Float64(), "weight_after": pl.Float64(),
    "ett_before": pl.Float64(), "ett_after": pl.Float64(), "within": pl.Float64(), "mix": pl.Float64(),
    "entry": pl.Float64(), "exit": pl.Float64(),
}  # fmt: skip
"""Columns of the shift: weights are shares of the GPU time held, the four parts are points of the fleet's ETT."""
SMALL = 0.005
"""Share of the fleet below which what came or went is pooled as other: a handful of jobs is no model of its own."""
OTHER = "(other)"


def frame(panel: Panel, made: Links) -> pl.DataFrame:
    """Return one row per model and platform; the parts of all rows add up to the fleet's change in points."""
    totals = panel.totals()
    both: list[dict[tuple[str, str], tuple[int, int]]] = [{}, {}]
    for unit, slots in made.ends.items():
        for side, slot in zip(both, slots, strict=True):
            side[panel.units[unit]] = (int(totals[slot, 0]), int(totals[slot, 1]))
    for side, others in zip(both, (made.leavers, made.entrants), strict=True):
        whole = sum(held for _, held in side.values()) + sum(int(totals[slot, 1]) for _, slot in others)
        for unit, slot in others:
            effective, held = int(totals[slot, 0]), int(totals[slot, 1])
            name = panel.units[unit] if held > SMALL * whole else (OTHER, "")
            old = side.get(name, (0, 0))
            side[name] = (old[0] + effective, old[1] + held)
    sides = [{name: Side(held, done / held) for name, (done, held) in side.items() if held} for side in both]
    if not sides[0].keys() & sides[1].keys():
        return pl.DataFrame(schema=SHIFT)
    return _table(*sides)


def _table(before: dict[tuple[str, str], Side], after: dict[tuple[str, str], Side]) -> pl.DataFrame:
    whole = [exact_sum(side.weight for side in sides.values()) for sides in (before, after)]
    rows = []
    for name, parts in by_model(before, after).items():
        old, new = before.get(name), after.get(name)
        rows.append(
            {
                "model": name[0], "platform": name[1], "weight_before": old.weight / whole[0] if old else None,
                "weight_after": new.weight / whole[1] if new else None, "ett_before": old.ett if old else None,
                "ett_after": new.ett if new else None, **{key: 100 * part for key, part in parts._asdict().items()},
            }
        )  # fmt: skip
    return pl.DataFrame(rows, schema=SHIFT).sort(pl.col("within").abs() * -1, "model", "platform")
