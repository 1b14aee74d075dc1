"""Short ways to write a small log and to read its segments in minutes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from tests.tables import MINUTE, START, Log

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ettlog.fleet import Fleet

Segment = tuple[int | None, str, float, float]
"""Number of the start, part, begin and end in minutes."""


def segments(made: Fleet, job: str = "run") -> list[Segment]:
    """Return the segments of a job in order of time."""
    frame = made.table("segment").filter(pl.col("job") == job).sort("begin_us")
    rows = frame.select("start", "part", "begin_us", "end_us").rows()
    return [(start, part, (begin - START) / MINUTE, (end - START) / MINUTE) for start, part, begin, end in rows]


def minutes(made: Fleet, job: str = "run") -> dict[str, float]:
    """Return part -> minutes of a job."""
    found: dict[str, float] = {}
    for _, part, begin, end in segments(made, job):
        found[part] = found.get(part, 0) + end - begin
    return found


def starts(made: Fleet, *columns: str, job: str = "run") -> list[tuple[object, ...]]:
    """Return columns of the starts of a job."""
    return made.table("start").filter(pl.col("job") == job).sort("k").select(columns).rows()


def stepping(log: Log, first: int, ends: Iterable[float], took: float | None = 1, **fields: object) -> None:
    """Add a step line at each minute, numbered from `first`."""
    for step, at in enumerate(ends, first):
        log.step(at, step, took, **fields)
