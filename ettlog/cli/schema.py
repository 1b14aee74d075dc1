"""`ettlog schema`: what the relations and their columns mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import Output, lake, output_options

if TYPE_CHECKING:
    from pathlib import Path


@click.command("schema", short_help=COMMANDS["schema"])
@click.argument("relation", required=False)
@lake
@output_options
def command(relation: str | None, lake: Path, out: Output) -> None:
    """Show the relations of the lake, or the columns of RELATION, with a sentence each."""
    import ettlog
    from ettlog.cli.output import emit
    from ettlog.tables import View

    emit(View(ettlog.open(lake).schema(relation)), out)
