"""Half a year of a small fleet, through the public commands, against what its generator planned."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import ettlog
from ettlog.attribute import Attribution
from ettlog.fleet import Fleet
from fixtures.fleet import make
from fixtures.fleet.story import MODELS, ROLLOUTS, SEED

LOGS = Path(make.__file__).parent / "logs"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """Return the fleet's lake."""
    lake = tmp_path_factory.mktemp("fleet") / "fleet.lake"
    ettlog.ingest([LOGS], lake)
    return ettlog.open(lake)


@pytest.fixture(scope="module")
def planned() -> dict[str, make.Run]:
    """Return the generator's own runs by job."""
    import random

    runs = [run for index, model in enumerate(MODELS) for run in make.jobs(model, random.Random(SEED + index))]
    return {run.job.name: run for run in runs}


@pytest.fixture(scope="module")
def attribution(fleet: Fleet) -> Attribution:
    """Return the attribution of six months."""
    return ettlog.attribute(fleet, window="6mo")


def test_the_logs_are_those_of_the_generator(tmp_path: Path) -> None:
    """Writing them again gives the committed bytes, and all are small enough for a repository."""
    make.write(tmp_path)
    written = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    assert written == sorted(path.relative_to(LOGS) for path in LOGS.rglob("*") if path.is_file())
    assert all((tmp_path / path).read_bytes() == (LOGS / path).read_bytes() for path in written)
    assert sum((LOGS / path).stat().st_size for path in written) < 3_000_000


def test_every_job_is_found_with_its_wall_and_its_training(fleet: Fleet, planned: dict[str, make.Run]) -> None:
    """Held time is the scheduler's to the second; new training is target x step time, within what stamps resolve."""
    rows = {row["job"]: row for row in fleet.table("job").iter_rows(named=True)}
    assert sorted(rows) == sorted(planned)
    for name, run in planned.items():
        held = sum(int(row["end"]) - int(row["start"]) for row in run.rows)
        assert rows[name]["allocated_us"] == held, name
        trained = run.job.target * run.job.step_us
        assert rows[name]["effective_us"] == pytest.approx(trained, rel=0.002), name


def test_starts_have_their_kinds(fleet: Fleet, planned: dict[str, make.Run]) -> None:
    """Failures, preemptions and planned restarts are as many as were planned, in every job."""
    counts = {
        (job, kind): n
        for job, kind, n in fleet.table("start").group_by("job", "kind").len().select("job", "kind", "len").rows()
    }
    names = {"failed": "failure", "preempted": "preemption", "planned": "planned"}
    for name, run in planned.items():
        assert counts.get((name, "first")) == 1
        for how, kind in names.items():
            assert counts.get((name, kind), 0) == run.ends.count(how), (name, kind)


def test_the_story_is_told(attribution: Attribution) -> None:
    """The fleet goes from about 70 to about 88 %, and every optimization of the registry has won hours."""
    head = attribution.header
    assert head["ett_before"] == pytest.approx(0.71, abs=0.02)
    assert head["ett_after"] == pytest.approx(0.875, abs=0.02)
    fleet = attribution.credit.filter(pl.col("model") == "all")
    assert fleet["saved_gpu_hours"].sum() == pytest.approx(head["saved_gpu_hours"], rel=1e-9)
    won = dict(fleet.group_by("optimization").agg(pl.col("saved_gpu_hours").sum()).rows())
    assert set(ROLLOUTS) <= set(won)
    assert all(won[name] > 0 for name in ROLLOUTS)


def test_the_cascade_has_an_interval_and_a_bound(attribution: Attribution) -> None:
    """The start-path optimizations have a measured cascade between low and high, beside the bound."""
    rows = attribution.credit.filter((pl.col("model") == "all") & (pl.col("tier") == "cascade"))
    assert set(rows["optimization"]) == {"parallel-init", "warm-compile-cache"}
    assert (
        rows.filter((pl.col("low") < pl.col("saved_gpu_hours")) & (pl.col("saved_gpu_hours") < pl.col("high"))).height
        == 2
    )
    assert (rows["bound_gpu_hours"] > 0).all()


def test_the_model_without_rollouts_only_drifts(attribution: Attribution) -> None:
    """ctr-legacy got nothing: nobody has credit there, and the header's note says where it was cut."""
    rows = attribution.credit.filter(pl.col("model") == "ctr-legacy")
    assert set(rows["optimization"]) == {""}
    assert any("1 model without a rollout" in note for note in attribution.notes)
