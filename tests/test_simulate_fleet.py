"""Simulated fleets as frames: their timelines tile, their draws are common, and their counterfactuals add up."""

from __future__ import annotations

import polars as pl
import pytest

from ettlog import registry, simulate
from ettlog.attribute import attribute_ledger
from ettlog.errors import UsageError
from ettlog.lifecycle import PARTS
from ettlog.simulate.plan import Interrupt, Job, Start
from ettlog.simulate.run import Simulated
from ettlog.simulate.truth import segments
from ettlog.simulate.words import SECOND, End, P

HOUR = 3_600_000_000


@pytest.fixture(scope="module")
def made() -> Simulated:
    """Return the built-in scenario."""
    return simulate.fleet(simulate.default(), 1)


@pytest.fixture(scope="module")
def saved(made: Simulated) -> pl.DataFrame:
    """Return what its optimizations saved."""
    return simulate.savings(made)


def test_the_parts_are_those_of_the_vocabulary() -> None:
    """The simulator's names of parts are lifecycle's, in lifecycle's order of words."""
    assert {str(part) for part in P} == {part.part for part in PARTS}


def test_the_same_seed_gives_the_same_fleet_and_another_one_another(made: Simulated) -> None:
    """Plans are equal for equal seeds and differ for different ones."""
    spec = simulate.default()
    assert simulate.fleet(spec, 1).plans == made.plans
    assert simulate.fleet(spec, 2).plans != made.plans


def test_segments_tile_every_wall(made: Simulated) -> None:
    """Each job's segments follow one another without a gap from its first submission to its last release."""
    ordered = made.segments.sort("job", "begin_us")
    follows = ordered.filter(pl.col("begin_us") != pl.col("end_us").shift(1).over("job").fill_null(pl.col("begin_us")))
    assert follows.height == 0
    walls = ordered.group_by("job").agg(pl.col("begin_us").min(), pl.col("end_us").max()).sort("job")
    assert walls.equals(made.jobs.select("job", "begin_us", "end_us").sort("job"))


def test_new_work_is_the_target_of_every_job_that_reached_it(made: Simulated) -> None:
    """Effective time of a job is its target times its step, whatever happened to it."""
    effective = made.ledger.filter(pl.col("role") == "effective").group_by("job").agg(pl.col("us").sum())
    spent = dict(effective.rows())
    for job in made.plans:
        if not job.gone:
            assert spent[job.name] == job.target * made.models[job.model].step_us


def plan(k: int, **other: object) -> Start:
    """Return a start of ten-second steps: 30 s rendezvous, 50 s model, 20 s excess; launched at 100 s on 8 GPUs."""
    usual: dict[str, object] = {
        "k": k, "kind": "first", "allocation": 0, "gpus": 8, "submit_us": 0, "granted_us": 60 * SECOND,
        "launched_us": 100 * SECOND, "path": ((P.rendezvous, 30 * SECOND), (P.model_build, 50 * SECOND)),
        "excess": 20 * SECOND, "resumed": 0, "last": 6, "high": 0, "step_us": 10 * SECOND,
        "interrupts": (Interrupt(4, P.save_stall, 5 * SECOND, 1),), "end": End.failed, "cause": "oom", "node": 1,
        "hang": 40 * SECOND, "final_save": 0, "publish": 0, "teardown": 15 * SECOND, "done_us": 320 * SECOND,
        "releases": False,
    }  # fmt: skip
    return Start(**{**usual, **other})  # type: ignore[arg-type]


