"""Paired experiments: what two runs, models, labels or windows show about a change, with how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from ettlog import cascade, compare_means, ett_sums, pairs
from ettlog.conventions import settle
from ettlog.errors import NoDataError, UsageError
from ettlog.ett import Selection, Timeline, configured, load, matching, measure, period
from ettlog.tables import Shown, View

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from ettlog.conventions import Conventions
    from ettlog.fleet import Fleet
    from ettlog.pairs import Pair, Side

TAKEN = (
    "jobs", "starts", "ett", "wall_gpu_hours", "tts_hours", "ttr_hours", "tts_share", "ttr_share", "scheduling_share",
)  # fmt: skip
"""Columns of an ETT frame that each side of a pair shows, with `nof`."""

PAIRS = (
    Shown("pair", "pair"),
    Shown("ett_before", "ETT % before", "ratio"),
    Shown("ett_after", "after", "ratio"),
    Shown("points", "points", "signed"),
    Shown("tts_hours_before", "TTS h before", "hours"),
    Shown("tts_hours_after", "after", "hours"),
    Shown("ttr_hours_before", "TTR h before", "hours"),
    Shown("ttr_hours_after", "after", "hours"),
    Shown("ttr_over_tts", "dTTR/dTTS", "signed"),
    Shown("recovery_share", "in recovery %", "ratio"),
    Shown("nof_before", "NoF", "int"),
    Shown("nof_after", "after", "int"),
    Shown("saved_wall_gpu_hours", "GPU-h, fixed wall", "hours"),
    Shown("saved_work_gpu_hours", "fixed work", "hours"),
)
"""The columns of the pairs that people read."""
MEANS = (
    Shown("metric", "figure"),
    Shown("n", "n", "int"),
    Shown("mean", "mean", "number"),
    Shown("low", "low", "number"),
    Shown("high", "high", "number"),
    Shown("p", "p", "number"),
    Shown("median", "median", "number"),
    Shown("median_low", "low", "number"),
    Shown("median_high", "high", "number"),
    Shown("pooled", "pooled", "number"),
    Shown("method", "method"),
    Shown("evidence", "grade"),
    Shown("note", "note"),
)
"""The columns of their means that people read."""


@dataclass(frozen=True)
class Comparison:
    """A comparison: one row per pair, one row per averaged figure, and sentences.

    `pairs`: pair, before, after (as asked for), and with `_before` and `_after` jobs, starts, nof, ett (share),
    wall_gpu_hours, tts_hours and ttr_hours (per cold start, per recovery), tts_share, ttr_share and scheduling_share
    (of the wall); `points` of ETT won; `tts_saved_hours`, `ttr_saved_hours` and `ttr_over_tts`; `start_share` and
    `recovery_share` of the gain; `saved_wall_gpu_hours` (at the second side's wall) and `saved_work_gpu_hours` (at its
    work).
    `summary`: the rows of `compare_means.summary`.
    """

    pairs: pl.DataFrame
    summary: pl.DataFrame
    notes: tuple[str, ...]

    def _repr_html_(self) -> str:
        return View(self.pairs, shown=PAIRS).html() + View(self.summary, (), self.notes, MEANS).html()


def compare(
    fleet: Fleet,
    before: str | None = None,
    after: str | None = None,
    *,
    pairs_file: str | Path | None = None,
    selection: Selection | None = None,
    **conventions: Unpack[Conventions],
) -> Comparison:
    """Compare two sides, or the pairs of a file, in the form of the published table of paired runs.

    Args:
        fleet: an open lake.
        before, after: what is compared, as `pairs.side` reads it: a job, a model, a glob, `KEY:GLOB`, `FROM..TO`.
        pairs_file: a TOML file of `[[pair]]` tables in their place.
        selection: the window and the jobs that both sides are taken from.
        conventions: how ETT is counted.

    Raises:
        UsageError: neither or both of sides and file are given, or a side or the file cannot be read.
        NoDataError: a side has no job, or no time inside the window.
    """
    asked = _asked(before, after, pairs_file)
    chosen = selection or {}
    timeline, rules = load(fleet), configured(fleet, conventions)
    span = period(timeline, chosen)
    among = timeline.job.filter(_named(matching(timeline.job, chosen.get("jobs"), chosen.get("models"))))
    found = [(pair, pairs.side(pair.before, among, span), pairs.side(pair.after, among, span)) for pair in asked]
    for pair, left, right in found:
        _refuse_overlap(pair, left, right)
    return _compared(timeline, found, rules)


def _asked(before: str | None, after: str | None, file: str | Path | None) -> tuple[Pair, ...]:
    if file is not None and before is None and after is None:
        return pairs.read(file)
    if file is None and before and after:
        return (pairs.Pair(f"{before} -> {after}", before, after),)
    raise UsageError(
        "a comparison needs two sides, or a file of pairs", where="A B, --pairs",
        why="neither was given, or both" if (before is None) == (after is None) else "one side alone was given",
        todo="write `ettlog compare JOB JOB`, or `ettlog compare --pairs pairs.toml`",
    )  # fmt: skip


def _refuse_overlap(pair: Pair, left: Side, right: Side) -> None:
    shared = pairs.overlap(left, right)
    if shared:
        raise UsageError(
            f"the sides of {pair.name!r} share {len(shared)} job{'s' if len(shared) > 1 else ''}",
            where=f"{left.text}, {right.text}", why=f"{min(shared)} stands on both sides of the same window",
            todo="name sides without a common job, or two windows that do not overlap",
        )  # fmt: skip


def _compared(timeline: Timeline, found: list[tuple[Pair, Side, Side]], rules: Conventions) -> Comparison:
    import polars as pl

    sides = [(_whole(timeline, left, rules), _whole(timeline, right, rules)) for _, left, right in found]
    rows = [_row(pair, *side) for (pair, _, _), side in zip(found, sides, strict=True)]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    if len(rows) > 1:
        means = compare_means.summary(frame)
        return Comparison(frame, means, tuple(compare_means.sentences(means, frame)))
    _, left, right = found[0]
    jobs = (by_job(timeline, left, rules), by_job(timeline, right, rules))
    means = compare_means.single(frame, *jobs, history(timeline, left, right, rules))
    means = means.vstack(compare_means.starts(_recoveries(timeline, left, rules), _recoveries(timeline, right, rules)))
    return Comparison(frame, means, tuple(compare_means.sentences(means, frame)))


def _named(names: list[str]) -> pl.Expr:
    import polars as pl

    return pl.col("job").is_in(names)


def _only(timeline: Timeline, names: tuple[str, ...]) -> Timeline:
    segment, start, job = (frame.filter(_named(list(names))) for frame in timeline[:3])
    return Timeline(segment, start, job, timeline.owners)


def _whole(timeline: Timeline, side: Side, rules: Conventions) -> dict[str, Any]:
    """Return the figures of one side, summed over its jobs."""
    row = measure(_only(timeline, side.jobs), side.span, **rules).row(0, named=True)
    return {name: row[name] for name in TAKEN} | {"nof": row["failures"] + row["preemptions"]}


def by_job(timeline: Timeline, side: Side, rules: Conventions) -> pl.DataFrame:
    """Return one row per job of a side, as `ett.measure` by job gives it; jobs whose ETT is unknown are left out."""
    return measure(_only(timeline, side.jobs), side.span, by="job", **rules).drop_nulls("ett")


def _recoveries(timeline: Timeline, side: Side, rules: Conventions) -> list[float]:
    """Return the wall hours of every recovery of a side."""
    import polars as pl

    rows = ett_sums.rows(_only(timeline, side.jobs), side.span, settle(rules))
    spent = rows.filter(pl.col("stage").is_in(ett_sums.TTR_STAGES)).group_by("job", "start")
    us = spent.agg((pl.col("end_us") - pl.col("begin_us")).sum().alias("us")).sort("job", "start")["us"]
    return [value / ett_sums.MICROS_PER_HOUR for value in us]


def history(timeline: Timeline, left: Side, right: Side, rules: Conventions) -> list[float]:
    """Return the ETT of the other runs of the one model that both sides train; empty where there is no such model.

    Runs that began after the second side may hold the change themselves, and are left out.
    """
    import polars as pl

    mine = timeline.job.filter(_named([*left.jobs, *right.jobs]))
    models = mine["model"].drop_nulls().unique().to_list()
    if len(models) != 1 or mine["model"].null_count():
        return []
    begin = timeline.segment.group_by("job").agg(pl.col("begin_us").min())
    edge = begin.filter(_named(list(right.jobs)))["begin_us"].min()
    others = timeline.job.filter((pl.col("model") == models[0]) & ~_named([*left.jobs, *right.jobs]))
    earlier = begin.filter(_named(others["job"].to_list()) & (pl.col("begin_us") < edge))["job"].to_list()
    if not earlier:
        return []
    try:
        found = by_job(timeline, pairs.Side("", tuple(earlier), left.span), rules)
    except NoDataError:  # the model's other runs held no hardware inside the window
        return []
    return [float(value) for value in found["ett"]]


def _row(pair: Pair, left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    """Return one pair's figures."""
    both = {f"{name}_{when}": side[name] for name in (*TAKEN, "nof") for when, side in _sides(left, right)}
    gain = _minus(right["ett"], left["ett"])
    starts, recoveries = _minus(left["tts_hours"], right["tts_hours"]), _minus(left["ttr_hours"], right["ttr_hours"])
    return {
        "pair": pair.name, "before": pair.before, "after": pair.after, **both,
        "points": None if gain is None else 100 * gain,
        "tts_saved_hours": starts, "ttr_saved_hours": recoveries, "ttr_over_tts": _ratio(recoveries, starts),
        "start_share": _ratio(left["tts_share"] - right["tts_share"], gain),
        "recovery_share": _ratio(left["ttr_share"] - right["ttr_share"], gain),
        **_saved(left, right),
    }  # fmt: skip


def _sides(left: dict[str, Any], right: dict[str, Any]) -> tuple[tuple[str, dict[str, Any]], ...]:
    return ("before", left), ("after", right)


def _saved(left: dict[str, Any], right: dict[str, Any]) -> dict[str, float | None]:
    """Return both readings of the time saved, in GPU-hours: at a fixed wall and at fixed work."""
    old, new, wall = left["ett"], right["ett"], right["wall_gpu_hours"]
    fixed = None if old is None or new is None else cascade.saved_at_fixed_wall(old, new, wall)
    work = cascade.saved_at_fixed_work(old, new, new * wall) if old and new else None
    return {"saved_wall_gpu_hours": fixed, "saved_work_gpu_hours": work}


def _minus(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None
