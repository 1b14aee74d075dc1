"""The jobs that lost most, with the timelines of the worst of them."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import ettlog
from ettlog import plot
from ettlog.report.page import Block, Picture, Section, Table, looked
from ettlog.tables import Shown

if TYPE_CHECKING:
    import polars as pl

    from ettlog.report.scope import Scope

DRAWN = 4
"""How many timelines the page draws; the first is open."""
FIRST = 12
"""Jobs that stand before the timelines; all of them stand in a folded table below."""
TALLEST = 60
"""Starts of a job that its picture shows, the last ones."""
JOBS = (
    Shown("job", "job"), Shown("model", "model"), Shown("lost_gpu_hours", "lost GPU-h", "hours"),
    Shown("ett", "ETT %", "ratio"), Shown("wall_gpu_hours", "GPU-h", "hours"), Shown("starts", "starts", "int"),
    Shown("failures", "failures", "int"), Shown("preemptions", "preempted", "int"), Shown("end_state", "end"),
    Shown("open", "open"), Shown("look", "look closer"),
)  # fmt: skip
STARTS = (
    Shown("k", "start", "int"), Shown("kind", "kind"), Shown("launched_at", "launched (UTC)", "stamp"),
    Shown("first_step_at", "first step at", "stamp"), Shown("first_step", "first", "int"),
    Shown("last_step", "last step", "int"), Shown("new_steps", "new steps", "int"),
    Shown("resumed_from", "resumed from", "int"), Shown("end_state", "end"), Shown("cause", "cause"),
    Shown("gpus", "GPUs", "int"), Shown("evidence", "evidence"), Shown("look", "look closer"),
)  # fmt: skip
COUNTED = (
    (
        "Lost is all held time that did not train on new data. In a picture, a row is a start: its time runs from the"
        " failure it came back from to its end, thin where no hardware was held, with committed checkpoints as ticks "
        "below and how it ended at the right; a dot is a start too short to see. `ettlog timeline JOB` lists the same "
        "segments, each with its line of log; `ettlog explain JOB@START` says more."
    ),
)


def worst(scope: Scope) -> Section:
    """Return the jobs in the order of what they lost, and the timelines of the first ones."""
    import polars as pl

    frame = lost(scope.by("job"), scope.chosen("job"))
    few = frame.head(FIRST)
    blocks: list[Block] = [Table("The largest losses", looked(few, "job"), JOBS)] if frame.height > 1 else []
    for number, job in enumerate(frame["job"].head(DRAWN)):
        blocks.append(_timeline(scope, job, number))
    if frame.height > FIRST:
        blocks.append(Table(f"All {frame.height:,} jobs", looked(frame, "job"), JOBS, folded=True))
    if frame.height == 1:
        starts = scope.chosen("start").sort("k")
        start = (starts["job"] + "@" + starts["k"].cast(pl.String)).alias("row")
        blocks.append(Table("Starts", looked(starts.with_columns(start), "row"), STARTS))
    if frame.height == 1:
        return Section("jobs", "Timeline", blocks, shlex.join(["ettlog", "timeline", frame["job"][0]]), COUNTED)
    return Section("jobs", "Jobs that lost most", blocks, scope.command_of("jobs", "jobs", "models"), COUNTED)


def lost(by_job: pl.DataFrame, job: pl.DataFrame) -> pl.DataFrame:
    """Return one row per job of the window, the largest loss (GPU-hours held, not effective) first."""
    import polars as pl

    loss = pl.col("wall_gpu_hours") - pl.col(f"{plot.EFFECTIVE}_gpu_hours")
    names = job.select("job", "model", "end_state", "open")
    rows = by_job.with_columns(loss.alias("lost_gpu_hours")).join(names, on="job", how="left")
    return rows.sort("lost_gpu_hours", "job", descending=[True, False])


def _timeline(scope: Scope, job: str, number: int) -> Picture:
    import polars as pl

    frame = ettlog.timeline(scope.fleet, job)
    last = sorted(frame["start"].drop_nulls().unique())[-TALLEST:]
    shown = frame.filter(pl.col("start").is_in(last)) if len(last) == TALLEST else frame
    saved = scope.fleet.table("checkpoint").filter(pl.col("job") == job)
    starts = ettlog.timeline(scope.fleet, job, starts=True)
    ax = plot.gantt(shown, saved, plot.axes(10, 0.9 + 0.24 * max(len(last), 2)), starts=starts)
    svg = plot.svg(ax, f"job{number}", f"timeline of {job}")
    return Picture(f"{job}", svg, legend=True, folded=number > 0)
