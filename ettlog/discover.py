"""Finding the logs: which files of the given folders are read, under which names, and why others are not."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ettlog import objects
from ettlog.errors import UsageError
from ettlog.manifest import NAME as MANIFEST

MAX_DEPTH = 32
MAX_FILES = 1_000_000
OWN_FILES = ("ettlog.toml", "optimizations.toml")


class LogFile(NamedTuple):
    """One file to read: its name in the lake (relative, beginning with the root's name) and where it is."""

    name: str
    path: Path
    bytes: int


class Skipped(NamedTuple):
    """One thing that is not read, and why."""

    name: str
    why: str


@dataclass
class Found:
    """What a look through the roots gave: files in the order of their names, and what was left out."""

    files: list[LogFile] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    most: int = MAX_FILES
    """Files that may be taken."""


def own_files(roots: Sequence[Path]) -> dict[str, Path]:
    """Return the tool's own files (configuration, registry) that lie directly in a root; the first root wins.

    Raise UsageError when the system does not tell whether there is one.
    """
    found: dict[str, Path] = {}
    for root in roots:
        for name in OWN_FILES:
            if _is_plain(root / name):
                found.setdefault(name, root / name)
    return found


def _is_plain(path: Path) -> bool:
    try:
        return not path.is_symlink() and path.is_file()
    except OSError as error:
        raise UsageError(
            "the folder of the logs does not say whether it holds settings",
            where=str(path),
            why=error.strerror or type(error).__name__,
            todo="make the folder readable for you, or name a configuration with --config",
        ) from error


def discover(
    roots: Sequence[Path], lake: Path, label: str | None = None, depth: int = MAX_DEPTH, most: int = MAX_FILES
) -> Found:
    """Look through folders and single files; symbolic links are not followed, special files never opened.

    A root that is a file stands for that one file of its folder. Raise UsageError for a root that does not exist, for
    two files that would get one name, and for more than `most` files.
    """
    found = Found(most=most)
    skip = {_identity(lake)} - {None}
    for root in roots:
        _look(root, label, depth, skip, found)
    settle(found)
    return found


def settle(found: Found) -> None:
    """Put files in the order of their names, each once; raise UsageError for two files of one name."""
    found.files.sort(key=lambda item: item.name)
    found.skipped.sort()
    _refuse_clashes(found)


def _look(root: Path, label: str | None, depth: int, skip: set[tuple[int, int] | None], found: Found) -> None:
    if objects.is_one(root):
        _list(root, label, depth, found)
        return
    base = Path(os.path.abspath(root))  # noqa: PTH100  (resolve() would follow a link that is the root's own name)
    try:
        info = base.stat()
    except OSError as error:
        raise UsageError(
            "cannot read the logs given",
            where=str(root),
            why=error.strerror or "it cannot be looked at",
            todo="give a folder of logs, or log files, that exist and are readable",
        ) from error
    if stat.S_ISDIR(info.st_mode):
        if is_lake(base):
            raise UsageError(
                "this folder is a lake, and no logs", where=str(root), why=f"it holds {MANIFEST}",
                todo="name the folder of logs; `ettlog merge` joins lakes",
            )  # fmt: skip
        _walk(base, root_name(root, label), depth, skip, found)
    else:
        _take(base, f"{plain(label or base.parent.name or 'root')}/{plain(base.name)}", found)


def is_folder(path: Path) -> bool:
    """Tell whether a path is a folder; what cannot be looked at is none."""
    try:
        return path.is_dir()
    except OSError:
        return False


def is_lake(folder: Path) -> bool:
    """Tell whether a folder holds the manifest of a lake."""
    try:
        if not stat.S_ISREG((folder / MANIFEST).lstat().st_mode):
            return False
        with (folder / MANIFEST).open("rb") as stream:
            return stream.read(5) == b'{"v":'
    except OSError:
        return False


def root_name(root: Path, label: str | None) -> str:
    """Return what the names of a folder's files begin with in the lake: its label, or the folder's own name."""
    return plain(label or Path(os.path.abspath(root)).name or "root")  # noqa: PTH100  (resolve() would follow links)


def _list(root: Path, label: str | None, depth: int, found: Found) -> None:
    """Take the objects below an address of an object store, by the rules for files."""
    name, listed = objects.listing(root)
    for item in listed:
        pieces = item.below.split("/")
        child = "/".join(plain(piece) for piece in (label or name, *pieces))
        if any(piece.startswith(".") for piece in pieces):
            found.skipped.append(Skipped(child, "hidden"))
        elif len(pieces) > depth:
            found.skipped.append(Skipped(child, "too many folders inside each other"))
        elif item.below not in OWN_FILES:
            _keep(LogFile(child, item.path, item.bytes), found)


def _walk(folder: Path, name: str, depth: int, skip: set[tuple[int, int] | None], found: Found) -> None:
    stack = [(folder, name, depth)]
    while stack:
        where, prefix, left = stack.pop()
        for entry in _entries(where, prefix, found):
            path = Path(entry.path)
            child = f"{prefix}/{plain(entry.name)}"
            why = _why_not(entry, where == folder)
            if why:
                if why != "own":
                    found.skipped.append(Skipped(child, why))
            elif not entry.is_dir(follow_symlinks=False):
                _take(path, child, found)
            elif _identity(path) in skip:
                found.skipped.append(Skipped(child, "the lake itself"))
            elif is_lake(path):
                found.skipped.append(Skipped(child, "a lake: `ettlog merge` joins lakes"))
            elif left <= 1:
                found.skipped.append(Skipped(child, "too many folders inside each other"))
            else:
                stack.append((path, child, left - 1))


def _entries(folder: Path, name: str, found: Found) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as items:
            yield from items
    except OSError as error:
        found.skipped.append(Skipped(name, f"folder cannot be read: {error.strerror}"))


def _why_not(entry: os.DirEntry[str], top: bool) -> str:
    """Return why an entry is not read, "own" for the tool's own files, or nothing."""
    if entry.name.startswith("."):
        return "hidden"
    if entry.is_symlink():
        return "symbolic link"
    if top and entry.name in OWN_FILES and entry.is_file(follow_symlinks=False):
        return "own"
    return ""


def _take(path: Path, name: str, found: Found) -> None:
    """Take a regular file; a pipe, socket or device would hang or never end, so it is only named."""
    try:
        info = path.stat()
    except OSError as error:
        found.skipped.append(Skipped(name, f"cannot be looked at: {error.strerror}"))
        return
    if not stat.S_ISREG(info.st_mode):
        found.skipped.append(Skipped(name, f"not a regular file: {kind(info.st_mode)}"))
        return
    _keep(LogFile(name, path, info.st_size), found)


def _keep(file: LogFile, found: Found) -> None:
    if len(found.files) >= found.most:
        raise UsageError(
            "too many files",
            where=file.name,
            why=f"more than {found.most:,} files were found",
            todo="ingest the folders one by one, or set limits.files",
        )
    found.files.append(file)


def kind(mode: int) -> str:
    """Return what a file that is no regular one is called."""
    kinds = ((stat.S_ISFIFO, "pipe"), (stat.S_ISSOCK, "socket"), (stat.S_ISCHR, "device"), (stat.S_ISBLK, "device"))
    return next((name for test, name in kinds if test(mode)), "special")


def _refuse_clashes(found: Found) -> None:
    """Keep each file once; refuse two files of one name."""
    kept: dict[str, LogFile] = {}
    for file in found.files:
        other = kept.setdefault(file.name, file)
        if other.path != file.path:
            raise UsageError(
                "two files would get one name in the lake",
                where=file.name,
                why=f"{other.path} and {file.path} are both called so: a name begins with its root's own name",
                todo="ingest the two folders one by one, each with another --as LABEL",
            )
    found.files[:] = kept.values()


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a folder apart however it is spelled."""
    try:
        info = path.stat()
    except OSError:
        return None
    return info.st_dev, info.st_ino


def plain(name: str) -> str:
    """Return a file name as valid text: bytes that are not UTF-8 become `\\xNN`."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
