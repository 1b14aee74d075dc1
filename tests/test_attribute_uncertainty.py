"""Intervals and tests against hand values, printed tables and known coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from ettlog.attribute import uncertainty
from ettlog.errors import NoDataError

GAINS = [21.0, 19.0, 17.5, 14.5, 13.0, 8.0]
"""Six gains with mean 15.5 and sum of squared deviations 110: sd = sqrt(22)."""


def test_six_pairs_by_student() -> None:
    """15.5 +- 2.5706 x sqrt(22 / 6) = 10.58 to 20.42."""
    found = uncertainty.t_interval(GAINS)
    assert (found.estimate, round(found.low, 2), round(found.high, 2)) == (15.5, 10.58, 20.42)


def test_six_pairs_can_reach_p_031_and_no_lower() -> None:
    """All six gains have one sign, so only two of the 64 assignments are as extreme: 2/64."""
    assert uncertainty.sign_flip(GAINS) == 2 / 64
    assert uncertainty.sign_flip([1.0, -1.0]) == 1.0


def test_six_pairs_by_signed_rank_have_a_96_9_percent_interval() -> None:
    """The exact interval of six pairs runs over all pairwise means: 8 to 21, at 1 - 2/64 = 96.9 %."""
    found = uncertainty.hodges_lehmann(GAINS)
    assert (found.low, found.high, found.method) == (8.0, 21.0, "signed rank, exact 96.9%")
    # ten of the 21 pairwise means lie below 16 (up to 15.25), two are 16, nine above
    assert found.estimate == 16.0


def test_signed_rank_counts_are_those_of_the_table() -> None:
    """For ten pairs the critical rank sum at 5 % two-sided is 8: P(T <= 8) = .0244, P(T <= 9) = .0322."""
    tail = np.cumsum(uncertainty._signed_rank(10)) / 2**10
    assert (round(float(tail[8]), 4), round(float(tail[9]), 4)) == (0.0244, 0.0322)


def test_one_pair_borrows_its_variance_and_says_so() -> None:
    """History 70, 74, 78 has sd 4; +- 4.3027 x sqrt(2) x 4 = 24.34."""
    found = uncertainty.borrowed(60.0, 80.0, [70.0, 74.0, 78.0])
    assert (found.estimate, round(found.low, 2), round(found.high, 2)) == (20.0, -4.34, 44.34)
    assert found.method == "variance borrowed from 3 runs"


@pytest.mark.parametrize("call", [uncertainty.t_interval, uncertainty.hodges_lehmann])
def test_one_pair_alone_is_refused(call: object) -> None:
    """n = 1 has no variance; the error says what to do instead."""
    with pytest.raises(NoDataError) as caught:
        call([15.5])  # type: ignore[operator]
    assert caught.value.where == "n = 1"
    assert "borrow" in caught.value.todo


def test_one_job_has_no_interval() -> None:
    """The same for ETT."""
    with pytest.raises(NoDataError):
        uncertainty.logit_t([0.8], [1.0])


def test_logit_t_of_equal_walls_is_the_t_interval_on_the_logit_scale() -> None:
    """ETT .7, .8, .9 over equal walls: R = .8, se = .1 / sqrt(3), half width 4.3027 x .0577 / .16 = 1.5526 in
    logits.
    """
    found = uncertainty.logit_t([0.7, 0.8, 0.9], [1.0, 1.0, 1.0])
    centre = math.log(4)
    assert found.estimate == pytest.approx(0.8)
    assert found.low == pytest.approx(1 / (1 + math.exp(-(centre - 1.55260))), abs=1e-5)
    assert found.high == pytest.approx(1 / (1 + math.exp(-(centre + 1.55260))), abs=1e-5)
    assert found.method.endswith("few jobs")


def test_logit_t_covers_as_it_says_at_300_jobs() -> None:
    """Between .92 and .97 of 400 simulated fleets with heavy-tailed weights contain the true ratio."""
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(400):
        wall = rng.pareto(2.5, 300) + 1
        ett = np.clip(0.8 + 0.1 * rng.standard_normal(300), 0.05, 0.99)
        found = uncertainty.logit_t(ett * wall, wall)
        hits += found.low <= _TRUE <= found.high
    assert 0.92 <= hits / 400 <= 0.97


_TRUE = float(
    stats.norm(0.8, 0.1).expect(lambda x: np.clip(x, 0.05, 0.99), lb=0.05, ub=0.99)
    + 0.99 * stats.norm(0.8, 0.1).sf(0.99)
)
"""Mean of a clipped normal, integrated independently of the simulation."""


def test_a_giant_and_dwarfs_are_few_jobs() -> None:
    """Weights 9, 1, 1, 1: 12^2 / 84 = 1.71 effective jobs."""
    assert uncertainty.effective_jobs([9.0, 1.0, 1.0, 1.0]) == pytest.approx(144 / 84)


def test_false_discovery_rates() -> None:
    """p .01, .04, .03, .005 of four: q = .02, .04, .04, .02."""
    assert uncertainty.benjamini_hochberg([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.02, 0.04, 0.04, 0.02])


@pytest.mark.parametrize(
    ("sd", "needed"), [(2.0, (10, 4, 3)), (4.0, (34, 8, 4)), (6.0, (73, 14, 6)), (8.0, (128, 23, 8))]
)
def test_pairs_needed_for_80_percent_power(sd: float, needed: tuple[int, int, int]) -> None:
    """Pairs that show 2, 5 and 10 points, by spread of the gains."""
    assert tuple(uncertainty.pairs_needed(gain, sd) for gain in (2.0, 5.0, 10.0)) == needed


def test_variance_shares_add_up_to_one() -> None:
    """Independent parts with variances 4 and 1 (exactly uncorrelated by construction): .8 and .2."""
    wide, narrow = [2.0, 2.0, -2.0, -2.0], [1.0, -1.0, 1.0, -1.0]
    assert uncertainty.variance_shares({"a": wide, "b": narrow}) == pytest.approx({"a": 0.8, "b": 0.2})


def test_control_variate_keeps_the_mean_and_narrows_the_interval() -> None:
    """y = 10 - 2 x + rest: theta is -2, the mean stays, only the rest's spread is left."""
    x, rest = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.1, -0.1, -0.1, 0.1])
    y = 10 - 2 * x + rest
    found = uncertainty.control_variate(y, x)
    assert found.theta == pytest.approx(-2.0)
    assert found.adjusted.estimate == pytest.approx(7.0)
    assert found.share == pytest.approx(1 - np.var(rest) / np.var(y))
    plain = uncertainty.t_interval(y)
    assert found.adjusted.high - found.adjusted.low < 0.1 * (plain.high - plain.low)
    # n - 2 degrees of freedom: rest has a sum of squares of .04, so the error is sqrt(.04 / 2 / 4) and t is 4.3027
    assert found.adjusted.high - 7.0 == pytest.approx(4.30265 * math.sqrt(0.04 / 2 / 4), rel=1e-5)


def test_control_variate_of_two_is_refused() -> None:
    """Two pairs determine theta and leave nothing to judge it by."""
    with pytest.raises(NoDataError):
        uncertainty.control_variate([1.0, 2.0], [0.0, 1.0])
