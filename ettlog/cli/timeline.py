"""`ettlog timeline`: what one job did, moment by moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import Output, lake, output_options
from ettlog.tables import Shown

if TYPE_CHECKING:
    from pathlib import Path

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


@click.command("timeline", short_help=COMMANDS["timeline"])
@click.argument("job")
@lake
@click.option("--starts", is_flag=True, help="Show one row per start instead of one per segment.")
@output_options
def command(job: str, lake: Path, starts: bool, out: Output) -> None:
    """Show what JOB did, segment by segment without gap or overlap, with the log line each segment rests on.

    JOB is a name that `ettlog jobs` shows, or a part of one that no other job has.
    """
    import ettlog
    from ettlog.cli.output import emit
    from ettlog.jobs import named
    from ettlog.tables import View

    fleet = ettlog.open(lake)
    frame = ettlog.timeline(fleet, job, starts=starts)
    emit(View(frame, header=[f"job: {named(fleet, job)}"], shown=STARTS if starts else SEGMENTS), out)
