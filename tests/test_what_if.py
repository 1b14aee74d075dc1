"""Observed jobs run again by hand: other costs, other failure rates, other sizes."""

from __future__ import annotations

from typing import cast

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ettlog
from ettlog.cascade import Launch, replay
from ettlog.errors import NoDataError, UsageError
from ettlog.fleet import Fleet
from tests.fakes import FakeFleet
from tests.test_cli import run
from tests.test_ett import Piece, segments, timeline

RUN = (
    Piece(0, "compile", "first_start", 600),
    Piece(0, "step", "steady", 3000),
    Piece(1, "hang", "recovery", 600),
    Piece(1, "restore", "recovery", 600),
    Piece(1, "step", "steady", 2400),
    Piece(1, "teardown", "shutdown", 600),
)
"""Hours: 10 of start, 50 of training, a recovery of 20 with a restore of 10, 40 of training, 10 of shutdown."""


@pytest.fixture
def fleet() -> Fleet:
    """Return one job of 130 h on 8 GPUs with one failure at hour 60."""
    made = timeline({"run": ("m7", segments("run", RUN))})
    return cast("Fleet", FakeFleet({"segment": made.segment, "start": made.start, "job": made.job}))


def hours(fleet: Fleet, **options: object) -> tuple[float, ...]:
    """Return job hours then, and saved, direct, cascade, other, exposure of them."""
    row = ettlog.what_if(fleet, **options).row(0, named=True)  # type: ignore[arg-type]
    names = ("gpu_hours_then", *(f"{name}_gpu_hours" for name in ("saved", "direct", "cascade", "other", "exposure")))
    return tuple(row[name] / 8 for name in names)


def test_nothing_changed_gives_what_was_observed(fleet: Fleet) -> None:
    """The replay of the observed costs under the observed faults is the observed job."""
    frame = ettlog.what_if(fleet)
    assert hours(fleet) == pytest.approx((130, 0, 0, 0, 0, 0))
    assert frame["ett_now"].to_list() == frame["ett_then"].to_list() == [90 / 130] * 2
    assert frame["evidence"].to_list() == ["modelled"] * 2


def test_half_the_restore_is_saved_in_the_recovery(fleet: Fleet) -> None:
    """Five of 130 hours, all of them in the recovery."""
    assert hours(fleet, scale={"restore": 0.5}) == pytest.approx((125, 5, 0, 5, 0, 0))


def test_a_shorter_first_start_is_direct(fleet: Fleet) -> None:
    """Without compilation 60 of 90 hours are trained at the fault, 30 after it."""
    assert hours(fleet, scale={"compilation": 0}) == pytest.approx((120, 10, 10, 0, 0, 0))


def test_a_shorter_shutdown_is_neither(fleet: Fleet) -> None:
    """Half the shutdown saves five hours outside starts."""
    assert hours(fleet, scale={"shutdown": 0.5}) == pytest.approx((125, 5, 0, 0, 5, 0))


@pytest.mark.parametrize(("failures", "then", "recoveries"), [(0.0, 110, 0), (0.5, 110, 0), (2.0, 150, 2)])
def test_faults_come_as_often_as_told(fleet: Fleet, failures: float, then: float, recoveries: int) -> None:
    """At twice the rate they strike at hours 30 and 95; at half of it the one at 120 comes after the work is done."""
    row = ettlog.what_if(fleet, failures=failures).row(0, named=True)
    assert row["gpu_hours_then"] / 8 == pytest.approx(then)
    assert (row["recoveries_now"], row["recoveries_then"]) == (1, recoveries)


def test_twice_the_gpus_halve_the_work_and_double_the_faults(fleet: Fleet) -> None:
    """45 h of work with a fault at hour 30: 10 + 20 + 20 + 25 + 10 = 85 h on 16 GPUs."""
    row = ettlog.what_if(fleet, gpus=2).row(0, named=True)
    assert row["gpu_hours_then"] == pytest.approx(85 * 16)
    assert row["ett_then"] == pytest.approx(45 / 85)
    assert row["recoveries_then"] == 1


def test_a_run_that_ends_before_its_faults_meets_none() -> None:
    """30 h of start gone: 70 h of work end before the fault at hour 80, so both recoveries go: exposure 40."""
    now = [Launch(30, 50, 0, 0, False), Launch(20, 10, 0, 0, True), Launch(20, 10, 0, 0, True)]
    assert replay(now, now) == pytest.approx((140, 2))
    assert replay(now, [now[0]._replace(cost=0), *now[1:]]) == pytest.approx((70, 0))


def test_a_fault_during_a_start_cuts_it_short() -> None:
    """Faults at hours 30 and 45 of a start that takes 20: from 45 on 20 h of start, then the rest of the work."""
    now = [Launch(10, 20, 0, 0, False), Launch(5, 10, 0, 0, True), Launch(5, 10, 0, 0, True)]
    then = [now[0], now[1]._replace(cost=20), now[2]._replace(cost=20)]
    assert replay(now, then) == pytest.approx((45 + 20 + 20, 2), abs=1e-9)


