"""`ettlog alerts`: what an owner should know today, with exit code 4 where something asks to be done."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import Output, lake, output_options, selection_options
from ettlog.tables import Shown

if TYPE_CHECKING:
    from ettlog.alerts import Alerts
    from ettlog.ett import Selection
    from ettlog.tables import View

FIRING = 4
"""Exit code when an alert fires."""
SHOWN = (
    Shown("kind", "what"),
    Shown("owner", "owner"),
    Shown("component", "component"),
    Shown("model", "model"),
    Shown("per", "per"),
    Shown("since", "since", "day"),
    Shown("before", "before", "level"),
    Shown("after", "after", "level"),
    Shown("lost_gpu_hours", "lost GPU-h", "hours"),
    Shown("q", "q", "q"),
    Shown("rollout", "rollout"),
)


@click.command("alerts", short_help=COMMANDS["alerts"])
@click.option(
    "--optimizations",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Registry of optimizations (TOML, CSV or JSON), in place of the lake's optimizations.toml.",
)
@click.option("--exit-zero", is_flag=True, help="End with 0 where an alert fires, too.")
@selection_options
@lake
@output_options
@click.pass_context
def command(
    ctx: click.Context, /, optimizations: Path | None, exit_zero: bool, selection: Selection, lake: Path, out: Output
) -> None:
    """Show what changed for whom: regressions, wins nobody registered, effects that came, and budgets that burn.

    Daily costs per start, recovery, shutdown and effective hour are watched per component, owner and model, with all
    history before the window; a change of level is told when it began inside the window. Budgets are what [slo] in
    ettlog.toml allows a component per effective hour. Ends with 4 where a regression is open or a budget burns.
    """
    import ettlog
    from ettlog.cli.output import emit

    found = ettlog.alerts(ettlog.open(lake), registry=optimizations, **selection)
    emit(arranged(found), out)
    ctx.exit(FIRING if found.firing and not exit_zero else 0)


def arranged(found: Alerts) -> View:
    """Arrange alerts as findings: how many fire, the table, a sentence with the next command for each, the budgets."""
    from ettlog.alerts import words
    from ettlog.tables import View

    return View(found.alerts, list(words.header(found)), list(words.notes(found)), SHOWN)
