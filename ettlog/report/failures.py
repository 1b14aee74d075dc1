"""What broke and what coming back took: recoveries by the cause they came back from, and ends by cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettlog import plot, recovery
from ettlog.errors import NoDataError
from ettlog.lifecycle import CAUSE_ROWS, COMPONENTS, END_STATES, RECOVERY_KINDS, STAGES
from ettlog.plot import EFFECTIVE, SHORT
from ettlog.report.page import Block, Notes, Picture, Section, Table, looked
from ettlog.tables import Shown

if TYPE_CHECKING:
    import polars as pl

    from ettlog.report.scope import Scope
    from ettlog.windows import Window

TTR = [stage.stage for stage in STAGES if stage.term == "TTR"]
MICROS_PER_HOUR = 3_600_000_000
NOT_NAMED = "(not named)"
DRAWN = 10
"""Causes that the anatomy shows, the costliest."""
RECOVERIES = (
    Shown("kind", "kind"), Shown("cause", "cause"), Shown("recoveries", "recoveries", "int"),
    Shown("jobs", "jobs", "int"),
    Shown("each_us", "mean wall", "span"), Shown("longest_us", "longest", "span"), Shown("gpu_hours", "GPU-h", "hours"),
    *(Shown(f"{name}_share", f"{SHORT[name]} %", "ratio") for name in COMPONENTS if name != EFFECTIVE),
    Shown("look", "the longest"),
)  # fmt: skip
FAILURES = (
    Shown("end_state", "end"), Shown("cause", "cause"), Shown("domain", "domain"), Shown("starts", "starts", "int"),
    Shown("jobs", "jobs", "int"), Shown("share", "% of starts", "ratio"), Shown("last", "last (UTC)", "stamp"),
    Shown("look", "for example"), Shown("meaning", "meaning"),
)  # fmt: skip


def recoveries(scope: Scope) -> Section:
    """Return what the recoveries took, by kind and by the cause of the end they came back from."""
    frame = recovery_rows(scope.chosen("ledger"), scope.chosen("start"), scope.window)
    said = "Recoveries by cause: all time between the failure and the first new step"
    blocks: list[Block] = [*_anatomy(scope), Table(said, looked(frame, "example"), RECOVERIES)]
    if frame.is_empty():
        blocks = [Notes(["No job of this window came back from a failure or preemption."])]
    counted = [
        (
            "A recovery lasts from the failure of the start before it to the first new step of its own start: hang, "
            "teardown, queue, placement, init, restore, compile, replay. Its cause is that of the start before; "
            "shares are of the recoveries' wall. GPU-h counts hardware held."
        ),
    ]
    return Section("recoveries", "Recoveries", blocks, scope.command("ett", "--by", "start-kind"), counted)


def _anatomy(scope: Scope) -> list[Picture]:
    """Return the picture of what recoveries are made of; nothing where there is none."""
    try:
        found = recovery.by_cause(scope.fleet, scope.names)
    except NoDataError:
        return []
    few = found.head(DRAWN)
    ax = plot.recovery(few, recovery.PHASES, plot.axes(10, 1.3 + 0.3 * max(few.height, 2)))
    said = "Anatomy of a recovery by cause: mean minutes of each phase, over the whole lake; other: no log names it"
    return [Picture(said, plot.svg(ax, "anatomy", said))]


def failures(scope: Scope) -> Section:
    """Return how starts ended that did not end as planned."""
    start = scope.chosen("start")
    if start.is_empty():
        why = "No trainer log was read, so no start is known: ingest the trainer's stdout beside the accounting."
        return Section("failures", "Failures", [Notes([why], "missing")])
    frame = failure_rows(start, scope.window)
    blocks: list[Block] = [Table("Ends that were not planned", looked(frame, "example"), FAILURES)]
    if frame.is_empty():
        blocks = [Notes(["Every start of this window ended as planned, or its end is not in the logs."])]
    counted = ["The newest of each kind stands as an example; its command shows the lines of log behind it."]
    return Section("failures", "Failures", blocks, scope.command_of("jobs", "jobs", "models"), counted)


def recovery_rows(ledger: pl.DataFrame, start: pl.DataFrame, window: Window) -> pl.DataFrame:
    """Return one row per kind and cause: recoveries, jobs, mean and longest wall (us), GPU-hours, component shares."""
    import polars as pl

    rows = ledger.filter(pl.col("stage").is_in(TTR), pl.col("kind").is_in(RECOVERY_KINDS))
    inside = pl.col("launched_us").is_between(window.since_us, window.until_us, closed="left")
    rows = rows.filter(inside.fill_null(value=True))
    before = start.select("job", (pl.col("k") + 1).alias("start"), pl.col("cause"))
    each = rows.group_by("job", "start", "kind").agg(
        pl.col("us").sum(),
        pl.col("allocated_gpu_us").sum(),
        *[pl.col("us").filter(pl.col("component") == name).sum().alias(name) for name in COMPONENTS],
    )
    each = each.join(before.with_columns(pl.col("start").cast(each.schema["start"])), on=["job", "start"], how="left")
    sums = each.group_by("kind", pl.col("cause").fill_null(NOT_NAMED)).agg(
        pl.len().alias("recoveries"),
        pl.col("job").n_unique().alias("jobs"),
        pl.col("us").mean().alias("each_us"),
        pl.col("us").max().alias("longest_us"),
        (pl.col("job") + "@" + pl.col("start").cast(pl.String)).sort_by("us", "job", "start").last().alias("example"),
        (pl.col("allocated_gpu_us").sum() / MICROS_PER_HOUR).alias("gpu_hours"),
        *[(pl.col(name).sum() / pl.col("us").sum()).alias(f"{name}_share") for name in COMPONENTS],
    )
    return sums.sort("gpu_hours", "kind", "cause", descending=[True, False, False])


def failure_rows(start: pl.DataFrame, window: Window) -> pl.DataFrame:
    """Return one row per end and cause of the window's starts that did not complete, the most frequent first."""
    import polars as pl

    causes = pl.DataFrame(CAUSE_ROWS, schema=["cause", "domain", "meaning"], orient="row")
    ended = pl.coalesce("ended_at", "last_step_at", "launched_at")
    at = ended.cast(pl.Datetime("us")).dt.epoch("us")
    inside = at.is_between(window.since_us, window.until_us, closed="left").fill_null(value=True)
    frame = start.filter(inside)
    bad = frame.filter(pl.col("end_state").is_not_null(), pl.col("end_state") != END_STATES[0])
    sums = (
        bad.sort("job", "k")
        .group_by("end_state", "cause", maintain_order=True)
        .agg(
            pl.len().alias("starts"),
            pl.col("job").n_unique().alias("jobs"),
            (pl.len() / frame.height).alias("share") if frame.height else pl.lit(None).alias("share"),
            ended.max().alias("last"),
            (pl.col("job") + "@" + pl.col("k").cast(pl.String)).last().alias("example"),
        )
    )
    named = sums.join(causes, on="cause", how="left").with_columns(pl.col("cause").fill_null(NOT_NAMED))
    return named.sort("starts", "end_state", "cause", descending=[True, False, False])
