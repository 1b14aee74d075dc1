"""Cause, not only before and after: Poisson imputation on staggered rollouts, with its gates and a randomisation p.

A panel has one row per unit and one column per week: `amount` is a component's GPU time, `starts` its exposure,
`rollout[u]` the week from which unit u is treated (a number past the last week: never). Untreated cells teach what a
unit and a week cost per start; what treated cells would have cost at that rate, less what they did cost, was saved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

ROUNDS, CLOSE, ROUGH = 2_000, 1e-12, 1e-6
LEADS = 4
"""Weeks before the rollout that are tested for a change that came too early."""
ENOUGH_CELLS, ENOUGH_WEEKS, ENOUGH_UNITS = 8, 3, 8
LATE_P = 0.05


class Fit(NamedTuple):
    """The two-way fit of untreated cells: per unit and week; weeks and units without an untreated cell are NaN."""

    unit: Array
    week: Array


class Effect(NamedTuple):
    """A saving by imputation, in the unit of `amount`; `grade` is B when every gate holds, else C (before/after)."""

    saved: float
    share: float
    low: float | None
    high: float | None
    p: float | None
    pretrend_p: float | None
    units: int
    untreated_cells: int
    dropped_cells: int
    grade: str
    why: str


def treated(rollout: Ints, weeks: int) -> Mask:
    """Return which cells lie at or after their unit's rollout: (units, weeks)."""
    return np.asarray(np.arange(weeks)[None, :] >= rollout[:, None])


def fit(amount: Array, starts: Array, untreated: Mask, close: float = CLOSE) -> Fit:
    """Fit amount = starts x unit x week on untreated cells by proportional scaling: the Poisson two-way fixed-effect
    fit.
    """
    use = untreated & (starts > 0)
    x, n = np.where(use, amount, 0.0), np.where(use, starts, 0.0)
    unit, week = np.ones(len(x)), np.ones(x.shape[1])
    by_unit, by_week = x.sum(axis=1), x.sum(axis=0)
    for _ in range(ROUNDS):
        old = unit
        unit = _scaled(by_unit, n @ week)
        week = _scaled(by_week, unit @ n)
        if np.allclose(unit, old, rtol=close, atol=0.0):
            break
    return Fit(np.where(use.any(axis=1), unit, np.nan), np.where(use.any(axis=0), week, np.nan))


def _scaled(sums: Array, base: Array) -> Array:
    return np.where(base > 0, sums / np.where(base > 0, base, 1.0), 0.0)


def saved(amount: Array, starts: Array, rollout: Ints, close: float = CLOSE) -> tuple[float, float, int]:
    """Return (saving, counterfactual, cells dropped): treated cells of weeks or units that nothing untreated tells
    of.
    """
    mask = treated(rollout, amount.shape[1])
    made = fit(amount, starts, ~mask, close)
    would = starts * made.unit[:, None] * made.week[None, :]
    cells = mask & (starts > 0)
    known = cells & np.isfinite(would)
    return float((would - amount)[known].sum()), float(would[known].sum()), int((cells & ~known).sum())


def randomisation_p(amount: Array, starts: Array, rollout: Ints, seed: int = 0, draws: int = 399) -> float:
    """Return the p of no effect: how often rollouts dealt out anew among the units save as much, two-sided, as a
    share.

    Only the dates are permuted, so it holds for few units and any distribution.
    """
    rng = np.random.default_rng(seed)
    mine = abs(_share(amount, starts, rollout))
    others = [abs(_share(amount, starts, rng.permutation(rollout))) for _ in range(draws)]
    return (1 + sum(other >= mine - 1e-12 for other in others)) / (draws + 1)


def _share(amount: Array, starts: Array, rollout: Ints) -> float:
    won, would, _ = saved(amount, starts, rollout, ROUGH)
    return won / would if would > 0 else 0.0


