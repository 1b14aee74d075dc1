"""`ettlog explain`: from a number down to the lines of log."""

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
    Shown("start", "start", "int"),
    Shown("part", "part"),
    Shown("begin_at", "from (UTC)", "stamp"),
    Shown("end_at", "to (UTC)", "stamp"),
    Shown("gpu_hours", "GPU-h", "hours"),
    Shown("path", "file"),
    Shown("line", "line", "number"),
    Shown("kind", "says"),
    Shown("pattern", "pattern"),
    Shown("inferences", "read by"),
)
LARGEST = 50
"""Segments of a sum that are shown; a job, a start or a part is always shown whole."""


@click.command("explain", short_help=COMMANDS["explain"])
@click.argument("row")
@lake
@output_options
def command(row: str, lake: Path, out: Output) -> None:
    """Show the lines of log that ROW rests on, with every inference on the way.

    ROW is JOB, JOB@START, JOB@START@PART (llama@1@replay), JOB@MOMENT (llama@2026-03-02T08:47), a row of `ettlog ett`
    as KEY=VALUE,... (model=llama,component=compilation), or one of `ettlog attribute`
    (optimization=mega-cache,tier=cascade,model=llama). Of a sum the largest segments come first.
    """
    import ettlog
    from ettlog.cli.output import emit
    from ettlog.explain import reasons
    from ettlog.tables import View, count

    fleet = ettlog.open(lake)
    frame = ettlog.explain(fleet, row)
    header = [f"evidence of {row}", *reasons(fleet, row)]
    summed = "=" in row
    left = frame.height - LARGEST if summed else 0
    notes = [f"{count(left, 'smaller segment')} not shown; every data format has them all"] if left > 0 else []
    readable = frame.head(LARGEST) if left > 0 else None
    emit(View(frame, header, notes, SHOWN if summed else SHOWN[1:], readable), out)
