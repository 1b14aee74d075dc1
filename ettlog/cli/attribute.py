"""`ettlog attribute`: what changed, and whose work changed it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import Output, lake, output_options

if TYPE_CHECKING:
    from pathlib import Path


@click.command("attribute", short_help=COMMANDS["attribute"])
@click.option(
    "--window", default="6mo", show_default=True, help="Length of the window, counted back from the newest event."
)
@lake
@output_options
def command(window: str, lake: Path, out: Output) -> None:
    """Show what changed in the window, and whose work changed it."""
    import ettlog
    from ettlog.cli.output import emit
    from ettlog.tables import View

    found = ettlog.attribute(ettlog.open(lake), window=window)
    emit(View(found.credit, header=found.header, notes=found.notes), out)
