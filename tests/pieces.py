"""Compares a source read in pieces with the same source read whole; `python -m tests.pieces FOLDER` does so for all
text files of a folder, at several sizes."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ettlog.packing import parquet
from ettlog.parse import format as formats_of
from ettlog.parse import pieced, records, scan
from ettlog.parse.blocks import open_source
from ettlog.parse.format import FormatSet
from ettlog.parse.parsed import Limits, Parsed, ScanOptions
from ettlog.parse.pieces import PieceReader, Reading, State
from ettlog.parse.ranges import Range
from ettlog.parse.unpacked import Room

SIZES = ((2048, 1), (4096, 3), (1 << 16, 1), (1 << 16, 4), (1 << 20, 1))
"""Bytes of a block, and blocks of a range."""

Guess = Callable[[PieceReader, Range, Sequence[State | None]], State]
"""Returns what stood before a range, given what was left behind all ranges before it."""


def all_of(parsed: Parsed) -> dict[str, Any]:
    """Return everything that a reading gives, tables as Parquet."""
    found = {field.name: getattr(parsed, field.name) for field in dataclasses.fields(parsed)}
    found |= {"events": parquet("event", parsed.events), "steps": parquet("step", parsed.steps)}
    return found | {"allocs": parsed.allocs.num_rows, "sampled": parsed.samples, "lines": list(parsed.lines.items())}


def behind(pieces: PieceReader, one: Range, left: Sequence[State | None]) -> State:
    """Guess as a process does that is two ranges ahead of the one that puts them together."""
    return pieces.guess(one, left[max(0, len(left) - 3)])


def in_pieces(path: Path, formats: FormatSet, options: ScanOptions, count: int, guess: Guess = behind) -> Parsed:
    """Read a source in ranges of `count` blocks, one after the other."""

    def readings(
        pieces: PieceReader, found: Iterator[Range], progress: pieced.Progress
    ) -> Iterator[tuple[Range, Reading | None]]:
        left = []
        for one in found:
            left.append(progress.left)
            yield one, pieces.read(one, guess(pieces, one, left) if one.number else None)

    with open_source(path) as source:
        if source.compressed:
            return pieced.scan_packed(source, formats, options, count, Room(2, 2), readings)
        return pieced.scan(source, formats, options, count, readings)


def differences(path: Path, formats: FormatSet, options: ScanOptions, count: int, guess: Guess = behind) -> list[str]:
    """Return which parts of a reading in pieces are not those of one reading of all."""
    whole = all_of(scan.scan(path, formats, options))
    pieces = all_of(in_pieces(path, formats, options, count, guess))
    return [name for name, value in whole.items() if pieces[name] != value]


def sized(block: int, **more: Any) -> ScanOptions:
    """Return options with blocks of some bytes."""
    return ScanOptions(limits=Limits(block=block, line=min(1 << 16, block // 2)), **more)


def is_text(path: Path) -> bool:
    """Tell whether a file is read by the formats as it is."""
    with open_source(path) as source:
        return not source.compressed and records.reader_of(source, ScanOptions()) is None


def main(folder: Path) -> int:
    """Compare all text files of a folder; print what differs and return how many do."""
    formats, wrong, done = formats_of.load_all(()), 0, 0
    for path in sorted(one for one in folder.rglob("*") if one.is_file() and not one.is_symlink()):
        if not is_text(path):
            continue
        for block, count in SIZES:
            if block < path.stat().st_size < 400 * block:
                found, done = differences(path, formats, sized(block), count), done + 1
                wrong += bool(found)
                if found:
                    print(f"{path}, blocks of {block}, {count} a range: {', '.join(found)}")
    print(f"{done} readings in pieces, {wrong} not as one of all")
    return wrong


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])) > 0)
