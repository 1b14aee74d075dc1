"""`ettlog attribute`: what changed, and whose work changed it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import Output, lake, output_options
from ettlog.conventions import FRAMES


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
@click.option(
    "--show",
    type=click.Choice(list(FRAMES)),
    default="credit",
    show_default=True,
    help="; ".join(f"{name}: {words}" for name, words in list(FRAMES.items())[1:]) + ".",
)
@click.option(
    "--baseline",
    default="first",
    show_default=True,
    help="What is compared with: first (all before a model's first rollout), pre-rollout (28 days), or FROM..TO.",
)
@click.option(
    "--chain",
    type=click.Choice(["rollouts", "none", "monthly"]),
    default="rollouts",
    show_default=True,
    help="Compare period by period between rollouts, the ends only, or by month as well.",
)
@click.option(
    "--method",
    type=click.Choice(["das_gupta", "threefold", "lmdi", "laspeyres"]),
    default="das_gupta",
    show_default=True,
    help="How mix, frequency and amount share a change.",
)
@click.option(
    "--split",
    type=click.Choice(["shapley", "rollout"]),
    default="shapley",
    show_default=True,
    help="How successive optimizations of one place share it: over all orders, or as rolled out.",
)
@click.option(
    "--cluster",
    type=click.Choice(["job", "model", "week", "model+week"]),
    default="job",
    show_default=True,
    help="What the bootstrap draws again.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of bootstrap and randomisation.")
@lake
@output_options
def command(by: str | None, show: str, optimizations: Path | None, lake: Path, out: Output, **options: Any) -> None:
    """Show what changed in a window, and whose work changed it.

    Each optimization gets direct credit (first starts), measured cascade credit (the same saving in recoveries, with
    the bound beside it), recovery-only, shutdown and steady credit; rows nobody may claim stand below. The rows add up
    to the measured change. Grades: A paired runs with interval (ettlog compare), B staggered rollout that passed its
    gates, C before and after, D declared.
    """
    import ettlog
    from ettlog.attribute.reading import arranged
    from ettlog.cli.output import emit

    found = ettlog.attribute(ettlog.open(lake), registry=optimizations, **options)
    emit(arranged(found, by, show), out)
