"""The attribution itself: from a ledger frame and a registry to credit, intervals, header and notes."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ettlog.attribute import causes, credit, decompose, frames, intervals, notes, panel, tiers
from ettlog.errors import NoDataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl
    from numpy.typing import NDArray

    from ettlog.attribute.methods import Effects, Factors
    from ettlog.registry import Registry
    from ettlog.windows import Window

    Array = NDArray[np.float64]

BASES = ("work", "wall")
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


class Work(NamedTuple):
    """Everything one attribution needs, computed once."""

    panel: panel.Panel
    links: decompose.Links
    registry: Registry
    book: credit.Book
    change: decompose.Change
    basis: str
    method: Callable[[Factors, Factors], Effects]
    grades: dict[tuple[str, str], str]


def run(
    ledger: pl.DataFrame,
    registry: Registry,
    window: Window,
    *,
    basis: str = "work",
    method: Callable[[Factors, Factors], Effects],
    seed: int = 0,
    replicates: int = intervals.REPLICATES,
) -> Result:
    """Attribute the change inside a window; raises NoDataError where no model has both a before and an after."""
    if basis not in BASES:
        raise UsageError(
            f"{basis!r} is not a basis", where="--basis", why="the basis is `work` or `wall`",
            todo="use work (per effective GPU-hour) or wall (time-boxed runs)",
        )  # fmt: skip
    built = panel.build(ledger, registry, window, basis)
    made = decompose.links(built)
    if not made.ends:
        raise NoDataError(
            "no model has starts both before and after a change", where="ledger",
            why=f"{len(built.units)} models in the window; each lies on one side of its cut",
            todo="widen the window (--window, --since) or name rollouts in optimizations.toml",
        )  # fmt: skip
    totals = built.totals().astype(np.float64)[None]
    changed = decompose.change(built, made, totals, basis, method)
    effects = causes.effects(built, registry, window, seed)
    book = credit.open_book(built, made, registry)
    work = Work(built, made, registry, book, changed, basis, method, causes.grades(effects))
    rows, header = _rows(work, seed, replicates)
    table, models = frames.credit(rows), frames.models(built, made)
    header |= notes.header(work, window, models, seed, replicates)
    return Result(table, _ledger(work), models, effects, header, tuple(notes.sentences(work, table, models)))


def _ledger(work: Work) -> pl.DataFrame:
    """Return the exact ledger with the optimization that may claim each cell's amount."""
    cells = work.panel.cells
    claims = [[credit.claimed(work.registry, names, cell) for cell in cells] for names in work.links.names]
    scale = float(work.change.exposure[1][0]) / frames.GPU_HOUR
    return frames.ledger(work.panel, work.links, work.change, claims, scale)


def _rows(work: Work, seed: int, replicates: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return credit rows for all and by model, and the figures of the whole."""
    saved, bound = credit.post(work.book, work.change)
    hours = float(work.change.exposure[1][0]) / frames.GPU_HOUR
    o0, o1 = (float(side[0]) for side in work.change.overhead)
    whole = (o0 - o1) * hours
    per_hour = _points_per_hour(work.basis, o0, o1) / hours
    boot = _bootstrap(work, seed, replicates) if replicates else None
    counted = credit.executions(work.panel, work.links, work.registry, work.panel.totals())
    rows: list[dict[str, Any]] = []
    for name, group in _groups(work).items():
        figures = _figures(work, name, group, saved[0] * hours, bound[0] * hours, boot, counted)
        if _worth_a_row(figures):
            rows.extend(_finished(work, figures, whole, per_hour))
    ett = [_ett(work.basis, side) for side in (o0, o1)]
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
    """Return points of ETT per unit of saved overhead.

    Aumann-Shapley along the straight line gives every component its share of the change: points = dETT x do /
    sum(do), and dETT / sum(do) = 1 / ((1 + o0)(1 + o1)). On the wall basis ETT is 1 - overhead already.
    """
    return 100.0 if basis == "wall" else 100.0 / ((1.0 + o0) * (1.0 + o1))


def _groups(work: Work) -> dict[tuple[str, str, str], list[int]]:
    """Return (model or all, optimization, tier) -> places in the book."""
    found: dict[tuple[str, str, str], list[int]] = {}
    for index, row in enumerate(work.book.rows):
        model = work.panel.units[row.unit].model
        for scope in (frames.ALL, model):
            found.setdefault((scope, row.optimization, row.tier), []).append(index)
    return found


class _Boot(NamedTuple):
    """Replicated savings by row in GPU-hours (R, rows), and the jobs of every period of each unit."""

    hours: Array
    jobs: list[tuple[int, ...]]

    def single(self, unit: int) -> bool:
        """Tell whether a period of the unit holds one job, so that it shows no variance."""
        return min(self.jobs[unit]) < 2


def _bootstrap(work: Work, seed: int, n: int) -> _Boot:
    blocks: list[Array] = []
    for totals in intervals.replicates(work.panel, seed, n):
        good = totals[intervals.usable(totals, work.basis)]
        if len(good):
            made = decompose.change(work.panel, work.links, good, work.basis, work.method)
            saved, _ = credit.post(work.book, made)
            blocks.append(saved * made.exposure[1][:, None] / frames.GPU_HOUR)
    hours = np.concatenate(blocks) if blocks else np.zeros((0, len(work.book.rows)))
    counts, edges = work.panel.jobs().tolist(), work.panel.first_slot
    return _Boot(hours, [tuple(counts[a:b]) for a, b in pairwise(edges)])


class _Figures(NamedTuple):
    """One credit row in the making; all in GPU-hours."""

    model: str
    optimization: str
    tier: str
    saved: float
    bound: float
    low: float | None
    high: float | None
    executions: int | None
    note: str


def _figures(
    work: Work,
    name: tuple[str, str, str],
    places: list[int],
    saved: Array,
    bound: Array,
    boot: _Boot | None,
    counted: dict[credit.Row, int],
) -> _Figures:
    scope, optimization, tier = name
    mine = [work.book.rows[place] for place in places]
    low, high, note = _interval(mine, places, saved, boot)
    runs = sum(counted[row] for row in mine if row in counted) if optimization and tier != tiers.STEADY else None
    return _Figures(
        scope, optimization, tier, float(saved[places].sum()), float(bound[places].sum()), low, high, runs, note
    )


def _interval(
    rows: list[credit.Row], places: list[int], saved: Array, boot: _Boot | None
) -> tuple[float | None, float | None, str]:
    """Return (low, high, why not): refused where single jobs stand behind more than a fifth of the row."""
    if boot is None:
        return None, None, ""
    weight = np.abs(saved[places])
    alone = sum(float(w) for w, row in zip(weight, rows, strict=True) if boot.single(row.unit))
    if alone > FEW * float(weight.sum()) or (not weight.any() and all(boot.single(row.unit) for row in rows)):
        return None, None, "no interval: a period holds one job (n = 1)"
    if len(boot.hours) < intervals.REPLICATES // 4:
        return None, None, "no interval: too few jobs made progress"
    units = sorted({row.unit for row in rows if not boot.single(row.unit)})
    strata = tuple(sorted(n for unit in units for n in boot.jobs[unit]))
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
        "method": work.method.__name__, "executions": row.executions,
        "evidence": "D" if assumed else work.grades.get((name, row.tier), "C"),
        "note": notes.row(row, name, assumed),
    }  # fmt: skip
