"""The tier no log shows: a shorter run also meets fewer failures. A model, beside the ledger and never in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from ettlog import cascade
from ettlog.attribute import frames, tiers
from ettlog.lifecycle import RECOVERY_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ettlog.attribute.engine import Work

WORTH = 0.01
"""Share of the whole saving from which on the modelled tier is told."""


class Means(NamedTuple):
    """A mean job of the window in GPU-hours: effective, starting, recovering (each time), failures per GPU-hour."""

    effective: float
    tts: float
    ttr: float
    rate: float
    jobs: int


def means(work: Work) -> Means | None:
    """Return the mean job of the window, or None where no failure was met."""
    starts, rows = work.panel.every, work.panel.rows
    jobs, met = starts["job"].n_unique(), int(starts["kind"].is_in(RECOVERY_KINDS).sum())
    held = float(rows["amount"].sum()) / frames.GPU_HOUR
    if not met or held <= 0:
        return None
    sums = [
        float(rows.filter(mask)["amount"].sum() or 0) / frames.GPU_HOUR
        for mask in (
            pl.col("tier") == tiers.EFFECTIVE,
            pl.col("stage").is_in([tiers.FIRST_START, tiers.RESTART]),
            pl.col("stage") == tiers.RECOVERY,
        )
    ]
    return Means(sums[0] / jobs, sums[1] / jobs, sums[2] / met, met / held, jobs)


def sentences(work: Work, credit: pl.DataFrame) -> Iterator[str]:
    """Yield what start-path savings would add through fewer failures, where that is worth saying."""
    found = means(work)
    firsts = credit.filter(
        (pl.col("model") == frames.ALL) & (pl.col("tier") == "direct") & (pl.col("optimization") != "")
    )
    saved, runs = (float(firsts[name].sum() or 0) for name in ("saved_gpu_hours", "executions"))
    whole = float(credit.filter(pl.col("model") == frames.ALL)["saved_gpu_hours"].sum() or 0)
    if found is None or saved <= 0 or runs <= 0 or found.rate * found.ttr >= 1:
        return
    each = min(saved / runs, found.tts, found.ttr)
    extra = cascade.exposure(found.effective, found.tts, found.ttr, found.rate, each).exposure * runs
    if abs(extra) > WORTH * abs(whole):
        yield (
            f"exposure (modelled, not in the table): shorter starts also meet fewer failures, about {extra:,.1f} "
            "GPU-hours more; in the table that shows as failure_count"
        )
