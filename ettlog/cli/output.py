"""Write results: data to stdout or a file, everything else to stderr."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ettlog import sink, tables
from ettlog.cli import fit, plain
from ettlog.durable import sync_folder
from ettlog.errors import EttlogError, LakeError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table

    from ettlog.cli.options import Output
    from ettlog.tables import Shown, View

WIDEST = 120
"""Characters beyond which a sentence is broken, however wide the terminal."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
"""What no other name of the file would mend."""
UNBOUNDED = 100_000
"""Width that tables are laid out for in a file or a pipe: nothing is cut there."""


def emit(view: View, out: Output) -> None:
    """Write a view as the output options ask: header and notes stand with a table, on stderr beside data formats."""
    form = _form(out)
    view = _chosen(view, out)
    if form == "table":
        shown = not _to_file(out) and sys.stdout.isatty()
        width = shutil.get_terminal_size().columns if shown and not out.columns else None
        text = paint(view, header=out.header, colours=shown, width=width)
        _write(text.encode("utf-8", errors="backslashreplace"), out)
        return
    if form != "md":
        say([*view.header, *view.notes], quiet=out.quiet)
    _refuse_binary(form, out)
    _write(tables.encode(view, form, header=out.header, raw_csv=out.raw_csv), out)


def readable(out: Output) -> bool:
    """Tell whether the result is written as a table for people, with its header."""
    return _form(out) == "table" and out.header


def _form(out: Output) -> str:
    return out.form or (tables.SUFFIXES.get(out.path.suffix.lower(), "table") if out.path else "table")


def emit_text(text: str, notes: Sequence[str], out: Output) -> None:
    """Write a text that is a file of its own kind; sentences about it go to stderr."""
    say(list(notes), quiet=out.quiet)
    _write(text.encode("utf-8", errors="backslashreplace"), out)


def say(lines: list[str], *, quiet: bool) -> None:
    """Write sentences to stderr unless asked to be quiet."""
    for line in () if quiet else lines:
        click.echo(sink.display(line), err=True)


def paint(view: View, *, header: bool, colours: bool, width: int | None = None) -> str:
    """Return a view as a readable table; in colours where asked for and NO_COLOR is not set; log text is no markup.

    With a `width`, the table and its sentences are made to fit it, and a note names the columns that were left out.
    """
    from io import StringIO

    from rich.console import Console

    styled = colours and not os.environ.get("NO_COLOR")
    into = Console(file=StringIO(), force_terminal=styled, width=UNBOUNDED, markup=False, highlight=False, emoji=False)
    fold = partial(fit.wrapped, width=min(width, WIDEST)) if width else str
    for line in view.header if header else ():
        into.print(fold(sink.display(line)), style="dim", soft_wrap=True)
    if view.header and header and (view.notes or not view.frame.is_empty()):
        into.print()
    notes = list(view.notes)
    if not view.frame.is_empty():
        shown, lines = tables.readable(view)
        left: list[str] = []
        if width:
            shown, lines, left = fit.fitted(shown, lines, width)
        if plain.fits(lines):
            _print_long(into, shown, lines, header=header)
        else:
            into.print(_table(shown, lines, header=header))
        notes += [_left_out(left, width)] if left else []
    if notes and not view.frame.is_empty():
        into.print()
    for line in notes:
        into.print(fold("note: " + sink.display(line)), soft_wrap=True)
    text = into.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def _left_out(titles: list[str], width: int | None) -> str:
    return f"left out to fit {width} characters: {', '.join(titles)}; --columns picks, -o FILE or a pipe gives all"


def _print_long(into: Console, shown: Sequence[Shown], rows: Sequence[Sequence[str]], *, header: bool) -> None:
    right = [tables.numeric(item.kind) for item in shown]
    titles, *lines = plain.lines([item.title if header else "" for item in shown], right, rows, fit.GAP)
    if header:
        into.print(titles, style="bold", soft_wrap=True)
    into.file.write("".join(line + "\n" for line in lines))


def _table(shown: Sequence[Shown], lines: Sequence[Sequence[str]], *, header: bool) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=header, pad_edge=False, padding=(0, fit.GAP, 0, 0), header_style="bold")
    for item in shown:
        right = tables.numeric(item.kind)
        table.add_column(Text(item.title), justify="right" if right else "left", no_wrap=True)
    for line in lines:
        table.add_row(*[Text(cell) for cell in line])
    return table


def _chosen(view: View, out: Output) -> View:
    if not out.columns:
        return view
    missing = [name for name in out.columns if name not in view.frame.columns]
    if missing:
        raise UsageError(
            f"the result has no column {', '.join(missing)}",
            where="--columns",
            why=f"its columns are {', '.join(view.frame.columns)}",
            todo="name some of these",
        )
    known = {item.column: item for item in view.shown}
    shown = [known.get(name, tables.Shown(name, name)) for name in out.columns]
    return view._replace(frame=view.frame.select(out.columns), shown=shown, readable=None)


def _to_file(out: Output) -> bool:
    return out.path is not None and str(out.path) != "-"


def _refuse_binary(form: str, out: Output) -> None:
    if form == "parquet" and not _to_file(out) and sys.stdout.isatty():
        raise UsageError(
            "Parquet is not for a terminal",
            where="--format parquet",
            why="it is a binary format",
            todo="add -o FILE.parquet, or pipe it",
        )


def _write(data: bytes, out: Output) -> None:
    if out.path is None or not _to_file(out):
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    replace(out.path, data)
    say([f"wrote {out.path}"], quiet=out.quiet)


def replace(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, durably: a temporary one beside it, synced and renamed.

    A link stays one, and what it points to is replaced; a pipe or device takes the bytes as they come.

    Raises:
        UsageError: the file cannot be written there, or belongs to a lake.
        EttlogError: the disk is full or broken.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        place = path.resolve()
        _spare_lakes(path, place)
        handle, name = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
        try:
            _fill(handle, Path(name), data)
            Path(name).replace(place)
        except BaseException:  # whoever stops it, no half file is left beside the old one
            with suppress(OSError):
                Path(name).unlink(missing_ok=True)
            raise
        _sync_folder(place.parent)
    except OSError as error:
        raise _unwritable(path, error) from error


def _spare_lakes(path: Path, place: Path) -> None:
    """Refuse to write over the files of a lake, also by way of a link: they are its only copy of the facts."""
    from ettlog.discover import is_lake
    from ettlog.lake import OWN

    for folder in place.parents[:2]:
        if place.relative_to(folder).parts[0] in OWN and is_lake(folder):
            raise UsageError(
                "this file belongs to a lake", where=str(path), why=f"{folder} is one, which keeps its facts there",
                todo="name a file outside of the lake",
            )  # fmt: skip


def _fill(handle: int, path: Path, data: bytes) -> None:
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    path.chmod(0o666 & ~_umask())


def _sync_folder(folder: Path) -> None:
    """Make a new name durable, where the system lets folders be opened and synced."""
    try:
        sync_folder(folder)
    except LakeError as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno in FULL:
            raise error.__cause__ from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _unwritable(path: Path, error: OSError) -> EttlogError:
    kind: type[EttlogError] = UsageError
    todo = "name a file in a folder you may write to"
    if error.errno in FULL:
        kind, todo = EttlogError, "free some space, or name a file on another disk, and run the same command again"
    return kind(f"cannot write {path}", where=str(path), why=error.strerror or "the system refused", todo=todo)
