"""Reads small scheduler files with the reader that knows them: helpers of the tests of the schedulers."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ettlog.parse.parsed import Parsed, ScanOptions
from ettlog.parse.records import reader_for

Row = dict[str, Any]


def read(path: Path, name: str, text: str | bytes, **options: Any) -> Parsed:
    """Write a text and read it with the reader that knows it, which must be the one named."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    told = ScanOptions(**options)
    reader = reader_for(path, told)
    assert reader is not None
    assert reader.name == name
    parsed = reader.read(path, told)
    assert sum(parsed.lines.values()) == parsed.n_lines
    return parsed


def jobs(parsed: Parsed) -> list[Row]:
    """Return the rows of attempts."""
    return jobs_of(parsed.allocs.to_pylist())


def jobs_of(rows: list[Row]) -> list[Row]:
    """Return those rows that are attempts of jobs."""
    return [row for row in rows if row["record"] == "job"]


def seconds_of(row: Row) -> float:
    """Return the seconds that hardware was held, 0 for an open attempt and for none."""
    held = row["start_us"] is not None and row["end_us"] is not None
    return (row["end_us"] - row["start_us"]) / 1e6 if held else 0


def us(text: str) -> int:
    """Return microseconds since 1970 of an ISO stamp; without an offset it is UTC."""
    stamp = datetime.fromisoformat(text)
    stamp = stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)
    gap = stamp - datetime(1970, 1, 1, tzinfo=UTC)
    return (gap.days * 86_400 + gap.seconds) * 1_000_000 + gap.microseconds


def iso(at: int | None, clock: str) -> str | None:
    """Return an instant as the facts write it: with Z where the file's clock is absolute, else bare."""
    if at is None:
        return None
    stamp = datetime.fromtimestamp(at // 1_000_000, UTC)
    if clock == "time_of_day":
        return f"{stamp:%H:%M:%S}.{at % 1_000_000 // 100_000}"
    text = f"{stamp:%Y-%m-%dT%H:%M:%S}" + (f".{at % 1_000_000 // 1000:03d}" if at % 1_000_000 else "")
    return text if clock == "local" else f"{text}Z"
