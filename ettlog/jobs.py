"""The jobs of a fleet, one row each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettlog.errors import NoDataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from ettlog.fleet import Fleet

MICROS_PER_HOUR = 3_600_000_000


def jobs(fleet: Fleet, *, jobs: Sequence[str] | None = None, models: Sequence[str] | None = None) -> pl.DataFrame:
    """Return one row per job, the oldest first.

    Columns: those of the relation `job`, with `first_at` and `last_at` (UTC stamps), `wall_hours` (hours), and
    `gpu_hours` and `ett` by the default conventions of `ett`: hardware held, weighted by GPUs.

    Args:
        fleet: an open lake.
        jobs, models: glob patterns; a job is kept when one of each list matches.

    Raises:
        NoDataError: no job is left.
    """
    import polars as pl

    from ettlog.ett import load, matching, measure, period

    frame = fleet.table("job")
    frame = frame.filter(pl.col("job").is_in(matching(frame, jobs, models)))
    if frame.is_empty():
        raise NoDataError(
            "there is no job to show",
            where="relation job",
            why="no job of this lake matches, or no log of a training job was read",
            todo="loosen --job and --model, or see `ettlog status` for what each file gave",
        )
    timeline = load(fleet)
    held = pl.DataFrame(schema={"job": pl.String, "gpu_hours": pl.Float64, "ett": pl.Float64})
    if timeline.segment["allocated"].any():
        held = measure(timeline, period(timeline, {}), by="job").select("job", "gpu_hours", "ett")
    return (
        frame.drop("ett")
        .join(held, on="job", how="left")
        .sort("first_us", "job")
        .with_columns(
            first_at=pl.from_epoch("first_us", time_unit="us"),
            last_at=pl.from_epoch("last_us", time_unit="us"),
            wall_hours=pl.col("wall_us") / MICROS_PER_HOUR,
        )
    )


def named(fleet: Fleet, name: str) -> str:
    """Return the job that `name` means: its whole name, or the only one that begins with it or holds it.

    Raises:
        UsageError: no job, or more than one, is meant.
    """
    import difflib

    names: list[str] = fleet.table("job")["job"].to_list()
    if name in names:
        return name
    found = [job for job in names if job.startswith(name)] or [job for job in names if name in job]
    if len(found) == 1:
        return found[0]
    if not names:
        raise UsageError(
            f"no job is meant by {name!r}",
            where="JOB",
            why="this lake holds no job",
            todo="ingest the stdout of trainers or a scheduler's records; `ettlog status` shows what each file gave",
        )
    near = found[:5] or difflib.get_close_matches(name, names, n=5, cutoff=0.4)
    raise UsageError(
        f"{len(found) or 'no'} job{'s are' if len(found) > 1 else ' is'} meant by {name!r}",
        where="JOB",
        why=f"near: {', '.join(near)}" if near else "no job of this lake has a name like it",
        todo="see `ettlog jobs` for the names",
    )
