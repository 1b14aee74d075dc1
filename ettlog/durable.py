"""Writing that survives a crash: whole files that appear at once, lines that are whole or absent, one writer."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from ettlog.errors import LakeError

FILE_MODE = 0o600
FOLDER_MODE = 0o700
TEMP_MARK = ".tmp-"

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def make_folder(path: Path) -> None:
    """Create a private folder and its parents, and make the new names durable; raise LakeError when it cannot be."""
    try:
        missing = [folder for folder in (path, *path.parents) if not folder.exists()]
        for folder in reversed(missing):
            with contextlib.suppress(FileExistsError):
                folder.mkdir(mode=FOLDER_MODE)
            sync_folder(folder.parent)
        if not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "is not a folder", str(path))
    except OSError as error:
        raise failed("cannot create the folder", path, error) from error


def sync_folder(path: Path) -> None:
    """Make the names inside a folder durable."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_all(handle: int, data: bytes | memoryview) -> None:
    """Write every byte: a write may take fewer than given, and a buffered writer may write twice after an error."""
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def write_temp(folder: Path, name: str, data: bytes) -> Path:
    """Write a durable temporary file beside its later place and return it; it is removed again on any failure."""
    temp = folder / f"{TEMP_MARK}{os.getpid()}-{name}"
    handle = os.open(temp, _NEW, FILE_MODE)
    try:
        try:
            os.fchmod(handle, FILE_MODE)
            write_all(handle, data)
            # A failed fsync is never repeated: the pages are marked clean and the data may be gone.
            os.fsync(handle)
        finally:
            os.close(handle)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise
    return temp


def publish(folder: Path, name: str, data: bytes) -> None:
    """Put a whole new file in its place; the caller syncs the folder. Raise LakeError when that fails.

    `link` refuses an existing name, so a second writer is noticed. An existing file with the same bytes is left alone;
    one with others is what an interrupted run or a failing disk left, is listed nowhere valid, and is replaced.
    """
    target = folder / name
    try:
        temp = write_temp(folder, name, data)
        try:
            try:
                os.link(temp, target)
            except FileExistsError:
                if not _holds(target, data):
                    temp.replace(target)
        finally:
            temp.unlink(missing_ok=True)
    except OSError as error:
        raise failed("cannot write a file of the lake", target, error) from error


def replace_file(folder: Path, name: str, data: bytes) -> bool:
    """Put a new version of a file in its place, durably; return False when it already held these bytes."""
    target = folder / name
    if _holds(target, data):
        return False
    try:
        write_temp(folder, name, data).replace(target)
        sync_folder(folder)
    except OSError as error:
        raise failed("cannot write a file of the lake", target, error) from error
    return True


def _holds(path: Path, data: bytes) -> bool:
    try:
        return path.stat().st_size == len(data) and not path.is_symlink() and path.read_bytes() == data
    except OSError:
        return False


def append(path: Path, data: bytes) -> None:
    """Append whole lines to a file and make them durable; a new file's name becomes durable too."""
    fresh = not path.exists()
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        handle = os.open(path, flags, FILE_MODE)
        try:
            if fresh:
                os.fchmod(handle, FILE_MODE)
            start = os.fstat(handle).st_size
            try:
                write_all(handle, data)
                os.fsync(handle)
            except OSError:
                # Half a line would have to be healed by the next run: take it back while that is possible.
                with contextlib.suppress(OSError):
                    os.ftruncate(handle, start)
                raise
        finally:
            os.close(handle)
        if fresh:
            sync_folder(path.parent)
    except OSError as error:
        raise failed("cannot append to the manifest", path, error) from error


def truncate(path: Path, size: int) -> None:
    """Cut a file to `size` bytes, durably."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.ftruncate(handle, size)
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise failed("cannot heal the end of the manifest", path, error) from error


@contextlib.contextmanager
def locked(path: Path, patience_s: float) -> Iterator[None]:
    """Hold the exclusive lock of a file; the kernel gives it back when its holder dies, so no lock is ever stale.

    Wait at most `patience_s` seconds for another holder, then raise LakeError.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
    except OSError as error:
        raise failed("cannot open the lock of the lake", path, error) from error
    try:
        _wait_for(handle, path, time.monotonic() + patience_s)
        yield
    finally:
        os.close(handle)


def _wait_for(handle: int, path: Path, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise LakeError(
                    "another ingest is writing to this lake",
                    where=str(path),
                    why="its lock is held by a running process",
                    todo="wait until it ends, or stop it: the lock is given back when the process ends",
                ) from None
            time.sleep(0.05)
        except OSError as error:
            raise failed("cannot lock the lake", path, error) from error
        else:
            return


def failed(what: str, path: Path, error: OSError) -> LakeError:
    """Make a LakeError with four parts out of an error of the operating system."""
    hints = {
        errno.ENOSPC: "free some space and run the same command again: it goes on where it stopped",
        errno.EDQUOT: "free some of your quota and run the same command again: it goes on where it stopped",
        errno.EROFS: "name a lake on a writable disk with --lake",
        errno.EACCES: "make the folder writable for you, or name another lake with --lake",
        errno.EPERM: "make the folder writable for you, or name another lake with --lake",
    }
    reason = error.strerror or type(error).__name__
    return LakeError(
        what,
        where=str(path),
        why=reason,
        todo=hints.get(error.errno or 0, "check the disk and run the same command again: it goes on where it stopped"),
    )
