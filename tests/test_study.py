"""The studies, as far as a build can afford them, and what makes intervals hold the saving of a fleet itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

from ettlog.attribute import realised
from ettlog.attribute.decompose import Change, Links
from studies import alerts, coverage, fleets

PLAN = fleets.Plan(models=4, jobs=20, days=60)


def test_what_is_stretched_is_the_chance_before_the_rollout() -> None:
    """Ten jobs before and thirty after: sqrt(1 + 1/3)."""
    made = cast("Links", SimpleNamespace(before=[0, 1], after=[1, 2]))
    assert realised.stretch(made, [10, 30, 30]) == pytest.approx([(4 / 3) ** 0.5, 2**0.5])


def test_a_replicate_moves_by_the_chance_before_alone() -> None:
    """Weight 2, amounts 10 and 4, drawn 11 and 5: w (s x 1 - 0) in place of w (1 - 1); unclaimed cells stay."""
    point = cast("Change", SimpleNamespace(amounts=(np.array([[[10.0]]]), np.array([[[4.0]]]))))
    drawn: Any = SimpleNamespace(amounts=(np.array([[[11.0]]]), np.array([[[5.0]]])), bound_weight=np.array([[[2.0]]]))
    stretched = np.array([1.5])
    added = realised.amount(point, drawn, stretched, np.array([[True]]))
    as_drawn = 2.0 * (11 - 5)
    assert (as_drawn + added).item() == pytest.approx(2.0 * (10 + 1.5 * 1 - 4))
    assert realised.amount(point, drawn, stretched, np.array([[False]])).item() == 0


def test_two_worlds_do_the_same_work_and_meet_the_same_draws() -> None:
    """Effective time is the same with and without the optimization, and the saving is the difference of the waste."""
    with_it, without = (fleets.simulate(3, PLAN, changes) for changes in ((coverage.CHANGE,), ()))
    trained = [one.ledger.filter(pl.col("role") == "effective")["gpu_us"].sum() for one in (with_it, without)]
    assert trained[0] == pytest.approx(trained[1], rel=1e-6)
    wasted = [
        float(one.ledger.filter(pl.col("role") != "effective")["gpu_us"].sum()) / 3.6e9 for one in (with_it, without)
    ]
    assert with_it.saved == pytest.approx(wasted[1] - wasted[0], rel=1e-6)
    assert without.saved == 0
    assert with_it.direct + with_it.cascade == pytest.approx(with_it.saved, rel=0.1)


def test_a_slice_of_the_coverage_study() -> None:
    """Twelve fleets on one date: credit within 10 % of the truth, the bound above it, most intervals hold it."""
    plan = fleets.Plan(models=6, jobs=40, dates="one")
    found = [coverage.run(seed, plan, (0.125, 0.05), replicates=100) for seed in range(12)]
    saved = sum(one.direct.found + one.cascade.found for one in found) / sum(one.saved for one in found)
    assert saved == pytest.approx(1, abs=0.1)
    assert all(one.said_below and one.bound > one.cascade.found for one in found)
    held = [row.low <= row.true <= row.high for one in found for row in (one.direct, one.cascade)]
    assert sum(held) >= 19  # of 24 at 95 %: fewer has a probability below one in a thousand
    assert sum(call for one in found for call in one.nulls) <= 12  # of 72 at 5 %: the same
    assert set(coverage.table(found)) >= {"direct + cascade / truth", "interval of direct holds the truth"}


def test_a_slice_of_the_alert_study() -> None:
    """Three fleets in which nothing changes raise at most one alert; a part that doubles in all models is found."""
    plan = fleets.Plan(models=5, jobs=120, days=120, work=12.0)
    quiet = [alerts.run(seed, plan) for seed in range(3)]
    assert sum(count.regressions + count.others for count in quiet) <= 1
    assert all(count.series > 20 for count in quiet)
    assert alerts.run(0, plan, rise=1.0).hit
    assert alerts.run(0, plan, rise=2.0, models=("m003",)).hit


def test_steady_fleets_do_not_page() -> None:
    """At four fifths of the budget no rule fires at the end of thirty days."""
    assert not any(any(alerts.pages(seed, 0.8).values()) for seed in range(5))
