"""`ettlog attribute`: what changed, and whose work changed it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import Output, lake, output_options


@click.command("attribute", short_help=COMMANDS["attribute"])
@click.option("--window", help="Length of the window: 6mo, 30d, 2w; counted back from the newest event of the lake.")
@click.option("-S", "--since", "--starttime", "since", help="First instant of the window, in place of its length.")
@click.option("-E", "--until", "--endtime", "until", help="End of the window, itself outside.")
@click.option(
    "--optimizations",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Registry of optimizations (TOML, CSV or JSON), in place of the lake's optimizations.toml.",
)
@click.option(
    "--basis",
    type=click.Choice(["work", "wall"]),
    help="What stays fixed: the training that was done, or the time held; by default as configured, else work.",
)
@click.option(
    "--by",
    type=click.Choice(["optimization", "owner", "tier", "model"]),
    help="Sum the credit by one of these, in place of one row per optimization and tier.",
)
@lake
@output_options
def command(by: str | None, optimizations: Path | None, lake: Path, out: Output, **options: Any) -> None:
    """Show what changed in a window, and whose work changed it.

    Each optimization gets direct credit (first starts), measured cascade credit (the same saving in recoveries, with
    the bound beside it), recovery-only, shutdown and steady credit; rows nobody may claim stand below. The rows add up
    to the measured change.
    """
    import ettlog
    from ettlog.attribute.reading import arranged
    from ettlog.cli.output import emit

    found = ettlog.attribute(ettlog.open(lake), registry=optimizations, **options)
    emit(arranged(found, by), out)
