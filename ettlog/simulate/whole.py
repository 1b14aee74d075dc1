"""The folder of a simulated fleet appears whole, or says by a folder inside that it is not finished."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ettlog.durable import sync_folder, write_all
from ettlog.errors import EttlogError, LakeError, UsageError

UNFINISHED = ".unfinished"
"""Folder inside the output that everything is written into; while it is there, nothing beside it counts."""
PARTS = ("truth", "logs")
"""What the output holds at the end, in the order in which it appears."""


def refuse_full(output: Path) -> None:
    """Raise UsageError when the output is no folder, or holds anything but what an interrupted run left."""
    try:
        held = {item.name for item in output.iterdir()} if output.is_dir() else {""} if output.exists() else set()
    except OSError as error:
        raise _unwritable(output, error) from error
    if not held or (UNFINISHED in held and held <= {UNFINISHED, *PARTS}):
        return
    raise UsageError(
        "the output is not an empty folder", where=str(output), why="logs of another fleet would be mixed in",
        todo="name a folder that does not exist, or empty it",
    )  # fmt: skip


@contextmanager
def whole(output: Path) -> Iterator[Path]:
    """Give a folder to write `truth` and `logs` into, and put both in their place when all is written.

    What an interrupted run left is removed first. A run that is stopped or fails leaves nothing; one that is killed
    leaves the folder UNFINISHED, and no `logs`, or all of them. Raise UsageError or EttlogError when the system
    refuses.
    """
    refuse_full(output)
    made = not output.exists()
    temp = output / UNFINISHED
    try:
        try:
            _clear(output)
            temp.mkdir(parents=True)
            yield temp
            for part in PARTS:
                (temp / part).rename(output / part)
            temp.rmdir()
            with suppress(LakeError):
                sync_folder(output)
        except BaseException:
            with suppress(OSError):
                _clear(output)
                if made:
                    output.rmdir()
            raise
    except OSError as error:
        raise _unwritable(output, error) from error


def put(path: Path, data: bytes) -> None:
    """Write a new file with every byte of it, on the disk; raise OSError when the system refuses."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    try:
        write_all(handle, data)
    finally:
        os.close(handle)


def _clear(output: Path) -> None:
    """Remove what an interrupted run left; its mark goes last."""
    if not (output / UNFINISHED).is_dir():
        return
    for name in (*PARTS, UNFINISHED):
        if (output / name).is_dir():
            shutil.rmtree(output / name)


def _unwritable(output: Path, error: OSError) -> EttlogError:
    kind: type[EttlogError] = UsageError
    todo = "name a folder in one that you may write to"
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
        kind, todo = EttlogError, "free some space, or name a folder on another disk, and run the same command again"
    return kind("the fleet cannot be written", where=str(output), why=error.strerror or "the system refused", todo=todo)
