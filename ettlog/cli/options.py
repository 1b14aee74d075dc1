"""Options that several commands share, each written once."""

from __future__ import annotations

from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from ettlog.conventions import CONFIGURED, WORDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ParamSpec, TypeVar

    from ettlog.ett import Selection

    P = ParamSpec("P")
    R = TypeVar("R")

FORMATS = ("table", "json", "jsonl", "csv", "parquet", "md")

UNKNOWN = "(unknown)"
"""How a group without a name is written for people."""


class Output(NamedTuple):
    """Where and how a result is written."""

    form: str | None
    path: Path | None
    columns: tuple[str, ...]
    header: bool
    raw_csv: bool
    quiet: bool
    verbose: int


_lake = click.option(
    "--lake",
    envvar="ETTLOG_LAKE",
    default="ettlog.lake",
    show_default=True,
    type=click.Path(path_type=Path),
    help="The lake: the folder that holds what was read from logs.",
)


def _chosen(ctx: click.Context, _param: click.Parameter, name: str | None) -> str | None:
    """Open fleets of this command on the engine that was named."""
    if name:
        from ettlog.fleet import use_engine

        ctx.call_on_close(use_engine(name))
    return name


engine = click.option(
    "--engine",
    metavar="ENGINE",
    help="Work on an engine, not in this process: sail, sc://host:port, spark://host:port, yarn, local[4].",
)
_engine = click.option(
    "--engine",
    metavar="ENGINE",
    expose_value=False,
    callback=_chosen,
    help="Compute on an engine, not in this process: sail, sc://host:port, spark://host:port, yarn, local[4].",
)


def lake(function: Callable[P, R]) -> Callable[P, R]:
    """Give a command the lake it asks, and the engine that computes."""
    return _lake(_engine(function))


def written_lake(function: Callable[P, R]) -> Callable[P, R]:
    """Give a command the lake that it writes."""
    return _lake(function)


_quiet = click.option("-q", "--quiet", is_flag=True, help="Say nothing on stderr but errors.")
_verbose = click.option("-v", "--verbose", count=True, help="Say more on stderr; -vv shows tracebacks of defects.")
_form = click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="How to write the result; the default is what the suffix of -o says, else table.",
)
_path = click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    help="Write the result to a file, whole or not at all; - is stdout.",
)
file_option = click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    help="Write to this file, whole or not at all; - is stdout, the default.",
)
"""Where a command writes what is no table."""
_columns = click.option("--columns", help="Show only these columns of the result, separated by commas, in this order.")
_header = click.option("-n", "--no-header", is_flag=True, help="Leave out header lines: sentences and column names.")
_raw = click.option(
    "--raw-csv", is_flag=True, help="Leave CSV cells as the logs wrote them, formulas and control characters too."
)

_SINCE = "First instant of the window: 2026-03-01, 2026-03-01T08:30Z (UTC without a zone), or now-7d."
_UNTIL = "End of the window, itself outside; now is the newest event of the lake, not today."
_WINDOW = "Length of the window: 6mo, 30d, 2w, 12h; counted back from its end, by default the newest event."
_since = click.option("-S", "--since", "--starttime", "since", help=_SINCE)
_until = click.option("-E", "--until", "--endtime", "until", help=_UNTIL)
_window = click.option("--window", help=_WINDOW)
_job = click.option("-j", "--job", "jobs", multiple=True, help="Count only jobs whose name matches a glob; repeatable.")
_model = click.option(
    "-m", "--model", "models", multiple=True, help="Count only jobs whose model matches a glob; repeatable."
)


def quiet_options(function: Callable[P, R]) -> Callable[P, R]:
    """Give a command -q and -v."""
    return _quiet(_verbose(function))


def output_options(function: Callable[..., R]) -> Callable[..., R]:
    """Give a command the output options, folded into one argument `out`."""

    @wraps(function)
    def folded(
        form: str | None,
        path: Path | None,
        columns: str | None,
        no_header: bool,
        raw_csv: bool,
        quiet: bool,
        verbose: int,
        **others: object,
    ) -> R:
        names = tuple(name.strip() for name in columns.split(",")) if columns else ()
        out = Output(form, path, names, not no_header, raw_csv, quiet, verbose)
        return function(out=out, **others)

    for option in (_verbose, _quiet, _raw, _header, _columns, _path, _form):
        folded = option(folded)
    return folded


def selection_options(function: Callable[..., R]) -> Callable[..., R]:
    """Give a command window and filters, folded into one argument `selection`."""

    @wraps(function)
    def folded(
        since: str | None,
        until: str | None,
        window: str | None,
        jobs: tuple[str, ...],
        models: tuple[str, ...],
        **others: object,
    ) -> R:
        selection: Selection = {"since": since, "until": until, "window": window, "jobs": jobs, "models": models}
        return function(selection=selection, **others)

    for option in (_model, _job, _window, _until, _since):
        folded = option(folded)
    return folded


def convention_options(function: Callable[..., R]) -> Callable[..., R]:
    """Give a command the conventions of ETT, folded into one argument `conventions`."""

    @wraps(function)
    def folded(**values: object) -> R:
        conventions = {name: values.pop(name) for name in WORDS}
        return function(conventions=conventions, **values)

    for name, meanings in reversed(WORDS.items()):
        other = ", or what ettlog.toml says" if name in CONFIGURED else ""
        text = "; ".join(f"{value}: {words.rpartition(' (')[2].rstrip(')')}" for value, words in meanings.items())
        option = click.option(
            f"--{name}",
            type=click.Choice(list(meanings)),
            help=f"{text}. By default {next(iter(meanings))}{other}.",
        )
        folded = option(folded)
    return folded
