"""The timeline of one job: its segments, or its starts, in order of time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ettlog import sink
from ettlog.jobs import named
from ettlog.lifecycle import COMPONENTS

if TYPE_CHECKING:
    import polars as pl

    from ettlog.fleet import Fleet

LETTERS = dict(zip(COMPONENTS, "qic#ws?", strict=True))
"""Component -> the letter it has in a chart."""
WIDTH = 64
"""Cells of a chart."""
TALLEST = 60
"""Starts that a chart shows, the last ones."""
SEGMENT_COLUMNS = (
    "start", "kind", "component", "part", "stage", "begin_at", "end_at", "duration_us", "gpus", "allocated", "inferred",
    "evidence",
)  # fmt: skip


def timeline(fleet: Fleet, job: str, *, starts: bool = False) -> pl.DataFrame:
    """Return the segments of a job in order of time, or its starts.

    Columns of segments: `start` (its number), `kind` (of that start), `component`, `part`, `stage`, `begin_at`
    and `end_at` (UTC stamps), `duration_us`, `gpus`, `allocated` (hardware held), `inferred` (rests on an inference),
    `evidence` (`path:line`). Columns of starts: those of the relation `start`.

    Args:
        fleet: an open lake.
        job: the job's name, or a part of it that only this job has.
        starts: return the starts instead of the segments.

    Raises:
        UsageError: no job, or more than one, is meant.
    """
    import polars as pl

    name = named(fleet, job)
    started = fleet.table("start").filter(pl.col("job") == name).sort("k")
    if starts:
        return started
    segment = fleet.table("segment").filter(pl.col("job") == name).sort("begin_us")
    kinds = started.select(pl.col("k").cast(segment.schema["start"]).alias("start"), "kind")
    return (
        segment.join(kinds, on="start", how="left", maintain_order="left")
        .with_columns(
            begin_at=pl.from_epoch("begin_us", time_unit="us"),
            end_at=pl.from_epoch("end_us", time_unit="us"),
            duration_us=pl.col("end_us") - pl.col("begin_us"),
        )
        .select(SEGMENT_COLUMNS)
    )


def chart(segments: pl.DataFrame, starts: pl.DataFrame, width: int = WIDTH) -> list[str]:
    """Return a job as lines of text: a row per start over the job's wall, each cell the letter of what took most of it.

    `segments` and `starts` are the frames of `timeline`. At the right stands how the start ended.
    """
    frame = segments.select("start", "component", "begin_at", "end_at").drop_nulls("begin_at")
    if frame.is_empty():
        return []
    zero: Any = frame["begin_at"].min()
    end: Any = frame["end_at"].max()
    cell = (end - zero).total_seconds() / width or 1.0
    rows: dict[int | None, list[dict[str, float]]] = {}
    for start, component, begin_at, end_at in frame.iter_rows():
        cells = rows.setdefault(start, [{} for _ in range(width)])
        _spread(cells, component, (begin_at - zero).total_seconds() / cell, (end_at - zero).total_seconds() / cell)
    ended = starts.select("k", "kind", "cause", "end_state").iter_rows()
    ends: dict[int | None, tuple[str, str]] = {k: (kind, cause or state or "") for k, kind, cause, state in ended}
    numbers = sorted(rows, key=lambda start: -1 if start is None else start)
    left_out = len(numbers) - TALLEST
    lines = [_key(set(frame["component"])) + (f"; the first {left_out} are left out" if left_out > 0 else "")]
    for start in numbers[-TALLEST:]:
        kind, said = ends.get(start, ("", ""))
        name = "" if start is None else str(start)
        text = "".join(LETTERS[max(held, key=lambda part: held[part])] if held else "." for held in rows[start])
        lines.append(sink.display(f"{name:>4} {kind or '':<10} {text} {said}".rstrip()))
    return lines


def _key(there: set[str]) -> str:
    return "each row is a start: " + ", ".join(f"{LETTERS[name]} {name}" for name in COMPONENTS if name in there)


def _spread(cells: list[dict[str, float]], component: str, begin: float, end: float) -> None:
    """Add an interval, in cells, to each cell it touches, by how much of the cell it takes."""
    for number in range(int(begin), min(len(cells), int(end) + 1)):
        share = min(end, number + 1) - max(begin, number)
        if share > 0:
            cells[number][component] = cells[number].get(component, 0.0) + share
