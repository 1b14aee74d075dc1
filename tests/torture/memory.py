"""F16: what is large stays out of memory: a file of gigabytes, a line of hundreds of megabytes, many files.

The process may map so much beside what its libraries had mapped, and no more: it ends well, or the bound does not hold.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ettlog.lake import Lake
from tests.conftest import ROOT
from tests.torture.nursery import Nursery
from tests.torture.registry import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.torture.registry import Scope

BOUND = 512 << 20
"""Bytes that may be mapped beside the libraries."""
MODEL = ROOT / "fixtures/tiny/logs/finch-7b-501001.out"
PIECE = 8 << 20


class Large(NamedTuple):
    """What is too large for memory: how it is written (into which folder, how much), and how much of it."""

    write: Callable[[Path, int], int]
    full: int
    sample: int


def run(scope: Scope) -> Outcome:
    """Write each of the large inputs, ingest it under the bound, and hold the account against what was written."""
    found = Outcome()
    with Nursery(scope.folder / "nursery") as nursery:
        for name, large in LARGE.items():
            folder = scope.folder / "case"
            (folder / "logs").mkdir(parents=True)
            amount = scope.number(large.full, large.sample)
            lines = large.write(folder / "logs", amount)
            words = [str(folder / "logs"), str(folder / "lake")]
            ended = nursery.run(words, memory=BOUND, call="measured", patience=3600.0)
            found.counts["executions"] += 1
            told = f"{name.format(amount=amount)} under {BOUND >> 20} MiB"
            found.expect(ended.code == 0, f"{told}: exit code {ended.code}: {ended.err[-300:]!r}")
            counted = sum(entry.n_lines for entry in Lake.open(folder / "lake").sources()) if not ended.code else 0
            found.expect(counted == lines, f"{told}: {counted:,} lines are counted of {lines:,}")
            held = ended.out.splitlines()[-1] if ended.out else "nobody knows how much"
            found.notes.append(f"{told}: {held} held at most beside the libraries")
            shutil.rmtree(folder)
    return found


def _file(logs: Path, mebibytes: int) -> int:
    """Write a trainer's log again and again until it is large; return its lines."""
    text = MODEL.read_bytes()
    piece = text * (PIECE // len(text))
    count = (mebibytes << 20) // len(piece) + 1
    with (logs / "large.out").open("wb") as stream:
        for _ in range(count):
            stream.write(piece)
    return count * piece.count(b"\n")


def _line(logs: Path, megabytes: int) -> int:
    """Write a line that does not end for megabytes, between two that do."""
    with (logs / "line.log").open("wb") as stream:
        stream.write(b"a word\n")
        for _ in range(megabytes):
            stream.write(b"x" * 1_000_000)
        stream.write(b"\nanother\n")
    return 3


def _files(logs: Path, count: int) -> int:
    """Write many small files, each of other text."""
    for number in range(count):
        folder = logs / f"{number // 1000:03}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.log").write_text(f"a text of its own, {number}\n")
    return count


LARGE = {
    "a file of {amount:,} MiB": Large(_file, 2048, 24),
    "a line of {amount:,} MB": Large(_line, 300, 30),
    "{amount:,} files": Large(_files, 100_000, 300),
}
