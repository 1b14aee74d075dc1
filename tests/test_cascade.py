"""The restart-cascade model against hand arithmetic and published figures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ettlog import cascade

times = st.floats(0.0, 1e5)
counts = st.floats(0.0, 50.0)


def test_two_kills_make_8_267_percent_direct_into_24_8_percent() -> None:
    """Direct + bound is (1 + NoF) x direct: 24.8 % at NoF = 2 is 8.267 % direct, which prints as 8 %."""
    first = 24.8 / 3
    assert first + cascade.bound(2.0, first) == pytest.approx(24.8)
    assert cascade.factor(2.0) == 3.0
    assert f"{first:.0f}" == "8"


def test_a_cold_start_of_51_minutes_is_a_third_of_a_short_job() -> None:
    """51 of 151.5 minutes are 33.66 %, so that job's ETT cannot pass 66.34 %."""
    assert 1.0 - cascade.ett_formula(51.0, 0.0, 0.0, 151.5) == pytest.approx(0.33663, abs=5e-6)


def test_four_starts_a_day_at_a_thousand_gpus_cost_3400_gpu_hours() -> None:
    """(1 + 3) starts x 51 min x 1,000 GPUs = 204,000 GPU-minutes = 3,400 GPU-hours."""
    assert cascade.start_cost(cascade.factor(3.0), 51 / 60, 1000.0) == pytest.approx(3400.0)


def test_measured_cascade_needs_the_recoveries_own_saving() -> None:
    """Two recoveries that went from 50 to 29 minutes saved 42, whatever the first start saved."""
    assert cascade.cascade(2.0, 50.0, 29.0) == 42.0
    assert cascade.direct(51.0, 20.0) == 31.0


def test_pass_through_of_a_compile_that_is_warm_in_recoveries() -> None:
    """The cold path saves 1,796 s and the warm one 975 s: phi is 0.54, and 1.84 the other way round."""
    assert cascade.pass_through(1796.0, 975.0) == pytest.approx(0.5429, abs=5e-5)
    assert cascade.pass_through(975.0, 1796.0) == pytest.approx(1.8421, abs=5e-5)


def test_recovery_only_residual_at_the_pooled_ratio() -> None:
    """With TTS saving 8.267 and recovery 58 = 2 x 29, Q = 2 x (29 - 8.267) = 41.47 points: neither direct nor
    repetition.
    """
    assert cascade.recovery_only(2.0, 29.0, 24.8 / 3) == pytest.approx(41.4667, abs=5e-5)


def test_fleet_factor_weighs_each_job_with_its_saving() -> None:
    """Savings 10 and 30 with NoF 1 and 3: (2 x 10 + 4 x 30) / 40 = 3.5 = 1 + weighted mean NoF of 2.5."""
    assert cascade.fleet_factor([10.0, 30.0], [1.0, 3.0]) == 3.5


def test_exposure_example() -> None:
    """E 1.5, TTS .85, TTR .9, rate .5, saving .3 h: wall 2.35 / .55 = 4.2727; .30 + .6409 + .4019 = 1.3429 h."""
    found = cascade.exposure(1.5, 0.85, 0.9, 0.5, 0.3)
    assert cascade.wall(1.5, 0.85, 0.9, 0.5) == pytest.approx(4.2727, abs=5e-5)
    assert (found.direct, round(found.cascade, 2), round(found.exposure, 2), round(found.total, 2)) == (
        0.3,
        0.64,
        0.4,
        1.34,
    )


def test_fixed_wall_and_fixed_work_readings_differ() -> None:
    """From ETT .72 to .875: 15.5 % of the wall at fixed wall, 24.6 % of the work at fixed work."""
    assert cascade.saved_at_fixed_wall(0.72, 0.875, 1.0) == pytest.approx(0.155)
    assert cascade.saved_at_fixed_work(0.72, 0.875, 1.0) == pytest.approx(0.2460, abs=5e-5)


@pytest.mark.parametrize(
    ("warmup", "overlap_first", "compile_last"),
    [(180.0, 180.0, 1796.0), (240.0, 240.0, 1796.0), (300.0, 300.0, 1750.0)],
)
def test_overlap_of_compile_and_warmup(warmup: float, overlap_first: float, compile_last: float) -> None:
    """Compile 2,050 -> 254 s beside a warm-up of 180, 240, 300 s: from 254 s on the two changes interact by 46 s."""
    before = cascade.start_phase(2050.0, warmup, overlap=False)
    assert before - cascade.start_phase(2050.0, warmup, overlap=True) == overlap_first
    overlapped = cascade.start_phase(2050.0, warmup, overlap=True)
    assert overlapped - cascade.start_phase(254.0, warmup, overlap=True) == compile_last


