"""How often to save: a range of checkpoint intervals from measured stalls and failure rates, and what it would win."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from ettlog import ett_sums
from ettlog.attribute import reliability as rates
from ettlog.attribute.uncertainty import Interval
from ettlog.conventions import settle
from ettlog.errors import NoDataError
from ettlog.ett import Selection, load, matching, period
from ettlog.lifecycle import LOADED, SAVE_STALL
from ettlog.reliability import events

if TYPE_CHECKING:
    import polars as pl

    from ettlog.ett import Timeline
    from ettlog.fleet import Fleet

SECOND = 1_000_000
HOUR = 3600.0
STEADY = "steady"


class Loop(NamedTuple):
    """What the logs of one model show of its loop: seconds, and the saves behind them."""

    saves: int
    stall: float
    interval: float
    gpu_hours: float


def advise(fleet: Fleet, **selection: Unpack[Selection]) -> pl.DataFrame:
    """Return one row per model: how often it saves, how often it fails, and the interval that would lose least.

    Columns: `model`, `jobs`, `saves`; `stall_s` (mean time the loop waits for a save), `interval_s` (median time
    between saves, the stall left out); `losses` (failures and preemptions), `mttf_hours` with `mttf_low_hours` and
    `mttf_high_hours`, and `method` of that interval; `low_s`, `best_s`, `high_s` (the best interval over the interval
    of the failure rate; no upper end where the rate may be zero); `wasted_now`, `wasted_then` (share of the loop lost
    to saves and to work done again); `saved_share` and `saved_gpu_hours` of the loop; `worth` (more than one percent of
    the loop); `why` where nothing can be advised. For saves in the background the stall alone counts.

    Raises:
        NoDataError: no job of the selection has a timeline.
    """
    import polars as pl

    timeline = load(fleet)
    span = period(timeline, selection)
    names = matching(timeline.job, selection.get("jobs"), selection.get("models"))
    logged = set(names) & set(timeline.start["job"])
    rows = ett_sums.rows(timeline, span, settle({})).filter(pl.col("job").is_in(sorted(logged)))
    if rows.is_empty():
        raise NoDataError(
            "there is no loop to advise on", where="relation segment", why="no job with a trainer's log was chosen",
            todo="loosen --job and --model, or see `ettlog jobs`",
        )  # fmt: skip
    saves = _saves(fleet.table("checkpoint"), timeline)
    lost = events(timeline, span, names)
    made = [_row(name, part, saves, lost) for (name,), part in rows.group_by("model", maintain_order=True)]
    return pl.DataFrame(made, infer_schema_length=None).sort(
        "saved_gpu_hours", "model", descending=[True, False], nulls_last=True
    )


def loop_of(fleet: Fleet, timeline: Timeline, rows: pl.DataFrame) -> Loop:
    """Return what the logs of some jobs show of their loops; `rows` are their segments, of `ett_sums.rows`."""
    import polars as pl

    saves = _saves(fleet.table("checkpoint"), timeline)
    return _loop(rows, saves.filter(pl.col("job").is_in(rows["job"].unique().to_list())))


def _saves(checkpoint: pl.DataFrame, timeline: Timeline) -> pl.DataFrame:
    """Return job, k and first instant of every save inside a loop: the one after the last step is of the shutdown."""
    import polars as pl

    made = (
        checkpoint.filter(pl.col("state") != LOADED)
        .drop_nulls("at")
        .group_by("job", "k", "step")
        .agg(pl.col("at").min())
    )
    ends = timeline.start.select("job", "k", "last_step_at")
    return made.join(ends, on=["job", "k"]).filter((pl.col("at") < pl.col("last_step_at")).fill_null(value=True))


def _row(name: object, rows: pl.DataFrame, saves: pl.DataFrame, lost: pl.DataFrame) -> dict[str, Any]:
    import polars as pl

    wall = (pl.col("end_us") - pl.col("begin_us")).sum()
    jobs = rows.group_by("job").agg(wall.alias("us")).sort("job")
    mine = pl.col("job").is_in(jobs["job"].to_list())
    counts = jobs.join(lost.filter(mine).group_by("job").len(), on="job", how="left")["len"].fill_null(0).to_list()
    rate = rates.failure_rate(counts, [us / SECOND / HOUR for us in jobs["us"]])
    loop = _loop(rows, saves.filter(mine))
    mttf = [1 / value if value else None for value in (rate.estimate, rate.high, rate.low)]
    base = {
        "model": name, "jobs": jobs.height, "saves": loop.saves, "stall_s": loop.stall, "interval_s": loop.interval,
        "losses": sum(counts), "mttf_hours": mttf[0], "mttf_low_hours": mttf[1], "mttf_high_hours": mttf[2],
        "method": rate.method,
    }  # fmt: skip
    return base | _advice(loop, rate)


def _loop(rows: pl.DataFrame, saves: pl.DataFrame) -> Loop:
    import polars as pl

    steady = rows.filter(pl.col("stage") == STEADY).with_columns(us=pl.col("end_us") - pl.col("begin_us"))
    waited = int(steady.filter(pl.col("part") == SAVE_STALL)["us"].sum())
    stall = waited / SECOND / saves.height if saves.height else 0.0
    gaps = saves.sort("job", "k", "at").select(gap=pl.col("at").diff().over("job", "k")).drop_nulls()
    median = gaps.select(pl.col("gap").dt.total_microseconds().median()).item()
    hours = int((steady["us"] * steady["gpus"]).sum()) / ett_sums.MICROS_PER_HOUR
    return Loop(saves.height, stall, max(float(median) / SECOND - stall, 0.0) if median else 0.0, hours)


def _advice(loop: Loop, rate: Interval) -> dict[str, Any]:
    """Return the advice's columns, or why there is none."""
    names = ("low_s", "best_s", "high_s", "wasted_now", "wasted_then", "saved_share", "saved_gpu_hours")
    why = _why_not(loop, rate)
    if why:
        return {**dict.fromkeys(names), "worth": False, "why": why}
    mttf, shortest = HOUR / rate.estimate, HOUR / rate.high
    found = rates.advise(loop.interval, loop.stall, Interval(mttf, shortest, HOUR / (rate.low or rate.estimate), 0, ""))
    high = found.high if rate.low else None
    saved = found.wasted_now - found.wasted_then
    values = (found.low, found.best, high, found.wasted_now, found.wasted_then, saved, saved * loop.gpu_hours)
    return {**dict(zip(names, values, strict=True)), "worth": found.worth_saying, "why": ""}


def _why_not(loop: Loop, rate: Interval) -> str:
    if loop.saves < 2 or not loop.interval:
        return "fewer than two saves in one start are in the logs"
    if not loop.stall:
        return "no stall is measured: saves hold the loop for no time the logs show"
    return "" if rate.estimate else "no failure was met"
