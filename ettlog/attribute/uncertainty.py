"""How sure: intervals and tests for ratios over jobs, for pairs, for a single pair, and for many cells at once."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ettlog.errors import NoDataError
from ettlog.summing import exact_sum

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FEW_JOBS = 30
"""Below this many jobs the logit-t interval covers less than it says; the answer is marked `few jobs`."""
MOST_FLIPS = 16
"""Pairs up to which every assignment of signs is tried; beyond, signs are drawn."""


class Interval(NamedTuple):
    """An estimate with its bounds; `n` says how many units stand behind it, `method` how the bounds were had."""

    estimate: float
    low: float
    high: float
    n: int
    method: str


def _refuse(n: int, what: str) -> NoDataError:
    return NoDataError(
        f"there is no interval for {what}", where=f"n = {n}", why="one unit shows no variance",
        todo="add runs, or borrow the variance of the same model's history",
    )  # fmt: skip


def logit_t(effective: Sequence[float] | Array, wall: Sequence[float] | Array, level: float = 0.95) -> Interval:
    """Return ETT as a ratio of sums over jobs with a logit-t interval; the job is the cluster, never the start.

    `effective` and `wall` hold GPU time, one number a job. Delta method on z = (E - R W) / mean(W) with n - 1 degrees
    of freedom, on the logit scale so that the bounds stay inside 0 and 1. Raises NoDataError for one job.
    """
    from scipy import special

    e, w = np.asarray(effective, dtype=np.float64), np.asarray(wall, dtype=np.float64)
    n = len(w)
    if n < 2:
        raise _refuse(n, "ETT")
    ratio, error, _ = _ratio_error(e, w)
    if not 0 < ratio < 1:
        return Interval(ratio, ratio, ratio, n, "logit-t by job")
    half = float(special.stdtrit(n - 1, (1 + level) / 2)) * error / (ratio * (1 - ratio))
    centre = math.log(ratio / (1 - ratio))
    low, high = (1 / (1 + math.exp(-(centre + sign * half))) for sign in (-1, 1))
    return Interval(ratio, low, high, n, "logit-t by job" + (", few jobs" if n < FEW_JOBS else ""))


def ratio_difference(effective0: Array, wall0: Array, effective1: Array, wall1: Array, level: float = 0.95) -> Interval:
    """Return by how much the second group's ratio of sums is above the first's, with Welch's interval over jobs.

    Each side's error is that of `logit_t` before its logit; degrees of freedom by Welch and Satterthwaite. Raises
    NoDataError where a side has one job.
    """
    return ratio_test(effective0, wall0, effective1, wall1, level)[0]


def ratio_test(
    part0: Array, whole0: Array, part1: Array, whole1: Array, level: float = 0.95
) -> tuple[Interval, float | None]:
    """Return the change of a ratio of sums with Welch's interval over jobs, and its p; see `ratio_difference`.

    Without any spread there is no p: two constants are what they are.
    """
    from scipy import special

    sides = [_ratio_error(e, w) for e, w in ((part0, whole0), (part1, whole1))]
    squares = [error**2 for _, error, _ in sides]
    gain, total = sides[1][0] - sides[0][0], sum(squares)
    n = sum(n for _, _, n in sides)
    if total == 0:
        return Interval(gain, gain, gain, n, "Welch over jobs"), None
    freedom = total**2 / sum(square**2 / (n - 1) for square, (_, _, n) in zip(squares, sides, strict=True))
    half = float(special.stdtrit(freedom, (1 + level) / 2)) * math.sqrt(total)
    few = ", few jobs" if min(n for _, _, n in sides) < FEW_JOBS else ""
    p = 2 * float(special.stdtr(freedom, -abs(gain) / math.sqrt(total)))
    return Interval(gain, gain - half, gain + half, n, "Welch over jobs" + few), p


def _ratio_error(effective: Array, wall: Array) -> tuple[float, float, int]:
    """Return a ratio of sums, its standard error over jobs by the delta method, and the number of jobs."""
    n = len(wall)
    if n < 2:
        raise _refuse(n, "ETT")
    ratio = float(effective.sum() / wall.sum())
    return ratio, float(np.std((effective - ratio * wall) / wall.mean(), ddof=1)) / math.sqrt(n), n


def log_ratio(before: Sequence[float] | Array, after: Sequence[float] | Array, level: float = 0.95) -> Interval:
    """Return the ratio of geometric means, after over before, with Welch's interval on the logs.

    For times of starts inside one run and one other: starts are replicates of what every start does, not of ETT.
    Raises NoDataError where a side has fewer than two.
    """
    from scipy import special

    sides = [np.log(np.asarray(side, dtype=np.float64)) for side in (before, after)]
    if min(map(len, sides)) < 2:
        raise _refuse(min(map(len, sides)), "the time of a start")
    squares = [float(side.var(ddof=1)) / len(side) for side in sides]
    shift, total, n = float(sides[1].mean() - sides[0].mean()), sum(squares), sum(map(len, sides))
    if total == 0:
        return Interval(math.exp(shift), math.exp(shift), math.exp(shift), n, "Welch on logs over starts")
    freedom = total**2 / sum(square**2 / (len(side) - 1) for square, side in zip(squares, sides, strict=True))
    half = float(special.stdtrit(freedom, (1 + level) / 2)) * math.sqrt(total)
    low, high = math.exp(shift - half), math.exp(shift + half)
    return Interval(math.exp(shift), low, high, n, "Welch on logs over starts")


class Averages(NamedTuple):
    """Two averages of a ratio that are often mistaken for each other."""

    of_sums: float
    of_ratios: float


def averages(parts: Sequence[float], wholes: Sequence[float]) -> Averages:
    """Return sum(parts) / sum(wholes), and the mean of part / whole; a result has to say which one it is."""
    ratios = [part / whole for part, whole in zip(parts, wholes, strict=True) if whole]
    return Averages(exact_sum(parts) / exact_sum(wholes), exact_sum(ratios) / len(ratios))


def effective_jobs(wall: Sequence[float] | Array) -> float:
    """Return the effective number of jobs, (sum w)^2 / sum w^2: a fleet of one giant and many dwarfs is about one
    job.
    """
    w = np.asarray(wall, dtype=np.float64)
    return float(w.sum() ** 2 / (w**2).sum())


def t_interval(gains: Sequence[float] | Array, level: float = 0.95) -> Interval:
    """Return the mean of paired gains with Student's interval. Raises NoDataError for one pair."""
    from scipy import stats

    x = np.asarray(gains, dtype=np.float64)
    if len(x) < 2:
        raise _refuse(len(x), "the mean gain")
    half = float(stats.t.ppf((1 + level) / 2, len(x) - 1) * x.std(ddof=1) / math.sqrt(len(x)))
    return Interval(float(x.mean()), float(x.mean()) - half, float(x.mean()) + half, len(x), "t over pairs")


