"""Where imputation has nothing to stand on: a rollout everywhere on one date, or one treated model among others."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ettlog.attribute import interrupted, staggered, synthetic
from ettlog.errors import NoDataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Ints = NDArray[np.int64]


class Effect(NamedTuple):
    """A saving in the unit of `amount`, the share saved, bounds where there are any, p, and how it was had."""

    estimator: str
    saved: float
    cut: float
    low: float | None
    high: float | None
    p: float
    models: int
    why: str


def effect(amount: Array, starts: Array, rollout: Ints) -> Effect | None:
    """Return the effect of one date for all (interrupted series) or of one model (synthetic control); else None.

    `amount` and `starts` have shape (units, weeks). Both compare one thing with itself or with few: before/after, C.
    """
    weeks = amount.shape[1]
    held = starts.sum(axis=1) > 0
    treated = held & (rollout < weeks)
    dates = set(rollout[treated].tolist())
    if treated.sum() == 1 and held.sum() > 1:
        return _mixture(amount, starts, int(np.argmax(treated)), rollout)
    if len(dates) == 1 and treated.sum() == held.sum():
        return _series(amount, starts, dates.pop(), int(held.sum()))
    return None


def _series(amount: Array, starts: Array, at: int, models: int) -> Effect | None:
    """Interrupt the weekly time per start, each unit taken at its own mix: sums over units of one date."""
    came = starts.sum(axis=0)
    seen = came > 0
    series = amount.sum(axis=0)[seen] / came[seen]
    try:
        found = interrupted.effect(series, int(seen[:at].sum()))
    except NoDataError:
        return None
    events = float(came[at:].sum())
    why = f"one date for all: AR(1) with rho {found.rho:.2f}, {found.before} weeks before and {found.after} after"
    cut = -found.change / found.expected if found.expected > 0 else 0.0
    return Effect(
        "interrupted series",
        -found.change * events,
        cut,
        -found.high * events,
        -found.low * events,
        found.p,
        models,
        why,
    )


def _mixture(amount: Array, starts: Array, unit: int, rollout: Ints) -> Effect | None:
    """Compare the logarithm of the one treated unit's time per start with a mixture of the untreated ones."""
    use = (starts[unit] > 0) & (amount[unit] > 0)
    others = [
        other for other in range(len(starts))
        if other != unit and (starts[other][use] > 0).all() and (amount[other][use] > 0).all()
    ]  # fmt: skip
    if not others or not use.any():
        return None
    logs = np.log(amount[:, use][[unit, *others]] / starts[:, use][[unit, *others]])
    try:
        found = synthetic.effect(logs[0], logs[1:].T, int(use[: rollout[unit]].sum()))
    except NoDataError:
        return None
    after = staggered.treated(rollout, amount.shape[1])[unit] & use
    spent = amount[unit][after]
    saved = float((spent * np.expm1(-found.gap[after[use]])).sum())
    why = f"one treated model against a mixture of {len(others)}: no p below {found.floor:.2f} is possible"
    return Effect(
        "synthetic control", saved, saved / (saved + float(spent.sum())), None, None, found.p, 1 + len(others), why
    )
