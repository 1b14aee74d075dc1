"""A step number that falls: printed again, of another job, of another rank, or done again inside one process."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

import ettlog
from ettlog.fleet import Fleet

BEGIN = datetime(2031, 3, 9, 8, 0, 0)
HEAD = "[titan] {:%Y-%m-%d %H:%M:%S},000 - root - INFO - {}".format
NUMBERS = "loss:  8.1234  grad_norm:  1.7457  memory: 28.61GiB(30.12%)  tps: 363  tflops: 21.02  mfu: 6.73%"


def at(second: int, text: str) -> str:
    """Return a torchtitan line so many seconds into the run."""
    return HEAD(BEGIN + timedelta(seconds=second), text)


def step(second: int, number: int) -> str:
    """Return the line of a step."""
    return at(second, f"step: {number:2}  {NUMBERS}")


def fleet(folder: Path, **logs: list[str]) -> Fleet:
    """Return a fleet over logs in one folder."""
    (folder / "run").mkdir()
    for name, lines in logs.items():
        (folder / "run" / f"{name}.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    ettlog.ingest([folder / "run"], folder / "lake")
    return ettlog.open(folder / "lake")


def seconds(found: Fleet) -> dict[str, float]:
    """Return the seconds of each part over all jobs."""
    spent = (pl.col("end_us") - pl.col("begin_us")).sum() / 1e6
    return dict(found.table("segment").group_by("part").agg(spent).iter_rows())


def runs(found: Fleet) -> list[tuple[Any, ...]]:
    """Return nature, first step, last step and seconds of the stretches of steps, in time."""
    frame = found.table("step_run").sort("begin_us")
    return frame.select("nature", "first_step", "last_step", (pl.col("end_us") - pl.col("begin_us")) / 1e6).rows()


BACK = [
    at(0, "Starting job: demo"), at(30, "Training starts at step 1"),
    *(step(30 + 10 * number, number) for number in range(1, 11)),
    *(step(150 + 10 * (number - 5), number) for number in range(6, 14)),
    at(231, "Training completed"),
]  # fmt: skip
"""Ten steps of 10 s; 20 s in which step 5 is loaded again; then steps 6 to 13, of which five are done again."""


def test_a_rewind_inside_the_process_is_replay_of_the_same_start(tmp_path: Path) -> None:
    """100 s of steps 1 to 10, a gap of 20 s, 50 s of replay, 30 s of 11 to 13: one start, 18 steps, 13 new."""
    found = fleet(tmp_path, train=BACK)
    assert runs(found) == [("step", 1, 10, 100.0), ("replay", 6, 10, 50.0), ("step", 11, 13, 30.0)]
    start = found.table("start").select("k", "kind", "first_step", "last_step", "steps", "new_steps", "end_state")
    assert start.rows() == [(0, "first", 1, 13, 18, 13, "completed")]
    assert seconds(found) == {"other": 30.0, "step": 130.0, "gap": 20.0, "replay": 50.0, "teardown": 1.0}


def test_two_rewinds_count_twice(tmp_path: Path) -> None:
    """Back to 2 after step 4, and back to 2 again after step 5: steps 3 and 4, then 3 to 5 are done again."""
    order = [1, 2, 3, 4, 3, 4, 5, 3, 4, 5, 6]
    lines = [at(0, "Starting job: demo"), *(step(10 * place, number) for place, number in enumerate(order, 1))]
    found = fleet(tmp_path, train=[*lines, at(111, "Training completed")])
    assert [(nature, first, last) for nature, first, last, _ in runs(found)] == [
        ("step", 1, 4), ("replay", 3, 4), ("step", 5, 5), ("replay", 3, 5), ("step", 6, 6),
    ]  # fmt: skip
    assert found.table("start").select("steps", "new_steps").rows() == [(11, 6)]
    assert seconds(found)["replay"] == 50.0


def test_a_rewind_told_by_every_rank_counts_once(tmp_path: Path) -> None:
    """Two ranks, each with a file of its own, print the same: the steps are those of one rank."""
    found = fleet(tmp_path, rank0=BACK, rank1=BACK)
    assert found.table("start").select("steps", "new_steps").rows() == [(18, 13)]
    assert seconds(found)["replay"] == 50.0


def test_copies_of_ranks_are_no_rewind(tmp_path: Path) -> None:
    """Two ranks that do not say who they are print each step, one of them a step behind: ten steps, all new."""
    lines = [at(0, "Starting job: demo"), step(10, 1)]
    lines += [
        line for number in range(2, 11) for line in (step(10 * number, number), step(10 * number + 2, number - 1))
    ]
    found = fleet(tmp_path, train=[*lines, step(102, 10), at(103, "Training completed")])
    assert found.table("start").select("k", "steps", "new_steps").rows() == [(0, 10, 10)]
    assert "replay" not in seconds(found)


def test_a_block_written_late_is_no_rewind(tmp_path: Path) -> None:
    """A rank whose output was held back prints all its steps at the end, with the stamps of their time."""
    lines = [at(0, "Starting job: demo"), *(step(10 * number, number) for number in range(1, 9))]
    found = fleet(tmp_path, train=[*lines, *(step(10 * number + 1, number) for number in range(1, 9))])
    assert found.table("start").select("steps", "new_steps").rows() == [(8, 8)]
    assert "replay" not in seconds(found)


def test_a_sweep_is_jobs_of_their_own(tmp_path: Path) -> None:
    """Three runs from step 1 that each finish, one after another in a file: three jobs, nothing replayed."""
    lines = []
    for run in range(3):
        begin = 100 * run
        steps = (step(begin + 20 + 10 * number, number) for number in range(1, 6))
        lines += [at(begin, "Starting job: demo"), at(begin + 20, "Training starts at step 1"), *steps]
        lines.append(at(begin + 75, "Training completed"))
    found = fleet(tmp_path, train=lines)
    assert found.table("start").sort("job").select("k", "steps", "new_steps").rows() == [(0, 5, 5)] * 3
    assert found.table("start")["job"].n_unique() == 3
    assert "replay" not in seconds(found)


def test_a_validation_printed_again_changes_nothing(tmp_path: Path) -> None:
    """The last validation is printed once more when all is done: an evaluation, not a step and not a start."""
    train = "step:{}/40 train_time:{}ms step_avg:250.00ms".format
    validation = "step:{}/40 val_loss:3.2750 train_time:{}ms step_avg:250.00ms".format
    lines = [train(number, 250 * number) for number in range(1, 41)]
    lines = [*lines[:20], validation(20, 5000), *lines[20:], validation(40, 10_000)]
    once = fleet(tmp_path, train=lines).table("start").select("k", "first_step", "last_step", "steps").rows()
    again = tmp_path / "again"
    again.mkdir()
    found = fleet(again, train=[*lines, validation(20, 5000), validation(40, 10_000)])
    assert found.table("start").select("k", "first_step", "last_step", "steps").rows() == once == [(0, 1, 40, 40)]