def sign_flip(gains: Sequence[float] | Array, seed: int = 0, draws: int = 20_000) -> float:
    """Return the two-sided p of a mean gain of zero by flipping signs: exact up to 16 pairs, drawn beyond.

    With n pairs the smallest possible p is 2 / 2^n: .031 for six.
    """
    x = np.asarray(gains, dtype=np.float64)
    if len(x) <= MOST_FLIPS:
        signs = np.array(list(product((-1.0, 1.0), repeat=len(x))))
    else:
        signs = np.random.default_rng(seed).choice((-1.0, 1.0), size=(draws, len(x)))
        signs[0] = 1.0
    sums = np.abs(signs @ x)
    return float(np.mean(sums >= abs(x.sum()) - 1e-9 * np.abs(x).sum()))


def hodges_lehmann(gains: Sequence[float] | Array, level: float = 0.95) -> Interval:
    """Return the median of the pairwise means with the exact signed-rank interval; `method` states its true level.

    Few pairs allow only few levels: the interval is the narrowest whose level is at least `level`, or all there is.
    """
    x = np.asarray(gains, dtype=np.float64)
    n = len(x)
    if n < 2:
        raise _refuse(n, "the mean gain")
    rows, columns = np.triu_indices(n)
    walsh = np.sort((x[rows] + x[columns]) / 2)
    tail = np.cumsum(_signed_rank(n)) / 2.0**n
    cut = max(0, int(np.searchsorted(tail, (1 - level) / 2, side="right")) - 1)
    true = 1 - 2 * float(tail[cut])
    return Interval(
        float(np.median(walsh)), float(walsh[cut]), float(walsh[-1 - cut]), n, f"signed rank, exact {true:.1%}"
    )


