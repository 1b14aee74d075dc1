"""What a warm compile cache is worth: how long starts compile that found theirs, against those that did not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettlog import ett_sums
from ettlog.errors import NoDataError
from ettlog.lifecycle import COMPILATION, WARMTHS

if TYPE_CHECKING:
    import polars as pl

WARM = WARMTHS[1]
STARTING = (*ett_sums.TTS_STAGES, *ett_sums.TTR_STAGES)


def factors(rows: pl.DataFrame, compilation: pl.DataFrame) -> pl.DataFrame:
    """Return segment rows with a column `warm`: by what a start's compile time would be multiplied by a warm cache.

    A start that was not warm would compile as long as the warm ones of its model do in the mean, and never longer than
    it did; of a model without a warm start, as much shorter as cold starts of the other models would. Warm starts keep
    their time. Raises NoDataError where no start of any model was warm.
    """
    import polars as pl

    mine = rows.filter((pl.col("component") == COMPILATION) & pl.col("stage").is_in(STARTING))
    us = mine.group_by("model", "job", "start").agg((pl.col("end_us") - pl.col("begin_us")).sum().alias("us"))
    warmth = compilation.select("job", pl.col("k").alias("start"), "warmth")
    starts = us.join(warmth, on=["job", "start"], how="left").with_columns(
        found=(pl.col("warmth") == WARM).fill_null(value=False)
    )
    if not starts["found"].any():
        raise NoDataError(
            "no start is known to have found its compile cache warm", where="relation compilation, column warmth",
            why="no log tells of cache look-ups that all hit", todo="suppose a factor instead: --scale compile=0.2",
        )  # fmt: skip
    means = starts.group_by("model").agg(
        pl.col("us").filter("found").mean().alias("short"), pl.col("us").filter(~pl.col("found")).mean().alias("long")
    )
    both = means.drop_nulls(["short", "long"])
    ratio = min(float(both["short"].sum()) / float(both["long"].sum()), 1.0) if both.height else 1.0
    each = starts.join(means, on="model", nulls_equal=True)
    target = pl.coalesce(pl.col("short"), pl.col("us") * ratio)
    warmed = pl.when("found").then(1.0).otherwise(pl.min_horizontal(target / pl.col("us"), pl.lit(1.0)))
    found = each.select("job", "start", warm=warmed.cast(pl.Float64))
    return rows.join(found, on=["job", "start"], how="left").with_columns(pl.col("warm").fill_null(1.0))
