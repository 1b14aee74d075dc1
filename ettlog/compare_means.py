"""The averages of a comparison: intervals over pairs, a single pair with borrowed variance, or a refusal and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from ettlog.attribute import uncertainty
from ettlog.errors import NoDataError
from ettlog.summing import exact_sum
from ettlog.tables import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ettlog.attribute.uncertainty import Interval

METRICS = ("points", "tts_saved_hours", "ttr_saved_hours", "ttr_over_tts", "recovery_share")
"""What is averaged over pairs; ratios both as a mean of ratios and pooled, as a ratio of sums."""
CALM, BESIDE = "points_without_scheduling_noise", "points_excluding_scheduling"
"""The gain with the scheduler's luck taken out (control variate), and the gain of ETT on a wall without scheduling."""
FEWEST_CALM = 4
"""Pairs from which on the scheduler's luck can be told from the gain."""
LEFT = "ttr_after_over_before"
"""A single pair's recoveries: their time after over that before."""
SUMMARY: dict[str, pl.DataType] = {
    "metric": pl.String(), "n": pl.Int64(), "mean": pl.Float64(), "low": pl.Float64(), "high": pl.Float64(),
    "p": pl.Float64(), "median": pl.Float64(), "median_low": pl.Float64(), "median_high": pl.Float64(),
    "pooled": pl.Float64(), "method": pl.String(), "evidence": pl.String(), "note": pl.String(),
}  # fmt: skip
"""Columns of a summary: `mean` with its 95 % interval, the exact sign-flip `p` of no change, `median` (Hodges-Lehmann)
with its signed-rank interval, `pooled` (ratio of sums weighted by GPU time), how the bounds were had, and the grade
of the evidence: A several pairs with their interval, C one before and one after.
"""


def summary(frame: pl.DataFrame) -> pl.DataFrame:
    """Return one row per figure of `METRICS` over the pairs of a frame of two pairs or more."""
    return pl.DataFrame([_metric(frame, name) for name in METRICS] + _calm(frame), schema=SUMMARY)


