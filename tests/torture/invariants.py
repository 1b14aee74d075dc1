"""I1 to I10: what must hold of a lake, its logs and a process after every fault."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ettlog.errors import LakeError
from ettlog.lake import Lake
from ettlog.schema import TABLES
from tests.ingesting import tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.torture.nursery import Ended


@dataclass(frozen=True)
class Logs:
    """The sources of a case as they were: bytes and times, neither of which ettlog may change."""

    state: dict[str, tuple[bytes, int]]

    @classmethod
    def of(cls, folder: Path) -> Logs:
        """Look at a folder of logs."""
        names = tree(folder)
        return cls({name: (data, (folder / name).stat().st_mtime_ns) for name, data in names.items()})


def after_fault(lake: Path, ended: Ended, killed: bool) -> Iterator[str]:
    """Yield what does not hold right after a fault: of the process (I7, I9), and of the lake it left (I1, I4, I6)."""
    if ended.hung:
        yield f"I9: it hung for {ended.seconds:.0f} s"
    if killed and ended.code != -9:
        yield f"the kill did not come: exit code {ended.code}"
    if not killed and not ended.polite:
        yield f"I7: exit code {ended.code}, and it said: {ended.err[-300:]!r}"
    try:
        yield from _held(Lake.open(lake, verify=True, strict=False))
    except LakeError as error:
        if "not a lake" not in error.what and "no lake" not in error.what:
            yield f"I1: {error}"


def _held(lake: Lake) -> Iterator[str]:
    for sentence in lake.damage:
        yield f"I1: {sentence}"
    for entry in lake.sources():
        if sum(entry.lines.values()) != entry.n_lines:
            yield f"I4: outcomes of {entry.path} add up to {sum(entry.lines.values())}, it has {entry.n_lines} lines"
    listed = {path for table in TABLES for _, path in lake.files(table)}
    there = {item for table in TABLES for item in (lake.path / table).glob("*")}
    unnamed = there - listed - set(lake.leftovers())
    if unnamed:
        yield f"I6: nobody names {sorted(unnamed)[0]}"


def after_rerun(lake: Path, ended: Ended, expected: dict[str, bytes]) -> Iterator[str]:
    """Yield what does not hold after the same command ran again undisturbed: the bytes of an undisturbed run (I3)."""
    if ended.code or ended.hung:
        yield f"I3: the second run ended with {ended.code}: {ended.err[-300:]!r}"
    found = tree(lake)
    if found != expected:
        odd = sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))
        yield f"I3: after the second run {', '.join(odd[:3])} differs"
