"""What a format reads of a log: lines of each pattern, conflicts with other formats, what is left, what comes out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ettlog.parse import scan
from ettlog.parse.format import Format, FormatSet
from ettlog.parse.parsed import ScanOptions
from ettlog.parse.propose.lines import Known, lines
from ettlog.parse.shapes import Unmatched

EVENT_COLUMNS = ("line", "launch", "ts", "clock", "kind", "pattern", "rank", "step", "target", "duration_us", "name")


@dataclass
class Coverage:
    """What one format reads of some logs."""

    lines: int = 0
    """Lines of the logs that are not blank."""
    elsewhere: int = 0
    """Lines that only other formats know."""
    unknown: int = 0
    """Lines that nobody knows."""
    matched: Counter[str] = field(default_factory=Counter)
    """Pattern -> lines."""
    first: dict[str, str] = field(default_factory=dict)
    """Pattern -> path:line of its first line."""
    conflicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(pattern, format.pattern of another format) -> lines that both match."""
    shapes: Unmatched = field(default_factory=Unmatched)
    events: list[dict[str, Any]] = field(default_factory=list)
    """Events and steps of the format, by log and line."""


def cover(one: Format, logs: Sequence[Path], known: FormatSet) -> Coverage:
    """Return what a format reads of logs, beside all formats `known` (itself among them).

    Raises SourceRefusedError for a path that cannot be read.
    """
    found = Coverage()
    search = Known(known.patterns)
    for log in logs:
        for number, line in enumerate(lines(log), 1):
            if line.strip():
                _count(found, one, [known.patterns[index] for index in search.hits(line)], f"{log}:{number}", line)
        found.events += _events(one, log, known)
    return found


def _count(found: Coverage, one: Format, hits: Sequence[Any], place: str, line: bytes) -> None:
    found.lines += 1
    mine = [pattern for pattern in hits if pattern.format == one.name]
    others = [f"{pattern.format}.{pattern.name}" for pattern in hits if pattern.format != one.name]
    for pattern in mine:
        found.matched[pattern.name] += 1
        found.first.setdefault(pattern.name, place)
        found.conflicts.update((pattern.name, other) for other in others if other not in pattern.beside)
    if not hits:
        found.unknown += 1
        found.shapes.look(line)
    elif not mine:
        found.elsewhere += 1


def _events(one: Format, log: Path, known: FormatSet) -> list[dict[str, Any]]:
    parsed = scan.scan(log, known, ScanOptions())
    kinds = {pattern.name: pattern.kind for pattern in one.patterns}
    rows = [row for table in (parsed.events, parsed.steps) for row in table.to_pylist() if row["format"] == one.name]
    told = [{"log": str(log)} | {name: row.get(name) for name in EVENT_COLUMNS} for row in rows]
    for row in told:
        row["kind"] = row["kind"] or kinds[row["pattern"]]
    return sorted(told, key=lambda row: int(row["line"]))
