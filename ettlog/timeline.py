"""The timeline of one job: its segments, or its starts, in order of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettlog.jobs import named

if TYPE_CHECKING:
    import polars as pl

    from ettlog.fleet import Fleet

SEGMENT_COLUMNS = (
    "start", "kind", "component", "part", "stage", "begin_at", "end_at", "duration_us", "gpus", "allocated", "inferred",
    "evidence",
)  # fmt: skip


def timeline(fleet: Fleet, job: str, *, starts: bool = False) -> pl.DataFrame:
    """Return the segments of a job in order of time, or its starts.

    Columns of segments: `start` (its number), `kind` (of that start), `component`, `part`, `stage`, `begin_at`
    and `end_at` (UTC stamps), `duration_us`, `gpus`, `allocated` (hardware held), `inferred` (rests on an inference),
    `evidence` (`path:line`). Columns of starts: those of the relation `start`.

    Args:
        fleet: an open lake.
        job: the job's name, or a part of it that only this job has.
        starts: return the starts instead of the segments.

    Raises:
        UsageError: no job, or more than one, is meant.
    """
    import polars as pl

    name = named(fleet, job)
    started = fleet.table("start").filter(pl.col("job") == name).sort("k")
    if starts:
        return started
    segment = fleet.table("segment").filter(pl.col("job") == name).sort("begin_us")
    kinds = started.select(pl.col("k").cast(segment.schema["start"]).alias("start"), "kind")
    return (
        segment.join(kinds, on="start", how="left", maintain_order="left")
        .with_columns(
            begin_at=pl.from_epoch("begin_us", time_unit="us"),
            end_at=pl.from_epoch("end_us", time_unit="us"),
            duration_us=pl.col("end_us") - pl.col("begin_us"),
        )
        .select(SEGMENT_COLUMNS)
    )
