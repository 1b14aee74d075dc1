"""`ettlog report`: one page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import lake, quiet_options, selection_options

if TYPE_CHECKING:
    from ettlog.ett import Selection


@click.command("report", short_help=COMMANDS["report"])
@selection_options
@lake
@click.option(
    "-o",
    "--output",
    "path",
    default="report.html",
    show_default=True,
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    help="Write the page to this file, whole or not at all; - is stdout.",
)
@click.option("--title", help="Title of the page, in place of one that says what it is about.")
@quiet_options
def command(selection: Selection, lake: Path, path: Path, title: str | None, quiet: bool, verbose: int) -> None:  # noqa: ARG001
    """Write one self-contained HTML page about the fleet, or about the jobs and models that were named.

    The page holds the headline, components over time, owners, credit, recoveries, failures, the worst jobs with their
    timelines, and how far the data can be trusted. It asks for nothing from outside, and is the same bytes for the same
    lake and options.
    """
    import sys

    import ettlog
    from ettlog.cli.output import replace, say
    from ettlog.report import build

    page = build(ettlog.open(lake), title=title, **selection).encode("utf-8", errors="backslashreplace")
    if str(path) == "-":
        sys.stdout.buffer.write(page)
        return
    replace(path, page)
    say([f"wrote {path}"], quiet=quiet)
