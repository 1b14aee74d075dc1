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

    JOB is a name that `ettlog jobs` shows, or a part of one that no other job has.
    """
    import ettlog
    from ettlog.cli.output import emit
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
    emit(View(frame, header=[f"job: {named(fleet, job)}"], shown=STARTS if starts else SEGMENTS), out)


def _recoveries(fleet: Fleet, job: str | None) -> View:
    """Arrange the restarts of one job, or the recoveries of all jobs by cause."""
    from ettlog import recovery
    from ettlog.jobs import named
    from ettlog.tables import View

    if job is not None:
        header = [f"job: {named(fleet, job)}", f"phases: {', '.join(recovery.PHASES)}; fault and new_step are instants"]
        return View(recovery.recoveries(fleet, job), header=header, shown=RECOVERIES)
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
