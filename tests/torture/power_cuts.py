"""F5: the power goes off at any call of an ingest, on a real file system: what the kernel still held in memory is gone.

The lake lies on a file system in a file. At the cut that file is copied, as the disk would be, and mounted again. Needs
root for the mounts; its twin without is F6, which works the same states out.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.ingesting import tree
from tests.torture import lakes, power, shim
from tests.torture.ingest_faults import command
from tests.torture.nursery import Nursery
from tests.torture.registry import Outcome, is_root

if TYPE_CHECKING:
    from tests.torture.registry import Scope


class System(NamedTuple):
    """A file system: bytes of the smallest disk it takes, how it is made, and how it is mounted.

    The kernel writes back late by itself (`commit`), so that only what was asked for is on the disk; a disk that is a
    copy of one that is mounted needs its own identity (`nouuid`).
    """

    size: int
    make: tuple[str, ...]
    mount: str


SYSTEMS = {
    "ext4": System(32 << 20, ("mkfs.ext4", "-q", "-F"), "loop,commit=600"),
    "xfs": System(300 << 20, ("mkfs.xfs", "-q", "-f"), "loop,nouuid"),
    "btrfs": System(112 << 20, ("mkfs.btrfs", "-q", "-f"), "loop,commit=600"),
}


def run(scope: Scope) -> Outcome:
    """Cut the power on ext4."""
    return on("ext4", scope)


def on(system: str, scope: Scope) -> Outcome:
    """Cut the power at the calls of each scenario, mount what is left, and hold it against the invariants."""
    found = Outcome()
    missing = _missing(system, scope.folder)
    if missing:
        found.skipped.append(f"{missing}; F6 works out the same states")
        return found
    with Nursery(scope.folder / "nursery") as nursery:
        for scenario in lakes.SCENARIOS:
            start, expected = lakes.sound(scenario, scope.folder / scenario)
            disk = _format(system, scope.folder / f"{scenario}.img", start)
            kinds = _kinds(nursery, start, scope.folder)
            for cut in scope.some(list(plan(kinds)), 2):
                found.counts["power cuts"] += 1
                bad = _cut(nursery, system, disk, cut, expected, acknowledged=cut[0] > len(kinds))
                how = "in the middle of" if cut[1] == shim.KILL_HALF else "before"
                found.failures.extend(f"{scenario} ingest, power cut {how} call {cut[0]}: {text}" for text in bad)
    return found


def plan(kinds: list[int]) -> Iterator[tuple[int, int]]:
    """Yield (call, action) of every cut: before each call, after the last one, and in the middle of each write."""
    yield from ((at, shim.KILL_BEFORE) for at in range(1, len(kinds) + 2))
    yield from ((at, shim.KILL_HALF) for at, kind in enumerate(kinds, 1) if kind == shim.WRITE)


def _missing(system: str, folder: Path) -> str:
    """Return what this machine lacks for a mount of its own, or nothing."""
    if not is_root():
        return "not root, so nothing can be mounted"
    if shim.library() is None or not shutil.which(SYSTEMS[system].make[0]):
        return f"no C compiler or no {SYSTEMS[system].make[0]}"
    try:
        with _mounted(system, _format(system, folder / "probe.img", folder), folder / "probe"):
            return ""
    except subprocess.CalledProcessError as error:
        return f"no file can be mounted here ({error.stderr.decode().strip()[:80]})"


def _do(*words: str | Path) -> None:
    subprocess.run([str(word) for word in words], check=True, capture_output=True)


def _format(system: str, image: Path, content: Path) -> Path:
    """Make a file system in a file, with the logs (and the lake) of a scenario on it."""
    with image.open("wb") as stream:
        stream.truncate(SYSTEMS[system].size)
    _do(*SYSTEMS[system].make, image)
    with _mounted(system, image, image.with_suffix(".mnt")) as place:
        for name in ("logs", "lake"):
            if (content / name).is_dir():
                shutil.copytree(content / name, place / name)
    return image


@contextmanager
def _mounted(system: str, image: Path, place: Path) -> Iterator[Path]:
    place.mkdir(exist_ok=True)
    _do("mount", "-o", SYSTEMS[system].mount, image, place)
    try:
        yield place
    finally:
        _do("umount", place)


def _kinds(nursery: Nursery, start: Path, folder: Path) -> list[int]:
    """Return the kinds of the calls of an ingest that nothing disturbs."""
    case, seen = lakes.fresh(start, folder / "case"), folder / "seen.json"
    ended = nursery.run(command(case), shim.Trap(str(case / "lake"), seen=str(seen)))
    assert ended.code == 0, ended.err
    kinds: list[int] = json.loads(seen.read_text())
    return kinds


def _copy(image: Path, to: Path) -> None:
    """Copy a disk, its holes as holes: most of it is empty."""
    to.unlink(missing_ok=True)
    _do("cp", "--sparse=always", image, to)


def _cut(
    nursery: Nursery, system: str, disk: Path, cut: tuple[int, int], expected: dict[str, bytes], *, acknowledged: bool
) -> Iterator[str]:
    """Run until the cut, take what the disk then held, and yield what does not hold of it."""
    running, left = disk.with_name("running.img"), disk.with_name("left.img")
    _copy(disk, running)
    with _mounted(system, running, disk.with_name("running")) as place:
        nursery.run(command(place), shim.Trap(str(place / "lake"), *cut))
        _copy(running, left)
    with _mounted(system, left, disk.with_name("left")) as place:
        state = power.Left(tree(place / "lake"), frozenset(), acknowledged)
        yield from power.at_once(state, place, expected)
        yield from power.after_all(nursery, place, expected, None)
