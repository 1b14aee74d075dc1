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
    Shown("start", "start", "int"),
    Shown("part", "part"),
    Shown("begin_at", "from (UTC)", "stamp"),
    Shown("end_at", "to (UTC)", "stamp"),
    Shown("path", "file"),
    Shown("line", "line", "number"),
    Shown("kind", "says"),
    Shown("pattern", "pattern"),
    Shown("clock", "clock"),
    Shown("note", "note"),
)


@click.command("explain", short_help=COMMANDS["explain"])
@click.argument("row")
@lake
@output_options
def command(row: str, lake: Path, out: Output) -> None:
    """Show the lines of log that ROW rests on: JOB, JOB@START or JOB@START@PART, for example llama@1@replay."""
    import ettlog
    from ettlog.cli.output import emit
    from ettlog.tables import View

    emit(View(ettlog.explain(ettlog.open(lake), row), header=[f"evidence of {row}"], shown=SHOWN), out)
