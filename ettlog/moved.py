"""Logs that grew and were renamed or packed before anybody read them again: known by what the new file begins with.

A name that is gone stands for a log as it was read last. Where a file beside, below or above it is called after it and
begins with exactly these bytes, it is that log: it supersedes its shorter self.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from ettlog import objects
from ettlog.discover import is_folder, root_name

if TYPE_CHECKING:
    from ettlog.discover import Found
    from ettlog.manifest import State

_ENDS = ("", ".", "-", "_")
"""What may follow a log's name in the name of its rotation, such as `train.log.1`."""
_NUMBERED = re.compile(r"[-_.][0-9][-_.:T0-9]*\Z")
"""What may stand before the suffix of a rotation, such as `train-20240301.log`."""


class Gone(NamedTuple):
    """A log that was read and is there no more under its name: name in the lake, length and BLAKE3 of its bytes."""

    name: str
    bytes: int
    digest: str


class Missing:
    """The logs that are gone, by their file names."""

    def __init__(self, gone: Iterable[Gone] = ()) -> None:
        """Sort them by the names that their rotations would begin with."""
        self._named: dict[str, list[Gone]] = defaultdict(list)
        for one in gone:
            path = PurePosixPath(one.name)
            for name in dict.fromkeys((path.name, path.stem)):
                self._named[name].append(one)

    def names(self) -> set[str]:
        """Return their names in the lake."""
        return {one.name for found in self._named.values() for one in found}

    def of(self, name: str) -> tuple[Gone, ...]:
        """Return the logs that a file of this name may be, longest first."""
        heads = accumulate(PurePosixPath(name).name)
        found = {one for head in heads for one in self._named.get(head, ()) if called_after(name, one.name)}
        return tuple(sorted(found, key=lambda one: (-one.bytes, one.name)))


def called_after(new: str, old: str) -> bool:
    """Tell whether a file is called as a rotation of a log is, in its folder, or one above or below that."""
    path, before = PurePosixPath(new), PurePosixPath(old)
    near = path.parent.is_relative_to(before.parent) or before.parent.is_relative_to(path.parent)
    if not near or path == before:
        return False
    if path.name.startswith(before.name):
        return path.name[len(before.name) :][:1] in _ENDS
    middle, suffix, _packing = path.name[len(before.stem) :].partition(before.suffix or "\0")
    return path.name.startswith(before.stem) and bool(suffix) and _NUMBERED.match(middle) is not None


def missing(state: State, found: Found, roots: Sequence[Path], label: str | None, alias: bytes | None) -> Missing:
    """Return the logs of a lake that a whole look through the folders did not find, and did not leave out either."""
    from ettlog import aliases

    folders = [root for root in roots if not objects.is_one(root) and is_folder(root)]
    tops = {aliases.name(root_name(root, label), alias) for root in folders}
    there = {aliases.name(file.name, alias) for file in found.files}
    left_out = {aliases.name(item.name, alias) for item in found.skipped}
    gone = (
        Gone(entry.path, entry.bytes, entry.digest)
        for path, entry in state.current.items()
        if path not in there and entry.bytes and not entry.text and not left_out.intersection(_above(path))
        if PurePosixPath(path).parts[0] in tops
    )
    return Missing(gone)


def _above(path: str) -> Iterator[str]:
    """Yield a name and those of all folders that hold it."""
    yield path
    yield from map(str, PurePosixPath(path).parents)


def begun_with(path: Path, gone: Sequence[Gone], budget: int) -> tuple[str, ...]:
    """Return the names of the logs whose bytes the text of a file begins with, and goes on after."""
    from blake3 import blake3

    from ettlog.parse.blocks import CHUNK, open_source

    known, found, done = blake3(), [], 0
    with open_source(path, budget=budget) as source:
        room = memoryview(bytearray(CHUNK))
        for one in sorted(gone, key=lambda one: one.bytes):
            while got := source.readinto(room[: min(CHUNK, one.bytes - done)]):
                known.update(room[:got])
                done += got
            if done == one.bytes and known.hexdigest() == one.digest:
                found.append((done, one.name))
        goes_on = bool(source.readinto(room[:1]))
    return tuple(name for length, name in found if length < done or goes_on)
