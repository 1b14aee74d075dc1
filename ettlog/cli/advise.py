"""`ettlog advise`: how often to save."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import UNKNOWN, Output, lake, output_options, selection_options
from ettlog.tables import Shown

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from ettlog.ett import Selection
    from ettlog.tables import View

SHOWN = (
    Shown("model", "model"),
    Shown("now", "saves every", "span"),
    Shown("low", "better: from", "span"),
    Shown("best", "best", "span"),
    Shown("high", "to", "span"),
    Shown("stall", "stall", "span"),
    Shown("losses", "losses", "int"),
    Shown("mttf_hours", "MTTF h", "hours"),
    Shown("wasted_now", "lost now", "percent"),
    Shown("wasted_then", "lost then", "percent"),
    Shown("saved_gpu_hours", "saves GPU-h", "hours"),
)
SPANS = {"now": "interval_s", "low": "low_s", "best": "best_s", "high": "high_s", "stall": "stall_s"}


@click.command("advise", short_help=COMMANDS["advise"])
@click.option("--all", "every", is_flag=True, help="Show models too whose gain is under one percent of their loop.")
@selection_options
@lake
@output_options
def command(every: bool, selection: Selection, lake: Path, out: Output) -> None:
    """Advise how often to save a checkpoint, from the measured stall of a save and the rate of failures.

    The range is the best interval over the 95 % interval of the failure rate. The curve is flat around its best point:
    nothing is said of a model that would win under one percent of its training loop.
    """
    import ettlog
    from ettlog.cli.output import emit
    from ettlog.ett import describe

    fleet = ettlog.open(lake)
    view = arranged(ettlog.advise(fleet, **selection), every=every)
    rule = "counted: lost = stall / interval + interval / (2 x MTTF); modelled on measured stalls and losses"
    emit(view._replace(header=[describe(fleet, selection)[0], rule]), out)


def arranged(frame: pl.DataFrame, *, every: bool) -> View:
    """Arrange advice: the models worth saying, and in a sentence each why the others are not shown."""
    import polars as pl

    from ettlog.tables import View, count

    chosen = frame if every else frame.filter(pl.col("worth"))
    spans = [(pl.col(source) * 1e6).alias(name) for name, source in SPANS.items()]
    quiet = frame.filter(~pl.col("worth") & (pl.col("why") == "")).height
    notes = [f"{count(quiet, 'model')} within one percent of the best: nothing to win there"] if quiet else []
    for why, number in frame.filter(pl.col("why") != "").group_by("why").len().sort("why").iter_rows():
        notes.append(f"{count(number, 'model')} without advice: {why}")
    return View(chosen, (), notes, SHOWN, chosen.with_columns(pl.col("model").fill_null(UNKNOWN), *spans))
