"""F7: the manifest is cut, flipped, repeated, reordered and padded; the rest is used, and the next ingest heals it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ettlog import manifest
from ettlog.lake import Lake
from tests.torture import lakes

if TYPE_CHECKING:
    from pathlib import Path

    from tests.torture.registry import Scope

from tests.torture.registry import Outcome


def run(scope: Scope) -> Outcome:
    """Damage the manifest of a lake of few sources in every way, a case at a time."""
    found = Outcome()
    start, _ = lakes.sound("first", scope.folder)
    sound = scope.folder / "sound"
    whole = (sound / "lake" / manifest.NAME).read_bytes()
    cases = [*scope.some(list(cuts(whole)), 30), *scope.some(list(others(whole)), 40)]
    case = lakes.fresh(sound, scope.folder / "case")
    assert start.is_dir()
    for name, data, lines in cases:
        (case / "lake" / manifest.NAME).write_bytes(data)
        found.counts["faults"] += 1
        _hold(found, name, case, lines)
        found.expect(lakes.same(case / "lake", sound / "lake"), f"{name}: the next ingest made another lake")
        left = Lake.open(case / "lake", verify=True).problems()
        found.expect(not left, f"{name}: after the next ingest the lake is still said to be damaged: {left}")
    return found


def _hold(found: Outcome, name: str, case: Path, lines: set[int]) -> None:
    """Read the damaged manifest: each bad line is named by its number; then ingest."""
    told = manifest.read(case / "lake" / manifest.NAME).problems
    numbers = {int(text.split(":")[1]) for text in told if text.startswith(manifest.NAME)}
    found.expect(numbers == lines, f"{name}: lines {sorted(lines)} are damaged, {sorted(numbers)} are named")
    lakes.again(case)


def cuts(whole: bytes) -> Iterator[tuple[str, bytes, set[int]]]:
    """Yield the manifest cut at every byte; a line that lacks only its newline is whole."""
    for size in range(len(whole)):
        before, tail = whole[:size].count(b"\n"), whole[:size].rpartition(b"\n")[2]
        torn = tail and whole[size : size + 1] != b"\n"
        yield f"cut at {size}", whole[:size], {before + 1} if torn else set()


def others(whole: bytes) -> Iterator[tuple[str, bytes, set[int]]]:
    """Yield flipped bits (each line many times), repeated, reordered, foreign, padded and overlong lines."""
    lines = whole.splitlines(keepends=True)
    chance = random.Random(7)
    for number in range(len(lines)):
        for place in chance.sample(range(len(lines[number]) - 1), 80):
            flipped = bytearray(lines[number])
            flipped[place] ^= 1 << chance.randrange(8)
            if b"\n" not in bytes(flipped[:-1]):  # a newline would make two lines of it
                yield f"line {number + 1}, byte {place} flipped", _put(lines, number, bytes(flipped)), {number + 1}
        yield f"line {number + 1} twice", _put(lines, number, lines[number] * 2), set()
    yield "order reversed", b"".join(reversed(lines)), set()
    yield "carriage returns", whole.replace(b"\n", b"\r\n"), set()
    yield "NULs at the end", whole + b"\0" * 4096, {len(lines) + 1}
    yield "NULs for a line", _put(lines, 1, b"\0" * len(lines[1])), {2}
    yield "a line of a megabyte", _put(lines, 0, b"x" * (1 << 20) + b"\n" + lines[0]), {1}
    yield "an empty line", _put(lines, 0, b"\n" + lines[0]), set()


def _put(lines: list[bytes], number: int, data: bytes) -> bytes:
    return b"".join([*lines[:number], data, *lines[number + 1 :]])
