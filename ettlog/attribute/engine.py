"""The attribution itself: from a ledger frame and a registry to credit, intervals, header and notes."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ettlog.attribute import (
    causes,
    celled,
    credit,
    decompose,
    frames,
    intervals,
    notes,
    pace,
    panel,
    points,
    realised,
    rivals,
    shifted,
    tiers,
)
from ettlog.attribute.choices import Choices, check
from ettlog.errors import NoDataError
from ettlog.summing import exact_sum

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from ettlog.registry import Registry
    from ettlog.windows import Window

    Array = NDArray[np.float64]

FEW = 0.2
"""Share of a row's saving that may come from models with a single job in a period before its interval is refused."""


class Result(NamedTuple):
    """The frames and texts of an attribution, before they are wrapped for users."""

    credit: pl.DataFrame
    ledger: pl.DataFrame
    models: pl.DataFrame
    effects: pl.DataFrame
    header: dict[str, Any]
    notes: tuple[str, ...]
    study: pl.DataFrame
    overlap: pl.DataFrame
    cells: pl.DataFrame
    shift: pl.DataFrame


class Work(NamedTuple):
    """Everything one attribution needs, computed once."""

    panel: panel.Panel
    links: decompose.Links
    registry: Registry
    book: credit.Book
    change: decompose.Change
    choices: Choices
    grades: dict[tuple[str, str], str]
    rivals: list[rivals.Rivals]
    window: Window


def run(ledger: pl.DataFrame, registry: Registry, window: Window, choices: Choices) -> Result:
    """Attribute the change inside a window; raises NoDataError where no model has both a before and an after."""
    check(choices)
    built = panel.build(ledger, registry, window, choices)
    made = decompose.links(built)
    if not made.ends:
        raise NoDataError(
            "no model has starts both before and after a change", where="ledger",
            why=f"{len(built.units)} models in the window; each lies on one side of its cut",
            todo="widen the window (--window, --since) or name rollouts in optimizations.toml",
        )  # fmt: skip
    totals = built.totals().astype(np.float64)[None]
    changed = decompose.change(built, made, totals, choices.basis, choices.method)
    found = causes.effects(built, registry, window, choices.seed)
    book = credit.open_book(built, made, registry)
    places = rivals.find(built, made, book)
    work = Work(built, made, registry, book, changed, choices, causes.grades(found.effects), places, window)
    rows, header = _rows(work)
    table, models = frames.credit(rows), frames.models(built, made)
    header |= notes.header(work, models)
    cells, moved = celled.frame(built, made), shifted.frame(built, made)
    return Result(
        table, _ledger(work), models, found.effects, header,
        tuple(notes.sentences(work, table, models, cells)), found.study,
        rivals.frame(built, book, changed, places, float(changed.exposure[1][0]) / frames.GPU_HOUR), cells, moved,
    )  # fmt: skip


def _ledger(work: Work) -> pl.DataFrame:
    """Return the exact ledger with the optimization that may claim each cell's amount."""
    cells = work.panel.cells
    claims = [[credit.claimed(work.registry, names, cell) for cell in cells] for names in work.links.names]
    scale = float(work.change.exposure[1][0]) / frames.GPU_HOUR
    return frames.ledger(work.panel, work.links, work.change, claims, scale)


def _posted(work: Work, made: decompose.Change) -> tuple[Array, Array]:
    """Return saving and bound by row, successive optimizations of one place sharing as chosen."""
    saved, bound = credit.post(work.book, made)
    if work.choices.split == "shapley" and work.rivals:
        saved = saved + rivals.shift(work.book, made, work.rivals, saved.shape[1])
    return saved, bound


