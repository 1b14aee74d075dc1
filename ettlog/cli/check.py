"""`ettlog check`: does what the lake says hold together?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import Output, lake, output_options

if TYPE_CHECKING:
    from pathlib import Path


@click.command("check", short_help=COMMANDS["check"])
@lake
@output_options
@click.pass_context
def command(ctx: click.Context, lake: Path, out: Output) -> None:
    """Check the files of the lake and the invariants of its relations; exit 1 when one does not hold."""
    import ettlog
    from ettlog.cli.output import emit
    from ettlog.tables import View

    frame = ettlog.open(lake).check()
    emit(View(frame), out)
    ctx.exit(0)