def _calm(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the gain over pairs without the scheduler's luck and without its time; none for few pairs or no luck."""
    known = frame.drop_nulls(["points", "scheduling_share_before", "scheduling_share_after"])
    luck = (known["scheduling_share_before"] - known["scheduling_share_after"]).to_numpy() * 100
    if known.height < FEWEST_CALM or not luck.any():
        return []
    found = uncertainty.control_variate(known["points"].to_numpy(), luck)
    inner = [pl.col(f"ett_{when}") / (1 - pl.col(f"scheduling_share_{when}")) for when in ("after", "before")]
    beside = uncertainty.t_interval(known.select(100 * (inner[0] - inner[1])).to_series().to_numpy())
    rows = (
        (CALM, found.adjusted, f"scheduling explains {100 * found.share:.0f} % of the spread; not if it was changed"),
        (BESIDE, beside, "another measure: ETT of the wall less scheduling"),
    )
    return [
        {
            "metric": name, "n": one.n, "mean": one.estimate, "low": one.low, "high": one.high, "method": one.method,
            "evidence": "A", "note": note,
        }
        for name, one, note in rows
    ]  # fmt: skip


def _metric(frame: pl.DataFrame, name: str) -> dict[str, Any]:
    values = [float(value) for value in frame[name].drop_nulls()]
    row: dict[str, Any] = {"metric": name, "n": len(values), "pooled": pooled(frame, name)}
    if len(values) < 2:
        lacking = "fewer than two pairs show it"
        return row | {"mean": values[0] if values else None, "method": "no interval", "note": lacking}
    found, ranked = uncertainty.t_interval(values), uncertainty.hodges_lehmann(values)
    # a ratio or a share of no change is not zero: the test of zero means nothing for it
    p = uncertainty.sign_flip(values) if name in METRICS[:3] else None
    return row | {
        "mean": found.estimate, "low": found.low, "high": found.high, "p": p, "median": ranked.estimate,
        "median_low": ranked.low, "median_high": ranked.high, "method": f"{found.method}; {ranked.method}",
        "evidence": "A", "note": "",
    }  # fmt: skip


def pooled(frame: pl.DataFrame, name: str) -> float | None:
    """Return a figure over all pairs at once: savings weighted by the second side's GPU time, then divided."""
    weight = pl.col("wall_gpu_hours_after")
    over = {
        "points": (pl.col("points") * weight, weight),
        "recovery_share": (pl.col("recovery_share") * pl.col("points") * weight, pl.col("points") * weight),
        "ttr_over_tts": (pl.col("ttr_saved_hours"), pl.col("tts_saved_hours")),
    }.get(name)
    known = frame.drop_nulls(name)
    if over is None or known.is_empty():
        return None
    parts, wholes = (known.select(value=part)["value"].to_list() for part in over)
    return uncertainty.averages(parts, wholes).of_sums if exact_sum(wholes) else None


def single(frame: pl.DataFrame, left: pl.DataFrame, right: pl.DataFrame, history: list[float]) -> pl.DataFrame:
    """Return the summary of one pair: over the jobs of both sides, else with borrowed variance, else refused.

    `left` and `right` hold one row per job (`ett`, `wall_gpu_hours`); `history` the ETT of the model's other runs.
    """
    points = frame["points"].item()
    row: dict[str, Any] = {"metric": METRICS[0], "n": 1, "mean": points, "evidence": "C"}
    if points is None:
        unseen = {"method": "no interval", "note": "one side shows no trainer's log"}
        return pl.DataFrame([row | unseen], schema=SUMMARY)
    try:
        found = _interval(frame, left, right, history)
    except NoDataError as error:
        return pl.DataFrame([row | {"method": "no interval", "note": _reason(error, history)}], schema=SUMMARY)
    bounds = {"low": 100 * found.low, "high": 100 * found.high, "n": found.n}
    return pl.DataFrame([row | bounds | {"method": found.method, "note": ""}], schema=SUMMARY)


def starts(before: list[float], after: list[float]) -> pl.DataFrame:
    """Return the summary of the recoveries of one pair: what is left of a recovery's time, as a ratio; or no row."""
    if min(len(before), len(after)) < 2 or min(before + after) <= 0:
        return pl.DataFrame(schema=SUMMARY)
    found = uncertainty.log_ratio(before, after)
    row = {"metric": LEFT, "n": found.n, "mean": found.estimate, "low": found.low, "high": found.high, "evidence": "C"}
    return pl.DataFrame([row | {"method": found.method, "note": ""}], schema=SUMMARY)


def _interval(frame: pl.DataFrame, left: pl.DataFrame, right: pl.DataFrame, history: list[float]) -> Interval:
    if min(left.height, right.height) > 1:
        sides = [(side["ett"] * side["wall_gpu_hours"], side["wall_gpu_hours"]) for side in (left, right)]
        (e0, w0), (e1, w1) = [(e.to_numpy(), w.to_numpy()) for e, w in sides]
        return uncertainty.ratio_difference(e0, w0, e1, w1)
    before, after = (float(frame[f"ett_{when}"].item()) for when in ("before", "after"))
    return uncertainty.borrowed(before, after, history)


def _reason(error: NoDataError, history: list[float]) -> str:
    held = count(len(history), "earlier run") if history else "no earlier run"
    return f"n = 1: {error.why}, and {held} of the same model is there to borrow it from"


def sentences(means: pl.DataFrame, frame: pl.DataFrame) -> Iterator[str]:
    """Yield what the comparison shows, its gain first."""
    gain = means.row(0, named=True)
    if gain["mean"] is not None:
        yield _gain(gain)
    for name, text in (("ttr_over_tts", _ratio), ("recovery_share", _share)):
        for row in means.filter(pl.col("metric") == name).drop_nulls("mean").iter_rows(named=True):
            yield text(row, frame[name])
    for row in means.filter(pl.col("metric") == LEFT).iter_rows(named=True):
        bounds = f"{100 * row['low']:.0f} to {100 * row['high']:.0f} %"
        yield f"a recovery takes {100 * row['mean']:.0f} % of its former time: {bounds} (95 %, {row['method']})"
    for row in means.filter(pl.col("metric").is_in([CALM, BESIDE])).iter_rows(named=True):
        what = "excluding scheduling noise" if row["metric"] == CALM else "excluding scheduling time"
        yield f"{what}: {row['mean']:+.1f} points, {row['low']:.1f} to {row['high']:.1f} (95 %, {row['note']})"
    yield from _unlike(frame)


def _gain(row: dict[str, Any]) -> str:
    what = f"gain in ETT: {row['mean']:+.1f} points"
    if row["low"] is None:
        return f"{what}, without an interval ({row['note']})"
    bounds = f"{row['low']:.1f} to {row['high']:.1f}"
    if row["p"] is None:
        return f"{what}, {bounds} (95 %, {row['method']})"
    least = 2 / 2 ** row["n"]
    at_best = ", the least that so few pairs can show" if row["p"] <= least * 1.001 else ""
    return (
        f"mean {what} over {row['n']} pairs, unweighted: {bounds} (95 %, t); sign-flip p {row['p']:.3f}{at_best}; "
        f"Hodges-Lehmann {row['median']:+.1f}, {row['median_low']:.1f} to {row['median_high']:.1f} "
        f"({row['method'].partition('; ')[2]})"
    )


def _ratio(row: dict[str, Any], values: pl.Series) -> str:
    known = [float(value) for value in values.drop_nulls()]
    low, high = min(known), max(known)
    both = f"mean of ratios {row['mean']:.1f}, ratio of sums {row['pooled']:.1f}"
    return f"TTR fell {low:.1f} to {high:.1f} times as much as TTS ({both})"


def _share(row: dict[str, Any], _values: pl.Series) -> str:
    return (
        f"recovery's share of the saving: {100 * row['pooled']:.1f} % (ratio of sums, weighted by GPU time), "
        f"{100 * row['mean']:.1f} % (mean of the pairs' shares)"
    )


def _unlike(frame: pl.DataFrame) -> Iterator[str]:
    """Say where the sides met failures at different rates: then the gain is not of the change alone."""
    per_job = [pl.col(f"nof_{when}") / pl.col(f"jobs_{when}") for when in ("before", "after")]
    unlike = frame.filter(per_job[0] != per_job[1])
    if not unlike.is_empty():
        names = ", ".join(unlike["pair"].head(3)) + (" ..." if unlike.height > 3 else "")
        yield f"{names}: the sides met different numbers of failures per job, which moves ETT by itself"
