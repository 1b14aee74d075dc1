"""The same fleet at other sizes: mean time to failure and expected ETT of a run on any number of GPUs. Modelled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from ettlog import ett_sums
from ettlog.advise import loop_of
from ettlog.attribute import reliability as rates
from ettlog.conventions import settle
from ettlog.errors import NoDataError, UsageError
from ettlog.ett import Selection, load, matching, period
from ettlog.lifecycle import RECOVERY_KINDS, REPLAY
from ettlog.reliability import DAY_US, events, exposures

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from ettlog.attribute.uncertainty import Interval
    from ettlog.fleet import Fleet

WORK_HOURS = 168.0
"""Hours of training of the run that is foretold, where not said: a week."""
LABEL = "modelled"


class Measured(NamedTuple):
    """What the fleet shows: losses per GPU-hour, hours until a start trains new data, hours between saves, GPUs."""

    rate: Interval
    start: float
    starts: int
    save: float
    gpus: float


def at_scale(
    fleet: Fleet, gpus: Sequence[int], *, work_hours: float = WORK_HOURS, **selection: Unpack[Selection]
) -> pl.DataFrame:
    """Return one row per number of GPUs: how long until a failure, and the ETT to expect of a run of `work_hours`.

    Columns: `gpus`; `mttf_hours` = 1 / (gpus x rate) with `mttf_low_hours`, `mttf_high_hours` over the 95 % interval of
    the rate; `losses` expected in such a run; `expected_ett` by the exact renewal form (`attribute.reliability.
    expected_ett`) with `ett_low`, `ett_high` over the same interval; `approximate_ett`, the published first-order form,
    for comparison; `start_hours` and `save_hours`, as measured; `evidence`: always `modelled`. Assumed: failures come
    per GPU-hour alike at every size, exponentially; starts take as long as now and saves cost nothing but what is
    trained again.

    Raises:
        UsageError: a number of GPUs or the hours are not above 0.
        NoDataError: no loss, no start or no save is measured.
    """
    import polars as pl

    if not gpus or min(gpus) <= 0 or work_hours <= 0:
        raise UsageError(
            "a size or a length is no number above 0", where="gpus, work_hours", why=f"{list(gpus)}, {work_hours}",
            todo="give GPUs such as 1024 and hours such as 168",
        )  # fmt: skip
    found = _measured(fleet, selection)
    return pl.DataFrame([_row(found, number, work_hours) for number in gpus], infer_schema_length=None)


def _measured(fleet: Fleet, selection: Selection) -> Measured:
    import polars as pl

    timeline = load(fleet)
    span = period(timeline, selection)
    names = matching(timeline.job, selection.get("jobs"), selection.get("models"))
    logged = set(names) & set(timeline.start["job"])
    held, lost = exposures(timeline, span, names), events(timeline, span, names)
    rows = ett_sums.rows(timeline, span, settle({})).filter(pl.col("job").is_in(sorted(logged)))
    save = loop_of(fleet, timeline, rows).interval
    if lost.is_empty() or not save:
        raise NoDataError(
            "there is nothing to foretell from", where="relations start, checkpoint",
            why="no failure was met" if lost.is_empty() else "fewer than two saves in one start are in the logs",
            todo="widen the window, or loosen --job and --model",
        )  # fmt: skip
    jobs = held.group_by("job").agg(pl.col("wall_us", "gpu_us").sum()).sort("job")
    counts = jobs.join(lost.group_by("job").len(), on="job", how="left")["len"].fill_null(0).to_list()
    rate = rates.failure_rate(counts, [us / DAY_US * 24 for us in jobs["gpu_us"]])
    gpus = int(jobs["gpu_us"].sum()) / int(jobs["wall_us"].sum())
    return Measured(rate, *_start_hours(rows), save / 3600, gpus)


def _start_hours(rows: pl.DataFrame) -> tuple[float, int]:
    """Return the mean hours a start takes until it trains, and of how many: recoveries where there are any.

    Replay is left out: the model adds it itself.
    """
    import polars as pl

    wall = (pl.col("end_us") - pl.col("begin_us")).filter(pl.col("part") != REPLAY).sum()
    starting = rows.filter(pl.col("stage").is_in((*ett_sums.TTS_STAGES, *ett_sums.TTR_STAGES)))
    each = starting.group_by("job", "start", pl.col("start-kind").alias("kind")).agg(wall.alias("us"))
    again = each.filter(pl.col("kind").is_in(RECOVERY_KINDS))
    chosen = each if again.is_empty() else again
    return float(chosen["us"].mean() or 0.0) / ett_sums.MICROS_PER_HOUR, chosen.height  # type: ignore[arg-type]


def _row(found: Measured, gpus: int, work: float) -> dict[str, Any]:
    mttf = [1 / (value * gpus) if value else None for value in (found.rate.estimate, found.rate.high, found.rate.low)]
    etts = [rates.expected_ett(work, found.save, found.start, hours) if hours else None for hours in mttf]
    middle = mttf[0]
    assert middle is not None  # a loss was met, or the refusal above
    rough = rates.approximate_ett(found.save, found.start, middle)
    return {
        "gpus": gpus, "mttf_hours": middle, "mttf_low_hours": mttf[1], "mttf_high_hours": mttf[2],
        "losses": work / etts[0] / middle if etts[0] else None, "expected_ett": etts[0], "ett_low": etts[1],
        "ett_high": etts[2], "approximate_ett": max(rough, 0.0), "start_hours": found.start, "starts": found.starts,
        "save_hours": found.save, "work_hours": work, "evidence": LABEL,
    }  # fmt: skip
