"""Cause, not only before and after: Poisson imputation on staggered rollouts, with its gates and a randomisation p.

A panel has one row per unit and one column per week: `amount` is a component's GPU time, `starts` its exposure,
`rollout[u]` the week from which unit u is treated (a number past the last week: never). Untreated cells teach what a
unit and a week cost per start; what treated cells would have cost at that rate, less what they did cost, was saved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ettlog.summing import exact_sum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

ROUNDS, CLOSE = 2_000, 1e-12
QUICK, ROUGH = 60, 1e-6
"""Rounds and closeness of the fits that are made hundreds of times: zeros can make the last digits take for ever."""
LEADS = 4
"""Weeks before the rollout that are tested for a change that came too early."""
ENOUGH_CELLS, ENOUGH_WEEKS, ENOUGH_UNITS = 8, 3, 8
LATE_P = 0.05


class Fit(NamedTuple):
    """The two-way fit of untreated cells, per unit and week; NaN where nothing untreated that costs tells of it."""

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
    placebo_p: float | None
    control_p: float | None
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
    for _ in range(ROUNDS if close < ROUGH else QUICK):
        old = unit
        unit = _scaled(by_unit, n @ week)
        week = _scaled(by_week, unit @ n)
        if (np.abs(unit - old) <= close * old).all():
            break
    told = unit @ n > 0
    return Fit(np.where(n @ week > 0, unit, np.nan), np.where(told, week, np.nan))


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


class Leads(NamedTuple):
    """Two tests of the weeks just before the rollouts, by dealing the dates out anew; None where too little is left.

    `joint` asks whether any of the last LEADS weeks differs from the fit of the weeks before; `placebo` whether a
    rollout LEADS weeks too early would have saved anything.
    """

    joint: float | None
    placebo: float | None


def leads(amount: Array, starts: Array, rollout: Ints, seed: int = 0, draws: int = 399) -> Leads:
    """Test the weeks before the rollout: the last LEADS of them are held out of the fit and imputed."""
    weeks = amount.shape[1]
    early = np.where(rollout < weeks, np.maximum(rollout - LEADS, 1), rollout).astype(np.int64)
    before = ~treated(rollout, weeks)
    held, counts = np.where(before, amount, 0.0), np.where(before, starts, 0.0)
    if not (treated(early, weeks) & before & (starts > 0)).any():
        return Leads(None, None)
    rng = np.random.default_rng(seed)
    mine = _lead_sums(held, counts, early)
    others = [_lead_sums(held, counts, rng.permutation(early)) for _ in range(draws)]
    each = zip(*others, strict=True)
    joint, placebo = (
        (1 + sum(o >= m - 1e-12 for o in other)) / (draws + 1) for m, other in zip(mine, each, strict=True)
    )
    return Leads(joint, placebo)


def _lead_sums(amount: Array, starts: Array, rollout: Ints) -> tuple[float, float]:
    """Return the sum of squared relative gaps by week since the rollout, and the absolute gap of all of them."""
    gaps = [share for _, share, _ in by_week(amount, starts, rollout) if np.isfinite(share)]
    return exact_sum(gap**2 for gap in gaps), abs(_share(amount, starts, rollout))


def by_week(amount: Array, starts: Array, rollout: Ints, close: float = ROUGH) -> list[tuple[int, float, int]]:
    """Return (weeks since the rollout, share saved, cells) of treated cells that something untreated tells of."""
    weeks = amount.shape[1]
    mask = treated(rollout, weeks)
    made = fit(amount, starts, ~mask, close)
    would = starts * made.unit[:, None] * made.week[None, :]
    use = mask & (starts > 0) & np.isfinite(would)
    since = (np.arange(weeks)[None, :] - rollout[:, None])[use]
    if not len(since):
        return []
    base = np.bincount(since, weights=would[use])
    spent, cells = np.bincount(since, weights=amount[use]), np.bincount(since)
    return [(week, 1 - spent[week] / base[week], int(cells[week])) for week in np.nonzero(base > 0)[0].tolist()]


def event_study(amount: Array, starts: Array, rollout: Ints) -> list[tuple[int, float, int]]:
    """Return (weeks since the rollout, share saved, cells): LEADS weeks before it, held out of the fit, and all after.

    The weeks before should lie around zero, as what they hold out is foretold by still earlier ones.
    """
    weeks = amount.shape[1]
    before = ~treated(rollout, weeks)
    early = np.where(rollout < weeks, np.maximum(rollout - LEADS, 1), rollout).astype(np.int64)
    # a unit whose rollout came in its first weeks has fewer leads, so weeks are counted from its own rollout
    ahead = by_week(
        np.where(before, amount, 0.0), np.where(before & (rollout >= LEADS + 1)[:, None], starts, 0.0), early
    )
    return [(week - LEADS, share, cells) for week, share, cells in ahead] + by_week(amount, starts, rollout)


def estimate(
    amount: Array, starts: Array, rollout: Ints, seed: int = 0, draws: int = 399, control: Array | None = None
) -> Effect:
    """Return the saving with interval, p and grade; below eight units p only, and the gates that fail are named.

    `control` is the GPU time of parts that nothing worked on, (units, weeks): a rollout that seems to move it is no
    cause of anything.
    """
    won, would, dropped = saved(amount, starts, rollout)
    cells = int((~treated(rollout, amount.shape[1]) & (starts > 0)).sum())
    units = int((starts.sum(axis=1) > 0).sum())
    made = _checked(amount, starts, rollout, seed, draws, control)
    low, high = bootstrap(amount, starts, rollout, seed, draws) if units >= ENOUGH_UNITS else (None, None)
    unseen = "" if control is not None or made.early.joint is None else "; no unaffected part to compare with"
    return Effect(
        won, won / would if would > 0 else 0.0, low, high, randomisation_p(amount, starts, rollout, seed, draws),
        made.early.joint, made.early.placebo, made.control_p, units, cells, dropped, "C" if made.failed else "B",
        ("; ".join(made.failed) or "all gates hold") + unseen,
    )  # fmt: skip


def gates(starts: Array, rollout: Ints) -> list[str]:
    """Return the gates of the design that do not hold: without enough untreated cells nothing can be tested."""
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
    return failed


class Checks(NamedTuple):
    """What was tested beside the effect itself, and the sentences of the gates that failed."""

    early: Leads
    control_p: float | None
    failed: list[str]


def _checked(amount: Array, starts: Array, rollout: Ints, seed: int, draws: int, control: Array | None) -> Checks:
    """Test the gates; the leads and the negative control only where the design itself holds."""
    failed = gates(starts, rollout)
    if failed:
        return Checks(Leads(None, None), None, failed)
    early = leads(amount, starts, rollout, seed, draws)
    beside = None if control is None else randomisation_p(control, starts, rollout, seed, draws)
    return Checks(early, beside, [*_moved_early(early), *_moved_elsewhere(beside)])


def _moved_early(early: Leads) -> list[str]:
    if early.joint is None or early.placebo is None:
        return ["no weeks to test before the rollout"]
    if early.joint < LATE_P:
        return [f"it changed before the rollout (leads, p {early.joint:.3f})"]
    if early.placebo < LATE_P:
        return [f"a date {LEADS} weeks before the rollout shows an effect too (placebo, p {early.placebo:.3f})"]
    return []


def _moved_elsewhere(control_p: float | None) -> list[str]:
    moved = control_p is not None and control_p < LATE_P
    return [f"parts nobody worked on moved too (negative control, p {control_p:.3f})"] if moved else []


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
