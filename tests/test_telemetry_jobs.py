"""Telemetry beside a trainer's log belongs to the same job, and tells what the log alone does not."""

from __future__ import annotations

from pathlib import Path

import pytest

import ettlog
from ettlog.parse.naming import take_apart
from tests.telemetry import BASE, SECOND, write
from tests.test_titan_jsonl import Log
from tests.test_torch_trace import Trace


@pytest.mark.parametrize(
    ("path", "rank"),
    [
        ("logs/dove/torch_trace/dedicated_log_torch_trace_rank_0_ab12cd34.log", "0"),
        ("logs/dove/structured_logs/training.global_rank_2.20310405-060640-AB12CD.jsonl", "2"),
        ("logs/dove/events_3_41234.log", None),
        ("logs/dove/nvrx/cycle_info.918273.1.2", None),
        ("logs/dove/progress.txt", None),
        ("logs/dove/metrics.txt", None),
        ("logs/dove/onelogger.log", None),
    ],
)
def test_names_that_tools_give_say_nothing_of_the_job(path: str, rank: str | None) -> None:
    """The folder around a tool's own file or folder names the job, and no number in its name is an allocation."""
    named = take_apart(path)
    assert (named.job, named.in_name.get("rank")) == ("dove", rank)
    assert "allocation" not in named.in_name
    assert "part" not in named.in_name


def stamp(second: int) -> str:
    """Return a local stamp so many seconds after the base."""
    return f"2031-04-05 06:{6 + (40 + second) // 60:02d}:{(40 + second) % 60:02d},000"


def trainer_log() -> list[str]:
    """Return ten steps of five seconds, the first of them twenty-five, in the shape of torchtitan."""
    lines = [f"[titan] {stamp(0)} - root - INFO - torchtitan version: 0.2.0"]
    lines.append(f"[titan] {stamp(10)} - root - INFO - Training starts at step 1")
    for step in range(1, 11):
        tail = (
            f"step: {step:2d}  loss: 12.26  grad_norm:  1.2  memory: 3.0GiB(4.0%)  tps: 1,000  tflops: 20.0  mfu: 5.0%"
        )
        lines.append(f"[titan] {stamp(30 + 5 * step)} - root - INFO - {tail}")
    lines.append(f"[titan] {stamp(82)} - root - INFO - Training completed")
    return [*lines, f"[titan] {stamp(84)} - root - INFO - Process group destroyed"]


def parts(fleet: ettlog.Fleet) -> dict[str, float]:
    """Return the seconds of each part over all jobs."""
    rows = fleet.table("segment").iter_rows(named=True)
    found: dict[str, float] = {}
    for row in rows:
        found[row["part"]] = found.get(row["part"], 0) + (row["end_us"] - row["begin_us"]) / SECOND
    return found


def test_traces_divide_the_first_step(tmp_path: Path) -> None:
    """Compiles of two ranks inside the first step count as their union; the rest of the excess stays an estimate."""
    folder = tmp_path / "logs" / "dove"
    (folder / "torch_trace").mkdir(parents=True)
    write(folder / "run.log", trainer_log())
    for rank in (0, 1):
        trace = Trace(rank).compile(11, 20 + rank).compile(21, 28, compile=(1, 0)).compile(60, 62, compile=(1, 1))
        write(folder / "torch_trace" / f"dedicated_log_torch_trace_rank_{rank}_ab12cd34.log", trace.lines)
    ettlog.ingest([tmp_path / "logs"], tmp_path / "lake")
    fleet = ettlog.open(tmp_path / "lake")
    assert fleet.table("start").select("job", "k", "last_step", "end_state").rows() == [("dove", 0, 10, "completed")]
    found = parts(fleet)
    assert (found["compile"], found["recompile"], found["step"]) == (28 - 11, 62 - 60, 50 - 2)
    assert found["first_step_excess"] == 30 - 28


def test_structured_log_alone_tells_a_job(tmp_path: Path) -> None:
    """A job known by its structured log only has its start-up, its steps, its save and its end."""
    folder = tmp_path / "logs" / "dove" / "structured_logs"
    folder.mkdir(parents=True)
    log = Log().at(0, "structured_logger_started", log_type="instant").span(0, 4, "torch_distributed_init")
    for step in range(1, 6):
        log.at(5 + 5 * step, "step_start", step=step, relative_step=step).span(
            5 + 5 * step, 9 + 5 * step, "optim", step=step
        )
        if step == 3:
            log.span(9 + 5 * step, 9.5 + 5 * step, "checkpoint_save", step=step)
        log.at(10 + 5 * step, "step_end", value=5000.0, step=step)
    log.span(36, 37, "torch_distributed_teardown")
    write(folder / "training.global_rank_0.20310405-060640-AB12CD.jsonl", log.records)
    ettlog.ingest([tmp_path / "logs"], tmp_path / "lake")
    fleet = ettlog.open(tmp_path / "lake")
    row = fleet.table("job").row(0, named=True)
    assert (row["job"], row["end_state"], row["wall_us"]) == ("dove", "completed", 37 * SECOND)
    assert (row["first_us"], parts(fleet)["save_stall"]) == (BASE * SECOND, 0.5)
