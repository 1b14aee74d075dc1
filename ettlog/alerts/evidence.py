"""Where to look: for each alert a start that shows it, and the command that leads to its lines of log."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import polars as pl

from ettlog.alerts.series import DAY, EFFECTIVE, FLEET

if TYPE_CHECKING:
    from collections.abc import Mapping


def of(rows: pl.DataFrame, row: Mapping[str, Any]) -> dict[str, str]:
    """Return `job` and `look`, the next command, of a change; `rows` as made by `series.prepared`.

    The start is the one nearest to the level after the change: typical of it, not the worst of it.
    """
    mine = rows.filter(
        (pl.col("component") == row["component"])
        & (pl.col("owner") == row["owner"])
        & (pl.col("per") == row["per"])
        & (pl.col("day") >= row["since_us"] // DAY)
        & ((pl.col("model") == row["model"]) | (row["model"] == FLEET))
    )
    if mine.is_empty():
        return {"job": "", "look": f"ettlog ett --by week -m {shlex.quote(row['model'])}"}
    starts = mine.group_by("job", "start").agg(pl.col("amount").sum())
    target = starts["amount"].median() if row["per"] == EFFECTIVE else row["after"] * 1e6
    job, start = starts.sort((pl.col("amount") - target).abs(), "job", "start").row(0)[:2]
    part = mine.filter((pl.col("job") == job) & (pl.col("start") == start)).sort("amount", "part")["part"][-1]
    return {"job": job, "look": f"ettlog explain {shlex.quote(f'{job}@{start}@{part}')}"}