def _signed_rank(n: int) -> Array:
    """Return how many of the 2^n sign assignments give each rank sum from 0 up."""
    counts = np.zeros(n * (n + 1) // 2 + 1)
    counts[0] = 1.0
    for rank in range(1, n + 1):
        counts[rank:] = counts[rank:] + counts[:-rank]
    return counts


def borrowed(before: float, after: float, history: Sequence[float] | Array, level: float = 0.95) -> Interval:
    """Return the gain of a single pair with the variance of the same model's history: se = sqrt(2) sd(history).

    The pair itself shows no variance; what is borrowed is named in `method`. Raises NoDataError for fewer than two
    runs.
    """
    from scipy import stats

    x = np.asarray(history, dtype=np.float64)
    if len(x) < 2:
        raise _refuse(len(x), "a single pair without history")
    half = float(stats.t.ppf((1 + level) / 2, len(x) - 1) * math.sqrt(2) * x.std(ddof=1))
    gain = after - before
    return Interval(gain, gain - half, gain + half, 1, f"variance borrowed from {len(x)} runs")


def benjamini_hochberg(p: Sequence[float] | Array) -> Array:
    """Return the q of every p: the false discovery rate at which it would be called."""
    values = np.asarray(p, dtype=np.float64)
    order = np.argsort(values)
    scaled = values[order] * len(values) / np.arange(1, len(values) + 1)
    q = np.empty_like(values)
    q[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return q


def pairs_needed(gain: float, sd: float, power: float = 0.8, level: float = 0.95) -> int:
    """Return how many pairs show a mean gain with the given power, by the exact power of the paired t test."""
    from scipy import stats

    for n in range(2, 10_001):
        shift = gain / (sd / math.sqrt(n))
        edge = stats.t.ppf((1 + level) / 2, n - 1)
        if stats.nct.sf(edge, n - 1, shift) + stats.nct.cdf(-edge, n - 1, shift) >= power:
            return n
    return 10_000


class Noise(NamedTuple):
    """How much of a metric's variance over jobs a disturbance explains, and the estimate without it."""

    share: float
    adjusted: Interval
    theta: float


def variance_shares(parts: Mapping[str, Sequence[float] | Array]) -> dict[str, float]:
    """Return each part's share of the variance of their sum, Cov(part, sum) / Var(sum); the shares add up to one."""
    arrays = {name: np.asarray(values, dtype=np.float64) for name, values in parts.items()}
    whole = np.sum(list(arrays.values()), axis=0)
    spread = float(np.var(whole, ddof=1))
    return {name: float(np.cov(values, whole)[0, 1]) / spread for name, values in arrays.items()}


def control_variate(metric: Sequence[float] | Array, noise: Sequence[float] | Array, level: float = 0.95) -> Noise:
    """Return the mean of a metric over jobs with the part that follows a disturbance taken out, and what it explains.

    y - theta (x - mean x) keeps the mean and narrows its interval (n - 2 degrees of freedom: theta is estimated). Not
    for a disturbance that is itself being optimized. Raises NoDataError for fewer than three.
    """
    from scipy import special

    y, x = np.asarray(metric, dtype=np.float64), np.asarray(noise, dtype=np.float64)
    spread = float(np.var(x, ddof=1))
    theta = float(np.cov(y, x)[0, 1]) / spread if spread else 0.0
    rest = y - theta * (x - x.mean())
    total, n = float(np.var(y, ddof=1)), len(y)
    if n < 3:
        raise _refuse(n, "a mean whose disturbance is taken out")
    error = math.sqrt(float(((rest - rest.mean()) ** 2).sum()) / (n - 2) / n)
    half = float(special.stdtrit(n - 2, (1 + level) / 2)) * error
    mean = float(rest.mean())
    adjusted = Interval(mean, mean - half, mean + half, n, "t, control variate")
    return Noise(1 - float(np.var(rest, ddof=1)) / total if total else 0.0, adjusted, theta)
