"""Whose lake is it: folders that others can write are not trusted, and a lake is private unless its group may read."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path

from ettlog import durable
from ettlog.errors import LakeError

_TRUSTED: ContextVar[bool] = ContextVar("ettlog_trusted", default=False)

OTHERS_WRITE = "every user of this machine can write into it"
GROUP_WRITES = "the whole group can write into it"
NOT_YOURS = "it belongs to another user"


def trust_any_lake() -> Callable[[], None]:
    """Let lakes that others own or can write be used from now on; return what ends that."""
    token = _TRUSTED.set(True)
    return lambda: _TRUSTED.reset(token)


def doubt(path: Path) -> str:
    """Return why the folder of a lake is not to be trusted, or nothing; a folder that is not there is no danger."""
    try:
        found = path.stat()
    except OSError:
        return ""
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        return NOT_YOURS
    if found.st_mode & stat.S_IWOTH:
        return OTHERS_WRITE
    return GROUP_WRITES if found.st_mode & stat.S_IWGRP and not _own_group(found) else ""


def _own_group(found: os.stat_result) -> bool:
    """Tell whether the group is this user's alone by custom: equal numbers, as user private groups have them."""
    return found.st_gid == found.st_uid


def refuse_doubtful(path: Path) -> None:
    """Raise LakeError for the folder of a lake that others own or can write, unless all lakes are trusted.

    Who can write into it can put any facts there, or a link in the place of a file.
    """
    why = "" if _TRUSTED.get() else doubt(path)
    if why:
        raise LakeError(
            "this lake is not trusted",
            where=str(path),
            why=why,
            todo=f"make it yours alone (`chmod go-w {path}`), or use it as it is with `ettlog --trust-lake ...`",
        )


def share_with_group(path: Path) -> None:
    """Let the group of a lake read it: folders 0750, files 0640. What is written later follows the folder's mode."""
    try:
        for folder in [path, *sorted(item for item in path.iterdir() if item.is_dir() and not item.is_symlink())]:
            _set(folder, durable.FOLDER_MODE | 0o050)
            for item in folder.iterdir():
                if item.is_file() and not item.is_symlink():
                    _set(item, durable.FILE_MODE | 0o040)
    except OSError as error:
        raise durable.failed("cannot let the group read the lake", path, error) from error


def _set(path: Path, mode: int) -> None:
    if stat.S_IMODE(path.lstat().st_mode) != mode:
        path.chmod(mode)
