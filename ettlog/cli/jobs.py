"""`ettlog jobs`: one row per job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import Output, lake, output_options
from ettlog.tables import Shown

if TYPE_CHECKING:
    from pathlib import Path

SHOWN = (
    Shown("job", "job"),
    Shown("model", "model"),
    Shown("cluster", "cluster"),
    Shown("gpus", "GPUs", "int"),
    Shown("first_at", "from (UTC)", "stamp"),
    Shown("wall_us", "wall", "span"),
    Shown("gpu_hours", "GPU-h", "hours"),
    Shown("starts", "starts", "int"),
    Shown("failures", "failures", "int"),
    Shown("preemptions", "preempted", "int"),
    Shown("planned", "planned", "int"),
    Shown("end_state", "end"),
    Shown("open", "open"),
    Shown("ett", "ETT %", "ratio"),
)
MEANING = (
    "wall: first submission or launch to last release; GPU-h: hardware held; "
    "ETT: the share of it that trained on new data"
)


@click.command("jobs", short_help=COMMANDS["jobs"])
@lake
@click.option("-j", "--job", "jobs", multiple=True, help="Show only jobs whose name matches a glob; repeatable.")
@click.option("-m", "--model", "models", multiple=True, help="Show only jobs whose model matches a glob; repeatable.")
@click.option(
    "--unjoined", is_flag=True, help="List what hangs loose instead: allocations, logs, jobs without records."
)
@output_options
def command(lake: Path, jobs: tuple[str, ...], models: tuple[str, ...], unjoined: bool, out: Output) -> None:
    """List the jobs of the lake, the oldest first: wall time, starts by kind, end and ETT.

    With --unjoined: allocations without trainer lines, logs without a start, jobs without scheduler records, and what
    would join them.
    """
    import ettlog
    from ettlog.cli.output import emit
    from ettlog.lacks import lacks
    from ettlog.tables import View

    fleet = ettlog.open(lake)
    if unjoined:
        from ettlog.cli import linked

        emit(linked.loose(fleet, jobs), out)
        return
    frame = ettlog.jobs(fleet, jobs=jobs, models=models)
    emit(View(frame, [MEANING], list(lacks(fleet, frame["job"].to_list())), SHOWN), out)
