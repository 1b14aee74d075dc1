"""Real logs against the facts that were taken from them by hand: starts, stamps, ends, checkpoints, partition."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ettlog import fleet
from ettlog.fleet import Fleet

pytestmark = pytest.mark.shared

SETS = (
    "bs_meg_gpt2_n16_timelimit", "bs_meg_gpt2_n4_cancelled", "bs_megds3d_dsoff_clockskew", "bs_megds3d_old_nccl_info",
    "bs_megds_zero_n16_timelimit", "dse_gpt2_medium", "dse_sft_opt13b", "dse_vit_18launches", "megds_alcf_3jobs",
    "megds_alcf_4jobs", "megds_alcf_hour_per_iter", "megds_alcf_truncated", "megds_ltd_baseline", "megds_ltd_sigterm",
    "megds_moe_51min_init_sigterm", "neox_70m_512step", "neox_70m_task0", "neox_70m_task5_noop_resume",
    "neox_llemma7b_resume8000",
)  # fmt: skip
VALUES = {
    "first_step": "first_step", "last_step": "last_step", "resumed_from": "resumed_from", "end_state": "end",
    "cause": "cause", "world_size": "world_size",
}  # fmt: skip
NO_WORLD = ("dse_gpt2_medium", "dse_sft_opt13b")
"""Sets that print no world size: theirs was counted from other lines."""
STAMPS = {
    "launched_at": "launched_at", "first_step_at": "first_step_logged_at", "last_step_at": "last_step_logged_at",
    "failed_at": "failed_at", "ended_at": "ended_at",
}  # fmt: skip


@pytest.fixture(scope="module")
def real(real_lake: Path) -> Fleet:
    """Return a fleet over everything in the folder of real logs."""
    return fleet.open(real_lake)


@pytest.fixture(scope="module")
def facts(shared: Path) -> dict[str, dict[str, Any]]:
    """Return the facts of each set."""
    listed = json.loads((shared / "data" / "trainer" / "facts.json").read_text(encoding="utf-8"))
    return {fact["set"]: fact for fact in listed}


def of_set(real: Fleet, relation: str, name: str) -> pl.DataFrame:
    """Return the rows of a relation whose evidence lies in a set, jobs in the order of their sweep."""
    frame = real.table(relation).filter(pl.col("evidence").str.starts_with(f"trainer/{name}/"))
    number = pl.col("job").str.extract(r"#(\d+)$").cast(pl.Int64).fill_null(1)
    return frame.with_columns(number.alias("member")).sort("member", "k")


def stamp(text: str | None, offset: str = "+00:00") -> datetime | None:
    """Return a stamp of the facts, cut to microseconds, in UTC; `offset` is the zone that its file shows."""
    if not text:
        return None
    hours, minutes = offset[1:].split(":")
    shift = timedelta(hours=int(hours), minutes=int(minutes)) * (-1 if offset[0] == "+" else 1)
    return datetime.fromisoformat(text.removesuffix("Z")[:26]) + shift


def same_instant(found: datetime | None, expected: datetime | None) -> bool:
    """Tell whether two stamps are both absent, or within a second of each other."""
    if found is None or expected is None:
        return found is expected
    return abs((found - expected).total_seconds()) <= 1


@pytest.mark.parametrize("name", SETS)
def test_starts_are_those_of_the_facts(real: Fleet, facts: dict[str, dict[str, Any]], name: str) -> None:
    """Count, jobs, steps, stamps within a second, resumption, end and cause of every start."""
    fact = facts[name]
    found = of_set(real, "start", name)
    assert found["job"].n_unique() == fact["job_count"]
    assert found.height == len(fact["starts"])
    open_to_debate = {word.removeprefix("starts.") for word in fact.get("debatable", [])}
    open_to_debate |= {"world_size"} if name in NO_WORLD else set()
    for row, start in zip(found.iter_rows(named=True), fact["starts"], strict=True):
        for column, key in VALUES.items():
            if key in start and key not in open_to_debate:
                assert row[column] == start[key], (start["job"], start["k"], column)
        for column, key in STAMPS.items():
            if key in start:
                assert same_instant(row[column], stamp(start[key], fact.get("utc_offset", "+00:00"))), (
                    start["job"],
                    start["k"],
                    column,
                    row[column],
                )


@pytest.mark.parametrize("name", SETS)
def test_checkpoints_are_those_of_the_facts(real: Fleet, facts: dict[str, dict[str, Any]], name: str) -> None:
    """Step and instant of every committed save and of every load."""
    found = of_set(real, "checkpoint", name).sort("at")
    for state, key in (("committed", "saves_committed"), ("loaded", "loads")):
        rows = found.filter(pl.col("state") == state).select("step", "at").rows()
        expected = [(step, stamp(at)) for step, at in facts[name].get(key, [])]
        assert [step for step, _ in rows] == [step for step, _ in expected]
        assert all(same_instant(row[1], want[1]) for row, want in zip(rows, expected, strict=True))


@pytest.mark.parametrize("name", SETS)
def test_step_counts_are_those_of_the_facts(real: Fleet, facts: dict[str, dict[str, Any]], name: str) -> None:
    """New and replayed steps, where the file can tell them."""
    fact = facts[name]
    found = of_set(real, "start", name)
    if fact.get("new_steps_range") and fact["job_count"] == 1:
        first, last = fact["new_steps_range"]
        assert found["new_steps"].sum() == last - first + 1
    if fact.get("replayed_steps") is not None:
        assert found.select((pl.col("steps") - pl.col("new_steps")).sum()).item() == fact["replayed_steps"]


def seconds(real: Fleet, name: str, column: str) -> dict[str, float]:
    """Return the seconds of a set by a column of the segments."""
    jobs = of_set(real, "start", name)["job"].unique().to_list()
    spent = (pl.col("end_us") - pl.col("begin_us")).sum() / 1e6
    return dict(real.table("segment").filter(pl.col("job").is_in(jobs)).group_by(column).agg(spent).iter_rows())


def test_saves_inside_a_step_are_stalls_and_not_training(real: Fleet) -> None:
    """Two saves of about two minutes each: one inside the printed duration of a step, one behind the last step."""
    jobs = of_set(real, "start", "neox_llemma7b_resume8000")["job"].to_list()
    saves = pl.col("part").is_in(["save_stall", "final_save"])
    stalls = real.table("segment").filter(pl.col("job").is_in(jobs), saves).sort("begin_us")
    assert stalls["part"].to_list() == ["save_stall", "final_save"]
    begins = stalls.select(pl.from_epoch("begin_us", time_unit="us")).to_series().to_list()
    ends = stalls.select(pl.from_epoch("end_us", time_unit="us")).to_series().to_list()
    assert begins == [datetime(2024, 2, 12, 1, 19, 14, 197000), datetime(2024, 2, 12, 1, 22, 2, 235000)]
    assert ends == [datetime(2024, 2, 12, 1, 21, 17, 339000), datetime(2024, 2, 12, 1, 24, 6, 858000)]


def test_a_run_that_had_finished_trains_nothing(real: Fleet) -> None:
    """Relaunched at its last step it loads, validates, saves and leaves: no effective time."""
    assert "effective_training" not in seconds(real, "neox_70m_task5_noop_resume", "component")


def test_an_unsaved_run_that_was_cancelled_is_abandoned(real: Fleet) -> None:
    """About 51.8 minutes of start-up, 2,130 steps abandoned, none of them effective."""
    name = "megds_moe_51min_init_sigterm"
    spent = seconds(real, name, "component")
    assert 51.4 <= spent["trainer_init"] / 60 <= 52.8
    assert "effective_training" not in spent
    runs = of_set(real, "step_run", name)
    assert runs.group_by("nature").agg(pl.col("steps").sum()).rows() == [("abandoned", 2130)]


def test_a_printed_start_up_time_below_zero_does_no_harm(real: Fleet) -> None:
    """The clocks of several nodes made it negative; the stamps of one node divide the time."""
    for name in ("megds_moe_51min_init_sigterm", "megds_ltd_sigterm", "bs_megds3d_dsoff_clockskew"):
        assert all(value > 0 for value in seconds(real, name, "part").values())


def test_segments_of_all_real_logs_tile_their_walls(real: Fleet) -> None:
    """No error of any check over all sets, known dialect or not; the sums are the walls to the microsecond."""
    assert real.check().filter(pl.col("level") == "error").is_empty()
    job = real.table("job").filter(pl.col("first_us").is_not_null())
    walls = dict(job.select("job", pl.col("last_us") - pl.col("first_us")).iter_rows())
    sums = real.table("segment").group_by("job").agg((pl.col("end_us") - pl.col("begin_us")).sum())
    found = dict(sums.iter_rows())
    assert {name: found.get(name, 0) for name in walls} == walls


def test_scheduler_records_give_their_sums(real: Fleet, shared: Path) -> None:
    """Attempts, waits and GPU time of accounting that carries its own header are those of the facts."""
    listed = json.loads((shared / "data" / "scheduler" / "facts.json").read_text(encoding="utf-8"))
    fact = next(one for one in listed if one["file"] == "slurm_sacct_gcm/sample-sacct-output-invalid-utf8.txt")
    rows = real.table("allocation").filter(pl.col("evidence").str.contains(fact["file"], literal=True))
    held = rows.filter(pl.col("start_us").is_not_null())
    assert held.height == fact["allocations"]
    assert (held["end_us"] - held["start_us"]).sum() == fact["allocated_seconds_sum"] * 1_000_000
    gpu_us = held.select(((pl.col("end_us") - pl.col("start_us")) * pl.col("gpus")).sum()).item()
    assert gpu_us == fact["gpu_seconds_sum"] * 1_000_000
