"""Writes small telemetry files and reads them back: helpers of the tests of the readers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ettlog.parse.parsed import Parsed, ScanOptions
from ettlog.parse.records import READERS, reader_for

SECOND = 1_000_000
BASE = 1_933_135_600
"""Seconds since 1970 of 2031-04-05 06:06:40 UTC, where the hand-made logs begin."""


def write(path: Path, lines: Iterable[str | Mapping[str, Any]]) -> Path:
    """Write lines, objects as JSON, each with a newline."""
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path


def read(path: Path, name: str, options: ScanOptions | None = None) -> Parsed:
    """Read a file with the reader that knows it, which must be the one named; check that lines are accounted for."""
    options = options or ScanOptions()
    reader = reader_for(path, options)
    assert reader is not None
    assert reader.name == name
    parsed = reader.read(path, options)
    assert sum(parsed.lines.values()) == parsed.n_lines
    return parsed


def events(parsed: Parsed, *columns: str) -> list[tuple[Any, ...]]:
    """Return the events as tuples of columns, kind first."""
    return [tuple(row[column] for column in ("kind", *columns)) for row in parsed.events.to_pylist()]


def steps(parsed: Parsed, *columns: str) -> list[tuple[Any, ...]]:
    """Return the steps as tuples of columns, step first."""
    return [tuple(row[column] for column in ("step", *columns)) for row in parsed.steps.to_pylist()]


def seconds(us: int | None) -> float | None:
    """Return an instant in seconds after `BASE`."""
    return None if us is None else (us - BASE * SECOND) / SECOND


def reader_names() -> list[str]:
    """Return the names of all readers."""
    return [reader.name for reader in READERS]
