"""What the lake holds: one row per source, with the fate of its lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettlog.lifecycle import OUTCOMES

if TYPE_CHECKING:
    import polars as pl

    from ettlog.fleet import Fleet


def status(fleet: Fleet) -> pl.DataFrame:
    """Return one row per source, in order of path.

    Columns: those of the relation `source` (path, identity, state, clock, lines, formats), then one count of lines for
    each outcome of `lifecycle.OUTCOMES`; the counts of a row add up to its `n_lines`.
    """
    import polars as pl

    source = fleet.table("source")
    counts = (
        fleet.table("line_stat")
        .group_by("key", "path")
        .agg([pl.col("lines").filter(pl.col("outcome") == name).sum().cast(pl.Int64).alias(name) for name in OUTCOMES])
    )
    joined = source.join(counts, on=["key", "path"], how="left", maintain_order="left")
    return joined.with_columns(pl.col(*OUTCOMES).fill_null(0)).sort("path")
