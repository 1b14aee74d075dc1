"""F9: the disk of the lake is full by bytes or by names, or cannot be written: the next ingest, with room, goes on.

A disk of a few megabytes needs root for its mount; the twin without lets every call from the n-th on be refused.
"""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.ingesting import tree
from tests.torture import invariants, lakes, shim
from tests.torture.ingest_faults import command
from tests.torture.nursery import Nursery, lent
from tests.torture.registry import Outcome, is_root

if TYPE_CHECKING:
    from tests.torture.registry import Scope

BALLAST = "ballast"
WORDS = {errno.ENOSPC: "No space left on device", errno.EROFS: "Read-only file system", errno.EDQUOT: "quota"}


class Disk(NamedTuple):
    """A small disk: options of its mount, what fills it, what makes room, and what the error must say."""

    options: str
    fill: Callable[[Path], None]
    empty: Callable[[Path], None]
    says: str


def _bytes(spare: int) -> Callable[[Path], None]:
    def fill(place: Path) -> None:
        free = os.statvfs(place)
        (place / BALLAST).write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - spare)))

    return fill


def _names(spare: int) -> Callable[[Path], None]:
    def fill(place: Path) -> None:
        for number in range(os.statvfs(place).f_ffree - spare):
            (place / f"{BALLAST}{number}").touch()

    return fill


def _remove(place: Path) -> None:
    for item in place.glob(f"{BALLAST}*"):
        item.unlink()


def _remount(how: str) -> Callable[[Path], None]:
    return lambda place: _do("mount", "-o", f"remount,{how}", place)


DISKS = {
    "1 MB with 8 kB free": Disk("size=1m", _bytes(8 << 10), _remove, WORDS[errno.ENOSPC]),
    "2 MB with 16 kB free": Disk("size=2m", _bytes(16 << 10), _remove, WORDS[errno.ENOSPC]),
    "4 MB with nothing free": Disk("size=4m", _bytes(0), _remove, WORDS[errno.ENOSPC]),
    "50 names, 3 of them free": Disk("size=4m,nr_inodes=50", _names(3), _remove, WORDS[errno.ENOSPC]),
    "50 names, none of them free": Disk("size=4m,nr_inodes=50", _names(0), _remove, WORDS[errno.ENOSPC]),
    "read-only": Disk("size=4m", _remount("ro"), _remount("rw"), WORDS[errno.EROFS]),
}


def run(scope: Scope) -> Outcome:
    """Ingest into disks that are full, make room, and ingest again; then the twin, which needs no root."""
    found = Outcome()
    with lent(scope.folder / "nursery") as nursery:
        grounds = {name: lakes.sound(name, scope.folder / name) for name in ("first", "grown")}
        if missing := _missing(scope.folder / "probe"):
            found.skipped.append(f"{missing}: {len(DISKS)} small disks; the twin refuses the same calls")
        for name, disk in () if missing else DISKS.items():
            for scenario, ground in grounds.items():
                found.counts["faults"] += 1
                with _mounted(scope.folder / "disk", disk.options) as place:
                    bad = list(_filled(nursery, disk, place, *ground))
                found.failures.extend(f"{scenario} ingest, a disk of {name}: {text}" for text in bad)
        if shim.library() is None:
            found.skipped.append("no C compiler, so calls cannot be refused")
            return found
        for error in WORDS:
            for at in scope.some(range(1, 31, 3), 2):
                found.counts["faults"] += 1
                bad = list(_refused(nursery, error, at, scope.folder / "case", *grounds["grown"]))
                found.failures.extend(f"every call from the {at}. on gives {error}: {text}" for text in bad)
    return found


def _missing(place: Path) -> str:
    if not is_root():
        return "not root, so nothing can be mounted"
    try:
        with _mounted(place, "size=1m"):
            return ""
    except subprocess.CalledProcessError as error:
        return f"no disk in memory can be mounted here ({error.stderr.decode().strip()[:80]})"


def _do(*words: str | Path) -> None:
    subprocess.run([str(word) for word in words], check=True, capture_output=True)


@contextmanager
def _mounted(place: Path, options: str) -> Iterator[Path]:
    place.mkdir(exist_ok=True, parents=True)
    _do("mount", "-t", "tmpfs", "-o", options, "tmpfs", place)
    try:
        yield place
    finally:
        _do("umount", place)


def _filled(nursery: Nursery, disk: Disk, place: Path, start: Path, expected: dict[str, bytes]) -> Iterator[str]:
    """Put the lake of a scenario on a disk, fill that, ingest, make room, ingest again."""
    if (start / "lake").is_dir():
        _do("cp", "-a", start / "lake", place / "lake")
    disk.fill(place)
    words = ["ingest", str(start / "logs"), "--lake", str(place / "lake"), "--workers", "1", "-q"]
    ended = nursery.run(words)
    yield from _told(ended.code, ended.err, disk.says)
    yield from invariants.after_fault(place / "lake", ended, killed=False)
    disk.empty(place)
    yield from invariants.after_rerun(place / "lake", nursery.run(words), expected)


def _told(code: int, said: str, word: str) -> Iterator[str]:
    if code != 1 or word not in said:
        yield f"I7: exit code {code}, and it does not say {word!r}: {said[-300:]!r}"


def _refused(
    nursery: Nursery, error: int, at: int, folder: Path, start: Path, expected: dict[str, bytes]
) -> Iterator[str]:
    """Let the system refuse all that would take room on the lake's disk, from one call on."""
    case = lakes.fresh(start, folder)
    kinds = shim.CREATE | shim.WRITE | shim.LINK | shim.MKDIR | shim.RENAME
    trap = shim.Trap(str(case / "lake"), at, shim.FAIL, error, kinds, once=False)
    ended = nursery.run(command(case), trap)
    if ended.code == 0 and tree(case / "lake") != expected:
        yield "I2: it ended well, and its lake is not that of an undisturbed run"
    yield from invariants.after_fault(case / "lake", ended, killed=False)
    yield from invariants.after_rerun(case / "lake", nursery.run(command(case)), expected)
