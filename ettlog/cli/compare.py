"""`ettlog compare`: two runs, models or windows beside each other, or pairs of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import Output, convention_options, lake, output_options, selection_options

if TYPE_CHECKING:
    from ettlog.compare import Comparison
    from ettlog.ett import Selection
    from ettlog.tables import View


@click.command("compare", short_help=COMMANDS["compare"])
@click.argument("before", metavar="[A", required=False)
@click.argument("after", metavar="B]", required=False)
@click.option(
    "--pairs",
    "pairs_file",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="A TOML file of [[pair]] tables with before and after, in place of A and B.",
)
@click.option("--summary", is_flag=True, help="Show the means with their intervals in place of the pairs.")
@selection_options
@convention_options
@lake
@output_options
def command(
    before: str | None,
    after: str | None,
    pairs_file: Path | None,
    summary: bool,
    selection: Selection,
    conventions: dict[str, Any],
    lake: Path,
    out: Output,
) -> None:
    """Compare A with B: ETT before and after, the falls of TTS and TTR, and what of the gain lies in recoveries.

    A and B are each a job, a model, a glob over job names, model:GLOB, job:GLOB, cluster:GLOB, platform:GLOB, or a
    window FROM..TO. Several pairs get a mean with a t interval, the exact sign-flip p and the Hodges-Lehmann estimate;
    a single pair borrows the variance of its model's history, or gets no interval, and the reason.
    """
    import ettlog
    from ettlog.cli.output import emit
    from ettlog.ett import describe

    fleet = ettlog.open(lake)
    found = ettlog.compare(fleet, before, after, pairs_file=pairs_file, selection=selection, **conventions)
    view = arranged(found, summary=summary)
    emit(view._replace(header=describe(fleet, selection, **conventions)), out)


def arranged(found: Comparison, *, summary: bool) -> View:
    """Arrange a comparison as the table of pairs, or of their means, with what it shows below."""
    from ettlog.compare import MEANS, PAIRS
    from ettlog.tables import View

    frame, shown = (found.summary, MEANS) if summary else (found.pairs, PAIRS)
    return View(frame, (), found.notes, shown)