def test_a_failure_and_its_recovery_by_hand() -> None:
    """Six steps, a save after the fourth, a failure; the next start repeats two steps and makes two new ones."""
    again = plan(
        1, kind="failure", launched_us=330 * SECOND, path=((P.restore, 25 * SECOND),), excess=0, resumed=4, last=8,
        high=6, interrupts=(), end=End.done, hang=0, final_save=7 * SECOND, teardown=4 * SECOND,
        done_us=406 * SECOND, releases=True,
    )  # fmt: skip
    job = Job(0, "j", 0, 8, (plan(0), again), 8, False)
    found = [(str(s.part), s.stage, s.start, s.begin_us // SECOND, s.end_us // SECOND) for s in segments(job)]
    assert found == [
        ("queue", "first_start", 0, 0, 60), ("placement", "first_start", 0, 60, 100),
        ("rendezvous", "first_start", 0, 100, 130), ("model_build", "first_start", 0, 130, 180),
        ("first_step_excess", "first_start", 0, 180, 200), ("step", "steady", 0, 200, 240),
        ("save_stall", "steady", 0, 240, 245), ("step", "steady", 0, 245, 265),
        ("hang", "recovery", 1, 265, 305), ("teardown", "recovery", 1, 305, 320),
        ("placement", "recovery", 1, 320, 330), ("restore", "recovery", 1, 330, 355),
        ("replay", "recovery", 1, 355, 375), ("step", "steady", 1, 375, 395),
        ("final_save", "shutdown", 1, 395, 402), ("teardown", "shutdown", 1, 402, 406),
    ]  # fmt: skip


def test_what_nobody_came_back_for_is_abandoned() -> None:
    """A job that dies at step 6 with step 4 committed and never returns has lost two steps."""
    job = Job(0, "j", 0, 8, (plan(0, releases=True),), 4, True)
    parts = [(str(s.part), (s.end_us - s.begin_us) // SECOND, s.stage) for s in segments(job)]
    assert parts[5:] == [
        ("step", 40, "steady"), ("save_stall", 5, "steady"), ("abandoned", 20, "steady"), ("hang", 40, "shutdown"),
        ("teardown", 15, "shutdown"),
    ]  # fmt: skip


def test_steps_repeated_and_lost_again_are_a_replay() -> None:
    """Step 4 of 6 is committed; the next start makes 5 to 9, and none comes back: two repeated steps and three lost."""
    again = plan(
        1, kind="failure", launched_us=330 * SECOND, path=(), excess=0, resumed=4, last=9, high=6, interrupts=(),
        hang=0, teardown=0, done_us=380 * SECOND, releases=True,
    )  # fmt: skip
    job = Job(0, "j", 0, 8, (plan(0), again), 4, True)
    parts = [(str(s.part), (s.end_us - s.begin_us) // SECOND, s.stage) for s in segments(job) if s.start == 1]
    assert parts[-2:] == [("replay", 20, "recovery"), ("abandoned", 30, "steady")]


def test_an_optimization_changes_its_own_parts_and_no_failure(made: Simulated, saved: pl.DataFrame) -> None:
    """Without one the fleet meets the same failures at the same steps, and only what it works on takes longer."""
    without = simulate.fleet(made.spec.without("fast-detection"), made.seed, like=made)
    kinds = [[(one.kind, one.last, one.end) for one in job.starts] for job in made.plans]
    assert [[(one.kind, one.last, one.end) for one in job.starts] for job in without.plans] == kinds
    rows = saved.filter(pl.col("optimization") == "fast-detection")
    hours = dict(rows.group_by("part").agg(pl.col("saved_gpu_us").sum() / HOUR).rows())
    assert hours["hang"] > 100
    assert hours["restore"] > 100
    # a release is a whole second
    assert all(abs(value) < 1 for part, value in hours.items() if part not in ("hang", "restore"))


def test_all_together_is_what_the_whole_fleet_saved(made: Simulated, saved: pl.DataFrame) -> None:
    """The savings named `all` are the difference of the two ledgers, GPU-microsecond by GPU-microsecond."""
    none = simulate.fleet(made.spec.without(*(one.name for one in made.spec.optimizations)), made.seed, like=made)
    total = int(saved.filter(pl.col("optimization") == "all")["saved_gpu_us"].sum())
    assert total == int(none.ledger["allocated_gpu_us"].sum()) - int(made.ledger["allocated_gpu_us"].sum())


def test_a_saving_is_its_factor_times_what_there_was(made: Simulated, saved: pl.DataFrame) -> None:
    """Where a cache leaves 30 % of a first start's excess, leaving it out makes that start's excess 10/3 as long."""
    rows = saved.filter(
        (pl.col("optimization") == "warm-compile-cache")
        & (pl.col("part") == "first_step_excess")
        & (pl.col("start") == 0)
    )
    left = made.ledger.join(rows, on=["job", "start", "part", "stage"], suffix="_saved")
    assert left.height > 5
    assert ((left["saved_us"] / left["us"] - 7 / 3).abs() < 0.05).all()


def test_the_ledger_and_the_registry_can_be_attributed() -> None:
    """The frames fit `attribute_ledger`: the cache is credited with a positive saving on compilation."""
    made = simulate.fleet(simulate.default().having(models=2, jobs=16), 1)
    rules = registry.parse(made.registry)
    credit = attribute_ledger(made.ledger, registry=rules, replicates=20).credit
    rows = credit.filter((pl.col("model") == "all") & (pl.col("optimization") == "warm-compile-cache"))
    assert rows["saved_gpu_hours"].sum() > 0


def test_a_scenario_is_refused_with_all_its_mistakes() -> None:
    """Unknown names, wrong types and values out of range are told at once, each with its place."""
    text = "[fleet]\nmodel = 3\njobs = 0\nhours = [5, 2]\n[parts.restor]\nfirst = 1\n[failures]\nper_day = -1\n"
    with pytest.raises(UsageError) as told:
        simulate.parse(text, "mine.toml")
    message = str(told.value)
    assert "fleet.model: unknown; did you mean models?" in message
    assert "parts.restor: unknown; did you mean restore?" in message
    with pytest.raises(UsageError) as told:
        simulate.parse("[fleet]\njobs = 0\nhours = [5, 2]\n[failures]\nper_day = -1\n", "mine.toml")
    assert "3 mistakes" in str(told.value)
    assert "mine.toml" in str(told.value)


def test_a_scenario_changes_only_what_it_names() -> None:
    """One mean of one part is changed; all else is the built-in scenario's."""
    spec, usual = simulate.parse("[parts.hang]\nfirst = 100\n"), simulate.default()
    assert spec.parts["hang"] == usual.parts["hang"]._replace(first=100.0)
    assert spec._replace(parts=usual.parts) == usual
