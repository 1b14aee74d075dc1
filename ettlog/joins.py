"""What belongs to which job, allocation and start, by what rule; and what hangs loose."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from ettlog.lifecycle import LINKS, LOOSE

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from ettlog.fleet import Fleet


def joins(fleet: Fleet, *, jobs: Sequence[str] | None = None) -> pl.DataFrame:
    """Return one row per join, inferences first: those of the relation `link`, with the rule's sentence as `meaning`.

    Args:
        fleet: an open lake.
        jobs: glob patterns; a row is kept when its job matches one.
    """
    import polars as pl

    from ettlog.lifecycle import JOIN_RULES

    frame = _of(fleet.table("link"), jobs)
    order = {name: place for place, name in enumerate(LINKS)}
    meaning = pl.col("rule").replace_strict(JOIN_RULES, default=None, return_dtype=pl.String).alias("meaning")
    place = pl.col("what").replace_strict(order, default=len(order))
    return frame.with_columns(meaning).sort(pl.col("inferred").not_(), "job", place, "subject", "k", "evidence")


def unjoined(fleet: Fleet, *, jobs: Sequence[str] | None = None) -> pl.DataFrame:
    """Return one row per thing that hangs loose: those of the relation `loose`, the most GPU-holding time first.

    Args:
        fleet: an open lake.
        jobs: glob patterns; a row is kept when its job matches one.
    """
    import polars as pl

    frame = _of(fleet.table("loose"), jobs)
    place = pl.col("what").replace_strict({name: number for number, name in enumerate(LOOSE)}, default=len(LOOSE))
    return frame.sort(place, -pl.col("held_us").fill_null(0), "subject", "evidence")


def clocks(fleet: Fleet) -> pl.DataFrame:
    """Return one row per clock that was checked or shifted: those of the relation `skew`, in order of path."""
    return fleet.table("skew").sort("path", "against", nulls_last=True)


def _of(frame: pl.DataFrame, jobs: Sequence[str] | None) -> pl.DataFrame:
    import polars as pl

    if not jobs:
        return frame
    names = frame["job"].unique().drop_nulls().to_list()
    return frame.filter(pl.col("job").is_in([name for name in names if any(fnmatchcase(name, glob) for glob in jobs)]))