def _rows(work: Work) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return credit rows for all and by model, and the figures of the whole."""
    saved, bound = _posted(work, work.change)
    hours = float(work.change.exposure[1][0]) / frames.GPU_HOUR
    o0, o1 = (float(side[0]) for side in work.change.overhead)
    whole = (o0 - o1) * hours
    per_hour = _points_per_hour(work.choices.basis, o0, o1) / hours
    sums = _Sums(saved[0] * hours, bound[0] * hours, *pace.rows(work), _bootstrap(work), pace.executions(work))
    rows: list[dict[str, Any]] = []
    for name, group in _groups(work).items():
        figures = _figures(work, name, group, sums)
        if _worth_a_row(figures):
            rows.extend(_finished(work, figures, whole, per_hour))
    ett = [_ett(work.choices.basis, side) for side in (o0, o1)]
    return rows, {
        "saved_gpu_hours": whole, "ett_before": ett[0], "ett_after": ett[1], "points": (ett[1] - ett[0]) * 100,
        "overhead_before": o0, "overhead_after": o1,
    }  # fmt: skip


def _worth_a_row(row: _Figures) -> bool:
    """Tell whether a row says something: claims always, the standing rows for the fleet, others when not zero."""
    standing = row.model == frames.ALL and row.tier in ("failure_count", "workload", "mix")
    return bool(row.optimization) or standing or row.saved != 0


def _ett(basis: str, overhead: float) -> float:
    """Return ETT from overhead per exposure: 1 - U/W, or 1 / (1 + U/E)."""
    return 1.0 - overhead if basis == "wall" else 1.0 / (1.0 + overhead)


def _points_per_hour(basis: str, o0: float, o1: float) -> float:
    """Return points of ETT per unit of saved overhead; on the wall basis ETT is 1 - overhead already."""
    return 100.0 if basis == "wall" else points.per_overhead(o0, o1)


def _groups(work: Work) -> dict[tuple[str, str, str], list[int]]:
    """Return (model or all, optimization, tier) -> places in the book."""
    found: dict[tuple[str, str, str], list[int]] = {}
    for index, row in enumerate(work.book.rows):
        model = work.panel.units[row.unit].model
        for scope in (frames.ALL, model):
            found.setdefault((scope, row.optimization, row.tier), []).append(index)
    return found


class _Boot(NamedTuple):
    """Replicated savings by row in GPU-hours (R, rows), and the clusters behind every period of each unit."""

    hours: Array
    clusters: list[tuple[int, ...]]

    def single(self, unit: int) -> bool:
        """Tell whether a period of the unit holds one cluster, so that it shows no variance."""
        return min(self.clusters[unit]) < 2


class _Sums(NamedTuple):
    """By row of the book, in GPU-hours: saving, bound, saving a day at the end, and since the rollout; and the rest."""

    saved: Array
    bound: Array
    daily: Array
    since: Array
    boot: _Boot | None
    counted: dict[credit.Row, int]


def _bootstrap(work: Work) -> _Boot | None:
    choices, blocks = work.choices, []
    if not choices.replicates:
        return None
    counts, edges = intervals.clusters(work.panel, choices.cluster), work.panel.first_slot
    stretched, claimed = realised.stretch(work.links, counts), credit.claims(work.book)
    for totals in intervals.replicates(work.panel, choices.seed, choices.replicates, choices.cluster):
        good = totals[intervals.usable(totals, choices.basis)]
        if len(good):
            made = decompose.change(work.panel, work.links, good, choices.basis, choices.method)
            more = realised.amount(work.change, made, stretched, claimed)
            made = made._replace(effects=made.effects._replace(amount=made.effects.amount + more))
            blocks.append(_posted(work, made)[0] * made.exposure[1][:, None] / frames.GPU_HOUR)
    hours = np.concatenate(blocks) if blocks else np.zeros((0, len(work.book.rows)))
    return _Boot(hours, [tuple(counts[a:b]) for a, b in pairwise(edges)])


class _Figures(NamedTuple):
    """One credit row in the making; all in GPU-hours."""

    model: str
    optimization: str
    tier: str
    saved: float
    bound: float
    daily: float
    since: float
    low: float | None
    high: float | None
    executions: int | None
    note: str


def _figures(work: Work, name: tuple[str, str, str], places: list[int], sums: _Sums) -> _Figures:
    scope, optimization, tier = name
    mine = [work.book.rows[place] for place in places]
    low, high, note = _interval(mine, places, sums.saved, sums.boot)
    counted = optimization and tier != tiers.STEADY
    runs = sum(sums.counted[row] for row in mine if row in sums.counted) if counted else None
    saved, bound, daily, since = (
        float(part[places].sum()) for part in (sums.saved, sums.bound, sums.daily, sums.since)
    )
    return _Figures(scope, optimization, tier, saved, bound, daily, since, low, high, runs, note)


def _interval(
    rows: list[credit.Row], places: list[int], saved: Array, boot: _Boot | None
) -> tuple[float | None, float | None, str]:
    """Return (low, high, why not): refused where single jobs stand behind more than a fifth of the row."""
    if boot is None:
        return None, None, ""
    weight = np.abs(saved[places])
    alone = exact_sum(float(w) for w, row in zip(weight, rows, strict=True) if boot.single(row.unit))
    if alone > FEW * float(weight.sum()) or (not weight.any() and all(boot.single(row.unit) for row in rows)):
        return None, None, "no interval: a period holds one job (n = 1)"
    if len(boot.hours) < intervals.REPLICATES // 4:
        return None, None, "no interval: too few jobs made progress"
    units = sorted({row.unit for row in rows if not boot.single(row.unit)})
    strata = tuple(sorted(n for unit in units for n in boot.clusters[unit]))
    low, high = intervals.bounds(boot.hours[:, places].sum(axis=1), float(saved[places].sum()), strata)
    return low, high, ""


def _finished(work: Work, row: _Figures, whole: float, per_hour: float) -> list[dict[str, Any]]:
    """Return the row as dictionaries of the credit table: one, or one per member of a bundle with declared cuts."""
    shares = credit.bundle_shares(work.registry, row.optimization) if " + " in row.optimization else None
    if shares is None:
        return [_line(work, row, row.optimization, 1.0, whole, per_hour)]
    return [_line(work, row, name, share, whole, per_hour) for name, share in shares.items()]


def _line(work: Work, row: _Figures, name: str, share: float, whole: float, per_hour: float) -> dict[str, Any]:
    saved = row.saved * share
    assumed = name != row.optimization
    has_bound = row.tier == "cascade" and bool(name)
    return {
        "optimization": name, "owner": work.registry.owner(name) if name else "", "tier": row.tier, "model": row.model,
        "saved_gpu_hours": saved, "share": saved / whole if whole else None, "points": saved * per_hour,
        "bound_gpu_hours": row.bound * share if has_bound else None,
        "low": None if row.low is None else row.low * share, "high": None if row.high is None else row.high * share,
        "method": work.choices.method.__name__, "executions": row.executions,
        "evidence": "D" if assumed else work.grades.get((name, row.tier), "C"),
        "note": notes.row(row, name, assumed),
        "per_day_gpu_hours": row.daily * share if name else None,
        "since_rollout_gpu_hours": row.since * share if name else None,
    }  # fmt: skip
