"""`ettlog merge`: put together what several processes or hosts read."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import quiet_options, written_lake

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@click.command("merge", short_help=COMMANDS["merge"])
@click.argument("lakes", nargs=-1, type=click.Path(path_type=Path))
@written_lake
@click.option(
    "--mixed",
    is_flag=True,
    help="Merge lakes that were made by different parsers, formats, options or settings; the first one's settings win.",
)
@click.option(
    "--no-progress", is_flag=True, help="Show no progress bar; it is off by itself when stderr is no terminal."
)
@quiet_options
def command(lakes: tuple[Path, ...], lake: Path, **options: Any) -> None:
    """Bring what LAKES hold into the lake named by --lake; without LAKES, the lake's own shards.

    The result is, byte for byte, the lake that one ingest of all their logs makes. Sources of equal bytes are kept
    once. Running it again merges only what is new or changed, and goes on where an interrupted merge stopped.
    """
    import ettlog

    with _watching(options["no_progress"] or options["quiet"]) as progress:
        report = ettlog.merge(lakes, lake, mixed=options["mixed"], progress=progress)
    if not options["quiet"]:
        from ettlog.cli.account import account

        for line in account(report, lake, verbose=options["verbose"]):
            click.echo(line, err=True)


@contextmanager
def _watching(hidden: bool) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on stderr when it is a terminal; give back the function that moves it."""
    if hidden or not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("merging", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True, markup=False), transient=True) as bar:
        task = bar.add_task("merging", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