@given(st.tuples(counts, counts), st.tuples(times, times), st.tuples(counts, counts), st.tuples(times, times))
def test_four_tiers_add_up_to_the_change(
    firsts: tuple[float, float], first: tuple[float, float], recoveries: tuple[float, float], again: tuple[float, float]
) -> None:
    """Direct + cascade + workload + failure count is before minus after, for any counts and times."""
    tiers = cascade.tiers(firsts, first, recoveries, again)
    change = firsts[0] * first[0] + recoveries[0] * again[0] - firsts[1] * first[1] - recoveries[1] * again[1]
    assert math.isclose(sum(tiers), change, rel_tol=1e-9, abs_tol=1e-6)


@given(times, times)
def test_a_repeated_first_start_passes_all_through(before: float, after: float) -> None:
    """If every recovery repeats the first start, cascade equals the bound and nothing is recovery-only."""
    saving = cascade.direct(before, after)
    assert cascade.cascade(2.0, before, after) == cascade.bound(2.0, saving)
    assert cascade.recovery_only(2.0, saving, saving) == 0.0


def test_arrays_are_answered_element_by_element() -> None:
    """An array of NoF gives an array of factors."""
    assert cascade.factor(np.array([0.0, 2.0, 3.0])).tolist() == [1.0, 3.0, 4.0]


def test_the_formula_counts_one_first_start_and_each_recovery() -> None:
    """TTS 2 h, three recoveries of 4 h in 100 h: 1 - 14 / 100 = .86."""
    assert cascade.ett_formula(2.0, 3.0, 4.0, 100.0) == pytest.approx(0.86)


def slow_recoveries(effective: float, work: float) -> tuple[float, int]:
    """Replay a fault at 10 h that comes again each time the job has run as long as it did in all.

    Each recovery then costs one hour less than that time, so that one hour of work is done between two faults.
    """
    now = [cascade.Launch(1, 9, 0, 0, False), cascade.Launch(1, effective, 0, 0, True)]
    return cascade.replay(now, [now[0], now[1]._replace(cost=11 + effective - 1)], work=work)


@pytest.mark.parametrize(
    ("effective", "work", "wall", "recoveries"),
    [
        # 9 h until the first fault, then an hour in each of 49 rounds of 60 h: 10 + 48 x 60 + 59 + 1
        (49, 1.0, 2950, 49),
        # an hour more is the 51st round
        (50, 1.0, math.inf, 50),
        # 108 h of work, 9 + 99 x 1, may take 100 rounds of 56 h: 10 + 98 x 56 + 55 + 1
        (45, 2.0, 5554, 99),
    ],
)
def test_faults_are_repeated_fifty_times_for_each_work_of_the_job(
    effective: float, work: float, wall: float, recoveries: int
) -> None:
    """Work that is done to the hour when a fault comes is done; work beyond the last round never ends."""
    assert slow_recoveries(effective, work) == pytest.approx((wall, recoveries))


def test_without_work_no_fault_is_met_not_even_while_starting() -> None:
    """The fault at 10 h would cut a start of 15 h short; nothing is left to do, and the start alone is paid."""
    now = [cascade.Launch(1, 9, 0, 0, False), cascade.Launch(1, 9, 0, 0, True)]
    assert cascade.replay(now, [now[0]._replace(cost=15), now[1]], work=0.0) == (15, 0)


def test_a_start_without_a_loop_runs_at_the_pace_of_the_job() -> None:
    """9 of 12 h are new: pace 3/4. 6 h of work until the fault at 13 h, the other 3 h take 4 h: 13 + 1 + 4."""
    now = [cascade.Launch(1, 9, 3, 0, False), cascade.Launch(1, 0, 0, 0, True)]
    assert cascade.replay(now, [now[0]._replace(cost=5), now[1]]) == pytest.approx((18, 1))


def test_a_job_that_makes_no_step_ends_only_when_there_is_nothing_to_do() -> None:
    """5 h of lost steps alone: without work 2 + 1 h of start and end remain; half an hour of work is never done."""
    idle = [cascade.Launch(2, 0, 5, 1, False)]
    assert cascade.replay(idle, idle) == (3, 0)
    assert cascade.replay([idle[0]._replace(effective=0.5)], idle) == (math.inf, 0)
