"""How an attribution reads: the headline, what it rests on, the table, the notes."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from ettlog.conventions import FRAMES
from ettlog.tables import Shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from ettlog.attribute import Attribution
    from ettlog.tables import View

WHOLE_FLEET = "all"
IN_RECOVERY = ("cascade", "recovery_only")
CREDIT = (
    Shown("optimization", "optimization"),
    Shown("owner", "owner"),
    Shown("tier", "tier"),
    Shown("saved_gpu_hours", "saved GPU-h", "hours"),
    Shown("low", "low", "hours"),
    Shown("high", "high", "hours"),
    Shown("share", "% of all", "ratio"),
    Shown("points", "points", "signed"),
    Shown("bound_gpu_hours", "bound", "hours"),
    Shown("executions", "runs", "int"),
    Shown("evidence", "grade"),
)
SUMMARY = (
    Shown("saved_gpu_hours", "saved GPU-h", "hours"),
    Shown("share", "% of all", "ratio"),
    Shown("points", "points", "signed"),
    Shown("bound_gpu_hours", "bound", "hours"),
)
COLUMNS = {
    "effects": (
        "optimization", "tier", "estimator", "saved_gpu_hours", "cut", "low", "high", "p", "pretrend_p", "placebo_p",
        "control_p", "models", "grade", "why",
    ),
    "models": (
        "model", "platform", "cut", "jobs_before", "jobs_after", "ett_before", "ett_after", "points", "tts_saved_s",
        "ttr_saved_s", "ttr_over_tts", "nof_before", "nof_after",
    ),
}  # fmt: skip
"""Columns of a frame that people see; machines get all."""
TITLES = {
    "saved_gpu_hours": "saved GPU-h", "cut": "cut", "pretrend_p": "leads p", "placebo_p": "placebo p",
    "control_p": "control p", "ett_before": "ETT % before", "ett_after": "after", "weight_before": "weight % before",
    "weight_after": "weight % after", "tts_saved_s": "TTS saved s", "ttr_saved_s": "TTR saved s",
    "ttr_over_tts": "TTR/TTS", "rolled_out": "by rollout", "model_weeks": "model-weeks",
}  # fmt: skip
HOURS = {"low", "high", "first_in", "last_in", "shapley", "log_share", "rolled_out"}
PER_HUNDRED = {"before", "after", "change", "low", "high"}
EMPTY = dict.fromkeys(FRAMES, "there is nothing to show") | {
    "overlap": "no model had two optimizations of one part at different dates",
    "effects": "no optimization of the registry came inside the window",
    "study": "no optimization of the registry came inside the window",
}
"""What an empty frame means."""
SIGNED = {"points", "within", "mix", "entry", "exit", "ttr_over_tts", "frequency", "amount", "interaction"}


def arranged(found: Attribution, by: str | None = None, show: str = "credit") -> View:
    """Arrange an attribution as a finding: the headline, what it rests on, the table, the notes."""
    import polars as pl

    from ettlog.tables import View

    notes = [*_missing_registry(found.header), *found.notes, *_above_bound(found.credit)]
    header = [*headline(found), *_conventions(found.header)]
    if show != "credit":
        frame = getattr(found, show)
        above = [header[0], next(line for line in header if line.startswith("window: ")), f"shown: {FRAMES[show]}"]
        return View(frame, above, () if frame.height else (EMPTY[show],), _shown(show, frame))
    if by:
        return View(found.summary(by), header, notes, (Shown(by, by), *SUMMARY))
    fleet = found.credit.filter(pl.col("model") == WHOLE_FLEET)
    return View(found.credit, header, notes, CREDIT, readable=_with_total(fleet))


def _shown(show: str, frame: pl.DataFrame) -> tuple[Shown, ...]:
    """Return the columns of a frame for people: texts first as they stand, numbers by what their names say."""
    chosen = COLUMNS.get(show) or frame.columns
    return tuple(Shown(name, TITLES.get(name, name.replace("_", " ")), _kind(name, frame)) for name in chosen)


def _kind(name: str, frame: pl.DataFrame) -> str:
    if "component" in frame.columns and name in PER_HUNDRED:
        return "points" if name in ("change", "low", "high") else "ratio"
    if name in ("p", "q") or name.endswith("_p"):
        return "p"
    if name.startswith("nof"):
        return "hours"
    if not frame.schema[name].is_numeric():
        return "text"
    if frame.schema[name].is_integer():
        return "int"
    if name.endswith(("hours", "_s")) or name in HOURS:
        return "hours"
    if name.startswith(("ett", "weight")) or name == "cut":
        return "ratio"
    return "signed" if name in SIGNED else "number"


def headline(found: Attribution) -> Iterator[str]:
    """Yield the finding in a few sentences."""
    import polars as pl

    from ettlog.tables import count, human

    head = found.header
    points, saved = head["points"], head["saved_gpu_hours"]
    moved = "rose" if points >= 0 else "fell"
    before, after = (f"{100 * head[name]:.1f} %" for name in ("ett_before", "ett_after"))
    what = f"{human(abs(saved), 'hours')} GPU-hours of overhead {'saved' if saved >= 0 else 'added'}"
    yield (
        f"ETT {moved} by {abs(points):.1f} points, {before} to {after}: {what}, "
        f"over {count(head['models'], 'model')}, {count(head['jobs'], 'job')}, {count(head['starts'], 'start')}."
    )
    fleet = found.credit.filter(pl.col("model") == WHOLE_FLEET)
    claimed = fleet.filter(pl.col("optimization") != "")
    if not claimed.is_empty():
        won, recovered = (_saved(frame) for frame in (claimed, claimed.filter(pl.col("tier").is_in(IN_RECOVERY))))
        rest = f"what nobody may claim {'added' if won <= saved else 'took'} {human(abs(saved - won), 'hours')}"
        sums = f"{human(won, 'hours')} GPU-hours, {human(recovered, 'hours')} of them in recoveries"
        yield f"Optimizations saved {sums}; {rest}."
        daily, since = (_saved(claimed, name) for name in ("per_day_gpu_hours", "since_rollout_gpu_hours"))
        yield (
            f"Run-rate in each model's last period: {human(daily, 'hours')} GPU-hours saved a day; "
            f"cumulative since the rollouts: {human(since, 'hours')}."
        )


def _saved(frame: pl.DataFrame, column: str = "saved_gpu_hours") -> float:
    return float(frame[column].sum() or 0.0)


def _conventions(head: dict[str, Any]) -> Iterator[str]:
    since, until = (datetime.fromisoformat(head[name]) for name in ("since", "until"))
    yield f"window: [{since:%Y-%m-%d %H:%M:%S}, {until:%Y-%m-%d %H:%M:%S}) UTC, {head['window']}"
    yield f"counted: overhead {head['basis_text']} (basis {head['basis']}) · {head['aggregation']}"
    yield f"compared: {head['chain']}; baseline: {head['baseline']}"
    yield f"method: {head['method']}; {head['split']}"
    yield f"low and high: {head['interval']}, seed {head['seed']}"
    if head["nof"] is not None:
        bounds = f"{head['factor_low']:.2f} to {head['factor_high']:.2f}, {head['factor_method']}, n = {head['jobs']:,}"
        factor = f"direct + bound = {head['factor']:.2f} x direct (1 + NoF: {bounds})"
        yield f"NoF: {head['nof']:.2f} recoveries per job; {factor}"
    yield (
        "saved: measured; bound: recoveries x saving per first start; "
        "grade: B cause shown, C before and after, D declared"
    )


def _missing_registry(head: dict[str, Any]) -> Iterator[str]:
    if not head["optimizations"]:
        how = "write optimizations.toml beside the logs, or give --optimizations FILE"
        yield f"there is no registry of optimizations, so nothing can be credited to one: {how}"


def _above_bound(credit: pl.DataFrame) -> Iterator[str]:
    import polars as pl

    whole = credit.filter((pl.col("model") == WHOLE_FLEET) & (pl.col("optimization") != ""))
    above = whole.filter((pl.col("bound_gpu_hours") > 0) & (pl.col("saved_gpu_hours") > pl.col("bound_gpu_hours")))
    for name, saved, bound in above.select("optimization", "saved_gpu_hours", "bound_gpu_hours").iter_rows():
        yield (
            f"{name}: the measured cascade, {saved:,.0f} GPU-hours, is above its bound of {bound:,.0f}: "
            "recoveries saved more than first starts did"
        )


def _with_total(fleet: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    fleet = fleet.with_columns(pl.col("optimization").replace("", "(nobody)"))
    sums = fleet.select(pl.col("saved_gpu_hours", "share", "points").sum(), optimization=pl.lit("all"))
    return pl.concat([fleet, sums], how="diagonal")
