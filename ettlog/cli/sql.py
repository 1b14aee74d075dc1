"""`ettlog sql`: ask the relations in SQL."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import Output, lake, output_options

if TYPE_CHECKING:
    from pathlib import Path


@click.command("sql", short_help=COMMANDS["sql"])
@click.argument("query")
@lake
@output_options
def command(query: str, lake: Path, out: Output) -> None:
    """Run QUERY, one select statement, over the relations of the lake; - reads it from stdin.

    `ettlog schema` lists the relations and their columns.
    """
    import ettlog
    from ettlog.cli.output import emit
    from ettlog.tables import View

    text = sys.stdin.read() if query == "-" else query
    emit(View(ettlog.open(lake).sql(text)), out)
