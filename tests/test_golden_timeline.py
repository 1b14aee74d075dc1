"""One job of 300 minutes whose every part is known: the shares published for it must come out exactly."""

from __future__ import annotations

import polars as pl
import pytest

from ettlog.fleet import Fleet
from tests.tables import MINUTE, Log, fleet, minute, record


@pytest.fixture(scope="module")
def golden() -> Fleet:
    """Return the job: queue 10, allocation 10 to 300, a failure at 165, detected at 175, restarted in place at 180."""
    log = Log(allocation="7")
    log.say(10, "launch", world=8)
    log.say(22, "model_built")
    log.say(25, "data_ready")
    # the first of 117 steps of a minute took 20 minutes more: 25 to 46; three saves stop the loop for a minute each
    at = 45.0
    for step in range(1, 118):
        at += 1
        log.step(at, step, 21 if step == 1 else 1)
        if step in (34, 67, 100):
            log.say(at, "save_request", step=step)
            at += 1
            log.say(at, "save_commit", step=step)
    log.say(175, "failure", cause="nccl_timeout")
    log.say(180, "restart")
    log.say(192, "model_built")
    log.say(192, "restore_begin")
    log.say(195, "restore_end", step=100)
    log.say(195, "resume", step=100)
    # warm compile of 8, then 17 steps again and 58 new ones, two saves of a minute
    at = 203.0
    for step in range(101, 176):
        at += 1
        log.step(at, step, 9 if step == 101 else 1)
        if step in (130, 160):
            log.say(at, "save_request", step=step)
            at += 1
            log.say(at, "save_commit", step=step)
    log.say(280, "train_end")
    log.say(300, "exit_ok")
    return fleet(log, alloc=[record(submit=0, start=10, end=300, gpus=8)])


def minutes(golden: Fleet, by: str) -> dict[str, float]:
    """Return minutes by a column of the segments."""
    frame = golden.table("segment").group_by(by).agg((pl.col("end_us") - pl.col("begin_us")).sum() / MINUTE)
    return dict(frame.iter_rows())


def test_every_part_comes_out_exactly(golden: Fleet) -> None:
    """All parts of the golden timeline have the minutes that they were made with."""
    assert minutes(golden, "part") == {
        "queue": 10, "model_build": 24, "data_warmup": 3, "first_step_excess": 28, "step": 175, "save_stall": 5,
        "hang": 10, "placement": 5, "restore": 3, "replay": 17, "teardown": 20,
    }  # fmt: skip


def test_stages_divide_the_same_time(golden: Fleet) -> None:
    """TTS is 35 minutes of allocation after 10 of queue, TTR 38 to the first step and 17 more to the first new one."""
    assert minutes(golden, "stage") == {"first_start": 45, "recovery": 55, "steady": 180, "shutdown": 20}


def test_published_shares_come_out(golden: Fleet) -> None:
    """60.3 % by components, 74.8 % and 69.0 % by the formula, 58.3 % with the queue in the wall."""
    stage, part = minutes(golden, "stage"), minutes(golden, "part")
    wall = sum(stage.values())
    allocated = wall - part["queue"]
    tts = stage["first_start"] - part["queue"]
    assert wall == 300
    assert round(100 * part["step"] / allocated, 1) == 60.3
    assert round(100 * (1 - (tts + stage["recovery"] - part["replay"]) / allocated), 1) == 74.8
    assert round(100 * (1 - (tts + stage["recovery"]) / allocated), 1) == 69.0
    assert round(100 * part["step"] / wall, 1) == 58.3


def test_the_recovery_belongs_to_the_start_that_recovered(golden: Fleet) -> None:
    """The hang of start 0 is time of start 1, for it is the recovery that start 1 ends."""
    hang = golden.table("segment").filter(pl.col("part") == "hang")
    assert hang.select("start", "stage", "begin_us", "end_us").rows() == [(1, "recovery", minute(165), minute(175))]


def test_the_job_is_summed_over_its_starts(golden: Fleet) -> None:
    """One failure, 175 effective of 290 allocated minutes."""
    job = golden.table("job").row(0, named=True)
    assert (job["starts"], job["nof"], job["failures"], job["end_state"]) == (2, 1, 1, "completed")
    assert (job["wall_us"], job["allocated_us"], job["effective_us"]) == (300 * MINUTE, 290 * MINUTE, 175 * MINUTE)
    assert job["ett"] == pytest.approx(175 / 290, abs=1e-12)


def test_the_ledger_adds_up_to_the_wall(golden: Fleet) -> None:
    """The ledger holds the same minutes, times eight GPUs."""
    ledger = golden.table("ledger")
    assert ledger["us"].sum() == 300 * MINUTE
    assert ledger["allocated_gpu_us"].sum() == 290 * 8 * MINUTE
    assert ledger.filter(pl.col("part") == "model_build").select("start", "kind", "us").sort("start").rows() == [
        (0, "first", 12 * MINUTE), (1, "failure", 12 * MINUTE),
    ]  # fmt: skip
