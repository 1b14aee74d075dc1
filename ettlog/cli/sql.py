"""`ettlog sql`: ask the relations in SQL."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import Output, lake, output_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@click.command("sql", short_help=COMMANDS["sql"])
@click.argument("query")
@click.option(
    "--timeout", type=click.FloatRange(0.001), help="Seconds the query may take; by default limits.sql_seconds, 300."
)
@lake
@output_options
def command(query: str, lake: Path, timeout: float | None, out: Output) -> None:
    """Run QUERY, one select statement, over the relations of the lake; - reads it from stdin.

    `ettlog schema` lists the relations and their columns.
    """
    import ettlog
    from ettlog.cli.output import emit
    from ettlog.tables import View

    text = sys.stdin.read() if query == "-" else query
    fleet = ettlog.open(lake)
    seconds = timeout or float(fleet.config.number("limits.sql_seconds") or 300 if fleet.config else 300)
    with _ended_after(fleet.connection.interrupt, seconds):
        frame = fleet.sql(text)
    emit(View(frame), out)


@contextmanager
def _ended_after(interrupt: Callable[[], None], seconds: float) -> Iterator[None]:
    """Interrupt what runs in the block when it takes longer; raise UsageError then, which says how to give it more."""
    from ettlog.errors import UsageError

    late = threading.Event()

    def stop() -> None:
        late.set()
        interrupt()

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    except UsageError as error:
        if not late.is_set():
            raise
        raise UsageError(
            "the query takes too long",
            where=error.where,
            why=f"it was stopped after {seconds:g} s",
            todo="ask for less, or give it more time with --timeout SECONDS or limits.sql_seconds",
        ) from error
    finally:
        timer.cancel()
        timer.join()  # a thread that still waits when the interpreter ends aborts the process
