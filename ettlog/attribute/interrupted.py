"""One model only: an interrupted time series with a change of level and slope, and errors that remember yesterday."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ettlog.errors import NoDataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

ROUNDS, CLOSE = 50, 1e-10
LEAST = 8
"""Fewest points before and after the rollout: below, level, slope and memory cannot be told apart."""


class Fit(NamedTuple):
    """A regression with first-order autoregressive errors: coefficients, their covariance, memory, freedom."""

    beta: Array
    covariance: Array
    rho: float
    freedom: int


def glsar(y: Array, x: Array) -> Fit:
    """Fit y = x beta + u, u_t = rho u_(t-1) + e, by Cochrane and Orcutt: regress, take rho of the rest, whiten, again.

    `y` has n values in order, `x` shape (n, k). rho is the Yule-Walker estimate; the first point is lost by whitening.
    """
    rho, beta = 0.0, np.full(x.shape[1], np.inf)
    for _ in range(ROUNDS):
        white_x, white_y = x[1:] - rho * x[:-1], y[1:] - rho * y[:-1]
        found = np.linalg.lstsq(white_x, white_y, rcond=None)[0]
        if np.allclose(found, beta, rtol=CLOSE, atol=0.0):
            break
        beta, rho = found, _memory(y - x @ found)
    rest = white_y - white_x @ found
    freedom = len(white_y) - x.shape[1]
    spread = float(rest @ rest) / freedom
    return Fit(np.asarray(found), spread * np.linalg.pinv(white_x.T @ white_x), rho, freedom)


def _memory(rest: Array) -> float:
    """Return the lag-one correlation of the rest, each lag divided by its number of pairs (Yule and Walker)."""
    centred = rest - rest.mean()
    variance = float(centred @ centred) / len(centred)
    return float(centred[:-1] @ centred[1:]) / (len(centred) - 1) / variance if variance else 0.0


class Effect(NamedTuple):
    """The mean change after a rollout against the line of before, with its bounds and p; in the unit of the series."""

    change: float
    low: float
    high: float
    p: float
    expected: float
    """Mean of what the line of before foretells for the points after the rollout."""
    rho: float
    before: int
    after: int


def effect(series: Sequence[float] | Array, at: int, level: float = 0.95) -> Effect:
    """Return the mean effect from point `at` on: a change of level and of slope, with AR(1) errors and t bounds.

    Raises NoDataError where fewer than LEAST points lie on a side.
    """
    from scipy import stats

    y = np.asarray(series, dtype=np.float64)
    if min(at, len(y) - at) < LEAST:
        raise NoDataError(
            "the series is too short to be interrupted", where=f"{at} points before, {len(y) - at} after",
            why=f"level, slope and memory need {LEAST} on each side", todo="widen the window",
        )  # fmt: skip
    time = np.arange(len(y), dtype=np.float64)
    after = (time >= at).astype(np.float64)
    made = glsar(y, np.column_stack([np.ones_like(time), time, after, (time - at) * after]))
    contrast = np.array([0.0, 0.0, 1.0, (time - at)[at:].mean()])
    change, error = float(contrast @ made.beta), float(np.sqrt(contrast @ made.covariance @ contrast))
    half = float(stats.t.ppf((1 + level) / 2, made.freedom)) * error
    p = 2 * float(stats.t.sf(abs(change) / error, made.freedom)) if error else 0.0
    foretold = made.beta[0] + made.beta[1] * time[at:].mean()
    return Effect(change, change - half, change + half, p, float(foretold), made.rho, at, len(y) - at)
