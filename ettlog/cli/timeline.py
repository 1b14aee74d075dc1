"""`ettlog timeline`: what one job did, moment by moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import Output, lake, output_options
from ettlog.tables import Shown

if TYPE_CHECKING:
    from pathlib import Path

    from ettlog.fleet import Fleet
    from ettlog.tables import View

SEGMENTS = (
    Shown("start", "start", "int"),
    Shown("kind", "kind"),
    Shown("begin_at", "from (UTC)", "stamp"),
    Shown("duration_us", "took", "span"),
    Shown("component", "component"),
    Shown("part", "part"),
    Shown("stage", "stage"),
    Shown("gpus", "GPUs", "int"),
    Shown("allocated", "held"),
    Shown("inferred", "inferred"),
    Shown("evidence", "evidence"),
)
STARTS = (
    Shown("k", "start", "int"),
    Shown("kind", "kind"),
    Shown("allocation", "allocation"),
    Shown("launched_at", "launched (UTC)", "stamp"),
    Shown("first_step_at", "first step at", "stamp"),
    Shown("first_step", "first step", "int"),
    Shown("last_step", "last step", "int"),
    Shown("new_steps", "new steps", "int"),
    Shown("resumed_from", "resumed from", "int"),
    Shown("ended_at", "ended (UTC)", "stamp"),
    Shown("end_state", "end"),
    Shown("cause", "cause"),
    Shown("gpus", "GPUs", "int"),
    Shown("evidence", "evidence"),
)


RECOVERIES = (
    Shown("k", "start", "int"),
    Shown("kind", "kind"),
    Shown("cause", "cause"),
    Shown("phase", "phase"),
    Shown("begin_at", "from (UTC)", "stamp"),
    Shown("us", "took", "span"),
    Shown("warmth", "caches"),
    Shown("inferred", "inferred"),
    Shown("evidence", "evidence"),
)


@click.command("timeline", short_help=COMMANDS["timeline"])
@click.argument("job", required=False)
@lake
@click.option("--starts", is_flag=True, help="Show one row per start instead of one per segment.")
@click.option(
    "--recoveries",
    is_flag=True,
    help="Show every restart phase by phase, from the fault to the first new step; without JOB, what recoveries of the"
    " fleet take, by cause.",
)
@output_options
@click.pass_context
def command(ctx: click.Context, /, job: str | None, lake: Path, starts: bool, recoveries: bool, out: Output) -> None:
    """Show what JOB did, segment by segment without gap or overlap, with the log line each segment rests on.

    Above the table stands the job at a glance: a row per start over the job's wall, a letter for what took most of each
    of its 64 parts.

    JOB is a name that `ettlog jobs` shows, or a part of one that no other job has.
    """
    import ettlog
    from ettlog.cli.output import emit, readable
    from ettlog.jobs import named
    from ettlog.tables import View

    if job is None and not recoveries:
        raise click.MissingParameter(ctx=ctx, param=ctx.command.params[0])
    fleet = ettlog.open(lake)
    if recoveries:
        emit(_recoveries(fleet, job), out)
        return
    assert job is not None  # else it was missing
    frame = ettlog.timeline(fleet, job, starts=starts)
    header = [f"job: {named(fleet, job)}", *(_glance(fleet, job) if readable(out) else [])]
    emit(View(frame, header=header, shown=STARTS if starts else SEGMENTS), out)


def _glance(fleet: Fleet, job: str) -> list[str]:
    """Return the job in a line, and a chart of its starts in letters."""
    import glob

    import ettlog
    from ettlog.jobs import named
    from ettlog.tables import count, human
    from ettlog.timeline import chart

    row = ettlog.jobs(fleet, jobs=[glob.escape(named(fleet, job))]).row(0, named=True)
    told = [count(int(row["starts"] or 0), "start"), count(int(row["failures"] or 0), "failure")]
    told += [count(int(row["preemptions"] or 0), "preemption"), f"end {row['end_state'] or 'unknown'}"]
    ett = "" if row["ett"] is None else f", ETT {human(row['ett'], 'percent')}"
    lines = chart(ettlog.timeline(fleet, job), ettlog.timeline(fleet, job, starts=True))
    return [f"wall {human(row['wall_us'], 'span')}, {', '.join(told)}{ett}", "", *lines]


def _recoveries(fleet: Fleet, job: str | None) -> View:
    """Arrange the restarts of one job, or the recoveries of all jobs by cause."""
    from ettlog import recovery
    from ettlog.jobs import named
    from ettlog.tables import View

    if job is not None:
        header = [f"job: {named(fleet, job)}", f"phases: {', '.join(recovery.PHASES)}; fault and new_step are instants"]
        frame = recovery.recoveries(fleet, job)
        notes = [] if frame.height else ["no restart: no later start of this job is known"]
        return View(frame, header=header, notes=notes, shown=RECOVERIES)
    frame = recovery.by_cause(fleet)
    header = [
        "recoveries after failures and preemptions, over all jobs and all time",
        "mean wall time per recovery, from the last progress to the first new step; a phase that a recovery lacks is 0",
    ]
    sums = (
        Shown("jobs", "jobs", "int"),
        Shown("recoveries", "recoveries", "int"),
        Shown("came_back", "came back", "int"),
    )
    means = [Shown(phase, phase.replace("_", " "), "span") for phase in recovery.PHASES]
    hours = (Shown("gpu_hours", "GPU-h", "hours"), Shown("total_us", "each", "span"))
    return View(
        frame,
        header,
        recovery.unexplained(fleet),
        (Shown("kind", "kind"), Shown("cause", "cause"), *sums, *hours, *means),
    )
