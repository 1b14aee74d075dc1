"""How an attribution reads: the headline, what it rests on, the table, the notes."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

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


def arranged(found: Attribution, by: str | None = None) -> View:
    """Arrange an attribution as a finding: the headline, what it rests on, the table, the notes."""
    import polars as pl

    from ettlog.tables import View

    notes = [*_missing_registry(found.header), *found.notes, *_above_bound(found.credit)]
    header = [*headline(found), *_conventions(found.header)]
    if by:
        return View(found.summary(by), header, notes, (Shown(by, by), *SUMMARY))
    fleet = found.credit.filter(pl.col("model") == WHOLE_FLEET)
    return View(found.credit, header, notes, CREDIT, readable=_with_total(fleet))


def headline(found: Attribution) -> Iterator[str]:
    """Yield the finding in a sentence or two."""
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


def _saved(frame: pl.DataFrame) -> float:
    return float(frame["saved_gpu_hours"].sum() or 0.0)


def _conventions(head: dict[str, Any]) -> Iterator[str]:
    since, until = (datetime.fromisoformat(head[name]) for name in ("since", "until"))
    yield f"window: [{since:%Y-%m-%d %H:%M:%S}, {until:%Y-%m-%d %H:%M:%S}) UTC, {head['window']}"
    yield (
        f"counted: overhead {head['basis_text']} (basis {head['basis']}) · {head['aggregation']} · "
        f"method {head['method']} · low and high: {head['interval']}"
    )
    if head["nof"] is not None:
        bound = f"direct and bound together are {head['factor']:.2f} x direct (1 + NoF)"
        yield f"NoF: {head['nof']:.2f} recoveries per job; {bound}"


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
