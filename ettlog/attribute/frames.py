"""The frames of an attribution: credit rows, the ledger of links and cells, and one row per model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from ettlog.attribute import tiers
from ettlog.attribute.panel import cuts_text

if TYPE_CHECKING:
    from ettlog.attribute.decompose import Change, Links
    from ettlog.attribute.panel import Panel

ALL = "all"
GPU_HOUR = 3_600_000_000
"""GPU-microseconds in a GPU-hour."""

CREDIT: dict[str, pl.DataType] = {
    "optimization": pl.String(), "owner": pl.String(), "tier": pl.String(), "model": pl.String(),
    "saved_gpu_hours": pl.Float64(), "share": pl.Float64(), "points": pl.Float64(), "bound_gpu_hours": pl.Float64(),
    "low": pl.Float64(), "high": pl.Float64(), "method": pl.String(), "evidence": pl.String(), "executions": pl.Int64(),
    "note": pl.String(),
}  # fmt: skip
"""The fixed columns of a credit table: `low` and `high` bound `saved_gpu_hours` at 95 %; `share` is of the whole
saving.
"""

_ORDER = pl.Enum(list(tiers.TIERS))


def credit(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Return the credit frame: `all` first, then models; claimed tiers first, the largest saving first."""
    frame = pl.DataFrame(rows, schema=CREDIT).filter(~_idle())
    order = [
        pl.col("model") != ALL, pl.col("model"), pl.col("optimization") == "",
        pl.col("saved_gpu_hours").sum().over("model", "optimization") * -1,
        pl.col("optimization"), pl.col("tier").cast(_ORDER),
    ]  # fmt: skip
    return frame.sort(order)


def _idle() -> pl.Expr:
    """Tell which claims say nothing: no saving and no bound, beside another row of the same optimization."""
    nothing = (pl.col("saved_gpu_hours") == 0) & (pl.col("bound_gpu_hours").fill_null(0) == 0)
    return nothing & (pl.col("optimization") != "") & (pl.len().over("optimization", "model") > 1)


def ledger(panel: Panel, made: Links, change: Change, claims: list[list[str]], scale: float) -> pl.DataFrame:
    """Return the exact ledger: one row per link and cell, effects in GPU-hours saved, amounts in GPU-seconds per
    event.
    """
    rows: list[tuple[Any, ...]] = []
    for link, unit in enumerate(made.unit):
        for index, cell in enumerate(panel.cells):
            counts = [float(side[0, link, index]) for side in change.counts]
            if not any(counts):
                continue
            amounts = [float(side[0, link, index]) / 1e6 for side in change.amounts]
            effects = [float(part[0, link, index]) * scale for part in change.effects]
            rows.append(
                (
                    *panel.units[unit],
                    link,
                    cell.part,
                    cell.tier,
                    cell.kind,
                    *counts,
                    *amounts,
                    *effects,
                    claims[link][index],
                )
            )
    names = ["model", "platform", "link", "part", "tier", "kind", "count_before", "count_after"]
    names += ["amount_before_s", "amount_after_s", "mix", "frequency", "amount", "interaction", "optimization"]
    texts = {"model", "platform", "part", "tier", "kind", "optimization"}
    schema = {name: pl.String() if name in texts else pl.Int64() if name == "link" else pl.Float64() for name in names}
    return pl.DataFrame(rows, schema=schema, orient="row")


def models(panel: Panel, made: Links) -> pl.DataFrame:
    """Return one row per unit: what its first and last period hold and how they differ.

    ETT as shares, TTS (per first or planned start) and TTR (per recovery) in seconds of held wall time, NoF per job.
    """
    rows = [_model(panel, made, unit) for unit in range(len(panel.units))]
    return pl.DataFrame(rows, infer_schema_length=None).sort("model", "platform")


def _model(panel: Panel, made: Links, unit: int) -> dict[str, Any]:
    base, count = panel.first_slot[unit], len(panel.chains[unit].periods)
    sides = [base, base + count - 1] if unit in made.ends else [base]
    if unit not in made.ends and not panel.chains[unit].first:
        facts: list[dict[str, Any]] = [{}, _facts(panel, base)]
    else:
        facts = [_facts(panel, slot) for slot in sides] + [{}] * (2 - len(sides))
    keys = ("jobs", "starts", "failures", "preemptions", "nof", "gpu_hours", "ett", "tts_s", "ttr_s")
    row: dict[str, Any] = {
        "model": panel.units[unit].model,
        "platform": panel.units[unit].platform,
        "cut": panel.plan.ground[panel.units[unit]],
        "cuts": cuts_text(panel.plan.cuts[panel.units[unit]]),
        "periods": count,
    }
    for key in keys:
        for name, side in zip(("before", "after"), facts, strict=True):
            row[f"{key}_{name}"] = side.get(key)
    row["points"] = _minus(row["ett_after"], row["ett_before"], 100.0)
    row["tts_saved_s"] = _minus(row["tts_s_before"], row["tts_s_after"])
    row["ttr_saved_s"] = _minus(row["ttr_s_before"], row["ttr_s_after"])
    saved = row["tts_saved_s"]
    row["ttr_over_tts"] = row["ttr_saved_s"] / saved if saved and row["ttr_saved_s"] is not None else None
    return row


def _minus(left: float | None, right: float | None, scale: float = 1.0) -> float | None:
    return None if left is None or right is None else (left - right) * scale


def _facts(panel: Panel, slot: int) -> dict[str, Any]:
    """Return the plain figures of one period, from the rows of the ledger."""
    rows = panel.rows.filter(pl.col("slot") == slot)
    starts = rows.select("job", "start", "kind").unique()
    kinds = dict(starts.group_by("kind").len().rows())
    held = int(rows["allocated_gpu_us"].sum())
    effective = int(rows.filter(pl.col("tier") == tiers.EFFECTIVE)["allocated_gpu_us"].sum())
    time = dict(rows.group_by("stage").agg(pl.col("allocated_us").sum()).rows())
    jobs = rows["job"].n_unique()
    recoveries = kinds.get("failure", 0) + kinds.get("preemption", 0)
    cold = kinds.get("first", 0) + kinds.get("planned", 0)
    return {
        "jobs": jobs, "starts": len(starts), "failures": kinds.get("failure", 0),
        "preemptions": kinds.get("preemption", 0), "nof": recoveries / jobs,
        "gpu_hours": held / GPU_HOUR, "ett": effective / held if held else None,
        "tts_s": (time.get(tiers.FIRST_START, 0) + time.get(tiers.RESTART, 0)) / cold / 1e6 if cold else None,
        "ttr_s": time.get(tiers.RECOVERY, 0) / recoveries / 1e6 if recoveries else None,
    }  # fmt: skip
