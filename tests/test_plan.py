"""Plans of paired runs: the table of pairs, the spread of a fleet, and the schedule of kills."""

from __future__ import annotations

from pathlib import Path

import pytest

import ettlog
from ettlog.errors import NoDataError, UsageError
from tests import test_compare, test_reliability
from tests.test_cli import run


@pytest.mark.parametrize(("sd", "needed"), [(2, [10, 4, 3]), (4, [34, 8, 4]), (6, [73, 14, 6]), (8, [128, 23, 8])])
def test_pairs_for_80_percent_power(sd: float, needed: list[int]) -> None:
    """Gains of 2, 5 and 10 points at four spreads, as tabulated."""
    assert ettlog.plan(sd=sd).pairs["pairs"].to_list() == needed


def test_spread_comes_from_runs_of_one_model() -> None:
    """ETT .70 and .74 have a variance of .0008: sqrt(2 x .0008) is 4 points, for which 2 need 34 pairs."""
    made = test_compare.fleet(test_compare.job(70, "a", 1), test_compare.job(74, "b", 2))
    made.tables["start"] = made.tables["start"].with_columns(**_ends())  # type: ignore[attr-defined]
    found = ettlog.plan(made, effects=[2])
    assert found.pairs["sd_points"].item() == pytest.approx(4)
    assert found.pairs["pairs"].item() == 34
    assert "2 jobs" in found.notes[0]


def _ends() -> dict[str, object]:
    import polars as pl

    none = {name: pl.lit(None, pl.Datetime("us")) for name in ("failed_at", "ended_at", "last_step_at")}
    return {**none, "end_state": pl.lit("completed"), "cause": pl.lit(None, pl.String)}


def test_kills_lie_inside_the_runs_and_follow_the_natural_mix() -> None:
    """Two kills in each of 200 pairs of 10 h: inside [.5, 9.5], in order, and three of four of the frequent cause."""
    made = test_reliability.fleet({"a": 10}, {"a": {"node": 30, "oom": 10}}, 8)
    kills = ettlog.plan(made, sd=4, kills=2, hours=10, runs=200, seed=3).kills
    assert kills.height == 400
    assert kills["at_hours"].is_between(0.5, 9.5).all()
    assert kills.equals(kills.sort("pair", "at_hours"))
    # 400 draws at .75: standard deviation .0217, so four of them are .087
    assert (kills["cause"] == "node").mean() == pytest.approx(0.75, abs=0.087)
    assert set(kills["cause"]) == {"node", "oom"}


def test_same_seed_same_schedule() -> None:
    """The schedule can be written down before the runs, and drawn again after them."""
    first, again, other = (ettlog.plan(sd=4, runs=5, seed=seed).kills for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)


def test_plan_says_what_it_could_not_show() -> None:
    """Chosen kills say nothing of rates; two kills make a factor of 3, 40 losses in a job one of 41."""
    made = test_reliability.fleet({"a": 10}, {"a": {"node": 40}}, 8)
    notes = " ".join(ettlog.plan(made, sd=4).notes)
    assert "cannot show how often failures come" in notes
    assert "count 3.0 times" in notes
    assert "makes it 41.00" in notes
    assert "nothing is shown of recoveries" in " ".join(ettlog.plan(sd=4, kills=0).notes)


def test_without_a_spread_there_is_no_plan() -> None:
    """No lake and no --sd, or one run of the model only."""
    with pytest.raises(NoDataError, match="spread"):
        ettlog.plan()
    with pytest.raises(NoDataError, match="spread"):
        ettlog.plan(test_reliability.fleet({"a": 10}, {}, 8))


def test_numbers_out_of_range_are_told_at_once() -> None:
    """A negative spread and a power of two are both named."""
    with pytest.raises(UsageError, match="power, hours") as caught:
        ettlog.plan(sd=4, power=2, hours=0)
    assert caught.value.where == "--power, --hours"


def test_command_needs_no_lake(tmp_path: Path) -> None:
    """With --sd the pairs and the schedule can be had before anything was read."""
    lake = str(tmp_path / "none.lake")
    printed = run("plan", "--effect", "5", "--sd", "4", "--lake", lake).stdout
    assert "80.0 %" in printed
    assert " 8 " in printed
    assert "failure" in run("plan", "--sd", "4", "--schedule", "--runs", "2", "--lake", lake).stdout
