"""Goodput as ml-goodput-measurement counts it, and the runtime goodput of its authors' productivity model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettlog.lifecycle import EVALUATION, PART_BY_NAME
from ettlog.terms.base import SCHEDULING, STEP, TTR_STAGES, Given, Term, since_launch, total

if TYPE_CHECKING:
    import polars as pl

ELASTIC = "elastic_"
"""How the library names waits of an elastic job; it takes them from no step."""


def _goodput(given: Given) -> pl.DataFrame:
    """Return steps that survived over the time from the first launch to the end, or to the end of the window."""
    import polars as pl

    rows = since_launch(given.lost)
    waits = _elastic_waits(given, rows)
    sums = total(pl.concat([rows, _open_tail(given, rows)]), pl.col("part") == STEP).join(waits, on="job", how="left")
    return sums.select("job", pl.col("num") + pl.col("waited").fill_null(0), "den")


def _elastic_waits(given: Given, rows: pl.DataFrame) -> pl.DataFrame:
    """Return per job the waits for slices that lie inside a step's time."""
    import polars as pl

    mark = given.table("mark").filter(pl.col("name").str.starts_with(ELASTIC), pl.col("duration_us") > 0)
    told = mark.select("job", since_us=pl.col("at_us") - pl.col("duration_us"), until_us="at_us")
    inside = rows.filter(pl.col("part") == EVALUATION).join(told, on="job")
    begin, end = pl.max_horizontal("begin_us", "since_us"), pl.min_horizontal("end_us", "until_us")
    wait = pl.max_horizontal(end - begin, pl.lit(0)).cast(pl.Int128) * pl.col("gpus")
    return inside.group_by("job").agg(wait.sum().alias("waited"))


def _open_tail(given: Given, rows: pl.DataFrame) -> pl.DataFrame:
    """Return a row of waiting per job that is open before the end of a window that was asked for."""
    import polars as pl

    if not given.bounded:
        return rows.clear()
    still = given.table("job").filter(pl.col("open"))["job"].implode()
    last = rows.sort("begin_us").group_by("job").last().filter(pl.col("job").is_in(still))
    gap = PART_BY_NAME["gap"]
    tail = last.with_columns(
        begin_us=pl.col("end_us"),
        end_us=pl.lit(given.span.until_us, pl.Int64),
        part=pl.lit(gap.part),
        component=pl.lit(gap.component),
    )
    return tail.filter(pl.col("end_us") > pl.col("begin_us")).select(rows.columns)


def _runtime(given: Given) -> pl.DataFrame:
    import polars as pl

    rows = given.rows.filter(pl.col("allocated"))
    recovering = pl.col("stage").is_in(TTR_STAGES)
    moved = recovering & (pl.col("component").is_in([SCHEDULING, "shutdown"]))
    return total(rows, ~recovering, ~moved)


GOODPUT = Term(
    "goodput",
    "steps that survived, at the place of their last execution / first launch to end (open jobs: to the end of the"
    " window)",
    "the queue before the first launch; counts waits for slices inside a step as useful",
    "ml-goodput-measurement 0.2.3: cumulative goodput",
    _goodput,
    "no trainer was seen in the window",
)
RUNTIME = Term(
    "runtime-goodput",
    "(held - recoveries) / (held - rescheduling): resuming and work since the checkpoint are the loss",
    "the first start, save stalls, shutdown; takes rescheduling out of the wall",
    "ML Productivity Goodput, runtime part: (t_w - sum(t_rm + t_ch) - sum t_re) / (t_w - sum t_re)",
    _runtime,
    "no hardware held in the window",
)
