"""Failure rates and checkpoint advice against printed tables and published figures."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ettlog.attribute import reliability
from ettlog.attribute.uncertainty import Interval


@pytest.mark.parametrize(("count", "low", "high"), [(0, 0.0, 3.69), (2, 0.24, 7.22), (10, 4.80, 18.39)])
def test_exact_poisson_interval_is_the_printed_one(count: int, low: float, high: float) -> None:
    """Garwood's table: no failure seen still allows 3.69."""
    found = reliability.garwood(count, 1.0)
    assert (round(found.low, 2), round(found.high, 2)) == (low, high)


def test_even_jobs_keep_the_exact_interval_and_bursts_do_not() -> None:
    """One failure in each of ten jobs looks Poisson; ten in one job and none in nine do not."""
    even = reliability.failure_rate([1] * 10, [1.0] * 10)
    burst = reliability.failure_rate([10] + [0] * 9, [1.0] * 10)
    assert even.method == "exact Poisson"
    assert burst.method.endswith("overdispersed")
    assert burst.estimate == even.estimate == 1.0
    # z = (9, -1 x 9), sqrt(10/9 x 90) / 10 = 1 on the log scale: exp(2.2622) either way
    assert burst.high == pytest.approx(math.exp(2.26216), rel=1e-4)


def test_small_groups_are_drawn_toward_the_pooled_rate() -> None:
    """Equal groups stay equal; unlike ones keep their order and lie between their own rate and the pooled one."""
    assert reliability.shrunk([2, 2], [1.0, 1.0]).tolist() == [2.0, 2.0]
    found = reliability.shrunk([0, 12, 3], [1.0, 1.0, 1.0])
    assert 0 < found[0] < found[2] < found[1] < 12
    assert found[0] < 5 < found[1]


@pytest.mark.parametrize(("mttf", "exact"), [(4.0, 0.5303), (2.0, 0.4114)])
def test_expected_ett_of_short_jobs(mttf: float, exact: float) -> None:
    """Two hours of work, starts of .85 h behind .1 h of queue, a checkpoint every half hour: worked out and
    simulated.
    """
    found = reliability.expected_ett(2.0, 0.5, 0.85, mttf, queue=0.1)
    assert found == pytest.approx(exact, abs=6e-5)
    assert found == pytest.approx(_simulated(2.0, 0.5, 0.85, mttf, 0.1), rel=0.01)


def test_first_order_fails_for_short_jobs() -> None:
    """It leaves out the first start: .45 at a mean time to failure of two hours, above the exact .41."""
    assert reliability.approximate_ett(0.5, 0.85, 2.0) == pytest.approx(0.45)


def _simulated(work: float, interval: float, start: float, mttf: float, queue: float) -> float:
    """Return ETT of 20,000 jobs simulated failure by failure."""
    rng = np.random.default_rng(1)
    wall = 0.0
    for _ in range(20_000):
        done, need, fails = 0.0, start, rng.exponential(mttf)
        wall += queue
        while done < work:
            step = min(interval, work - done)
            if fails < need + step:
                wall, need, fails = wall + fails + queue, start, rng.exponential(mttf)
            else:
                wall, fails, need, done = wall + need + step, fails - need - step, 0.0, done + step
    return 20_000 * work / wall


@pytest.mark.parametrize(
    ("gpus", "interval_min", "expected"),
    [(16_384, 5, 0.931), (16_384, 60, 0.676), (2_048, 60, 0.960), (4_096, 60, 0.919)],
)
def test_published_first_order_ett(gpus: int, interval_min: float, expected: float) -> None:
    """6.50 failures per 1,000 node-days, restart 5 minutes, free saves: the published table."""
    mttf_min = 24 * 60 / (gpus / 8 * 6.5e-3)
    assert reliability.approximate_ett(interval_min, 5.0, mttf_min) == pytest.approx(expected, abs=6e-4)


@pytest.mark.parametrize(
    ("save", "best", "series", "simple"),
    [
        (15, 919.5, 919.5, 929.5),
        (60, 1819.3, 1819.3, 1859.0),
        (300, 3959.4, 3959.3, 4156.9),
        (3600, 12106.8, 12100, 14400),
    ],
)
def test_checkpoint_intervals_at_eight_hours(save: float, best: float, series: float, simple: float) -> None:
    """Mean time to failure 28,800 s: exact, Daly's series and Young."""
    assert reliability.best_interval(save, 28_800) == pytest.approx(best, abs=0.06)
    assert reliability.daly(save, 28_800) == pytest.approx(series, abs=0.6)
    assert reliability.young(save, 28_800) == pytest.approx(simple, abs=0.06)


@pytest.mark.parametrize(
    ("interval", "wasted"),
    [(60, 25.10), (300, 5.52), (600, 3.54), (929.5, 3.23), (1800, 3.96), (3600, 6.67), (7200, 12.71)],
)
def test_wasted_share_by_interval(interval: float, wasted: float) -> None:
    """15 s a save and three failures a day: the published illustration in percent of a day."""
    assert reliability.wasted_share(interval, 15, 28_800) * 100 == pytest.approx(wasted, abs=0.006)


def test_advice_is_a_range_and_is_silent_for_small_gains() -> None:
    """From 7,200 s to the best of about 920 s wins 9.5 points; from 1,000 s nothing worth saying."""
    mttf = Interval(28_800, 20_000, 40_000, 12, "exact Poisson")
    far, near = reliability.advise(7200, 15, mttf), reliability.advise(1000, 15, mttf)
    assert far.low < far.best < far.high
    assert far.best == pytest.approx(919.5, abs=0.06)
    assert far.worth_saying
    assert not near.worth_saying
