"""`ettlog ingest`: read logs into the lake, and account for every file and line."""

from __future__ import annotations

import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import engine, quiet_options, written_lake
from ettlog.confine import AUTO, WHEN
from ettlog.errors import EttlogError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ettlog.ingest import IngestOptions, IngestReport, Progress, Reader

TOO_MANY_REJECTED = 3
BAD_LINES = ("bad_time", "bad_record", "long", "torn")
"""Outcomes of lines that were meant to be read and could not be."""


@click.command("ingest", short_help=COMMANDS["ingest"])
@click.argument("logs", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
@written_lake
@engine
@click.option(
    "--files-from",
    metavar="FILE",
    help="Read only the files that FILE lists, one a line or separated by NUL; - is stdin.",
)
@click.option(
    "--shard",
    metavar="i/N",
    help="Read only the i-th of N shares of the files, for `ettlog merge`; i counts from 1.",
)
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Configuration file, in place of ettlog.toml beside the logs.",
)
@click.option("--workers", type=click.IntRange(0), default=0, help="Processes that read files; 0 is one per core.")
@click.option(
    "--steps",
    type=click.Choice(["all", "none"]),
    default="all",
    show_default=True,
    help="Keep every step line, or only the events of a run's life.",
)
@click.option(
    "--zone", help="IANA zone of stamps that name none, such as Europe/Berlin; without it they are read as UTC."
)
@click.option("--as", "label", help="Name that stands for the folder of logs in the names of its files.")
@click.option("--sacct-fields", help="Fields of sacct output that was written without a header, separated by commas.")
@click.option("--sacct-delimiter", help="Delimiter of sacct output, where it is not |.")
@click.option(
    "--formats",
    "formats",
    multiple=True,
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder with format files of your own; repeatable.",
)
@click.option(
    "--max-rejected",
    help="Exit 3 when more lines than this were meant to be read and could not be; a number, or a share such as 1%.",
)
@click.option(
    "--pseudonymize",
    is_flag=True,
    help="Keep pseudonyms in place of the names of users, hosts and jobs; joins and results stay the same.",
)
@click.option(
    "--pseudonym-key",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File with the key of the pseudonyms, made where it is not there; by default LAKE.key beside the lake.",
)
@click.option(
    "--confine",
    type=click.Choice(WHEN),
    default=AUTO,
    show_default=True,
    help="When logs are read by a process that can do nothing else; auto: from 16 MB on, or where others own any.",
)
@click.option("--group-readable", is_flag=True, help="Let your group read the lake: folders 0750, files 0640.")
@click.option("--dry-run", is_flag=True, help="Show which files would be read, and read none.")
@click.option(
    "--no-progress", is_flag=True, help="Show no progress bar; it is off by itself when stderr is no terminal."
)
@quiet_options
@click.pass_context
def command(ctx: click.Context, /, logs: tuple[Path, ...], lake: Path, **options: Any) -> None:
    """Read LOGS, files or folders, into the lake.

    Formats are recognised, compressed files read as they are, and each file is joined to its job and start. Running it
    again reads only what is new, grew or changed. The account of files, lines and inferences goes to stderr.

    `-` in place of LOGS reads the names of the files from stdin. With `--shard` several processes or hosts read a share
    each, into one lake and without a common lock; `ettlog merge` puts the shares together.
    """
    limit = _limit(options["max_rejected"])
    chosen = _chosen(logs, lake, options)
    roots = tuple(path for path in logs if str(path) != "-")
    if options["dry_run"]:
        _dry_run(roots, lake, chosen)
        return
    with _watching(options["no_progress"] or options["quiet"]) as progress:
        report = _run(roots, lake, chosen, progress)
    if not options["quiet"]:
        from ettlog.cli.account import account

        for line in account(report, lake, verbose=options["verbose"], shard=chosen.shard):
            click.echo(line, err=True)
    elif report.sources:
        _keep(lake)
    from ettlog.workers import LOST

    lost = [file.name for file in report.rejected if file.why.startswith(LOST)]
    if lost:
        more = f", and {len(lost) - 1:,} more" if lost[1:] else ""
        click.echo(f"ettlog: not read, for no fault of the file: {lost[0]}{more}", err=True)
        ctx.exit(TOO_MANY_REJECTED)
    rejected = sum(report.lines[name] for name in BAD_LINES)
    if limit is not None and rejected > limit(report.n_lines):
        click.echo(
            f"ettlog: {rejected:,} lines could not be read, more than --max-rejected {options['max_rejected']}",
            err=True,
        )
        ctx.exit(TOO_MANY_REJECTED)