def test_a_job_that_fails_faster_than_it_starts_never_ends() -> None:
    """Starts of 100 h under a fault every 20 h: no wall is long enough."""
    now = [Launch(10, 10, 0, 0, False), Launch(10, 10, 0, 0, True)]
    then = [one._replace(cost=100) for one in now]
    assert replay(now, then, failures=2)[0] == float("inf")


def test_wrong_names_and_factors_are_refused(fleet: Fleet) -> None:
    """A misspelt part, a negative factor, no GPUs, and no job."""
    with pytest.raises(UsageError, match="neither a part nor a component"):
        ettlog.what_if(fleet, scale={"restoer": 0.5})
    with pytest.raises(UsageError, match="not a factor"):
        ettlog.what_if(fleet, failures=-1)
    with pytest.raises(UsageError, match="not a factor"):
        ettlog.what_if(fleet, gpus=0)
    with pytest.raises(NoDataError, match="no job to run again"):
        ettlog.what_if(fleet, jobs=["nobody"])


def test_command_is_labelled_modelled(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """The header says what is supposed, each row that it is modelled, and the assumption on size stands below."""
    monkeypatch.setattr(ettlog, "open", lambda _path: fleet)
    printed = run("what-if", "--halve", "restore", "--scale", "compile=0.2", "--gpus", "4").stdout
    assert "modelled: the same work, observed faults, restore x 0.5, compile x 0.2, GPUs x 4" in printed
    assert "assumed: work divides by the GPUs" in printed


TIMES = st.integers(1, 500).map(float)
LAUNCHES = st.lists(st.builds(Launch, TIMES, TIMES, TIMES, TIMES, st.booleans()), min_size=1, max_size=8)


@given(LAUNCHES)
def test_replay_of_what_was_observed_is_the_observed_wall(now: list[Launch]) -> None:
    """Any job that trains in every loop: unchanged costs give back its wall, and each recovery it met."""
    wall, met = replay(now, now)
    observed = sum(one.cost + one.effective + one.lost + one.shutdown for one in now)
    assert wall == pytest.approx(observed, rel=1e-9)
    assert met == sum(one.recovery for one in now[1:])


@given(LAUNCHES, st.floats(0, 1))
def test_cheaper_starts_never_cost_more_than_the_observed_job_and_its_faults(now: list[Launch], share: float) -> None:
    """Cutting every start keeps the wall between the work alone and what was observed."""
    wall, _ = replay(now, [one._replace(cost=one.cost * share) for one in now])
    observed = sum(one.cost + one.effective + one.lost + one.shutdown for one in now)
    assert sum(one.effective for one in now) - 1e-6 <= wall
    assert wall <= observed * (1 + 1e-9) + max(one.shutdown for one in now)


def warmed(warmths: dict[tuple[str, int], str]) -> Fleet:
    """Return two jobs: `a` compiles 8 h cold, then 2 h in its recovery; `b`, of another model, 4 h cold."""
    first = (
        Piece(0, "compile", "first_start", 480), Piece(0, "step", "steady", 600), Piece(1, "hang", "recovery", 60),
        Piece(1, "compile", "recovery", 120), Piece(1, "step", "steady", 600),
    )  # fmt: skip
    other = (Piece(0, "compile", "first_start", 240), Piece(0, "step", "steady", 600))
    made = timeline({"a": ("m7", segments("a", first)), "b": ("m8", segments("b", other))})
    rows = [(job, k, warmth) for (job, k), warmth in warmths.items()]
    compilation = pl.DataFrame(rows, schema={"job": pl.String, "k": pl.Int64, "warmth": pl.String}, orient="row")
    tables = {"segment": made.segment, "start": made.start, "job": made.job, "compilation": compilation}
    return cast("Fleet", FakeFleet(tables))


def test_a_warm_cache_shortens_cold_starts_to_the_warm_ones() -> None:
    """`a` compiles 2 h instead of 8; `b`, without a warm start of its model, as much shorter: a quarter of 4 h."""
    made = warmed({("a", 0): "cold", ("a", 1): "warm", ("b", 0): "cold"})
    rows = {row["model"]: row for row in ettlog.what_if(made, warm_cache=True).iter_rows(named=True)}
    assert rows["m7"]["direct_gpu_hours"] == pytest.approx(8 * 6)
    assert rows["m7"]["cascade_gpu_hours"] == pytest.approx(0)
    assert rows["m8"]["direct_gpu_hours"] == pytest.approx(8 * 3)


def test_without_a_warm_start_there_is_nothing_to_go_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal says what to suppose instead; the header of a warm answer says what was supposed."""
    with pytest.raises(NoDataError, match="no start is known"):
        ettlog.what_if(warmed({("a", 0): "cold"}), warm_cache=True)
    made = warmed({("a", 0): "cold", ("a", 1): "warm"})
    monkeypatch.setattr(ettlog, "open", lambda _path: made)
    assert "every compile cache warm" in run("what-if", "--warm-cache").stdout
