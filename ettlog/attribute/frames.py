"""The frames of an attribution: credit rows, the ledger of links and cells, and one row per model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from ettlog.attribute import tiers
from ettlog.lifecycle import RECOVERY_KINDS
from ettlog.windows import moment

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
    "note": pl.String(), "per_day_gpu_hours": pl.Float64(), "since_rollout_gpu_hours": pl.Float64(),
}  # fmt: skip
"""The fixed columns of a credit table: `low` and `high` bound `saved_gpu_hours` at 95 %; `share` is of the whole
saving. `per_day_gpu_hours` is the run-rate in the last period, `since_rollout_gpu_hours` what was saved since the
rollout inside the window: events that came x saving per event.
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
    """Tell which claims say nothing: no saving and no bound, beside another row of the same optimization.

    One whose every row is like that keeps its first: nothing at all is an answer too.
    """
    nothing = (pl.col("saved_gpu_hours") == 0) & (pl.col("bound_gpu_hours").fill_null(0) == 0)
    group = ("optimization", "model")
    first = pl.col("tier").cast(_ORDER) == pl.col("tier").cast(_ORDER).min().over(*group)
    kept = nothing.all().over(*group) & first
    return nothing & (pl.col("optimization") != "") & ~kept


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
    facts = {row["slot"]: row for row in _facts(panel).iter_rows(named=True)}
    rows = [_model(panel, made, unit, facts) for unit in range(len(panel.units))]
    return pl.DataFrame(rows, infer_schema_length=None).sort("model", "platform")


def _model(panel: Panel, made: Links, unit: int, facts: dict[int, dict[str, Any]]) -> dict[str, Any]:
    base, count = panel.first_slot[unit], len(panel.chains[unit].periods)
    name = panel.units[unit]
    sides: tuple[dict[str, Any], dict[str, Any]] = (facts[base], facts[base + count - 1])
    if unit not in made.ends:
        sides = (facts[base], {}) if panel.chains[unit].first else ({}, facts[base])
    cuts = ", ".join(f"{moment(cut.at_us):%Y-%m-%d}" for cut in panel.plan.cuts[name])
    row: dict[str, Any] = {
        "model": name.model, "platform": name.platform, "cut": panel.plan.ground[name], "cuts": cuts, "periods": count,
    }  # fmt: skip
    for key in ("jobs", "starts", "failures", "preemptions", "nof", "gpu_hours", "ett", "tts_s", "ttr_s"):
        row[f"{key}_before"], row[f"{key}_after"] = (side.get(key) for side in sides)
    row["points"] = _minus(row["ett_after"], row["ett_before"], 100.0)
    row["tts_saved_s"] = _minus(row["tts_s_before"], row["tts_s_after"])
    row["ttr_saved_s"] = _minus(row["ttr_s_before"], row["ttr_s_after"])
    saved = row["tts_saved_s"]
    row["ttr_over_tts"] = row["ttr_saved_s"] / saved if saved and row["ttr_saved_s"] is not None else None
    return row


def _minus(left: float | None, right: float | None, scale: float = 1.0) -> float | None:
    return None if left is None or right is None else (left - right) * scale


def _facts(panel: Panel) -> pl.DataFrame:
    """Return the plain figures of every period."""
    kind = pl.col("kind")
    counts = panel.starts.group_by("slot").agg(
        pl.col("job").n_unique().alias("jobs"), pl.len().alias("starts"),
        (kind == RECOVERY_KINDS[0]).sum().alias("failures"), (kind == RECOVERY_KINDS[1]).sum().alias("preemptions"),
        kind.is_in(["first", "planned"]).sum().alias("cold"),
    )  # fmt: skip
    amount, time, stage = pl.col("amount"), pl.col("time"), pl.col("stage")
    spent = panel.rows.join(panel.starts.select("id", "slot"), on="id").group_by("slot").agg(
        amount.sum().alias("held"), amount.filter(pl.col("tier") == tiers.EFFECTIVE).sum().alias("effective"),
        time.filter(stage.is_in([tiers.FIRST_START, tiers.RESTART])).sum().alias("starting"),
        time.filter(stage == tiers.RECOVERY).sum().alias("recovering"),
    )  # fmt: skip
    came = pl.col("failures") + pl.col("preemptions")
    return counts.join(spent, on="slot").select(
        "slot", "jobs", "starts", "failures", "preemptions", (came / pl.col("jobs")).alias("nof"),
        (pl.col("held") / GPU_HOUR).alias("gpu_hours"), _ratio(pl.col("effective"), pl.col("held")).alias("ett"),
        (_ratio(pl.col("starting"), pl.col("cold")) / 1e6).alias("tts_s"),
        (_ratio(pl.col("recovering"), came) / 1e6).alias("ttr_s"),
    )  # fmt: skip


def _ratio(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    return pl.when(whole > 0).then(part / whole)
