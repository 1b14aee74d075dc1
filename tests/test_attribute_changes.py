"""Change points, alarms and their rollouts, on series with known changes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from ettlog.attribute import changes


def steps(seed: int = 0) -> np.ndarray:
    """Return 200 days at level 10, from day 60 at 7, from day 140 at 9, with noise of sd .8."""
    level = np.repeat([10.0, 7.0, 9.0], [60, 80, 60])
    return level + np.random.default_rng(seed).normal(0, 0.8, 200)


def test_two_steps_are_found_where_they_are() -> None:
    """Days 60 and 140, give or take two."""
    assert changes.partition(steps()) == [pytest.approx(60, abs=2), pytest.approx(140, abs=2)]


def test_the_partition_is_the_best_of_all() -> None:
    """On a short series: less squares plus penalty than any other choice of change points, tried one by one."""
    x, penalty = np.array([1.0, 1, 1, 2, 1, 9, 8, 9, 9, 9, 9, 2, 2, 2, 1, 2]), 4.0

    def cost(points: tuple[int, ...]) -> float:
        edges = [0, *points, len(x)]
        pieces = [x[a:b] for a, b in pairwise(edges)]
        return sum(float(((piece - piece.mean()) ** 2).sum()) for piece in pieces) + penalty * len(points)

    choices: list[tuple[int, ...]] = [()]
    choices += [(a,) for a in range(5, 12)]
    choices += [(a, b) for a in range(5, 12) for b in range(a + 5, 12)]
    assert tuple(changes.partition(x, penalty)) == min(choices, key=cost)


def test_noise_raises_few_alarms() -> None:
    """Of 100 series of 180 days of plain noise at most 5 show a change."""
    rng = np.random.default_rng(1)
    assert sum(bool(changes.partition(rng.normal(0, 1, 180))) for _ in range(100)) <= 5


def test_days_that_resemble_each_other_raise_few_alarms() -> None:
    """An autocorrelation of .5 would fool a plain variance in nine of ten series; the long-run one in few."""
    rng = np.random.default_rng(2)
    alarms = 0
    for _ in range(60):
        x = np.zeros(180)
        for day in range(1, 180):
            x[day] = 0.5 * x[day - 1] + rng.normal()
        alarms += bool(changes.partition(x))
    assert alarms <= 9


def test_one_hung_job_is_no_change_of_level() -> None:
    """A single day a hundred times as bad is drawn in and leaves no segment."""
    x = np.random.default_rng(3).normal(10, 1, 100)
    x[50] = 1000
    assert changes.partition(changes.winsorised(x)) == []


def test_cusum_of_a_rise_by_one_sd() -> None:
    """Every point adds one half; above five at the eleventh."""
    assert changes.cusum([1.0] * 20, centre=0.0, sd=1.0) == 10
    assert changes.cusum([0.4] * 200, centre=0.0, sd=1.0) is None


def test_changes_meet_their_rollouts() -> None:
    """The fall at day 60 is the rollout of day 58, the rise at day 140 is a regression nobody announced."""
    found = changes.matched(steps(), {"cache": 58, "other": 100})
    assert [(match.kind, match.rollout) for match in found] == [("confirmed effect", "cache"), ("regression", "")]
    assert found[0].before == pytest.approx(10, abs=0.3)
    assert found[0].after == pytest.approx(7, abs=0.3)


def test_a_fall_without_a_rollout_is_an_unregistered_win() -> None:
    """Somebody should put it into the registry."""
    assert changes.matched(steps()[:140], {})[0].kind == "unregistered win"


def test_burn_of_a_budget() -> None:
    """Overhead .12 against a budget of .05 uses it up 2.4 times too fast."""
    assert changes.burn(0.12, 0.05) == pytest.approx(2.4)
