"""The definition that needs the time of a reference step, which no log tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettlog.terms.base import SECOND, Given, Term, framed, weights
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


RESILIENCY = Term(
    "resiliency",
    "(highest committed step - lowest loaded step) x time of a step / first to last event of the whole job",
    "every unsaved tail counts as lost; the window is not applied; the number grows with the reference step",
    "AI-Hypercomputer/resiliency, goodput calculator; --step-seconds, else the job's median step",
    _resiliency,
    "nothing was loaded, nothing committed, or no time of a step is known",
)