def bootstrap(amount: Array, starts: Array, rollout: Ints, seed: int = 0, draws: int = 399) -> tuple[float, float]:
    """Return the 95 % percentile interval of the saving; whole units are drawn again."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(draws):
        pick = rng.integers(0, len(rollout), len(rollout))
        found.append(saved(amount[pick], starts[pick], rollout[pick], ROUGH)[0])
    low, high = np.percentile(found, (2.5, 97.5))
    return float(low), float(high)


def pretrend_p(amount: Array, starts: Array, rollout: Ints, seed: int = 0, draws: int = 399) -> float | None:
    """Return the p that the weeks just before the rollout already differed: the leads, dealt out anew like the dates.

    The last LEADS weeks before each rollout are held out of the fit and imputed; None where too little is left.
    """
    early = np.where(rollout < amount.shape[1], np.maximum(rollout - LEADS, 1), rollout)
    before = ~treated(rollout, amount.shape[1])
    held, counts = np.where(before, amount, 0.0), np.where(before, starts, 0.0)
    if not (treated(early, amount.shape[1]) & before & (starts > 0)).any():
        return None
    return randomisation_p(held, counts, early.astype(np.int64), seed, draws)


def estimate(amount: Array, starts: Array, rollout: Ints, seed: int = 0, draws: int = 399) -> Effect:
    """Return the saving with interval, p and grade; below eight units p only, and the gates that fail are named."""
    won, would, dropped = saved(amount, starts, rollout)
    mask = treated(rollout, amount.shape[1])
    cells = int((~mask & (starts > 0)).sum())
    units = int((starts.sum(axis=1) > 0).sum())
    lead = pretrend_p(amount, starts, rollout, seed, draws)
    failed = gates(starts, rollout, lead)
    low, high = bootstrap(amount, starts, rollout, seed, draws) if units >= ENOUGH_UNITS else (None, None)
    return Effect(
        won, won / would if would > 0 else 0.0, low, high, randomisation_p(amount, starts, rollout, seed, draws), lead,
        units, cells, dropped, "C" if failed else "B", "; ".join(failed) or "all gates hold",
    )  # fmt: skip


def gates(starts: Array, rollout: Ints, lead_p: float | None) -> list[str]:
    """Return the gates that do not hold; with none left, an effect may be called caused by the rollout."""
    weeks = starts.shape[1]
    mask = treated(rollout, weeks)
    untreated = ~mask & (starts > 0)
    ever = (rollout < weeks) & (starts.sum(axis=1) > 0)
    failed = []
    if untreated.sum() < ENOUGH_CELLS:
        failed.append(f"only {int(untreated.sum())} untreated model-weeks, {ENOUGH_CELLS} needed")
    if ever.any() and (untreated & ever[:, None]).sum(axis=1)[ever].min() < ENOUGH_WEEKS:
        failed.append(f"a model has fewer than {ENOUGH_WEEKS} weeks before its rollout")
    if ((mask & (starts > 0)).any(axis=0) & ~untreated.any(axis=0)).any():
        failed.append("weeks without any untreated model")
    if lead_p is None or lead_p < LATE_P:
        failed.append(
            "no weeks to test before the rollout"
            if lead_p is None
            else f"it changed before the rollout (p {lead_p:.3f})"
        )
    return failed


def separable(rollouts: dict[str, Ints], weeks: int) -> list[frozenset[str]]:
    """Return the groups of optimizations whose effects cannot be told apart; each separable one is a group of its
    own.

    The model x week matrix of each rollout, less its unit and week means, is a column; what lies in the same null
    space is one bundle. `rollouts` maps an optimization to the week it began in each unit.
    """
    names = sorted(rollouts)
    columns = np.stack([_demeaned(treated(rollouts[name], weeks)) for name in names], axis=1)
    _, sizes, right = np.linalg.svd(columns, full_matrices=True)
    scale = max(float(sizes[0]), 1.0) if len(sizes) else 1.0
    rank = int((sizes > 1e-9 * scale).sum())
    null = right[rank:]
    groups = {name: {name} for name in names}
    for vector in null:
        together = {name for name, weight in zip(names, vector, strict=True) if abs(weight) > 1e-6}
        joined = set().union(*(groups[name] for name in together)) if together else set()
        groups.update(dict.fromkeys(joined, joined))
    return sorted({frozenset(group) for group in groups.values()}, key=sorted)


def _demeaned(mask: Mask) -> Array:
    x = mask.astype(np.float64)
    return np.asarray((x - x.mean(axis=1, keepdims=True) - x.mean(axis=0, keepdims=True) + x.mean()).ravel())
