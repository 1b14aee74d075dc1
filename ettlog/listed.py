"""A list of files in place of a look through folders: read from a file or from stdin, named as the folders would."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from ettlog import discover
from ettlog.discover import Found, LogFile, Skipped
from ettlog.errors import UsageError

STDIN = "-"
MOST_BYTES = 1 << 30
"""Bytes of a list that are read."""


def read(source: str | Path) -> list[Path]:
    """Return the files that a list names: separated by NUL where it holds one, by newlines otherwise; `-` is stdin.

    Raise UsageError for a list that cannot be read or is larger than `MOST_BYTES`.
    """
    if str(source) == STDIN:
        return _names(sys.stdin.buffer, "stdin")
    try:
        with Path(source).open("rb") as stream:
            return _names(stream, str(source))
    except OSError as error:
        raise UsageError(
            "cannot read the list of files",
            where=str(source),
            why=error.strerror or "it cannot be opened",
            todo="give a file with one path a line, or - for stdin",
        ) from error


def _names(stream: BinaryIO, where: str) -> list[Path]:
    data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise UsageError(
            "the list of files is too long",
            where=where,
            why=f"it is larger than {MOST_BYTES:,} bytes",
            todo="give the list in parts, each into a lake of its own, and join these with `ettlog merge`",
        )
    lines = data.split(b"\0") if b"\0" in data else data.split(b"\n")
    return [Path(os.fsdecode(line)) for line in lines if line.strip()]


def find(paths: Sequence[Path], roots: Sequence[Path], label: str | None = None) -> Found:
    """Return the listed files with their names in the lake, as `discover` would give them.

    With `roots` a name begins with the root that the file lies in, so that a list of a folder's files gives the lake
    of the folder; without, each file stands for itself in its own folder. A file that is gone is only reported. Raise
    UsageError for a file outside of all roots, and for two files of one name.
    """
    found = Found()
    bases = [(Path(os.path.abspath(root)), discover.root_name(root, label)) for root in roots]  # noqa: PTH100
    for path in paths:
        whole = Path(os.path.abspath(path))  # noqa: PTH100  (resolve() would follow links)
        _take(whole, _name(whole, bases, label), found)
    discover.settle(found)
    return found


def _name(path: Path, bases: Sequence[tuple[Path, str]], label: str | None) -> str:
    """Return the name in the lake of a listed file."""
    if not bases:
        return f"{discover.plain(label or path.parent.name or 'root')}/{discover.plain(path.name)}"
    for base, name in bases:
        if path.is_relative_to(base) and path != base:
            return "/".join([name, *map(discover.plain, path.relative_to(base).parts)])
    raise UsageError(
        "a listed file lies in none of the folders given",
        where=str(path),
        why=f"its name would begin with one of {', '.join(str(base) for base, _ in bases[:3])}",
        todo="list files of these folders only, or give the list alone",
    )


def _take(path: Path, name: str, found: Found) -> None:
    try:
        info = path.lstat()
    except OSError as error:
        found.skipped.append(Skipped(name, f"listed, and cannot be looked at: {error.strerror}"))
        return
    if stat.S_ISREG(info.st_mode) and path.name not in discover.OWN_FILES:
        found.files.append(LogFile(name, path, info.st_size))
    else:
        found.skipped.append(Skipped(name, _why_not(info.st_mode)))


def _why_not(mode: int) -> str:
    if stat.S_ISREG(mode):
        return "a file of ettlog's own"
    if stat.S_ISDIR(mode):
        return "a folder: only files are taken from a list"
    return "symbolic link" if stat.S_ISLNK(mode) else f"not a regular file: {discover.kind(mode)}"
