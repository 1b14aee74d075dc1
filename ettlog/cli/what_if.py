"""`ettlog what-if`: the observed jobs under their observed faults, with other costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import UNKNOWN, Output, lake, output_options, selection_options
from ettlog.tables import Shown

if TYPE_CHECKING:
    from pathlib import Path

    from ettlog.ett import Selection

SHOWN = (
    Shown("model", "model"),
    Shown("jobs", "jobs", "int"),
    Shown("gpu_hours_now", "GPU-h now", "hours"),
    Shown("gpu_hours_then", "then", "hours"),
    Shown("ett_now", "ETT % now", "ratio"),
    Shown("ett_then", "then", "ratio"),
    Shown("points", "points", "signed"),
    Shown("recoveries_now", "NoF now", "int"),
    Shown("recoveries_then", "then", "int"),
    Shown("saved_gpu_hours", "saved GPU-h", "hours"),
    Shown("direct_gpu_hours", "direct", "hours"),
    Shown("cascade_gpu_hours", "cascade", "hours"),
    Shown("other_gpu_hours", "loop, shutdown", "hours"),
    Shown("exposure_gpu_hours", "exposure", "hours"),
    Shown("evidence", "evidence"),
)


def scaled(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    """Return name -> factor of `NAME=FACTOR` texts."""
    found = {}
    for text in values:
        name, _, factor = text.partition("=")
        try:
            found[name.strip()] = float(factor)
        except ValueError as error:
            raise click.BadParameter(f"{text!r} is not NAME=FACTOR, such as compile=0.2.") from error
    return found


@click.command("what-if", short_help=COMMANDS["what-if"])
@click.option("--halve", multiple=True, help="Halve the time of a part or component, such as restore; repeatable.")
@click.option("--scale", multiple=True, callback=scaled, help="Scale a part or component: compile=0.2; repeatable.")
@click.option("--failures", type=float, default=1.0, help="How often failures come: 0.5 is half as often.")
@click.option("--gpus", type=float, default=1.0, help="GPUs of every job, as a multiple: 4; assumes linear scaling.")
@click.option("--warm-cache", is_flag=True, help="Let every start compile as long as a start with a warm cache does.")
@selection_options
@lake
@output_options
def command(
    halve: tuple[str, ...],
    scale: dict[str, float],
    failures: float,
    gpus: float,
    warm_cache: bool,
    selection: Selection,
    lake: Path,
    out: Output,
) -> None:
    """Show what a change would be worth, by running the observed jobs again under their observed faults.

    The same work is done; each start costs what it cost, with the named parts scaled; faults strike at the instants at
    which they struck. All of it is modelled, nothing measured.
    """
    import polars as pl

    import ettlog
    from ettlog.cli.output import emit
    from ettlog.ett import describe
    from ettlog.tables import View, count

    fleet = ettlog.open(lake)
    factors = {**dict.fromkeys(halve, 0.5), **scale}
    frame = ettlog.what_if(fleet, scale=factors, failures=failures, gpus=gpus, warm_cache=warm_cache, **selection)
    header = [
        describe(fleet, selection)[0],
        f"modelled: the same work, observed faults, {supposed(factors, failures, gpus, warm_cache)}",
    ]
    endless = int(frame["endless"][0])
    notes = [f"{count(endless, 'job')} would never end under this: left as observed"] if endless else []
    if gpus != 1:
        notes.append(
            "assumed: work divides by the GPUs, faults come as many times as often, starts take as long as before"
        )
    emit(View(frame, header, notes, SHOWN, frame.with_columns(pl.col("model").fill_null(UNKNOWN))), out)


def supposed(factors: dict[str, float], failures: float, gpus: float, warm_cache: bool = False) -> str:
    """Return in words what is supposed."""
    words = [f"{name} x {factor:g}" for name, factor in factors.items()]
    words += [f"failures x {failures:g}"] if failures != 1 else []
    words += [f"GPUs x {gpus:g}"] if gpus != 1 else []
    words += ["every compile cache warm"] if warm_cache else []
    return ", ".join(words) or "nothing changed"
