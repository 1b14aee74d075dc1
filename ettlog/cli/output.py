"""Write results: data to stdout or a file, everything else to stderr."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ettlog import sink, tables
from ettlog.errors import UsageError

if TYPE_CHECKING:
    from rich.table import Table

    from ettlog.cli.options import Output
    from ettlog.tables import View

WIDEST = 120
"""Columns beyond which a sentence is broken, however wide the terminal."""
UNBOUNDED = 100_000
"""Width that tables are laid out for: a cell is never cut, also where the terminal is narrower."""


def emit(view: View, out: Output) -> None:
    """Write a view as the output options ask: header and notes stand with a table, on stderr beside data formats."""
    form = out.form or (tables.SUFFIXES.get(out.path.suffix.lower(), "table") if out.path else "table")
    view = _chosen(view, out)
    if form == "table":
        on_screen = not _to_file(out) and sys.stdout.isatty()
        text = paint(view, header=out.header, colours=on_screen, width=_width() if on_screen else 0)
        _write(text.encode("utf-8", errors="backslashreplace"), out)
        return
    if form != "md":
        say([*view.header, *view.notes], quiet=out.quiet)
    _refuse_binary(form, out)
    _write(tables.encode(view, form, header=out.header, raw_csv=out.raw_csv), out)


def _folded(text: str, width: int, indent: str) -> list[str]:
    """Break a long sentence between words where people read it; in a pipe or a file (width 0) it stays one line."""
    if not width:
        return [text]
    return textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _width() -> int:
    return max(40, min(shutil.get_terminal_size((100, 24)).columns, WIDEST))


def say(lines: list[str], *, quiet: bool) -> None:
    """Write sentences to stderr unless asked to be quiet."""
    for line in () if quiet else lines:
        click.echo(sink.display(line), err=True)


def paint(view: View, *, header: bool, colours: bool, width: int = 0) -> str:
    """Return a view as a readable table; in colours where asked for and NO_COLOR is not set; log text is no markup."""
    from io import StringIO

    from rich.console import Console

    styled = colours and not os.environ.get("NO_COLOR")
    into = Console(file=StringIO(), force_terminal=styled, width=UNBOUNDED, markup=False, highlight=False, emoji=False)
    for line in view.header if header else ():
        for piece in _folded(sink.display(line), width, "  "):
            into.print(piece, style="dim", soft_wrap=True)
    if view.header and header:
        into.print()
    if not view.frame.is_empty():
        into.print(_table(view, header=header))
    if view.notes:
        into.print()
    for line in view.notes:
        for piece in _folded("note: " + sink.display(line), width, "      "):
            into.print(piece, soft_wrap=True)
    text = into.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def _table(view: View, *, header: bool) -> Table:
    from rich.table import Table
    from rich.text import Text

    shown, lines = tables.readable(view)
    table = Table(box=None, show_header=header, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
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
    """Write a file whole or not at all: a temporary one beside it, synced and renamed.

    Raises:
        UsageError: the file cannot be written.
    """
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(path)
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        raise _unwritable(path, error) from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"cannot write {path}",
        where=str(path),
        why=error.strerror or "the system refused",
        todo="name a file in a folder you may write to",
    )
