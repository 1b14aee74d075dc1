"""Failures: rates with their intervals, expected ETT at any scale, and the checkpoint interval they ask for.

Times have one unit throughout; `mttf` is the mean time to failure of the whole job (of N GPUs: 1 / (N x rate)).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ettlog.attribute.uncertainty import Interval
from ettlog.summing import exact_sum

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

OVERDISPERSED_P = 0.05


def garwood(count: int, exposure: float, level: float = 0.95) -> Interval:
    """Return the rate count / exposure with the exact Poisson interval: chi2(a/2, 2k)/2 to chi2(1 - a/2, 2k +
    2)/2.
    """
    from scipy import stats

    tail = (1 - level) / 2
    low = float(stats.chi2.ppf(tail, 2 * count)) / 2 if count else 0.0
    high = float(stats.chi2.ppf(1 - tail, 2 * count + 2)) / 2
    return Interval(count / exposure, low / exposure, high / exposure, count, "exact Poisson")


def failure_rate(counts: Sequence[int], exposures: Sequence[float], level: float = 0.95) -> Interval:
    """Return the rate over jobs: exact while the jobs look Poisson, else a log interval with the jobs as clusters.

    Failures come in bursts, and then the Poisson interval is far too narrow; Pearson's dispersion test decides.
    """
    from scipy import stats

    k, x = np.asarray(counts, dtype=np.float64), np.asarray(exposures, dtype=np.float64)
    rate = float(k.sum() / x.sum())
    exact = garwood(int(k.sum()), float(x.sum()), level)
    if len(k) < 2 or rate == 0:
        return exact
    pearson = float((((k - rate * x) ** 2) / (rate * x)).sum())
    if stats.chi2.sf(pearson, len(k) - 1) > OVERDISPERSED_P:
        return exact
    error = math.sqrt(len(k) / (len(k) - 1) * float(((k - rate * x) ** 2).sum())) / float(k.sum())
    wide = math.exp(float(stats.t.ppf((1 + level) / 2, len(k) - 1)) * error)
    return Interval(rate, rate / wide, rate * wide, int(k.sum()), "log-t by job, overdispersed")


class Ratio(NamedTuple):
    """The ratio of two rates, the second over the first, with its exact conditional bounds and p."""

    ratio: float
    low: float
    high: float
    p: float


def rate_ratio(counts: tuple[int, int], exposures: tuple[float, float], level: float = 0.95) -> Ratio:
    """Compare two Poisson rates exactly, (before, after): given their sum, the second count is binomial.

    The interval is Clopper and Pearson's, turned into a ratio; infinite where the first count is zero. Exact only
    while failures do not come in bursts.
    """
    from scipy import stats

    whole = sum(counts)
    odds = exposures[0] / exposures[1]
    if whole == 0:
        return Ratio(float("nan"), 0.0, math.inf, 1.0)
    found = stats.binomtest(counts[1], whole, exposures[1] / exact_sum(exposures))
    low, high = found.proportion_ci(level, method="exact")
    edges = [share / (1 - share) * odds if share < 1 else math.inf for share in (low, counts[1] / whole, high)]
    return Ratio(edges[1], edges[0], edges[2], float(found.pvalue))


def shrunk(counts: Sequence[int], exposures: Sequence[float]) -> Array:
    """Return rates of many small groups drawn toward the pooled one: gamma-Poisson, moments of the groups
    themselves.
    """
    k, x = np.asarray(counts, dtype=np.float64), np.asarray(exposures, dtype=np.float64)
    rate = float(k.sum() / x.sum())
    spread = float((x * (k / x - rate) ** 2).sum() - (len(k) - 1) * rate) / float(x.sum() - (x**2).sum() / x.sum())
    if spread <= 0:
        return np.full(len(k), rate)
    shape, weight = rate**2 / spread, rate / spread
    return np.asarray((k + shape) / (x + weight))


def expected_ett(work: float, interval: float, start: float, mttf: float, queue: float = 0.0) -> float:
    """Return the expected ETT of a job with exponential failures and checkpoints that cost nothing (exact renewal
    form).

    `work` is its effective time, `interval` that between checkpoints, `start` the time of every start and `queue` the
    wait before it, in which nothing fails. A segment of length d that begins with a start costs on average Er = e^{L
    y} queue + (e^{L y} - 1) / L with y = start + d, L = 1 / mttf; a later one p / L + p Er with p = 1 - e^{-L d}.
    """
    rate = 1.0 / mttf
    whole, rest = divmod(work, interval)
    total = 0.0
    for index, length in enumerate([interval] * int(whole) + ([rest] if rest > 1e-12 * interval else [])):
        growth = math.exp(rate * (start + length))
        begun = growth * queue + (growth - 1) / rate
        fails = -math.expm1(-rate * length)
        total += begun if index == 0 else fails / rate + fails * begun
    return work / total


def approximate_ett(interval: float, restart: float, mttf: float, save: float = 0.0) -> float:
    """Return the published first-order ETT, (1 - (restart + interval/2) / mttf) / (1 + save/interval): long jobs
    only.
    """
    return (1 - (restart + interval / 2) / mttf) / (1 + save / interval)


def young(save: float, mttf: float) -> float:
    """Return Young's checkpoint interval, sqrt(2 x save x mttf)."""
    return math.sqrt(2 * save * mttf)


def daly(save: float, mttf: float) -> float:
    """Return Daly's higher-order interval; the mean time to failure itself where a save takes twice that or more."""
    if save >= 2 * mttf:
        return mttf
    x = math.sqrt(save / (2 * mttf))
    return math.sqrt(2 * save * mttf) * (1 + x / 3 + x * x / 9) - save


def best_interval(save: float, mttf: float) -> float:
    """Return the exact best interval under exponential failures, mttf x (1 + W0(-e^{-1 - save/mttf}))."""
    from scipy.special import lambertw

    return mttf * (1 + float(lambertw(-math.exp(-1 - save / mttf)).real))


def wasted_share(interval: float, save: float, mttf: float) -> float:
    """Return the share of loop time lost to saves and to work done again: save/interval + interval/(2 mttf)."""
    return save / interval + interval / (2 * mttf)


class Advice(NamedTuple):
    """A checkpoint interval as a range over the interval of the failure rate, and what it would win (shares of loop
    time).
    """

    low: float
    best: float
    high: float
    wasted_now: float
    wasted_then: float

    @property
    def worth_saying(self) -> bool:
        """Tell whether the gain is above one percent of the loop: the curve is flat around its best point."""
        return self.wasted_now - self.wasted_then > 0.01


def advise(interval: float, save: float, mttf: Interval) -> Advice:
    """Return the range of intervals for a measured save stall and a mean time to failure with its bounds."""
    low, best, high = (best_interval(save, value) for value in (mttf.low, mttf.estimate, mttf.high))
    now, then = (wasted_share(value, save, mttf.estimate) for value in (interval, best))
    return Advice(low, best, high, now, then)
