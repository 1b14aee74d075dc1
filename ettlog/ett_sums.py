"""The arithmetic of ETT: rows of wall time, clipped and weighted, summed in integers and divided last."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from ettlog import lifecycle
from ettlog.conventions import DIVIDED
from ettlog.ett_bounds import HIGH, LOW, bounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ettlog.ett import Timeline
    from ettlog.windows import Window

TERMS = ("tts", "ttr")
EFFECTIVE = next(part.component for part in lifecycle.PARTS if part.role == "effective")
TTS_STAGES = [stage.stage for stage in lifecycle.STAGES if stage.term == "TTS"]
TTR_STAGES = [stage.stage for stage in lifecycle.STAGES if stage.term == "TTR"]
UNKNOWN_KIND = lifecycle.START_KINDS[-1]
MICROS_PER_HOUR = 3_600_000_000
PERIODS = {"day": "1d", "week": "1w", "month": "1mo"}
COUNTS = dict(zip(("failures", "preemptions", "planned", "unexplained"), lifecycle.START_KINDS[1:], strict=True))
"""The counted kinds of starts: column and kind."""


def rows(timeline: Timeline, span: Window, rules: dict[str, str]) -> pl.DataFrame:
    """Return one row per segment inside the basis and the window: its job's names, its owner and its weights.

    Weights: `gpu_milli`, thousandths of GPUs, and `gpus`, whole ones, 1 where a job holds shares or nothing is told.
    """
    frame = timeline.segment
    if "gpu_milli" not in frame.columns:
        frame = frame.with_columns(gpu_milli=pl.lit(None, pl.Int64))
    frame = frame.select(
        "job", "start", "component", "part", "stage", "begin_us", "end_us", "gpus", "gpu_milli", "allocated"
    )
    frame = _clip(_on_basis(frame, rules["basis"]), span)
    frame = _named(frame, timeline)
    gpus = pl.col("gpus").fill_null(1) if rules["weight"] == "gpu" else pl.lit(1)
    milli = pl.coalesce("gpu_milli", 1000 * gpus) if rules["weight"] == "gpu" else 1000 * gpus
    moved = (pl.col("part") == lifecycle.EVALUATION) & pl.lit(rules["evaluation"] == "effective")
    return frame.with_columns(
        component=pl.when(moved).then(pl.lit(EFFECTIVE)).otherwise(pl.col("component")),
        owner=pl.col("part").replace_strict(_owners(timeline)),
        gpus=gpus.cast(pl.Int64),
        gpu_milli=milli.cast(pl.Int64),
    )


def _owners(timeline: Timeline) -> dict[str, str]:
    """Return part -> owner; where nobody owns a part, the name of its component stands in brackets."""
    return {part.part: timeline.owners.get(part.part) or f"({part.component})" for part in lifecycle.PARTS}


def launches(timeline: Timeline, span: Window) -> pl.DataFrame:
    """Return one row per start that began inside the window, with its job's names.

    A start begins at its launch, or at its first segment where no launch line is dated.
    """
    first = timeline.segment.group_by("job", pl.col("start").alias("k")).agg(pl.col("begin_us").min())
    frame = timeline.start.select("job", "k", "launched_at").join(first, on=["job", "k"], how="left")
    began = pl.coalesce(pl.col("launched_at").cast(pl.Datetime("us")).dt.epoch("us"), "begin_us")
    frame = frame.with_columns(began.alias("begin_us"), start=pl.col("k"))
    inside = (pl.col("begin_us") >= span.since_us) & (pl.col("begin_us") < span.until_us)
    return _named(frame.filter(inside), timeline)


def summarise(frame: pl.DataFrame, starts: pl.DataFrame, keys: Sequence[str], rules: dict[str, str]) -> pl.DataFrame:
    """Return the frame of `ett.ett`: one row per group, the largest first, or in order of time."""
    for key in keys:
        if key in PERIODS:
            frame, starts = _split(frame, key), _stamped(starts, key)
    outer = [key for key in keys if key not in DIVIDED]
    sums = _sums(frame, keys, outer, rules)
    if rules["mean"] == "mean-of-ratios":
        sums = _means(sums, _shares(_sums(frame, [*keys, "job"], [*outer, "job"], rules)), keys)
    else:
        sums = _shares(sums)
    sums = _bounded(sums, frame, keys, outer, rules)
    if len(keys) > len(outer):
        sums = sums.with_columns(ett=pl.lit(None, pl.Float64), ett_formula=pl.lit(None, pl.Float64)).with_columns(
            residual=pl.lit(None, pl.Float64)
        )
    return _ordered(_per_start(_counted(sums, starts, outer)), keys)


def _bounded(
    sums: pl.DataFrame, frame: pl.DataFrame, keys: Sequence[str], outer: Sequence[str], rules: dict[str, str]
) -> pl.DataFrame:
    """Join the interval of ETT over jobs; none where a group is one job, or divides the wall of jobs."""
    none = pl.lit(None, pl.Float64)
    if "job" in keys or len(keys) > len(outer) or frame["job"].n_unique() < 2:
        return sums.with_columns(none.alias(LOW), none.alias(HIGH))
    each = _sums(frame, [*keys, "job"], [*outer, "job"], rules)
    jobs = each.select(*keys, effective=pl.col(EFFECTIVE).cast(pl.Float64), wall=pl.col("wall").cast(pl.Float64))
    found = bounds(jobs, keys, of_sums=rules["mean"] == "ratio-of-sums")
    if not keys:
        return sums.join(found, how="cross")
    joined = sums.join(found, on=list(keys), how="left", nulls_equal=True)
    unseen = pl.col("ett").is_null()
    return joined.with_columns(pl.when(~unseen).then(pl.col(name)).alias(name) for name in (LOW, HIGH))


def _on_basis(frame: pl.DataFrame, basis: str) -> pl.DataFrame:
    held = pl.col("allocated").fill_null(value=False)
    if basis == "allocated":
        return frame.filter(held)
    if basis == "elapsed":
        begin = pl.col("begin_us").filter(held).min().over("job")
        end = pl.col("end_us").filter(held).max().over("job")
        return frame.filter((pl.col("begin_us") >= begin) & (pl.col("end_us") <= end))
    return frame


def _clip(frame: pl.DataFrame, span: Window) -> pl.DataFrame:
    clipped = frame.with_columns(
        pl.col("begin_us").clip(lower_bound=span.since_us), pl.col("end_us").clip(upper_bound=span.until_us)
    )
    return clipped.filter(pl.col("end_us") > pl.col("begin_us"))


def _named(frame: pl.DataFrame, timeline: Timeline) -> pl.DataFrame:
    """Join the names of the job, and the kind and cluster of the start, to each row."""
    starts = timeline.start.select("job", pl.col("k").alias("start"), "kind", pl.col("cluster").alias("at"))
    joined = frame.join(timeline.job.select("job", "model", "cluster", "platform"), on="job", how="left")
    joined = joined.join(starts, on=["job", "start"], how="left")
    return joined.with_columns(
        pl.col("kind").fill_null(UNKNOWN_KIND).alias("start-kind"), cluster=pl.coalesce("at", "cluster")
    ).drop("at", "kind")


def _split(frame: pl.DataFrame, key: str) -> pl.DataFrame:
    """Cut each row at the borders of the periods it crosses; each piece carries the first day of its period."""
    every = PERIODS[key]
    begin, end = (pl.from_epoch(pl.col(name), time_unit="us") for name in ("begin_us", "end_us"))
    last = (end - pl.duration(microseconds=1)).dt.truncate(every)
    pieces = frame.with_columns(pl.datetime_ranges(begin.dt.truncate(every), last, every).alias(key)).explode(key)
    return pieces.with_columns(
        pl.max_horizontal("begin_us", pl.col(key).dt.epoch("us")).alias("begin_us"),
        pl.min_horizontal("end_us", pl.col(key).dt.offset_by(every).dt.epoch("us")).alias("end_us"),
        pl.col(key).dt.date(),
    )


def _stamped(starts: pl.DataFrame, key: str) -> pl.DataFrame:
    began = pl.from_epoch(pl.col("begin_us"), time_unit="us")
    return starts.with_columns(began.dt.truncate(PERIODS[key]).dt.date().alias(key))


def _sums(frame: pl.DataFrame, keys: Sequence[str], outer: Sequence[str], rules: dict[str, str]) -> pl.DataFrame:
    """Sum exact integers: thousandths of GPU-microseconds by component and stage, plain microseconds of TTS and TTR."""
    wall_us = pl.col("end_us") - pl.col("begin_us")
    weighed = wall_us.cast(pl.Int128) * pl.col("gpu_milli")
    in_tts, in_ttr = pl.col("stage").is_in(TTS_STAGES), pl.col("stage").is_in(TTR_STAGES)
    if rules["ttr"] == "first_step":
        in_ttr &= ~pl.col("part").is_in(lifecycle.LOOP_PARTS)
    totals = [weighed.filter(pl.col("component") == name).sum().alias(name) for name in lifecycle.COMPONENTS]
    sums = _grouped(
        frame,
        keys,
        pl.col("job").n_unique().cast(pl.Int64).alias("jobs"),
        weighed.sum().alias("own"),
        *totals,
        weighed.filter(in_tts).sum().alias("tts"),
        weighed.filter(in_ttr).sum().alias("ttr"),
        wall_us.filter(in_tts).sum().alias("tts_us"),
        wall_us.filter(in_ttr).sum().alias("ttr_us"),
    )
    around = pl.col("own").sum()
    return sums.with_columns(all=pl.col("own").sum(), wall=around.over(list(outer)) if outer else around)


def _grouped(frame: pl.DataFrame, keys: Sequence[str], *columns: pl.Expr) -> pl.DataFrame:
    return frame.group_by(list(keys)).agg(*columns) if keys else frame.select(*columns)


def _hours(column: str) -> pl.Expr:
    return pl.col(column).cast(pl.Float64) / MICROS_PER_HOUR


def _gpu_hours(column: str) -> pl.Expr:
    return pl.col(column).cast(pl.Float64) / (1000 * MICROS_PER_HOUR)


def _over(column: str, whole: str) -> pl.Expr:
    return pl.col(column).cast(pl.Float64) / pl.col(whole).cast(pl.Float64)


def _shares(sums: pl.DataFrame) -> pl.DataFrame:
    """Divide, once, at the end: hours from microseconds, and shares of the wall from sums."""
    components = lifecycle.COMPONENTS
    lost = pl.col("tts") + pl.col("ttr")
    # Where no trainer log shows a start or a step, nothing is known: neither 0 % nor, by the formula, 100 %.
    seen = (lost > 0) | (pl.col(EFFECTIVE) > 0)
    formula = pl.when(seen).then(1 - lost.cast(pl.Float64) / pl.col("wall").cast(pl.Float64))
    return sums.with_columns(
        _gpu_hours("own").alias("gpu_hours"),
        _over("own", "all").alias("share"),
        _gpu_hours("wall").alias("wall_gpu_hours"),
        *[_gpu_hours(name).alias(f"{name}_gpu_hours") for name in components],
        *[_over(name, "wall").alias(f"{name}_share") for name in components],
        *[_gpu_hours(term).alias(f"{term}_gpu_hours") for term in TERMS],
        *[_over(term, "wall").alias(f"{term}_share") for term in TERMS],
        ett=pl.when(seen).then(_over(EFFECTIVE, "wall")),
        ett_formula=formula,
    ).with_columns(residual=pl.col("ett_formula") - pl.col("ett"))


def _means(sums: pl.DataFrame, by_job: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Replace the ratios of `sums` by the mean of the jobs' own ratios; hours stay sums."""
    ratios = [f"{name}_share" for name in (*lifecycle.COMPONENTS, *TERMS)] + ["ett", "ett_formula", "residual"]
    means = _grouped(by_job, keys, *[pl.col(name).mean() for name in ratios])
    plain = _shares(sums).drop(ratios)
    return plain.join(means, on=list(keys), nulls_equal=True) if keys else plain.hstack(means)


