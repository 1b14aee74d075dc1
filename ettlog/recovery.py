"""The anatomy of recoveries: from the fault to the first new step, for one job, and for a fleet by cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettlog.errors import NoDataError
from ettlog.jobs import named
from ettlog.lifecycle import CAUSES, RECOVERY_KINDS, RECOVERY_PHASES, START_KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from ettlog.fleet import Fleet

PHASES = tuple(row.phase for row in RECOVERY_PHASES if row.parts)
"""The phases that take time, in order."""
FIRST, LAST = RECOVERY_PHASES[0].phase, RECOVERY_PHASES[-1].phase
UNNAMED = CAUSES[-1]
MICROS_PER_HOUR = 3_600_000_000
COLUMNS = ("k", "kind", "cause", "phase", "begin_at", "end_at", "us", "warmth", "inferred", "evidence")


def recoveries(fleet: Fleet, job: str) -> pl.DataFrame:
    """Return every restart of a job phase by phase, in order of time.

    Columns: `k` (number of the start that recovered), `kind` (why it was made), `cause` (of the end before it), `phase`
    (see `lifecycle.RECOVERY_PHASES`), `begin_at` and `end_at` (UTC stamps), `us` (time of the phase, microseconds),
    `warmth` (of compile), `inferred`, `evidence` (`path:line`).

    Raises:
        UsageError: no job, or more than one, is meant.
    """
    import polars as pl

    name = named(fleet, job)
    frame = fleet.table("recovery").filter(pl.col("job") == name).sort("k", "place")
    stamps = [pl.from_epoch(f"{edge}_us", time_unit="us").alias(f"{edge}_at") for edge in ("begin", "end")]
    return frame.with_columns(stamps).select(COLUMNS)


def by_cause(fleet: Fleet, jobs: Sequence[str] | None = None) -> pl.DataFrame:
    """Return what recoveries take, one row per kind and cause, the costliest first; `jobs` names the only ones counted.

    Columns: `kind`, `cause` (of the end before; the last of `lifecycle.CAUSES` where none is named), `jobs`,
    `recoveries`, `came_back` (reached a new step), `gpu_hours` (null where GPUs are not known), `total_us` and one
    column per phase that takes time: its mean wall time per recovery in microseconds, 0 where a recovery has none.

    Raises:
        NoDataError: no failure or preemption was followed by another start.
    """
    import polars as pl

    frame = fleet.table("recovery").filter(pl.col("kind").is_in(RECOVERY_KINDS))
    if jobs is not None:
        frame = frame.filter(pl.col("job").is_in(list(jobs)))
    if frame.is_empty():
        raise NoDataError(
            "there is no recovery to show",
            where="relation recovery",
            why="no start of this lake was made because the one before failed or was preempted",
            todo="see `ettlog jobs` for failures, and `ettlog timeline JOB --starts` for how starts ended",
        )
    number = pl.struct("job", "k").n_unique()
    mean = pl.col("us").sum().cast(pl.Float64) / number
    times = [
        (pl.col("us").filter(pl.col("phase") == phase).sum().cast(pl.Float64) / number).alias(phase) for phase in PHASES
    ]
    return (
        frame.with_columns(pl.col("cause").fill_null(UNNAMED))
        .group_by("kind", "cause")
        .agg(
            pl.col("job").n_unique().cast(pl.Int64).alias("jobs"),
            number.cast(pl.Int64).alias("recoveries"),
            (pl.col("phase") == LAST).sum().cast(pl.Int64).alias("came_back"),
            (pl.col("gpu_us").sum().cast(pl.Float64) / MICROS_PER_HOUR).alias("gpu_hours"),
            mean.alias("total_us"),
            *times,
        )
        .sort("gpu_hours", "total_us", "kind", "cause", descending=[True, True, False, False], nulls_last=True)
    )


def unexplained(fleet: Fleet) -> list[str]:
    """Return a sentence about restarts of which no log says why they were made, if there are any."""
    import polars as pl

    from ettlog.tables import count

    kind = START_KINDS[-1]
    starts = fleet.table("start").filter(pl.col("kind") == kind, pl.col("k") > 0).height
    return [f"{count(starts, 'restart')} that no log explains beside these (kind {kind})"] if starts else []
