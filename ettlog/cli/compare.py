"""`ettlog compare`: two runs, models or windows beside each other, or pairs of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import Output, convention_options, lake, output_options, selection_options
from ettlog.tables import Shown

if TYPE_CHECKING:
    from ettlog.compare import Comparison
    from ettlog.ett import Selection
    from ettlog.tables import View

PAIRS = (
    Shown("pair", "pair"),
    Shown("ett_before", "ETT % before", "ratio"),
    Shown("ett_after", "after", "ratio"),
    Shown("points", "points", "signed"),
    Shown("tts_hours_before", "TTS h before", "hours"),
    Shown("tts_hours_after", "after", "hours"),
    Shown("ttr_hours_before", "TTR h before", "hours"),
    Shown("ttr_hours_after", "after", "hours"),
    Shown("ttr_over_tts", "dTTR/dTTS", "signed"),
    Shown("recovery_share", "in recovery %", "ratio"),
    Shown("nof_before", "NoF", "int"),
    Shown("nof_after", "after", "int"),
    Shown("saved_wall_gpu_hours", "GPU-h, fixed wall", "hours"),
    Shown("saved_work_gpu_hours", "fixed work", "hours"),
)
MEANS = (
    Shown("metric", "figure"),
    Shown("n", "n", "int"),
    Shown("mean", "mean", "number"),
    Shown("low", "low", "number"),
    Shown("high", "high", "number"),
    Shown("p", "p", "number"),
    Shown("median", "median", "number"),
    Shown("median_low", "low", "number"),
    Shown("median_high", "high", "number"),
    Shown("pooled", "pooled", "number"),
    Shown("method", "method"),
    Shown("note", "note"),
)


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
    from ettlog.tables import View

    frame, shown = (found.summary, MEANS) if summary else (found.pairs, PAIRS)
    return View(frame, (), found.notes, shown)
