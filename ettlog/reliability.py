"""How often jobs fail: failures and preemptions per GPU-day by cause, model, cluster or node, with honest intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from ettlog import ett_sums, nodes
from ettlog.attribute import reliability as rates
from ettlog.conventions import settle
from ettlog.errors import NoDataError, UsageError
from ettlog.ett import Selection, Timeline, load, matching, period
from ettlog.lifecycle import CAUSES, LOST_ENDS, RECOVERY_KINDS
from ettlog.summing import exact_sum

if TYPE_CHECKING:
    import polars as pl

    from ettlog.fleet import Fleet
    from ettlog.windows import Window

BY = ("cause", "model", "cluster", "node")
NODE = BY[3]
UNNAMED = CAUSES[-1]
"""The cause of an end whose log names none."""
DAY_US = 86_400_000_000
PER = 1000
"""Rates are per so many GPU-days."""


def reliability(
    fleet: Fleet, *, by: str = "model", gpus: int | None = None, **selection: Unpack[Selection]
) -> pl.DataFrame:
    """Return how often jobs were lost, one row per group of `by` and kind of event (failure, preemption).

    Columns: the key of `by`; `event`; `jobs`; `count`, and its `share` of that event; `gpu_days` held;
    `per_1000_gpu_days` with `low` and `high` at 95 %, and in `method` whether the jobs look Poisson (exact interval) or
    are overdispersed (log interval with the jobs as clusters); `shrunk`: the rate drawn toward that of all groups;
    `gpus`, and `mttf_hours` with `mttf_low_hours` and `mttf_high_hours` of a job of so many GPUs (without `gpus`, the
    mean number held). Only jobs with a start in a trainer's log count: others show no cause and no restart. By `node`
    the columns are those of `nodes.nodes`.

    Raises:
        UsageError: `by` is not one of `BY`.
        NoDataError: no job with a start held hardware in the window, or no log names its node.
    """
    import polars as pl

    if by not in BY:
        raise UsageError(
            f"{by!r} is not known here", where="by", why=f"rates are by {', '.join(BY)}", todo="use one of these"
        )
    timeline = load(fleet)
    span = period(timeline, selection)
    names = matching(timeline.job, selection.get("jobs"), selection.get("models"))
    if by == NODE:
        return nodes.nodes(fleet, timeline, span, names)
    held, lost = exposures(timeline, span, names), events(timeline, span, names)
    if held.is_empty():
        raise NoDataError(
            "there is no time at risk", where="relation start", why="no job with a trainer's log held hardware here",
            todo="widen the window, or see `ettlog status` for what was read",
        )  # fmt: skip
    rows = [
        row for event in RECOVERY_KINDS for row in _rows(held, lost.filter(pl.col("event") == event), event, by, gpus)
    ]
    if not rows:
        raise NoDataError(
            "nothing failed, so no cause has a rate", where="relation start",
            why="no start ended by a failure or a preemption here", todo="ask for the rates by model or by cluster",
        )  # fmt: skip
    return pl.DataFrame(rows, infer_schema_length=None).sort("event", "count", by, descending=[False, True, False])


def exposures(timeline: Timeline, span: Window, names: list[str]) -> pl.DataFrame:
    """Return job, model, cluster, `wall_us` and `gpu_us` held inside the window, of jobs that have a start."""
    import polars as pl

    rows = ett_sums.rows(timeline, span, settle({}))
    known = pl.col("job").is_in(names) & pl.col("job").is_in(timeline.start["job"].unique().to_list())
    wall = pl.col("end_us") - pl.col("begin_us")
    sums = [wall.sum().alias("wall_us"), (wall.cast(pl.Int128) * pl.col("gpus")).sum().alias("gpu_us")]
    return rows.filter(known).group_by("job", "model", "cluster").agg(sums).sort("job", "cluster")


def events(timeline: Timeline, span: Window, names: list[str]) -> pl.DataFrame:
    """Return job, model, cluster, event and cause of every start that ended by failure or preemption in the window."""
    import polars as pl

    stamps = [pl.col(name).cast(pl.Datetime("us")) for name in ("failed_at", "ended_at", "last_step_at", "launched_at")]
    at = pl.coalesce(stamps).dt.epoch("us")
    lost = timeline.start.filter(pl.col("end_state").is_in(list(LOST_ENDS)) & pl.col("job").is_in(names))
    lost = lost.filter((at >= span.since_us) & (at < span.until_us) | at.is_null())
    job = timeline.job.select("job", "model", pl.col("cluster").alias("home"))
    return lost.select("job", "k", "cluster", "end_state", "cause").join(job, on="job").select(
        "job", "model", "cause", cluster=pl.coalesce("cluster", "home"),
        event=pl.col("end_state").replace_strict(LOST_ENDS, return_dtype=pl.String),
    ).with_columns(pl.col("cause").fill_null(UNNAMED))  # fmt: skip


def _rows(held: pl.DataFrame, lost: pl.DataFrame, event: str, by: str, gpus: int | None) -> list[dict[str, Any]]:
    groups = sorted(set(lost[by])) if by == BY[0] else sorted(set(held[by]), key=str)
    rows = [_row(held, lost, by, name, event, gpus) for name in groups]
    if len(rows) > 1 and by != BY[0] and lost.height:
        drawn = rates.shrunk([row["count"] for row in rows], [row["gpu_days"] for row in rows])
        for row, rate in zip(rows, drawn, strict=True):
            row["shrunk"] = float(rate) * PER
    return rows


def _row(held: pl.DataFrame, lost: pl.DataFrame, by: str, name: str, event: str, gpus: int | None) -> dict[str, Any]:
    """Return one group's rate; the time at risk of a cause is that of all jobs."""
    import polars as pl

    mine = held if by == BY[0] else held.filter(pl.col(by).eq_missing(pl.lit(name)))
    counts = lost.filter(pl.col(by).eq_missing(pl.lit(name))).group_by("job").len()
    jobs = mine.group_by("job").agg(pl.col("wall_us", "gpu_us").sum()).join(counts, on="job", how="left").sort("job")
    number, days = jobs["len"].fill_null(0).to_list(), [us / DAY_US for us in jobs["gpu_us"]]
    found = rates.failure_rate(number, days)
    wide = gpus or float(exact_sum(days) * DAY_US / int(jobs["wall_us"].sum()))
    hours = [24 / (rate * wide) if rate else None for rate in (found.estimate, found.high, found.low)]
    return {
        by: name, "event": event, "jobs": jobs.height, "count": sum(number),
        "share": sum(number) / lost.height if lost.height else None, "gpu_days": exact_sum(days),
        "per_1000_gpu_days": PER * found.estimate, "low": PER * found.low, "high": PER * found.high, "shrunk": None,
        "gpus": wide, "mttf_hours": hours[0], "mttf_low_hours": hours[1], "mttf_high_hours": hours[2],
        "method": found.method,
    }  # fmt: skip
