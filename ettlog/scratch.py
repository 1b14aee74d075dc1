"""Where ettlog puts what it needs for a moment only: a private folder of this user, never a shared one."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

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
