"""From a job, a start or a segment down to the lines of log that it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettlog.errors import UsageError
from ettlog.jobs import named

if TYPE_CHECKING:
    import polars as pl

    from ettlog.fleet import Fleet

_EVIDENCE = r"^(.*):(\d+)(?: \((.*)\))?$"


def explain(fleet: Fleet, row: str) -> pl.DataFrame:
    """Return the evidence of `JOB`, `JOB@START` or `JOB@START@PART`, one row per segment.

    Columns: `start`, `part`, `begin_at` and `end_at` (UTC stamps), `path` and `line` of the log line the segment rests
    on, `note` (how it was inferred, if it was), and what that line says: `kind`, `format`, `pattern`, `clock`.

    Raises:
        UsageError: `row` is not of this form, or names nothing in the lake.
    """
    import polars as pl

    job, start, part = _parts(row)
    frame = fleet.table("segment").filter(pl.col("job") == named(fleet, job))
    if start is not None:
        frame = frame.filter(pl.col("start") == start)
    if part is not None:
        frame = frame.filter(pl.col("part") == part)
    if frame.is_empty():
        raise UsageError(
            f"{row!r} names no segment",
            where="ROW",
            why="the job has no such start or part",
            todo=f"see `ettlog timeline {job}` for what it has",
        )
    return _with_lines(frame, _lines(fleet))


def _lines(fleet: Fleet) -> pl.DataFrame:
    """Return what each line of log says that became an event, by path and line."""
    event = fleet.table("event").join(fleet.table("source").select("key", "path"), on="key")
    said = event.select("path", "line", "kind", "format", "pattern", "clock")
    return said.unique(["path", "line"], keep="first", maintain_order=True)


def _with_lines(segment: pl.DataFrame, lines: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    found = segment.sort("begin_us").with_columns(
        begin_at=pl.from_epoch("begin_us", time_unit="us"),
        end_at=pl.from_epoch("end_us", time_unit="us"),
        path=pl.col("evidence").str.extract(_EVIDENCE, 1),
        line=pl.col("evidence").str.extract(_EVIDENCE, 2).cast(pl.Int64),
        note=pl.col("evidence").str.extract(_EVIDENCE, 3),
    )
    joined = found.join(lines, on=["path", "line"], how="left", maintain_order="left")
    return joined.select(
        "start", "part", "begin_at", "end_at", "path", "line", "note", "kind", "format", "pattern", "clock"
    )


def _parts(row: str) -> tuple[str, int | None, str | None]:
    job, *rest = row.split("@")
    if len(rest) > 2 or (rest and not rest[0].isdigit()):
        raise UsageError(
            f"{row!r} is not a row to explain",
            where="ROW",
            why="a row is JOB, JOB@START or JOB@START@PART, with the number of the start",
            todo="write for example llama@1@replay",
        )
    return job, int(rest[0]) if rest else None, rest[1] if len(rest) == 2 else None
