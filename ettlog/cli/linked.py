"""Tables of joins, of clocks and of what hangs loose, for `ettlog status` and `ettlog jobs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettlog.tables import Shown, View, count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from ettlog.fleet import Fleet

FEW = 200
"""Rows that a readable table shows; all are in the other formats."""

JOINS = (
    Shown("what", "what"),
    Shown("subject", "which"),
    Shown("job", "job"),
    Shown("allocation", "allocation"),
    Shown("k", "start", "int"),
    Shown("rule", "by"),
    Shown("inferred", "inferred"),
    Shown("why", "not joined because"),
    Shown("remedy", "what would join it"),
    Shown("evidence", "evidence"),
)
CLOCKS = (
    Shown("path", "file"),
    Shown("clock", "clock"),
    Shown("against", "held against"),
    Shown("low_us", "at least", "span"),
    Shown("high_us", "at most", "span"),
    Shown("shift_us", "shifted by", "span"),
    Shown("verdict", "verdict"),
)
LOOSE = (
    Shown("what", "what"),
    Shown("subject", "which"),
    Shown("job", "counted as"),
    Shown("held_us", "held", "span"),
    Shown("why", "why"),
    Shown("remedy", "what would join it"),
    Shown("evidence", "evidence"),
)


def joined(fleet: Fleet, jobs: Sequence[str]) -> View:
    """Return the table of joins and orphans: how many by each rule, then the joins, inferences first, then orphans."""
    import polars as pl

    from ettlog.joins import joins, unjoined

    frame, orphans = joins(fleet, jobs=jobs), unjoined(fleet, jobs=jobs)
    every = pl.concat([frame, orphans.drop("held_us")], how="diagonal_relaxed")
    header = [f"{count(frame.height, 'join')}, {count(orphans.height, 'orphan')}", *_by_rule(frame), *_by_why(orphans)]
    return View(every, header, list(_more(every)), JOINS, every.head(FEW))


def _by_why(orphans: pl.DataFrame) -> Iterator[str]:
    """Yield how many orphans there are of each sort."""
    found = orphans.group_by("what").len().sort("what")
    if found.height:
        told = ", ".join(count(number, str(what)) for what, number in found.iter_rows())
        yield f"not joined: {told}; `ettlog jobs --unjoined` lists them by the time they held"


def _by_rule(frame: pl.DataFrame) -> Iterator[str]:
    """Yield how many joins each rule made, and what the rule says."""
    import polars as pl

    counted = (
        frame.group_by("what", "rule", "meaning", "inferred").len().sort(pl.col("inferred").not_(), "what", "rule")
    )
    for what, rule, meaning, inferred, number in counted.iter_rows():
        text = (meaning or "").removeprefix("an inference: ")
        yield f"{count(number, what)} by {rule}: {text}{' (inferred)' if inferred else ''}"


def clocked(fleet: Fleet) -> View:
    """Return the table of clocks: bounds of the error of each, and what was mended."""
    from ettlog.joins import clocks

    frame = clocks(fleet)
    header = [
        f"{count(frame.height, 'clock')} held against another or shifted",
        "at least, at most: shifts of the file that put all lines into their allocations: estimates from containment",
    ]
    notes = [] if frame.height else ["no log and no record of one allocation were found whose clocks could be compared"]
    return View(frame, header, notes, CLOCKS, frame.head(FEW))


def loose(fleet: Fleet, jobs: Sequence[str]) -> View:
    """Return the table of what hangs loose, the longest held first."""
    from ettlog.joins import unjoined

    frame = unjoined(fleet, jobs=jobs)
    held = int(frame["held_us"].sum() or 0) / 3_600_000_000
    ends = f"{count(frame.height, 'loose end')}; allocations among them held their hardware for {held:,.1f} h"
    header = [f"{ends}: when they held it is known, what ran is not"]
    return View(frame, header, list(_more(frame)), LOOSE, frame.head(FEW))


def _more(frame: pl.DataFrame) -> Iterator[str]:
    if frame.height > FEW:
        yield f"{frame.height - FEW:,} more rows: --format csv writes all, -j narrows them"
