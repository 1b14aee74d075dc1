"""What a change would be worth: the observed jobs run again under their observed faults, with other costs. Modelled."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from ettlog import cascade, ett_sums, warm
from ettlog.conventions import settle
from ettlog.errors import NoDataError, UsageError
from ettlog.ett import Selection, load, matching, period
from ettlog.lifecycle import COMPILATION, COMPONENTS, PARTS, RECOVERY_KINDS
from ettlog.summing import exact_sum

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from ettlog.fleet import Fleet

FLEET = "all"
LABEL = "modelled"
STARTING = (*ett_sums.TTS_STAGES, *ett_sums.TTR_STAGES)
SHUTDOWN = "shutdown"
SPLIT = ("direct", "cascade", "other")
"""Where a saving lies, beside the exposure."""
NOISE = 1e-9
"""Share of the wall below which a rest is the rounding of floats."""


class Change(NamedTuple):
    """What is supposed: factor per part, how often recoveries come, the GPUs of every job as a multiple, and whether
    every start finds its compile cache warm.
    """

    factors: dict[str, float]
    failures: float
    gpus: float
    warm: bool = False


class Run(NamedTuple):
    """One job run again: hours of wall time and their GPUs; the savings are of wall hours."""

    model: str
    gpus: float
    effective: float
    wall: float
    saved: float
    direct: float
    cascade: float
    other: float
    recoveries: int
    then: int


def what_if(
    fleet: Fleet,
    *,
    scale: Mapping[str, float] | None = None,
    failures: float = 1.0,
    gpus: float = 1.0,
    warm_cache: bool = False,
    **selection: Unpack[Selection],
) -> pl.DataFrame:
    """Return what the same work would have taken under changed costs, one row for all and one per model.

    Each job is run again (`cascade.replay`): its starts cost what they cost, scaled; faults strike at their observed
    instants of held time. Columns: `model`, `jobs`, `gpu_hours_now`, `gpu_hours_then`, `ett_now`, `ett_then`, `points`,
    `recoveries_now`, `recoveries_then`, `saved_gpu_hours` = `direct_gpu_hours` (first and planned starts) +
    `cascade_gpu_hours` (the same in the observed recoveries) + `other_gpu_hours` (loop and shutdown) +
    `exposure_gpu_hours` (shorter runs meet fewer faults; also what `failures` and `gpus` change); `endless`: jobs that
    would never end and are left as they are; `evidence`: always `modelled`.

    Args:
        fleet: an open lake.
        scale: part or component -> factor on its time (0.5 halves it).
        failures: how often failures and preemptions come, as a factor.
        gpus: GPUs of every job, as a factor: work is divided, faults come as many times as often. Assumed: linear
            scaling, and starts that take as long as before.
        warm_cache: starts that did not find their compile cache warm compile as long as warm ones of their model do
            (`warm.factors`).
        selection: window and jobs.

    Raises:
        UsageError: a name is no part or component, or a factor is not a number from 0 up (`gpus`: above 0).
        NoDataError: no job with a start held hardware in the window, or no start is known to have been warm.
    """
    import polars as pl

    change = _change(scale or {}, failures, gpus)
    timeline = load(fleet)
    span = period(timeline, selection)
    names = set(matching(timeline.job, selection.get("jobs"), selection.get("models"))) & set(timeline.start["job"])
    rows = ett_sums.rows(timeline, span, settle({})).filter(pl.col("job").is_in(sorted(names))).drop_nulls("start")
    if rows.is_empty():
        raise NoDataError(
            "there is no job to run again", where="relation segment", why="no job with a start held hardware here",
            todo="widen the window, or see `ettlog jobs`",
        )  # fmt: skip
    if warm_cache:
        # the relation of compile caches has the name of the component
        change, rows = change._replace(warm=True), warm.factors(rows, fleet.table(COMPILATION))
    return _summed([_run(part, change) for _, part in rows.group_by("job", maintain_order=True)])


def _change(scale: Mapping[str, float], failures: float, gpus: float) -> Change:
    parts = {part.part: part.component for part in PARTS if part.role != "effective"}
    factors: dict[str, float] = {}
    for name, factor in scale.items():
        if name not in parts and name not in COMPONENTS:
            raise UsageError(
                f"{name!r} is neither a part nor a component", where="scale", why=f"parts are {', '.join(parts)}",
                todo=f"use one of these, or a component: {', '.join(COMPONENTS)}",
            )  # fmt: skip
        factors |= {part: _factor(factor, name) for part, component in parts.items() if name in (part, component)}
    return Change(factors, _factor(failures, "failures"), _factor(gpus, "gpus", above=True))


def _factor(value: float, where: str, *, above: bool = False) -> float:
    if not math.isfinite(value) or value < 0 or (above and value == 0):
        raise UsageError(
            f"{value} is not a factor", where=where, why="a factor is a number from 0 up; 0.5 halves, 2 doubles",
            todo="give such a number",
        )  # fmt: skip
    return value


def _run(rows: pl.DataFrame, change: Change) -> Run:
    """Run one job again, and say where the difference in wall hours lies."""
    import polars as pl

    now, then = _launches(rows, {}), _launches(rows, change.factors, warm_cache=change.warm)
    direct, repeated, other = _plain(now, then)
    effective = exact_sum(one.effective for one in now)
    before, met = cascade.replay(now, now)
    after, meets = cascade.replay(now, then, change.failures * change.gpus, 1 / change.gpus)
    saved = before - after * change.gpus if effective else direct + repeated + other
    if not math.isfinite(saved):
        saved, meets, direct, repeated, other = math.nan, met, 0.0, 0.0, 0.0
    us = int((rows["end_us"] - rows["begin_us"]).sum())
    held = int(((rows["end_us"] - rows["begin_us"]).cast(pl.Int128) * rows["gpus"]).sum()) / us
    wall = us / ett_sums.MICROS_PER_HOUR
    return Run(rows["model"][0] or "", held, effective, wall, saved, direct, repeated, other, met, meets)


def _plain(now: list[cascade.Launch], then: list[cascade.Launch]) -> tuple[float, float, float]:
    """Return the hours saved by the same starts at other costs: first or planned, recoveries, loop and shutdown."""
    starts = {True: 0.0, False: 0.0}
    for one, other in zip(now, then, strict=True):
        starts[one.recovery] += one.cost - other.cost
    rest = exact_sum((a.lost - b.lost) + (a.shutdown - b.shutdown) for a, b in zip(now, then, strict=True))
    return starts[False], starts[True], rest


def _launches(rows: pl.DataFrame, factors: Mapping[str, float], *, warm_cache: bool = False) -> list[cascade.Launch]:
    """Return the starts of a job in hours, with the time of its parts scaled."""
    import polars as pl

    factor = pl.col("part").replace_strict(factors, default=1.0, return_dtype=pl.Float64)
    hours = (pl.col("end_us") - pl.col("begin_us")) / ett_sums.MICROS_PER_HOUR * factor
    starting, ending = pl.col("stage").is_in(STARTING), pl.col("stage") == SHUTDOWN
    if warm_cache:
        hours = hours * pl.when(starting & (pl.col("component") == COMPILATION)).then(pl.col("warm")).otherwise(1.0)
    new = pl.col("component") == ett_sums.EFFECTIVE
    sums = rows.sort("start", "begin_us").group_by("start", maintain_order=True).agg(
        hours.filter(starting).sum().alias("cost"), hours.filter(new & ~starting).sum().alias("effective"),
        hours.filter(~new & ~starting & ~ending).sum().alias("lost"),
        hours.filter(ending & ~new).sum().alias("shutdown"),
        pl.col("start-kind").first().is_in(RECOVERY_KINDS).alias("recovery"),
    )  # fmt: skip
    return [cascade.Launch(*row) for row in sums.drop("start").iter_rows()]


def _summed(runs: list[Run]) -> pl.DataFrame:
    import polars as pl

    models = sorted({run.model for run in runs})
    groups = [(FLEET, runs), *((name, [run for run in runs if run.model == name]) for name in models)]
    return pl.DataFrame([_row(name, group) for name, group in groups], infer_schema_length=None)


def _row(name: str, runs: list[Run]) -> dict[str, Any]:
    """Return one group's sums in GPU-hours; jobs that would never end keep what they took."""
    ending = [run for run in runs if not math.isnan(run.saved)]
    wall, effective = (exact_sum(getattr(run, key) * run.gpus for run in runs) for key in ("wall", "effective"))
    saved, *parts = (exact_sum(getattr(run, key) * run.gpus for run in ending) for key in ("saved", *SPLIT))
    then, rest = wall - saved, saved - exact_sum(parts)
    return {
        "model": name or None, "jobs": len(runs), "gpu_hours_now": wall, "gpu_hours_then": then,
        "ett_now": effective / wall, "ett_then": effective / then if then else None,
        "points": 100 * (effective / then - effective / wall) if then else None,
        "recoveries_now": sum(run.recoveries for run in runs), "recoveries_then": sum(run.then for run in runs),
        "saved_gpu_hours": saved, **{f"{key}_gpu_hours": part for key, part in zip(SPLIT, parts, strict=True)},
        "exposure_gpu_hours": rest if abs(rest) > NOISE * wall else 0.0, "endless": len(runs) - len(ending),
        "evidence": LABEL,
    }  # fmt: skip
