"""Sets what ettlog found beside the truth: where two timelines of one job differ, in microseconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from ettlog.simulate.truth import COMPONENT
from ettlog.simulate.words import HOUR, P

if TYPE_CHECKING:
    from ettlog.simulate.run import Simulated

SIDES = ("truth", "found")


def told(fleet: Simulated) -> pl.DataFrame:
    """Return the truth as far as the logs name it: parts of start-up that a dialect does not tell are `other`."""
    dialects = {model.dialect.name: model.dialect for model in fleet.models}
    untold = [
        {"dialect": name, "part": str(part), "told": str(P.other)}
        for name, speaks in dialects.items()
        for part in (*speaks.path, *speaks.loop)
        if part not in speaks.tells and COMPONENT[part] == COMPONENT[P.other]
    ]
    rules = pl.DataFrame(untold, schema={"dialect": pl.String, "part": pl.String, "told": pl.String})
    about = fleet.jobs.select("job", "dialect")
    joined = fleet.segments.join(about, on="job", maintain_order="left").join(
        rules, on=["dialect", "part"], how="left", maintain_order="left"
    )
    return joined.with_columns(part=pl.coalesce("told", "part")).drop("told", "dialect")


def differences(truth: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """Cut both timelines at all their instants; return one row per piece in which part, stage or start differ or agree.

    Columns: job, begin_us, us, gpus and allocated of the truth, and truth_* and found_* of start, component, part and
    stage; `inferred`; `same` tells whether the components agree. A side that has nothing there is null.
    """
    edges = pl.concat(
        [side.select("job", pl.col(name).alias("at_us")) for side in (truth, found) for name in ("begin_us", "end_us")]
    )
    pieces = (
        edges.unique().sort("job", "at_us")
        .with_columns(end_us=pl.col("at_us").shift(-1).over("job"))
        .drop_nulls("end_us")
    )  # fmt: skip
    for side, frame in zip(SIDES, (truth, found), strict=True):
        pieces = _laid(pieces, frame, side)
    return pieces.rename({"at_us": "begin_us"}).with_columns(
        us=pl.col("end_us") - pl.col("begin_us"),
        same=pl.col("truth_component").eq_missing(pl.col("found_component")),
    )


def _laid(pieces: pl.DataFrame, frame: pl.DataFrame, side: str) -> pl.DataFrame:
    names = [
        "start",
        "component",
        "part",
        "stage",
        "gpus",
        "allocated",
        *(["inferred"] if "inferred" in frame.columns else []),
    ]
    laid = frame.select(
        "job", pl.col("begin_us").alias("at_us"), pl.col("end_us").alias("upto_us"),
        *(pl.col(name).alias(f"{side}_{name}") for name in names),
    ).sort("at_us")  # fmt: skip
    joined = pieces.sort("at_us").join_asof(laid, on="at_us", by="job", strategy="backward", check_sortedness=False)
    gone = pl.col("upto_us").is_null() | (pl.col("at_us") >= pl.col("upto_us"))
    mine = [name for name in joined.columns if name.startswith(side)]
    return joined.with_columns(pl.when(~gone).then(pl.col(name)).alias(name) for name in mine).drop("upto_us")


def summary(pieces: pl.DataFrame) -> pl.DataFrame:
    """Return GPU-seconds that are one part in truth and another one in what was found, the largest first."""
    other = pieces.filter(
        ~pl.col("truth_part").eq_missing(pl.col("found_part"))
        | ~pl.col("truth_stage").eq_missing(pl.col("found_stage"))
    )
    seconds = pl.col("us") * pl.coalesce("truth_gpus", "found_gpus") / 1e6
    return (
        other.group_by("truth_part", "truth_stage", "found_part", "found_stage", "found_inferred")
        .agg(pl.len().alias("n"), pl.col("job").n_unique().alias("jobs"), seconds.sum().alias("gpu_s"))
        .sort("gpu_s", descending=True)
    )


def flagged() -> pl.Expr:
    """Tell whether a piece of `differences` says of itself that it may be wrong: unknown time, or an inference."""
    return pl.col("found_inferred").fill_null(True) | pl.col("found_component").eq_missing(COMPONENT[P.gap])


def hours(pieces: pl.DataFrame) -> float:
    """Return the GPU-hours of pieces."""
    gpus = pl.coalesce("truth_gpus", "found_gpus").fill_null(0)
    return float(pieces.select((pl.col("us") * gpus).sum()).item()) / HOUR


def ett(segments: pl.DataFrame) -> float:
    """Return ETT in percent of a frame of segments: effective by allocated GPU time."""
    gpu_us = (pl.col("end_us") - pl.col("begin_us")) * pl.col("gpus")
    effective = pl.col("component") == COMPONENT[P.step]
    held = segments.filter("allocated").select(gpu_us.sum()).item()
    return 100.0 * float(segments.filter(effective).select(gpu_us.sum()).item()) / float(held)
