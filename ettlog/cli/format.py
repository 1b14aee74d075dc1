"""`ettlog format`: describe a dialect of your own, try it, and see which are known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ettlog.cli import COMMANDS
from ettlog.cli.options import Output, output_options, quiet_options
from ettlog.tables import Shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from ettlog.parse.coverage import Coverage
    from ettlog.parse.format import Format, FormatSet
    from ettlog.parse.propose.draft import Draft
    from ettlog.tables import View

BAD_FORMAT = 2
FEW = 5
LISTED = (
    Shown("format", "format"), Shown("source", "source"), Shown("patterns", "patterns", "int"),
    Shown("steps", "step patterns", "int"), Shown("title", "what it reads"), Shown("own", "yours"),
)  # fmt: skip
COVERED = (
    Shown("pattern", "pattern"), Shown("kind", "kind"), Shown("lines", "lines", "int"), Shown("first", "first line"),
)  # fmt: skip
EVENTS = (
    Shown("log", "log"), Shown("line", "line", "int"), Shown("at", "at", "stamp"), Shown("kind", "kind"),
    Shown("pattern", "pattern"), Shown("step", "step", "int"), Shown("target", "of", "int"),
    Shown("duration_us", "duration", "span"), Shown("name", "about"),
)  # fmt: skip

_formats = click.option(
    "--formats",
    "folders",
    multiple=True,
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder with format files of your own, beside those of ettlog.toml; repeatable.",
)
_log = click.Path(path_type=Path, dir_okay=False, exists=True)


@click.group("format", short_help=COMMANDS["format"])
def command() -> None:
    """Describe a dialect of your own, try it on logs, and list the dialects that are known.

    A dialect is one TOML file: docs/tutorial_dialect.md shows the way, docs/formats.md has every key.
    """


@command.command("new", short_help="Propose a format for the lines of a log that no format knows.")
@click.argument("logs", nargs=-1, required=True, type=_log)
@click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the format to a new file, whose stem is its name; an existing file is not touched.",
)
@click.option("--name", help="Name of the format; by default the stem of -o, else that of the first log.")
@click.option(
    "--patterns", type=click.IntRange(1, 100), default=12, show_default=True, help="Most patterns to propose."
)
@_formats
@quiet_options
def new(
    logs: tuple[Path, ...], path: Path | None, name: str | None, patterns: int, folders: tuple[Path, ...], quiet: bool,
    verbose: int,
) -> None:  # fmt: skip
    """Propose a format file from those lines of LOGS that no format knows.

    Lines that differ in their values only become one pattern: its literal text is the anchor, numbers get the name
    that the words beside them tell, the kind is guessed from its words. Where the guess is not sure, the file says so
    in a comment `# choose:`. Samples have names, paths, addresses and secrets masked. The file loads as it is.
    """
    from ettlog.parse.propose.draft import draft, name_for

    found = draft(logs, _known(folders), name or name_for(path or logs[0]), patterns)
    if path is None:
        click.echo(found.text, nl=False)
    else:
        _write_new(path, found.text)
    for line in () if quiet else _account(found, path, logs, 10**6 if verbose else FEW):
        click.echo(line, err=True)


def _write_new(path: Path, text: str) -> None:
    from ettlog.cli.output import replace
    from ettlog.errors import UsageError

    if path.exists():
        raise UsageError(
            f"{path} is there already", where="-o", why="a format that somebody worked on is not written over",
            todo="name another file, or remove it first",
        )  # fmt: skip
    replace(path, text.encode())


def _account(found: Draft, path: Path | None, logs: Sequence[Path], few: int) -> Iterator[str]:
    """Yield what the proposal was made of, what it leaves out, and the next command."""
    from ettlog.sink import display
    from ettlog.tables import count

    patterns, left = found.proposal
    yield f"lines     {found.lines:,}, of which no format knows {found.unknown:,}"
    yield f"proposed  {count(len(patterns), 'pattern')} for {sum(one.number for one in patterns):,} of them"
    if left:
        yield f"left out  {count(len(left), 'shape')}, {sum(one.number for one in left):,} lines"
        yield from (f"          {one.number:,} x {display(one.shape)}: {display(one.why)}" for one in left[:few])
    yield (
        f"choices   {count(found.choices, 'line')} marked `# choose:` wait for you"
        if found.choices
        else "choices   none"
    )
    file = path or Path(f"{found.name}.toml")
    yield f"next      ettlog format test {file} {' '.join(map(str, logs))}"


@command.command("test", short_help="Prove a format, and show what it reads of logs.")
@click.argument("file")
@click.argument("logs", nargs=-1, type=_log)
@click.option("--events", is_flag=True, help="Show the events that come out, line by line, in place of the patterns.")
@_formats
@output_options
@click.pass_context
def test(
    ctx: click.Context, /, file: str, logs: tuple[Path, ...], events: bool, folders: tuple[Path, ...], out: Output
) -> None:
    """Run the proofs of the format FILE, or of a known format by its name, and show what it reads of LOGS.

    Every error is shown in four parts, with a caret where a sample stopped to match. Of logs: the lines of each
    pattern, lines that other formats match too, the most frequent lines nobody knows, and the events that come out.
    """
    from ettlog import sink
    from ettlog.cli.output import emit
    from ettlog.parse import format as formats
    from ettlog.parse import format_proof, format_sets

    known = _known(folders)
    path = _file(file)
    one = formats.load(path, prove=False)
    others = [pattern for pattern in known.patterns if pattern.format != one.name]
    errors = list(format_proof.problems(one, path, others))
    for error in errors:
        click.echo(f"ettlog: {sink.paragraph(str(error))}", err=True)
    if errors:
        click.echo(f"ettlog: {len(errors)} of {len(one.patterns)} patterns do not pass their proofs", err=True)
        ctx.exit(BAD_FORMAT)
    emit(_view(one, path, logs, format_sets.joined(known, one), events), out)


def _file(name: str) -> Path:
    """Return the path of a format file, or of the known format of that name."""
    from ettlog.parse.format import FOLDER

    path, own = Path(name), FOLDER / f"{name}.toml"
    return own if not path.exists() and own.exists() else path


def _view(one: Format, path: Path, logs: Sequence[Path], known: FormatSet, events: bool) -> View:
    import polars as pl

    from ettlog.parse.coverage import cover
    from ettlog.tables import View, count

    found = cover(one, logs, known)
    samples = sum(len(pattern.samples) for pattern in one.patterns)
    header = [f"{one.name}: {count(len(one.patterns), 'pattern')}, {count(samples, 'sample')}: all proofs hold"]
    if logs:
        mine = found.lines - found.elsewhere - found.unknown
        header.append(
            f"{count(len(logs), 'log')}, {found.lines:,} lines with text: this format reads {mine:,}, only others read "
            f"{found.elsewhere:,}, nobody knows {found.unknown:,}; {len(found.events):,} events come out"
        )
    notes = list(_notes(one, path, found, bool(logs)))
    if events:
        return View(_events(found), header, notes, EVENTS)
    rows = {
        "pattern": [pattern.name for pattern in one.patterns],
        "kind": [pattern.kind or "(ignored)" for pattern in one.patterns],
        "lines": [found.matched[pattern.name] if logs else None for pattern in one.patterns],
        "first": [found.first.get(pattern.name) for pattern in one.patterns],
    }
    schema = {"pattern": pl.String, "kind": pl.String, "lines": pl.Int64, "first": pl.String}
    return View(pl.DataFrame(rows, schema), header, notes, COVERED)


def _events(found: Coverage) -> Any:
    import polars as pl

    from ettlog.parse.coverage import EVENT_COLUMNS

    texts = ("log", "clock", "kind", "pattern", "name")
    names = ("log", *EVENT_COLUMNS)
    frame = pl.DataFrame(found.events, {name: pl.String if name in texts else pl.Int64 for name in names})
    at = pl.from_epoch("ts", time_unit="us").alias("at")
    return frame.select("log", "line", at, pl.exclude("log", "line", "ts"))


def _notes(one: Format, path: Path, found: Coverage, logs: bool) -> Iterator[str]:
    from ettlog.parse.propose.draft import choices
    from ettlog.tables import count

    left = choices(path.read_text(encoding="utf-8"))
    if left:
        yield f"{count(left, 'line')} of {path.name} marked `# choose:` wait for you"
    for (pattern, other), lines in found.conflicts.most_common():
        yield f"conflict: {pattern} matches {count(lines, 'line')} that {other} matches too: the first match wins"
    silent = [pattern.name for pattern in one.patterns if not found.matched[pattern.name]]
    if logs and silent:
        yield f"no line of the logs matches {', '.join(silent)}"
    shapes = found.shapes.shapes()
    yield from (f"nobody knows {number:,} x {shape}" for shape, number in list(shapes.items())[:FEW])
    if len(shapes) > FEW:
        yield f"and {len(shapes) - FEW:,} more shapes that nobody knows"


@command.command("list", short_help="List the formats that are known.")
@_formats
@output_options
def listing(folders: tuple[Path, ...], out: Output) -> None:
    """List the formats that are known, yours among them: what each reads, and how many patterns it has."""
    import polars as pl

    from ettlog.cli.output import emit
    from ettlog.parse.format import FOLDER
    from ettlog.tables import View

    known = _known(folders)
    shipped = {path.stem for path in FOLDER.glob("*.toml")}
    rows = [
        (
            one.name, one.source, len(one.patterns), sum(pattern.kind == "step" for pattern in one.patterns), one.title,
            one.name not in shipped, one.url,
        )
        for one in known.formats
    ]  # fmt: skip
    names = ["format", "source", "patterns", "steps", "title", "own", "url"]
    header = [
        f"{len(known.formats):,} formats, {len(known.patterns):,} patterns; readers of self-describing input beside"
    ]
    emit(View(pl.DataFrame(rows, names, orient="row"), header, (), LISTED), out)


def _known(folders: Sequence[Path]) -> FormatSet:
    """Return ettlog's formats with those of the configuration and of --formats."""
    from ettlog import config
    from ettlog.parse import format as formats
    from ettlog.parse import format_sets

    return formats.load_all(format_sets.folders(config.load().format_dirs, folders))
