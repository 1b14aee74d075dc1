"""`ettlog plan`: before an experiment of paired runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import Output, lake, output_options, selection_options

if TYPE_CHECKING:
    from pathlib import Path

    from ettlog.ett import Selection


@click.command("plan", short_help=COMMANDS["plan"])
@click.option("--effect", "effects", type=float, multiple=True, help="Gain in points of ETT to be shown; repeatable.")
@click.option("--sd", type=float, help="Spread of a pair's gain in points; by default from the lake's own history.")
@click.option("--power", type=float, default=0.8, show_default=True, help="Probability of showing the gain.")
@click.option("--schedule", is_flag=True, help="Show when to kill the runs, and as what, in place of the pairs needed.")
@click.option("--kills", type=int, default=2, show_default=True, help="Kills in each run.")
@click.option("--hours", type=float, default=11.0, show_default=True, help="How long a run lasts.")
@click.option("--runs", type=int, help="Pairs in the schedule; by default what the largest gain needs.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the schedule.")
@selection_options
@lake
@output_options
def command(
    effects: tuple[float, ...],
    sd: float | None,
    power: float,
    schedule: bool,
    kills: int,
    hours: float,
    runs: int | None,
    seed: int,
    selection: Selection,
    lake: Path,
    out: Output,
) -> None:
    """Plan paired runs: how many pairs a gain needs, and a schedule of kills drawn from the fleet's own failures.

    Without a lake, --sd is needed, and kills have no cause.
    """
    import ettlog
    from ettlog.cli.output import emit
    from ettlog.plan import EFFECTS, KILLS, PAIRS
    from ettlog.tables import View

    fleet = ettlog.open(lake) if lake.exists() else None
    found = ettlog.plan(
        fleet,
        effects=effects or EFFECTS,
        sd=sd,
        power=power,
        kills=kills,
        hours=hours,
        runs=runs,
        seed=seed,
        **selection,
    )
    frame, shown = (found.kills, KILLS) if schedule else (found.pairs, PAIRS)
    emit(View(frame, (), found.notes, shown), out)
