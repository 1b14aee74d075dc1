"""`ettlog rollouts`: a registry of optimizations, proposed from the logs for a person to confirm."""

from __future__ import annotations

from pathlib import Path

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import Output, lake, output_options
from ettlog.tables import Shown

PROPOSALS = (
    Shown("name", "proposal"),
    Shown("model", "model"),
    Shown("platform", "platform"),
    Shown("since", "since", "stamp"),
    Shown("found_by", "found by"),
    Shown("starts_before", "starts", "int"),
    Shown("starts_after", "after", "int"),
    Shown("before", "before", "number"),
    Shown("after", "after", "number"),
    Shown("unit", "unit"),
    Shown("registered", "registered as"),
)


@click.command("rollouts", short_help=COMMANDS["rollouts"])
@click.option(
    "--optimizations",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Registry of what is known already, in place of the lake's optimizations.toml.",
)
@lake
@output_options
def command(optimizations: Path | None, lake: Path, out: Output) -> None:
    """Propose a registry of optimizations from what changed in the logs.

    Looked for are cache hits that begin, saves that go on behind the loop, jobs that end without publishing, and
    changes of level in the time of each part per start. Written is the text of an optimizations.toml, with what speaks
    for each line; --format table (or json, csv ...) shows the same as rows, with what is registered already.
    """
    import ettlog
    from ettlog import registry
    from ettlog.cli.output import emit, emit_text
    from ettlog.tables import View

    known = registry.read(optimizations) if optimizations else None
    found = ettlog.rollouts(ettlog.open(lake), registry=known)
    as_toml = out.form is None and (out.path is None or out.path.suffix.lower() in ("", ".toml"))
    if as_toml:
        emit_text(found.toml, found.notes, out)
    else:
        emit(View(found.proposals, (), found.notes, PROPOSALS), out)
