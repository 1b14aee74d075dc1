"""Several rollouts on one place at their own dates: one regression for all, and bundles where it cannot tell them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ettlog.attribute import staggered

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Ints = NDArray[np.int64]


class Joint(NamedTuple):
    """The joint effect of a bundle (mostly of one optimization) on the logarithm of cost per start."""

    names: frozenset[str]
    log_effect: float
    error: float

    @property
    def cut(self) -> float:
        """Return the share saved, 1 - exp(log effect)."""
        return float(1 - np.exp(self.log_effect))


def imputed_log(amount: Array, starts: Array, rollout: Ints) -> float:
    """Return the mean effect on ln(amount / starts) over treated cells, by imputation from the untreated ones.

    The scale on which effects are seen soonest; not that of hours, as it weighs a rare huge start like any other.
    """
    use = (starts > 0) & (amount > 0)
    mask = staggered.treated(rollout, amount.shape[1])
    y = np.log(np.where(use, amount, 1.0) / np.where(use, starts, 1.0))
    unit, week = np.nonzero(use & ~mask)
    x = np.concatenate([np.eye(len(y))[unit], np.eye(y.shape[1])[week]], axis=1)
    beta = np.linalg.lstsq(x, y[unit, week], rcond=1e-9)[0]
    known = use & mask & np.isin(np.arange(len(y)), unit)[:, None] & np.isin(np.arange(y.shape[1]), week)[None, :]
    foretold = beta[: len(y), None] + beta[None, len(y) :]
    return float((y - foretold)[known].mean())


def effects(amount: Array, starts: Array, rollouts: dict[str, Ints]) -> list[Joint]:
    """Fit ln(amount / starts) = unit + week + sum of effects; (units, weeks) arrays, and each one's first week by unit.

    Log-additive two-way fixed effects: right where effects multiply and stay as they are from the rollout on. What the
    rank of the rollout matrix cannot tell apart is one bundle with the sum of its effects.
    """
    names = sorted(rollouts)
    units, weeks = amount.shape
    cells = (starts > 0) & (amount > 0)
    y = np.log(amount[cells] / starts[cells])
    unit, week = np.nonzero(cells)
    base = np.concatenate([np.eye(units)[unit], np.eye(weeks)[week][:, 1:]], axis=1)
    marks = np.stack([staggered.treated(rollouts[name], weeks)[cells] for name in names], axis=1).astype(np.float64)
    x = np.concatenate([base, marks], axis=1)
    beta, _, rank, _ = np.linalg.lstsq(x, y, rcond=1e-9)
    rest = y - x @ beta
    spread = float(rest @ rest) / max(len(y) - int(rank), 1)
    covariance = spread * np.linalg.pinv(x.T @ x, rcond=1e-9)
    found = []
    for group in staggered.separable(rollouts, weeks):
        places = [base.shape[1] + names.index(name) for name in sorted(group)]
        error = float(np.sqrt(max(covariance[np.ix_(places, places)].sum(), 0.0)))
        found.append(Joint(group, float(beta[places].sum()), error))
    return found
