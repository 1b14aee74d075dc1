"""Staggered rollouts with known truth."""

from __future__ import annotations

import numpy as np
import pytest

from ettlog.attribute import staggered

NEVER = 99


def fleet(
    seed: int, units: int = 24, weeks: int = 26, cut: float = 0.5
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return (amount, starts, rollout, true saving): cohorts at weeks 8, 13, 18 and never, lognormal noise of mean
    one.
    """
    rng = np.random.default_rng(seed)
    rollout = np.resize([8, 13, 18, NEVER], units)
    starts = rng.integers(2, 12, (units, weeks)).astype(float)
    rate = 600.0 * np.exp(rng.normal(0, 0.5, units))[:, None] * np.exp(rng.normal(0, 0.2, weeks))[None, :]
    noise = np.exp(rng.normal(0, 0.4, (units, weeks)) - 0.08)
    base = starts * rate * noise
    mask = staggered.treated(rollout, weeks)
    return np.where(mask, base * (1 - cut), base), starts, rollout, float((base * cut)[mask].sum())


def test_without_noise_the_saving_is_exact() -> None:
    """Two units, rates 100 and 50, week factors 1, 2, 3; one is halved in week 2: 3 starts x 300 x .5 = 450 saved."""
    starts = np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]])
    base = starts * np.array([[100.0], [50.0]]) * np.array([[1.0, 2.0, 3.0]])
    amount = base.copy()
    amount[0, 2] /= 2
    assert staggered.saved(amount, starts, np.array([2, NEVER])) == pytest.approx((450.0, 900.0, 0))


def test_the_fit_solves_the_poisson_score_equations() -> None:
    """On untreated cells the fitted sums of every unit and every week equal the observed ones: the maximum of the
    likelihood.
    """
    amount, starts, rollout, _ = fleet(3)
    mask = ~staggered.treated(rollout, amount.shape[1])
    made = staggered.fit(amount, starts, mask)
    fitted = np.where(mask, starts * made.unit[:, None] * made.week[None, :], 0.0)
    observed = np.where(mask, amount, 0.0)
    assert fitted.sum(axis=1) == pytest.approx(observed.sum(axis=1), rel=1e-9)
    assert fitted.sum(axis=0) == pytest.approx(observed.sum(axis=0), rel=1e-9)


def test_forty_fleets_average_to_the_truth() -> None:
    """The mean of estimate / truth over forty simulated fleets is within 3 % of one."""
    ratios = []
    for seed in range(40):
        amount, starts, rollout, truth = fleet(seed)
        ratios.append(staggered.saved(amount, starts, rollout)[0] / truth)
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.03)


def test_a_real_effect_is_found_and_graded_b() -> None:
    """A halving passes the gates: p at its floor of 1/100 draws, the truth inside the interval."""
    amount, starts, rollout, truth = fleet(1)
    found = staggered.estimate(amount, starts, rollout, draws=99)
    assert found.grade == "B", found.why
    assert found.p == pytest.approx(0.01)
    assert found.low is not None and found.high is not None
    assert found.low < truth < found.high


def test_no_effect_is_rejected_about_as_often_as_it_says() -> None:
    """Of 60 fleets without an effect about 5 % have p <= .05: at most 8 (P < .01 for a right test)."""
    hits = 0
    for seed in range(60):
        amount, starts, rollout, _ = fleet(seed, units=12, weeks=20, cut=0.0)
        hits += staggered.randomisation_p(amount, starts, rollout, seed=seed, draws=39) <= 0.05
    assert hits <= 8


def test_a_change_before_the_rollout_closes_the_gate() -> None:
    """If costs halve three weeks before every rollout, the leads say so and the grade falls to C."""
    amount, starts, rollout, _ = fleet(2)
    early = staggered.treated(np.where(rollout < NEVER, rollout - 3, rollout), amount.shape[1])
    amount = np.where(early & ~staggered.treated(rollout, amount.shape[1]), amount * 0.5, amount)
    found = staggered.estimate(amount, starts, rollout, draws=99)
    assert found.grade == "C"
    assert "before the rollout" in found.why


def test_one_rollout_day_everywhere_has_no_counterfactual() -> None:
    """When every unit is treated from week 10, no untreated unit tells what later weeks would have cost."""
    amount, starts, _, _ = fleet(4)
    found = staggered.estimate(amount, starts, np.full(24, 10), draws=19)
    assert found.grade == "C"
    assert "without any untreated model" in found.why
    assert found.dropped_cells == 24 * 16


def test_few_models_get_a_p_and_no_interval() -> None:
    """Below eight units an interval would promise too much."""
    amount, starts, rollout, _ = fleet(5, units=6)
    found = staggered.estimate(amount, starts, rollout, draws=19)
    assert (found.low, found.high) == (None, None)
    assert found.p is not None


def test_same_dates_cannot_be_told_apart() -> None:
    """Two optimizations with equal dates are one bundle; a third with its own dates stands alone."""
    same = np.array([5, 9, NEVER, NEVER])
    groups = staggered.separable({"a": same, "b": same, "c": np.array([9, NEVER, 5, NEVER])}, 12)
    assert groups == [frozenset({"a", "b"}), frozenset({"c"})]


def test_a_rollout_everywhere_on_one_day_is_swallowed_by_the_weeks() -> None:
    """Its column is a pure week effect: nothing is left of it, but it drags no other into a bundle."""
    groups = staggered.separable({"a": np.array([5, 9, NEVER]), "everywhere": np.array([7, 7, 7])}, 12)
    assert groups == [frozenset({"a"}), frozenset({"everywhere"})]
