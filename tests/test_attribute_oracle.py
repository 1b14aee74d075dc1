"""Attribution of simulated fleets whose true savings are known."""

from __future__ import annotations

import pytest

from fixtures import oracle

FLEETS = 40


@pytest.fixture(scope="module")
def found() -> dict[str, float]:
    """Return the study's figures over forty fleets."""
    return oracle.table([oracle.study(seed, replicates=100) for seed in range(FLEETS)])


@pytest.mark.slow
def test_measured_credit_is_the_true_saving(found: dict[str, float]) -> None:
    """Direct and measured cascade together are within 3 % of what was truly saved, on average."""
    assert found["direct + cascade / truth"] == pytest.approx(1.0, abs=0.03)


@pytest.mark.slow
def test_the_bound_is_too_high_where_recoveries_are_warm(found: dict[str, float]) -> None:
    """With three recoveries at a pass-through of .4, (1 + 3) / (1 + 3 x .4) = 1.82 times the truth."""
    assert found["direct + bound / truth"] == pytest.approx(4 / 2.2, abs=0.1)


@pytest.mark.slow
def test_intervals_cover_about_as_they_say(found: dict[str, float]) -> None:
    """At least 34 of 40 intervals of 95 % hold the truth: fewer has a probability below 1 %."""
    assert found["interval of direct covers"] >= 34 / FLEETS


@pytest.mark.slow
def test_an_optimization_that_does_nothing_is_seldom_called_one(found: dict[str, float]) -> None:
    """At most 6 of 40 intervals leave zero out: more has a probability below 1 %."""
    assert found["null called an effect"] <= 6 / FLEETS
