"""`ettlog plot`: one picture, as PNG or SVG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import lake, quiet_options, selection_options

if TYPE_CHECKING:
    from ettlog.ett import Selection

SUFFIXES = (".png", ".svg")


@click.command("plot", short_help=COMMANDS["plot"])
@click.argument("name", metavar="NAME")
@click.argument("names", nargs=-1, metavar="[JOB | OPTIMIZATION]")
@click.option(
    "-o",
    "--output",
    "path",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the picture to this file, whole or not at all: .png or .svg.",
)
@click.option("--dpi", default=120, show_default=True, type=click.IntRange(30, 600), help="Dots per inch of a PNG.")
@selection_options
@lake
@quiet_options
def command(
    name: str,
    names: tuple[str, ...],
    path: Path,
    dpi: int,
    selection: Selection,
    lake: Path,
    quiet: bool,
    verbose: int,  # noqa: ARG001
) -> None:
    """Draw one picture of the fleet or of a job.

    \b
    gantt JOB      a row per start: components, checkpoints, how each start ended
    components     the components of the wall, by week
    overhead       overhead per effective hour, by week
    calendar       ETT of each day
    waterfall      ETT from before to after, with whose work moved it
    credit         what each optimization saved, with interval and bound
    event-study    what an optimization saved, week by week since its rollout
    funnel         failure rates of models, within limits about the rate of all
    recovery       what recoveries are made of, by cause

    The same lake and options give the same bytes.
    """
    import ettlog
    from ettlog import plot
    from ettlog.cli.output import replace, say
    from ettlog.errors import UsageError
    from ettlog.plot.named import draw

    if path.suffix not in SUFFIXES:
        raise UsageError(
            "a picture is not written in this form", where=str(path), why=f"the forms are {', '.join(SUFFIXES)}",
            todo="end the name of the file in one of these",
        )  # fmt: skip
    ax = draw(ettlog.open(lake), name, *names, **selection)
    replace(path, plot.png(ax, dpi) if path.suffix == SUFFIXES[0] else plot.alone(ax).encode())
    say([f"wrote {path}"], quiet=quiet)
