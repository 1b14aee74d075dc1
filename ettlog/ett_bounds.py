"""How sure an ETT is: logit-t intervals over the jobs of each group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

LOW, HIGH = "ett_low", "ett_high"


def bounds(by_job: pl.DataFrame, keys: Sequence[str], *, of_sums: bool) -> pl.DataFrame:
    """Return `keys`, `ett_low` and `ett_high` (95 %) of every group with two jobs or more.

    `by_job` has the keys, and `effective` and `wall` of each job in one unit; `of_sums` tells whether the groups' ETT
    is a ratio of sums, or the mean of the jobs' ratios.
    """
    from ettlog.attribute.uncertainty import logit_t

    if not of_sums:
        by_job = by_job.with_columns(effective=pl.col("effective") / pl.col("wall"), wall=pl.lit(1.0))
    parts = by_job.partition_by(list(keys), as_dict=True) if keys else {(): by_job}
    rows = []
    for names, part in parts.items():
        if part.height > 1:
            found = logit_t(part["effective"].to_numpy(), part["wall"].to_numpy())
            rows.append((*names, found.low, found.high))
    schema = {**{key: by_job.schema[key] for key in keys}, LOW: pl.Float64(), HIGH: pl.Float64()}
    return pl.DataFrame(rows, schema=schema, orient="row")
