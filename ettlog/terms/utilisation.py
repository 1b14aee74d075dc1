"""Model FLOPs utilisation over the wall: what the new steps are worth at the peak of the hardware held.

A trainer that prints TFLOP/s or MFU divides the work of a step by the time of a step: their product is the work again,
the same for every line. So a step is worth the median rate times the median time of a step, however long single ones
took, and stalls, restarts and replays count as the loss that they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettlog.terms.base import SECOND, STEP, Given, Term, framed, total

if TYPE_CHECKING:
    import polars as pl

MFLOP = 1_000_000
"""Millions of operations in 10^12 of them."""


def _mfu(given: Given) -> pl.DataFrame:
    """Return the work of the new steps over what the held GPUs could have done at their peak."""
    import polars as pl

    work, peak = given.inputs.get("step_tflop"), given.inputs.get("peak_tflops")
    if not peak or (work and not given.weighted):
        return framed([])
    if work:
        starts = given.table("_placed").select("job", "k", pl.lit(work / peak * SECOND).alias("worth_us"))
        return _shares(given, starts)
    return _shares(given, _worth(given, pl.col("mflops") / (peak * MFLOP)))


def _printed(given: Given) -> pl.DataFrame:
    """Return the new steps' share of the peak that their program believes, over what was held."""
    import polars as pl

    return _shares(given, _worth(given, pl.col("mfu_ppm") / 1e6))


def _worth(given: Given, share: pl.Expr) -> pl.DataFrame:
    """Return what a step of each start is worth at the peak, in microseconds of all GPUs that it runs on.

    GPUs that were held and on which no process of the trainer ran have no share in the work.
    """
    import polars as pl

    placed = given.table("_placed").select("job", "k", "gid", "world_size", "gpus")
    used = pl.min_horizontal("world_size", "gpus")
    scale = used if given.weighted else (used / pl.col("gpus")).fill_nan(None).fill_null(1.0)
    worth = (share * pl.col("steady_us") * scale).alias("worth_us")
    return placed.join(given.table("_rate"), on="gid", how="left").select("job", "k", worth)


def _shares(given: Given, starts: pl.DataFrame) -> pl.DataFrame:
    """Return per job what its new steps inside the window are worth, over what it held; not of a job with new steps of
    unknown worth, or with an unknown number of GPUs.
    """
    import polars as pl

    new = given.table("step_run").filter(pl.col("nature") == STEP, pl.col("end_us") > pl.col("begin_us"))
    begin = pl.max_horizontal("begin_us", pl.lit(given.span.since_us))
    inside = (pl.min_horizontal("end_us", pl.lit(given.span.until_us)) - begin).clip(lower_bound=0)
    steps = pl.col("steps") * inside / (pl.col("end_us") - pl.col("begin_us"))
    runs = new.join(starts, on=["job", "k"], how="left").with_columns((steps * pl.col("worth_us")).alias("worth_us"))
    num = runs.group_by("job").agg(
        pl.col("worth_us").round().cast(pl.Int128).sum().alias("num"), pl.col("worth_us").is_null().any().alias("lacks")
    )
    rows = given.rows.filter(pl.col("allocated"))
    if given.weighted:
        rows = rows.filter(pl.col("job").is_in(given.table("job").drop_nulls("gpus")["job"].implode()))
    held = total(rows, pl.lit(value=False)).drop("num")
    return num.filter(~pl.col("lacks")).select("job", "num").join(held, on="job")


MFU = Term(
    "mfu",
    "new steps x TFLOP of a step / (GPU-seconds held x peak)",
    "nothing of the wall: it multiplies ETT with how fast a step is; replayed steps count as loss",
    "model FLOPs utilisation over the wall; the work of a step is --step-tflop, else the TFLOP/s that the log prints x"
    " its median step; the peak is --peak-tflops",
    _mfu,
    "needs --peak-tflops, TFLOP/s in the log or --step-tflop with weight by GPUs, and a known number of GPUs",
)
PRINTED = Term(
    "mfu-printed",
    "new steps x median step x MFU that the log prints / time with hardware held",
    "nothing of the wall; the peak, and which operations count, are the program's own",
    "model FLOPs utilisation as trainers print it (torchtitan, nanoGPT, nanochat, llm.c), over the wall",
    _printed,
    "needs a log that prints MFU on three step lines, and a known number of GPUs where these weigh",
)
