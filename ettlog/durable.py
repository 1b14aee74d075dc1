"""Writing that survives a crash: whole files that appear at once, lines that are whole or absent, one writer."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ettlog.bulk import Data, pieces
from ettlog.errors import LakeError

FILE_MODE = 0o600
FOLDER_MODE = 0o700
TEMP_MARK = ".tmp-"
LOCK_NAME = "lock"
"""File of a lake whose lock its one writer holds."""

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def make_folder(path: Path, like: Path | None = None) -> None:
    """Create a folder and its parents, private or as readable for the group as `like`, and make the names durable.

    Raise LakeError when it cannot be.
    """
    try:
        missing = [folder for folder in (path, *path.parents) if not folder.exists()]
        for folder in reversed(missing):
            with contextlib.suppress(FileExistsError):
                folder.mkdir(mode=FOLDER_MODE)
                folder.chmod(FOLDER_MODE | (0 if like is None else like.stat().st_mode & 0o050))
            sync_folder(folder.parent)
        if not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "is not a folder", str(path))
    except OSError as error:
        raise failed("cannot create the folder", path, error) from error


def _mode_in(folder: Path) -> int:
    """Return the mode of a file in a folder: whom the folder lets in may read it, whatever the umask."""
    return FILE_MODE | (folder.stat().st_mode & 0o040)


def sync_folder(path: Path) -> None:
    """Make the names inside a folder durable; raise LakeError when that fails."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise failed("cannot make the names in a folder durable", path, error) from error


def write_all(handle: int, data: bytes | memoryview) -> None:
    """Write every byte: a write may take fewer than given, and a buffered writer may write twice after an error."""
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


class NewFile(NamedTuple):
    """A file that is to appear whole under its name."""

    folder: Path
    name: str
    data: Data


class _Temp(NamedTuple):
    handle: int
    path: Path
    target: Path


def _begin(new: NewFile) -> _Temp:
    """Write a temporary file beside its later place and leave it open; it is removed again on any failure."""
    path = new.folder / f"{TEMP_MARK}{os.getpid()}-{new.name}"
    handle = os.open(path, _NEW, FILE_MODE)
    try:
        os.fchmod(handle, _mode_in(new.folder))
        for piece in pieces(new.data):
            write_all(handle, piece)
    except BaseException:
        os.close(handle)
        path.unlink(missing_ok=True)
        raise
    return _Temp(handle, path, new.folder / new.name)


def publish(files: Sequence[NewFile]) -> None:
    """Put whole new files in their places; the caller syncs the folders. Raise LakeError when that fails.

    A file that already holds its bytes is left alone. `link` refuses an existing name, so a second writer is noticed;
    an existing file with other bytes is what an interrupted run or a failing disk left, is listed nowhere valid, and is
    replaced.
    """
    temps: list[_Temp] = []
    try:
        try:
            for new in files:
                if not _holds(new.folder / new.name, new.data):
                    temps.append(_begin(new))  # noqa: PERF401  (what was begun must be known when the next one fails)
            _sync_all([temp.handle for temp in temps])
            for temp in temps:
                _put(temp)
        finally:
            for temp in temps:
                os.close(temp.handle)
                temp.path.unlink(missing_ok=True)
    except OSError as error:
        raise failed("cannot write files of the lake", files[0].folder, error) from error


def _sync_all(handles: list[int]) -> None:
    """Make files durable, several at a time, which a disk does at once. A failed fsync is never repeated."""
    if len(handles) < 2:
        for handle in handles:
            os.fsync(handle)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(8, len(handles))) as pool:
        list(pool.map(lambda handle: os.fsync(handle), handles))


def _put(temp: _Temp) -> None:
    try:
        os.link(temp.path, temp.target)
    except FileExistsError:
        temp.path.replace(temp.target)


def replace_file(folder: Path, name: str, data: bytes) -> bool:
    """Put a new version of a file in its place, durably; return False when it already held these bytes."""
    target = folder / name
    if _holds(target, data):
        return False
    try:
        temp = _begin(NewFile(folder, name, data))
        try:
            os.fsync(temp.handle)
            temp.path.replace(target)
        finally:
            os.close(temp.handle)
            temp.path.unlink(missing_ok=True)
        sync_folder(folder)
    except OSError as error:
        raise failed("cannot write a file of the lake", target, error) from error
    return True


def _holds(path: Path, data: Data) -> bool:
    try:
        if path.stat().st_size != len(data) or path.is_symlink():
            return False
        with path.open("rb") as file:
            return all(file.read(len(piece)) == piece for piece in pieces(data))
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
                os.fchmod(handle, _mode_in(path.parent))
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
