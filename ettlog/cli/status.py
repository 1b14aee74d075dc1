"""`ettlog status`: what the lake holds, file by file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import Output, lake, output_options
from ettlog.tables import Shown

if TYPE_CHECKING:
    from pathlib import Path

SHOWN = (
    Shown("path", "file"),
    Shown("state", "state"),
    Shown("formats", "formats"),
    Shown("clock", "clock"),
    Shown("job_name", "job"),
    Shown("model", "model"),
    Shown("cluster", "cluster"),
    Shown("allocation", "allocation"),
    Shown("n_lines", "lines", "int"),
    Shown("matched", "matched", "int"),
    Shown("ignored", "ignored", "int"),
    Shown("unmatched", "unmatched", "int"),
    Shown("lost", "lost", "int"),
)


@click.command("status", short_help=COMMANDS["status"])
@lake
@output_options
def command(lake: Path, out: Output) -> None:
    """Show the files of the lake: state, formats, clock, identity, and the fate of every line."""
    import polars as pl

    import ettlog
    from ettlog.cli.output import emit
    from ettlog.lifecycle import OUTCOMES
    from ettlog.tables import View

    frame = ettlog.status(ettlog.open(lake))
    header = [
        f"{frame.height:,} files, {frame['n_lines'].sum():,} lines: "
        + ", ".join(f"{frame[name].sum():,} {name}" for name in OUTCOMES if frame[name].sum())
    ]
    lost = frame.with_columns(lost=pl.sum_horizontal(OUTCOMES[3:]))
    emit(View(frame, header=header, shown=SHOWN, readable=lost), out)
