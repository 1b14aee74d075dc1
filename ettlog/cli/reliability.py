"""`ettlog reliability`: how often jobs are lost, and to what."""

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

KEYS = ("cause", "model", "cluster", "node")
SHOWN = (
    Shown("event", "event"),
    Shown("jobs", "jobs", "int"),
    Shown("count", "count", "int"),
    Shown("share", "% of event", "ratio"),
    Shown("per_1000_gpu_days", "per 1,000 GPU-days", "hours"),
    Shown("low", "low", "hours"),
    Shown("high", "high", "hours"),
    Shown("shrunk", "shrunk", "hours"),
    Shown("gpus", "GPUs", "hours"),
    Shown("mttf_hours", "MTTF h", "hours"),
    Shown("mttf_low_hours", "low", "hours"),
    Shown("mttf_high_hours", "high", "hours"),
    Shown("method", "interval"),
)
SCALE = (
    Shown("gpus", "GPUs", "int"),
    Shown("mttf_hours", "MTTF h", "hours"),
    Shown("mttf_low_hours", "low", "hours"),
    Shown("mttf_high_hours", "high", "hours"),
    Shown("losses", "losses", "hours"),
    Shown("expected_ett", "expected ETT %", "ratio"),
    Shown("ett_low", "low", "ratio"),
    Shown("ett_high", "high", "ratio"),
    Shown("approximate_ett", "first order", "ratio"),
    Shown("evidence", "evidence"),
)
LISTED = 8
"""Most lemons that the first line names."""
NODES = (
    Shown("node", "node"),
    Shown("jobs", "jobs", "int"),
    Shown("starts", "starts", "int"),
    Shown("count", "lost", "int"),
    Shown("node_days", "node-days", "hours"),
    Shown("per_1000_node_days", "per 1,000 node-days", "hours"),
    Shown("low", "low", "hours"),
    Shown("high", "high", "hours"),
    Shown("shrunk", "shrunk", "hours"),
    Shown("exceeds", "P(> 2x fleet)", "ratio"),
    Shown("q", "q", "q"),
    Shown("lemon", "lemon"),
)


def sizes(_ctx: click.Context, _param: click.Parameter, value: str | None) -> tuple[int, ...]:
    """Return the numbers of GPUs of a text such as 1024,4096."""
    parts = [part.strip().replace("_", "") for part in (value or "").split(",") if part.strip()]
    if not all(part.isascii() and part.isdigit() and int(part) for part in parts):
        raise click.BadParameter(f"{value!r} is no list of numbers of GPUs, such as 1024,4096.")
    return tuple(int(part) for part in parts)


@click.command("reliability", short_help=COMMANDS["reliability"])
@click.option("--by", type=click.Choice(KEYS), default="model", show_default=True, help="What rates are given by.")
@click.option(
    "--gpus", type=click.IntRange(min=1), help="GPUs of the job whose MTTF is given; by default the mean held."
)
@click.option("--at", callback=sizes, help="Foretell runs on so many GPUs, in place of rates: 1024,4096,16384.")
@click.option(
    "--work", type=float, default=168.0, show_default=True, help="Hours of training of the run that is foretold."
)
@selection_options
@lake
@output_options
def command(
    by: str, gpus: int | None, at: tuple[int, ...], work: float, selection: Selection, lake: Path, out: Output
) -> None:
    """Show failures and preemptions per GPU-day, with 95 % intervals, and the mean time to failure of a job.

    The interval is exact while the jobs look Poisson; where failures come in bursts (Pearson's dispersion test), the
    jobs are its clusters, and it says so.

    By node: a lost start is given to the node of its first sign of failure; shrunk rates and the chance that a node
    fails more than twice as often as all (gamma-Poisson), and which are lemons with at most 5 % false discoveries.

    With --at: the mean time to failure and the ETT to expect of a run on other numbers of GPUs, by the exact renewal
    form over the measured rate, start-up and save interval; modelled.
    """
    import polars as pl

    import ettlog
    from ettlog.cli.output import emit
    from ettlog.ett import describe
    from ettlog.lacks import lacks
    from ettlog.tables import View

    fleet = ettlog.open(lake)
    if at:
        found = ettlog.at_scale(fleet, at, work_hours=work, **selection)
        emit(of_scale(found, describe(fleet, selection)[0]), out)
        return
    frame = ettlog.reliability(fleet, by=by, gpus=gpus, **selection)
    window = describe(fleet, selection)[0]
    if by == "node":
        emit(of_nodes(frame, window), out)
        return
    rule = "counted: starts that ended by failure or preemption, per GPU-day held; jobs with a trainer's log only"
    readable = frame.with_columns(pl.col(by).fill_null(UNKNOWN))
    said = [*notes(frame), *lacks(fleet)]
    emit(View(frame, [window, rule], said, (Shown(by, by), *SHOWN), readable), out)


def of_scale(frame: pl.DataFrame, window: str) -> View:
    """Arrange what is foretold for other sizes, with what it rests on."""
    from ettlog.tables import View

    first = frame.row(0, named=True)
    rule = (
        f"modelled: {first['work_hours']:g} h of training; a start takes {first['start_hours']:.2f} h (mean of "
        f"{first['starts']:,}, queue and replay left out), a save every {60 * first['save_hours']:.0f} min (median)"
    )
    said = "assumed: losses come per GPU-hour alike at every size and exponentially; small jobs often fail otherwise"
    rough = "first order: the published form (1 - (start + save/2) / MTTF), for long runs only"
    return View(frame, [window, rule], [said, rough], SCALE)


def of_nodes(frame: pl.DataFrame, window: str) -> View:
    """Arrange rates by node: how many are lemons, the table, what could not be given to a node."""
    from ettlog.tables import View, count

    bad = frame.filter("lemon")["node"].to_list()
    names = f": {', '.join(bad[:LISTED])}{' ...' if len(bad) > LISTED else ''}" if bad else ""
    found = f"{count(len(bad), 'lemon')} of {count(frame.height, 'node')}{names}."
    rule = "counted: starts lost to a failure, by the node of the first sign; per node-day of starts it was seen in"
    unplaced = f"{count(int(frame['unplaced'][0]), 'lost start')} could not be given to a node: no sign names one"
    chance = (
        "p counts so many losses or more by chance at the rate of all nodes; q holds false lemons at 5 % "
        "(Benjamini-Hochberg); shrunk and P are gamma-Poisson over all nodes (empirical Bayes)"
    )
    return View(frame, [found, window, rule], [unplaced, chance], NODES)


def notes(frame: pl.DataFrame) -> list[str]:
    """Return what a reader must know before using the rates."""
    wide = int(frame["method"].str.contains("overdispersed").sum())
    said = "MTTF is of a job of so many GPUs: 24 h / (rate per GPU-day x GPUs)"
    bursts = f"{wide} of {frame.height} rows are overdispersed: failures come in bursts, or not everywhere alike"
    return [said, *([bursts] if wide else [])]
