"""Where ettlog puts what it needs for a moment only: a private folder of this user, never a shared one."""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from ettlog.errors import UsageError

NAME = "ettlog"


def scratch(environ: Mapping[str, str] | None = None) -> Path:
    """Return a folder that only this user can reach, making it if need be.

    It is `$TMPDIR` where that is set and private, else `$XDG_CACHE_HOME/ettlog`, else `~/.cache/ettlog`, else
    one of this user beside other temporary files, and where even that is somebody else's a new one.
    """
    environ = os.environ if environ is None else environ
    for folder in _wanted(environ):
        if folder.is_absolute() and _private(folder):
            return folder
    return Path(tempfile.mkdtemp(prefix=f"{NAME}-"))


def _wanted(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the folders to try; `tempfile` is asked last, for it writes a file to find out where it can."""
    if environ.get("TMPDIR"):
        yield Path(environ["TMPDIR"])
    if cache := environ.get("XDG_CACHE_HOME"):
        yield Path(cache) / NAME
    if home := environ.get("HOME"):
        yield Path(home) / ".cache" / NAME
    if hasattr(os, "geteuid"):
        yield Path(tempfile.gettempdir()) / f"{NAME}-{os.geteuid()}"


def _private(folder: Path) -> bool:
    """Make a folder if need be, and tell whether nobody else may write into it."""
    try:
        if not folder.is_dir():
            folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return False
    mine = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
    return stat.S_ISDIR(found.st_mode) and mine and not found.st_mode & 0o022 and os.access(folder, os.W_OK)


@lru_cache
def spill(below: str | None) -> Path:
    """Return a folder below `below`, or the one of `scratch`, that only this user can enter; it goes with the process.

    Raise UsageError where none can be made there.
    """
    try:
        folder = tempfile.mkdtemp(prefix="ettlog-spill-", dir=below or scratch())
    except OSError as error:
        raise UsageError(
            "the folder for what memory cannot hold cannot be used",
            where=f"limits.spill = {below}" if below else "the folder for temporary files",
            why=error.strerror or type(error).__name__,
            todo="name a folder that is there and can be written with --spill, or limits.spill in ettlog.toml",
        ) from error
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
