"""Groups that fail more than chance allows: gamma-Poisson posteriors, exact tails, false discoveries held down."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ettlog.attribute.uncertainty import benjamini_hochberg

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

TIMES = 2.0
"""A lemon fails more than so many times as often as all groups together."""
RATE = 0.05
"""Share of the groups called lemons that may be none."""


class Prior(NamedTuple):
    """What the groups have in common: rates are gamma with this shape, and this exposure as its weight.

    Infinite both where the groups differ no more than chance makes them: then each has the pooled rate.
    """

    shape: float
    weight: float


class Posterior(NamedTuple):
    """What is known of each group: `rate` drawn toward the pooled one, its 95 % bounds, the chance `exceeds` that it
    is above TIMES the pooled rate, and p and q of so many events or more at the pooled rate.
    """

    rate: Array
    low: Array
    high: Array
    exceeds: Array
    p: Array
    q: Array


def prior(counts: Sequence[int] | Array, exposures: Sequence[float] | Array) -> Prior:
    """Return the prior by the moments of the groups themselves (empirical Bayes).

    Between-group variance: (sum x (k/x - r)^2 - (n - 1) r) / (sum x - sum x^2 / sum x), with r the pooled rate.
    """
    k, x = np.asarray(counts, dtype=np.float64), np.asarray(exposures, dtype=np.float64)
    rate = float(k.sum() / x.sum())
    base = float(x.sum() - (x**2).sum() / x.sum())
    spread = (float((x * (k / x - rate) ** 2).sum()) - (len(k) - 1) * rate) / base if base > 0 else 0.0
    return Prior(rate**2 / spread, rate / spread) if spread > 0 else Prior(np.inf, np.inf)


def posterior(counts: Sequence[int] | Array, exposures: Sequence[float] | Array, level: float = 0.95) -> Posterior:
    """Return what is known of every group of positive exposure; events per unit of exposure.

    A group of k events in x is Gamma(shape + k, weight + x). p is exact given the sum of all events: Binomial(sum,
    x / sum of x). q is Benjamini and Hochberg's over the groups.
    """
    from scipy import stats

    k, x = np.asarray(counts, dtype=np.float64), np.asarray(exposures, dtype=np.float64)
    pooled, found = float(k.sum() / x.sum()), prior(counts, exposures)
    p = np.asarray(stats.binom.sf(k - 1, k.sum(), x / x.sum()))
    q = benjamini_hochberg(p)
    if not np.isfinite(found.shape):
        rate = np.full(len(k), pooled)
        return Posterior(rate, rate, rate, np.zeros(len(k)), p, q)
    gamma = stats.gamma(found.shape + k, scale=1 / (found.weight + x))
    tail = (1 - level) / 2
    exceeds = np.asarray(gamma.sf(TIMES * pooled))
    return Posterior((found.shape + k) / (found.weight + x), gamma.ppf(tail), gamma.ppf(1 - tail), exceeds, p, q)
