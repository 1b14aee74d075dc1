"""`ettlog status`: what the lake holds, file by file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import Output, lake, output_options
from ettlog.tables import Shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import polars as pl

SHOWN = (
    Shown("path", "file"),
    Shown("state", "state"),
    Shown("named", "formats"),
    Shown("clock", "clock"),
    Shown("job_name", "job"),
    Shown("model", "model"),
    Shown("cluster", "cluster"),
    Shown("allocation", "allocation"),
    Shown("n_lines", "lines", "int"),
    Shown("matched", "matched", "int"),
    Shown("ignored", "ignored", "int"),
    Shown("unmatched", "unmatched", "int"),
    Shown("lost", "lost", "int"),
)
FEW = 5


@click.command("status", short_help=COMMANDS["status"])
@lake
@click.option(
    "--joins",
    is_flag=True,
    help="Show what was joined to which job, allocation and start, by what rule, and what was not.",
)
@click.option("--clocks", is_flag=True, help="Show clocks that were held against each other, and what was mended.")
@click.option("--limits", is_flag=True, help="Show the limits that keep any input cheap, and who set them.")
@click.option("-j", "--job", "jobs", multiple=True, help="Of the joins, show only those of jobs that match a glob.")
@output_options
def command(lake: Path, joins: bool, clocks: bool, limits: bool, jobs: tuple[str, ...], out: Output) -> None:
    """Show the files of the lake: state, formats, clock, identity, and the fate of every line.

    `lost` counts lines that were meant to be read and could not be: bad times, bad records, duplicates, overlong and
    torn lines. With -v it says what processes that read logs are held to. Joins that are inferences come first, and can
    be switched off: see joins in docs/config.md.
    """
    import ettlog
    from ettlog.cli.output import emit
    from ettlog.lacks import lacks
    from ettlog.tables import View

    if joins + clocks + limits > 1:
        raise click.UsageError("--joins, --clocks and --limits are tables of their own: ask for one of them")
    fleet = ettlog.open(lake)
    if limits:
        from ettlog.cli.limits import limits_in_force

        emit(limits_in_force(fleet.config), out)
        return
    if joins or clocks:
        from ettlog.cli import linked

        emit(linked.joined(fleet, jobs) if joins else linked.clocked(fleet), out)
        return
    frame = ettlog.status(fleet)
    said = [*_aliased(fleet), *notes(frame, fleet), *lacks(fleet, registry=True), *(contained() if out.verbose else ())]
    emit(View(frame, header(frame, lake), said, SHOWN, readable(frame)), out)


def header(frame: pl.DataFrame, lake: Path) -> list[str]:
    """Return what the lake holds in all."""
    from ettlog.lifecycle import OUTCOMES
    from ettlog.tables import count

    fates = ", ".join(f"{frame[name].sum():,} {name}" for name in OUTCOMES if frame[name].sum())
    return [f"{lake}: {count(frame.height, 'file')}, {count(int(frame['n_lines'].sum()), 'line')}: {fates or 'none'}"]


def _aliased(fleet: Any) -> list[str]:
    from ettlog import aliases

    return aliases.told(fleet.lake.sources()) if fleet.lake else []


def contained() -> list[str]:
    """Return what the processes that read logs may do on this machine."""
    from ettlog.confine import confinement

    return [f"worker processes that read logs are held to: {'; '.join(confinement())}"]


def readable(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame as people read it: formats by name, and one column for lines that were lost."""
    import polars as pl

    from ettlog.lifecycle import OUTCOMES

    names = pl.col("formats").str.replace_all(r" \d+", "")
    return frame.with_columns(named=names, lost=pl.sum_horizontal(OUTCOMES[3:]))


def notes(frame: pl.DataFrame, fleet: Any) -> Iterator[str]:
    """Yield what a reader must know: copies, files of no format, and what was inferred about zones and dates."""
    import polars as pl

    from ettlog.strays import VERDICT
    from ettlog.tables import count

    copies = fleet.lake.duplicates() if fleet.lake else []
    for entry in copies[:FEW]:
        yield f"{entry.path} is a copy of {entry.of}, counted once"
    if len(copies) > FEW:
        yield f"and {count(len(copies) - FEW, 'more copy')}"
    nobody = frame.filter(pl.col("formats").fill_null("") == "", pl.col("n_lines") > 0)
    if not nobody.is_empty():
        yield f"{count(nobody.height, 'file')} in no known format: {', '.join(nobody['path'].head(FEW))}"
    sentences = [sentence for entry in (fleet.lake.sources() if fleet.lake else []) for sentence in entry.inferences]
    for sentence in dict.fromkeys(sentences):
        yield f"inferred in {count(sentences.count(sentence), 'file')}: {sentence}"
    again = fleet.table("link").filter(pl.col("what") == "resubmission")
    for name, job, rule in again.select("subject", "job", "rule").rows()[:FEW]:
        yield f"logs of {name} are counted as {job}, inferred by {rule}: `ettlog status --joins` says why"
    moved = pl.col("shift_us").is_not_null() | pl.col("verdict").str.ends_with(VERDICT)
    for path, verdict in fleet.table("skew").filter(moved).select("path", "verdict").rows():
        yield f"the clock of {path}: {verdict}"
