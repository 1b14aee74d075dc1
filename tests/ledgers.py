"""Ledger frames made by hand for the tests of attribution."""

from __future__ import annotations

from typing import Any

import polars as pl

from ettlog.lifecycle import PART_BY_NAME
from ettlog.windows import instant

SCHEMA: dict[str, pl.DataType] = {
    "job": pl.String(), "model": pl.String(), "platform": pl.String(), "cluster": pl.String(), "start": pl.Int64(),
    "kind": pl.String(), "component": pl.String(), "part": pl.String(), "stage": pl.String(), "owner": pl.String(),
    "role": pl.String(), "launched_us": pl.Int64(), "us": pl.Int64(), "gpu_us": pl.Int64(), "allocated_us": pl.Int64(),
    "allocated_gpu_us": pl.Int64(), "events": pl.Int64(),
}  # fmt: skip

_STAGE = {
    "first": "first_start",
    "planned": "restart",
    "failure": "recovery",
    "preemption": "recovery",
    "unknown": "first_start",
}
_BY_ROLE = {"effective": "steady", "steady": "steady", "unknown": "steady", "shutdown": "shutdown"}


def start(
    job: str, model: str, day: str, k: int, kind: str, parts: dict[str, int], *, gpus: int = 1, platform: str = ""
) -> list[dict[str, Any]]:
    """Return the ledger rows of one start; `parts` maps a part to its whole seconds."""
    rows = []
    for name, seconds in parts.items():
        part = PART_BY_NAME[name]
        us = seconds * 1_000_000
        rows.append(
            {
                "job": job, "model": model, "platform": platform, "cluster": "c1", "start": k, "kind": kind,
                "component": part.component, "part": name, "stage": _BY_ROLE.get(part.role, _STAGE[kind]),
                "owner": part.owner, "role": part.role, "launched_us": instant(day) + k, "us": us, "gpu_us": us * gpus,
                "allocated_us": us, "allocated_gpu_us": us * gpus, "events": 1,
            }
        )  # fmt: skip
    return rows


def ledger(*starts: list[dict[str, Any]]) -> pl.DataFrame:
    """Return a ledger frame of starts."""
    return pl.DataFrame([row for rows in starts for row in rows], schema=SCHEMA)
