"""The frames of a simulated fleet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from ettlog.lifecycle import PART_BY_NAME
from ettlog.simulate.hazard import FAILURE, PLANNED, PREEMPTION
from ettlog.simulate.truth import COMPONENT, segments, spells

if TYPE_CHECKING:
    from ettlog.simulate.models import Model
    from ettlog.simulate.plan import Job, Start
    from ettlog.simulate.run import Simulated

_TEXT, _INT = pl.String, pl.Int64
_SEGMENT = {
    "job": _TEXT, "start": _INT, "part": _TEXT, "stage": _TEXT, "begin_us": _INT, "end_us": _INT, "gpus": _INT,
    "allocated": pl.Boolean,
}  # fmt: skip
_SPELL = {
    "job": _TEXT, "start": _INT, "part": _TEXT, "stage": _TEXT, "us": _INT, "events": _INT, "gpus": _INT,
    "allocated": pl.Boolean,
}  # fmt: skip
_COMPONENT = {str(part): component for part, component in COMPONENT.items()}


def jobs(fleet: Simulated) -> pl.DataFrame:
    """Return one row per job; instants in microseconds since 1970 UTC."""
    rows: list[dict[str, Any]] = []
    for job in fleet.plans:
        model, kinds = fleet.models[job.model], [one.kind for one in job.starts]
        rows.append(
            {
                "job": job.name, "number": job.number, "model": model.name, "cluster": model.cluster,
                "dialect": model.dialect.name, "gpus": model.gpus, "target": job.target, "starts": len(job.starts),
                "failures": kinds.count(FAILURE), "preemptions": kinds.count(PREEMPTION),
                "planned": kinds.count(PLANNED), "gone": job.gone, "begin_us": job.begin_us,
                "end_us": job.starts[-1].done_us,
            }
        )  # fmt: skip
    return pl.DataFrame(rows, infer_schema_length=None)


def starts(fleet: Simulated) -> pl.DataFrame:
    """Return one row per start; instants in microseconds since 1970 UTC."""
    rows = [_start(one, job, fleet.models[job.model]) for job in fleet.plans for one in job.starts]
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"on": pl.List(pl.String)})


def _start(one: Start, job: Job, model: Model) -> dict[str, Any]:
    return {
        "job": job.name, "k": one.k, "kind": one.kind, "end": str(one.end), "cause": one.cause,
        "allocation": one.allocation, "gpus": one.gpus, "submit_us": one.submit_us, "granted_us": one.granted_us,
        "launched_us": one.launched_us, "loop_us": one.loop_us, "progress_us": one.progress_us,
        "stop_us": one.stop_us, "done_us": one.done_us, "resumed": one.resumed, "last": one.last, "high": one.high,
        "on": sorted(name for name, since in model.rollout_us.items() if since <= one.launched_us),
    }  # fmt: skip


def segments_of(fleet: Simulated) -> pl.DataFrame:
    """Return the segments of all jobs."""
    rows = [(job.name, *one) for job in fleet.plans for one in segments(job)]
    frame = pl.DataFrame(rows, schema=_SEGMENT, orient="row")
    named = frame.with_columns(component=pl.col("part").replace_strict(_COMPONENT, return_dtype=pl.String))
    return named.select("job", "start", "component", *list(_SEGMENT)[2:])


def ledger(fleet: Simulated) -> pl.DataFrame:
    """Return the sums of all jobs by start, part and stage."""
    rows = [(job.name, *one[:7]) for job in fleet.plans for one in spells(job)]
    frame = pl.DataFrame(rows, schema=_SPELL, orient="row")
    about = fleet.jobs.select("job", "model", "cluster")
    kinds = fleet.starts.select("job", pl.col("k").alias("start"), "kind", pl.col("launched_us"))
    held = pl.when("allocated").then(pl.col("us")).otherwise(0)
    joined = frame.join(about, on="job", maintain_order="left").join(kinds, on=["job", "start"], maintain_order="left")
    part = {name: PART_BY_NAME[name] for name in _COMPONENT}
    summed = joined.group_by("job", "start", "part", "stage", maintain_order=True).agg(
        pl.col("model", "cluster", "kind", "launched_us").first(),
        pl.col("us").sum(), (pl.col("us") * pl.col("gpus")).sum().alias("gpu_us"), held.sum().alias("allocated_us"),
        (held * pl.col("gpus")).sum().alias("allocated_gpu_us"), pl.col("events").sum(),
    )  # fmt: skip
    return summed.with_columns(
        platform=pl.lit(None, pl.String),
        component=pl.col("part").replace_strict(_COMPONENT, return_dtype=pl.String),
        owner=pl.col("part").replace_strict({n: p.owner for n, p in part.items()}, return_dtype=pl.String),
        role=pl.col("part").replace_strict({n: p.role for n, p in part.items()}, return_dtype=pl.String),
    ).select(
        "job", "model", "platform", "cluster", "start", "kind", "component", "part", "stage", "owner", "role",
        "launched_us", "us", "gpu_us", "allocated_us", "allocated_gpu_us", "events",
    )  # fmt: skip