def _counted(sums: pl.DataFrame, starts: pl.DataFrame, outer: Sequence[str]) -> pl.DataFrame:
    """Join the counts of starts by kind to the groups that have starts of their own."""
    counts = _grouped(
        starts,
        outer,
        pl.len().cast(pl.Int64).alias("starts"),
        *[(pl.col("start-kind") == kind).sum().cast(pl.Int64).alias(name) for name, kind in COUNTS.items()],
    )
    if not outer:
        return sums.join(counts, how="cross")
    joined = sums.join(counts, on=list(outer), how="left", nulls_equal=True)
    return joined.with_columns(pl.col("starts", *COUNTS).fill_null(0))


def _per_start(sums: pl.DataFrame) -> pl.DataFrame:
    recoveries = pl.col("failures") + pl.col("preemptions")
    cold = pl.col("starts") - recoveries
    return sums.with_columns(
        tts_hours=pl.when(cold > 0).then(_hours("tts_us") / cold),
        ttr_hours=pl.when(recoveries > 0).then(_hours("ttr_us") / recoveries),
    )


def _ordered(sums: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    columns = [*keys, *columns_of()]
    timed = [key for key in keys if key in PERIODS]
    order = [*timed, "own", *[key for key in keys if key not in PERIODS]]
    descending = [name == "own" for name in order]
    return sums.sort(order, descending=descending, nulls_last=True).select(columns)


def columns_of() -> list[str]:
    """Return the fixed columns of an ETT frame, after its keys."""
    parts = [f"{name}_{unit}" for name in lifecycle.COMPONENTS for unit in ("gpu_hours", "share")]
    counts = ["jobs", "starts", *COUNTS]
    ends = ["tts_hours", "ttr_hours", "tts_gpu_hours", "ttr_gpu_hours", "tts_share", "ttr_share"]
    return [*counts, "gpu_hours", "share", "wall_gpu_hours", *parts, *ends, "ett", LOW, HIGH, "ett_formula", "residual"]