def _chosen(logs: tuple[Path, ...], lake: Path, options: dict[str, Any]) -> IngestOptions:
    """Return the options of an ingest; the list of files is read here."""
    from ettlog import listed, shards
    from ettlog.config import load
    from ettlog.ingest import IngestOptions

    fields, source = options["sacct_fields"], options["files_from"]
    if source is None and any(str(path) == listed.STDIN for path in logs):
        source = listed.STDIN
    if not logs and source is None:
        raise click.UsageError("Missing argument 'LOGS...': give log files or folders, - or --files-from.")
    return IngestOptions(
        workers=options["workers"],
        steps=options["steps"],
        label=options["label"],
        zone=options["zone"],
        sacct_fields=tuple(name.strip() for name in fields.split(",")) if fields else (),
        sacct_delimiter=options["sacct_delimiter"],
        format_dirs=options["formats"],
        confine=options["confine"],
        group_readable=options["group_readable"],
        pseudonyms=_key(lake, options),
        config=load(options["config"]) if options["config"] else None,
        reader=_reader(options["engine"]),
        files=None if source is None else tuple(listed.read(source)),
        shard=None if options["shard"] is None else shards.parse(options["shard"]),
    )


def _run(
    roots: tuple[Path, ...], lake: Path, chosen: IngestOptions, progress: Callable[[Progress], None]
) -> IngestReport:
    import ettlog

    return ettlog.ingest(roots, lake, options=chosen, progress=progress)


def _key(lake: Path, options: dict[str, Any]) -> bytes | None:
    from ettlog import aliases

    if not options["pseudonymize"] and options["pseudonym_key"] is None:
        return None
    return aliases.key_of(options["pseudonym_key"] or aliases.key_path(lake))


def _keep(lake: Path) -> None:
    """Make the relations of a large lake, so that the first question need not; the account does so by asking."""
    import ettlog
    from ettlog.keeping import large
    from ettlog.lake import Lake

    with suppress(EttlogError):  # no fault of the ingest: the first question will tell
        if large(Lake.open(lake)):  # a small one is not even connected to
            ettlog.open(lake).keep()


def _reader(engine: str | None) -> Reader | None:
    """Return what reads the logs on an engine; None for this machine's own processes."""
    if engine is None:
        return None
    from ettlog.engine.reading import reader

    return reader(engine)


@contextmanager
def _watching(hidden: bool) -> Iterator[Callable[[Progress], None]]:
    """Show a progress bar on stderr when it is a terminal; give back the function that moves it."""
    if hidden or not sys.stderr.isatty():
        yield lambda _progress: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (
        TextColumn("reading", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True, markup=False), transient=True) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda state: bar.update(task, completed=state.bytes, total=state.bytes_total)


def _limit(text: str | None) -> Callable[[int], float] | None:
    """Return the most lines that may be rejected, as a function of all lines."""
    if text is None:
        return None
    number, percent = (text[:-1], True) if text.endswith("%") else (text, False)
    try:
        value = float(number)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is neither a number nor a share such as 1%.", param_hint="--max-rejected"
        ) from None
    return (lambda lines: lines * value / 100) if percent else (lambda _lines: value)


def _dry_run(roots: tuple[Path, ...], lake: Path, chosen: IngestOptions) -> None:
    from ettlog.cli.account import would_read

    for line in would_read(roots, lake, chosen):
        click.echo(line)
