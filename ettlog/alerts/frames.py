"""The frame of alerts: fixed columns, those that fire first, the dearest first."""

from __future__ import annotations

from typing import Any

import polars as pl

ALERT: dict[str, pl.DataType] = {
    "kind": pl.String(), "fires": pl.Boolean(), "owner": pl.String(), "component": pl.String(), "model": pl.String(),
    "per": pl.String(), "since": pl.Datetime("us"), "before": pl.Float64(), "after": pl.Float64(),
    "change": pl.Float64(), "lost_gpu_hours": pl.Float64(), "events": pl.Int64(), "models": pl.Int64(),
    "found_by": pl.String(), "urgency": pl.String(), "q": pl.Float64(), "rollout": pl.String(),
    "declares": pl.Boolean(), "job": pl.String(), "look": pl.String(),
}  # fmt: skip
"""Columns of an alert. `since` is UTC; `before` and `after` are GPU-seconds per event, or overhead per effective hour
(of a burning budget: the budget and what is); `change` is after / before - 1 (of a budget: the burn - 1);
`lost_gpu_hours` since then, negative for a win; `events` that happened since; `models` that changed with the
fleet; `rollout` near it, and whether it `declares` the part."""


def alerts(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Return the frame of alert rows, whose `since_us` counts microseconds since 1970."""
    made = [{name: row.get(name) for name in ALERT if name != "since"} | {"at": row["since_us"]} for row in rows]
    frame = pl.DataFrame(made, schema={**{k: v for k, v in ALERT.items() if k != "since"}, "at": pl.Int64()})
    frame = frame.with_columns(since=pl.from_epoch("at", time_unit="us"), urgency=pl.col("urgency").fill_null(""))
    order = [~pl.col("fires"), pl.col("lost_gpu_hours").abs() * -1, "kind", "component", "model", "per", "since"]
    return frame.sort(order).select(list(ALERT))
