"""Definitions that need a number no log tells: the time of a reference step, or the work of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettlog.terms.base import SECOND, STEP, Given, Term, framed, total, weights
from ettlog.views_terms import saved_steps_goodput, saved_terms

if TYPE_CHECKING:
    import polars as pl


def _resiliency(given: Given) -> pl.DataFrame:
    """Return saved minus loaded steps times the reference time of a step, over first to last event of the whole job."""
    reference = given.inputs.get("step_seconds")
    weight, pace = weights(given), _medians(given)
    found = []
    for job in saved_terms(given.table("checkpoint"), given.table("mark")).iter_rows(named=True):
        step_us = round(reference * SECOND) if reference else pace.get(job["job"])
        told = step_us and saved_steps_goodput(job["loaded"], job["saved"], job["first_us"], job["last_us"], step_us)
        if told and job["job"] in weight:
            found.append((job["job"], told.effective_us * weight[job["job"]], told.wall_us * weight[job["job"]]))
    return framed(found)


def _medians(given: Given) -> dict[str, int]:
    """Return job -> median over its starts of the time of a step."""
    import polars as pl

    paces = given.table("_placed").select("job", "gid").join(given.table("_steady"), on="gid").drop_nulls("steady_us")
    middle = paces.group_by("job").agg(pl.col("steady_us").median().cast(pl.Int64))
    return dict(middle.iter_rows())


def _mfu(given: Given) -> pl.DataFrame:
    """Return the work of the new steps over what the held GPUs could have done at their peak."""
    import polars as pl

    work, peak = given.inputs.get("step_tflop"), given.inputs.get("peak_tflops")
    if not work or not peak or not given.weighted:
        return framed([])
    at_peak_us = work / peak * SECOND
    new = given.table("step_run").filter(pl.col("nature") == STEP, pl.col("end_us") > pl.col("begin_us"))
    begin = pl.max_horizontal("begin_us", pl.lit(given.span.since_us))
    inside = (pl.min_horizontal("end_us", pl.lit(given.span.until_us)) - begin).clip(lower_bound=0)
    steps = pl.col("steps") * inside / (pl.col("end_us") - pl.col("begin_us"))
    num = new.group_by("job").agg((steps.sum() * at_peak_us).round().cast(pl.Int128).alias("num"))
    known = given.table("job").drop_nulls("gpus")["job"].implode()
    held = total(given.rows.filter(pl.col("allocated"), pl.col("job").is_in(known)), pl.lit(value=False))
    return num.join(held.drop("num"), on="job")


RESILIENCY = Term(
    "resiliency",
    "(highest committed step - lowest loaded step) x time of a step / first to last event of the whole job",
    "every unsaved tail counts as lost; the window is not applied; the number grows with the reference step",
    "AI-Hypercomputer/resiliency, goodput calculator; --step-seconds, else the job's median step",
    _resiliency,
    "nothing was loaded, nothing committed, or no time of a step is known",
)
MFU = Term(
    "mfu",
    "new steps x TFLOP of a step / (GPU-seconds held x peak)",
    "nothing of the wall: it multiplies ETT with how fast a step is; replayed steps count as loss",
    "model FLOPs utilisation over the wall; the work of a step is --step-tflop, the peak --peak-tflops",
    _mfu,
    "needs --step-tflop, --peak-tflops, weight by GPUs and a known number of GPUs",
)
