"""Named views: the same facts counted as another tool defines its number, to be printed beside ETT and never instead
of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ettlog.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from ettlog.fleet import Fleet

MICROS = 1_000_000


class SavedSteps(NamedTuple):
    """The saved-steps goodput of one job: its terms, and the percentage they give."""

    loaded_step: int
    """Lowest step a checkpoint was loaded at."""
    saved_step: int
    """Highest step a checkpoint was saved at."""
    wall_us: int
    """First to last event, in microseconds."""
    effective_us: int
    percent: float


def saved_steps_goodput(
    loaded: list[int], saved: list[int], first_us: int, last_us: int, step_us: int
) -> SavedSteps | None:
    """Return goodput as the resiliency calculator of Google Cloud defines it; None where nothing was loaded or saved.

    (highest saved step - lowest loaded step) x a step time given by the user / (last event - first event), in
    percent. Source: AI-Hypercomputer/resiliency, goodput_measure, commit ef69c853. It has no breakdown, counts every
    unsaved tail as lost, and grows with the step time given: the highest wins when a job loads twice, the lowest load
    counts.

    Args:
        loaded, saved: steps of loaded and of saved checkpoints.
        first_us, last_us: instants of the first and the last event, microseconds.
        step_us: reference time of one step, microseconds.
    """
    if not loaded or not saved or last_us <= first_us:
        return None
    effective = (max(saved) - min(loaded)) * step_us
    wall = last_us - first_us
    return SavedSteps(min(loaded), max(saved), wall, effective, 100 * effective / wall)


def saved_steps(fleet: Fleet, step_seconds: float) -> pl.DataFrame:
    """Return the saved-steps goodput of every job that loaded and saved a checkpoint, one row each.

    Columns: job, loaded_step, saved_step, wall_us, effective_us, percent (see `saved_steps_goodput`), and ett: the
    share ettlog itself measures, 0 to 1.

    Raises:
        UsageError: the step time is not above 0.
    """
    import polars as pl

    if not step_seconds > 0:
        raise UsageError(
            "the reference step time is not above 0",
            where="step_seconds",
            why=f"it is {step_seconds}",
            todo="give seconds",
        )
    rows = []
    told = saved_terms(fleet.table("checkpoint"), fleet.table("mark"))
    for job in told.join(fleet.table("job").select("job", "ett"), on="job").iter_rows(named=True):
        found = saved_steps_goodput(
            job["loaded"], job["saved"], job["first_us"], job["last_us"], round(step_seconds * MICROS)
        )
        if found is not None:
            rows.append({"job": job["job"], **found._asdict(), "ett": job["ett"]})
    names = {"job": pl.String, "loaded_step": pl.Int64, "saved_step": pl.Int64, "wall_us": pl.Int64}
    schema = {**names, "effective_us": pl.Int64, "percent": pl.Float64, "ett": pl.Float64}
    return pl.DataFrame(rows, schema=schema).sort("job")


def saved_terms(checkpoint: pl.DataFrame, mark: pl.DataFrame) -> pl.DataFrame:
    """Return per job lists of steps `loaded` and `saved` (committed), and `first_us` and `last_us` of its marks."""
    import polars as pl

    steps = checkpoint.group_by("job").agg(
        loaded=pl.col("step").filter(pl.col("state") == "loaded"),
        saved=pl.col("step").filter(pl.col("state") == "committed"),
    )
    spans = mark.group_by("job").agg(first_us=pl.col("at_us").min(), last_us=pl.col("at_us").max())
    return steps.join(spans, on="job").drop_nulls("first_us")
