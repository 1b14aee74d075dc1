"""Dialects met in public logs: what a small log in each of them says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.dialects import read

MS = 1_000

TITLE = "      Epoch    GPU_mem   box_loss   {}   {}  Instances       Size".format
YOLO = "        {}/{}     0.721G      1.222      1.679      1.368          5        512: {}".format
TQDM = "100%|██████████| 1000/1000 [02:05<00:00,  8.00it/s]"
ULTRALYTICS = "100% ━━━━━━━━━━━━ 1000/1000 8.0it/s 2:05"
ESPNET = (
    "[gn01] 2031-03-09 08:{:02d}:20,315 (trainer:337) INFO: {}epoch results: [train] iter_time=0.001, loss=3.1, "
    "train_time=1.500, time=1 minute and 30 seconds, total_count={}, gpu_max_cached_mem_GB=6.0, [valid] loss=4.1, "
    "time=5 seconds, total_count=10"
).format
DLL = (
    "DLL 2031-03-09 08:08:53.659718 - epoch {:4d} | iter {:3d}/48 | loss 40.97 | 5730.98 frames/s | took 24.50 s | "
    "lrate 3.16e-06"
).format


def steps(folder: Path, *lines: str) -> list[tuple[int, int | None]]:
    """Return (step, microseconds of one step) of the steps of a log."""
    return [(row["step"], row["duration_us"]) for row in read(folder, *lines).steps.to_pylist()]


def kinds(folder: Path, *lines: str) -> list[tuple[str, int | None]]:
    """Return (kind, step) of the events of a log."""
    return [(row["kind"], row["step"]) for row in read(folder, *lines).events.to_pylist()]


@pytest.mark.parametrize(
    ("title", "first", "bar"),
    [
        (TITLE("cls_loss", "dfl_loss"), 1, TQDM),
        (TITLE("obj_loss", "cls_loss"), 0, TQDM),
        (TITLE("cls_loss", "dfl_loss"), 1, ULTRALYTICS),
    ],
    ids=["v8", "v5", "v8.3"],
)
def test_the_title_above_a_bar_tells_how_yolo_counts_epochs(tmp_path: Path, title: str, first: int, bar: Any) -> None:
    """YOLOv5 counts epochs from 0, its successors from 1: two epochs of 1000 batches are steps 1000 and 2000."""
    lines = (title, YOLO(first, first + 1, bar), title, YOLO(first + 1, first + 1, bar))
    assert steps(tmp_path, *lines) == [(1000, 125 * MS), (2000, 125 * MS)]


def test_a_bar_of_yolo_without_a_title_is_no_step(tmp_path: Path) -> None:
    """Where no title was printed nobody knows which epoch is the first."""
    assert steps(tmp_path, YOLO(1, 2, TQDM)) == []


def test_espnet_counts_its_batches_in_the_summaries_of_its_epochs(tmp_path: Path) -> None:
    """All batches so far stand behind the epoch's times, not those of the validation; batches are signs of life."""
    lines = (
        "# Started at Sun Mar  9 08:00:00 UTC 2031",
        "[gn01] 2031-03-09 08:00:54,278 (trainer:192) INFO: 1/2epoch started",
        "[gn01] 2031-03-09 08:01:04,315 (trainer:453) INFO: 1epoch:train:1-30batch: loss=50.8, train_time=1.5",
        ESPNET(3, 1, 60),
        "[gn01] 2031-03-09 08:03:24,278 (trainer:192) INFO: 2/2epoch started. Estimated time to finish: 1 minute",
        ESPNET(6, 2, 120),
        "[gn01] 2031-03-09 08:06:30,315 (trainer:505) INFO: The training was finished at 2 epochs ",
        "# Ended (code 0) at Sun Mar  9 08:06:34 UTC 2031, elapsed time 394 seconds",
    )
    assert steps(tmp_path, *lines) == [(60, 1_500 * MS), (120, 1_500 * MS)]
    assert [kind for kind, _ in kinds(tmp_path, *lines)] == [
        "launch", "train_start", "heartbeat", "heartbeat", "train_end", "exit_ok",
    ]  # fmt: skip


def test_dllogger_counts_inside_an_epoch(tmp_path: Path) -> None:
    """Batch 3 of the second epoch of 48 is step 51; its time stands behind the other values."""
    assert steps(tmp_path, DLL(1, 48), DLL(2, 3)) == [(48, 24_500 * MS), (51, 24_500 * MS)]


def test_a_loop_of_accelerate_prints_a_bar_and_saves_between_two_lines(tmp_path: Path) -> None:
    """The banner is that of the Trainer, the bar has a name of its own; a save is complete when it says so."""
    lines = (
        "03/09/2031 08:00:01 - INFO - __main__ - ***** Running training *****",
        "Steps:   1%|          | 1/100 [00:02<03:18,  2.00s/it, lr=0.0001, step_loss=0.12]",
        "Steps:   2%|          | 2/100 [00:03<03:16,  2.00it/s, lr=0.0001, step_loss=0.12]",
        "03/09/2031 08:00:41 - INFO - accelerate.accelerator - Saving current state to out/checkpoint-20",
        "03/09/2031 08:00:45 - INFO - __main__ - Saved state to out/checkpoint-20",
    )
    assert steps(tmp_path, *lines) == [(1, 2_000 * MS), (2, 500 * MS)]
    assert kinds(tmp_path, *lines)[-2:] == [("save_blocking", 20), ("save_commit", 20)]


def test_nemo_rl_numbers_a_step_above_it(tmp_path: Path) -> None:
    """The line of step 3 says that step 2 is done; the line of step 1 says that the loop is entered."""
    rule = "=" * 25
    lines = [f"{rule} Step {number}/500 {rule}" for number in (1, 2, 3)]
    assert steps(tmp_path, *lines) == [(1, None), (2, None)]
    assert kinds(tmp_path, *lines) == [("train_start", None)]


def test_fairseq2_prints_a_line_for_many_steps_and_restores_by_number(tmp_path: Path) -> None:
    """Thousands have commas; a restored start goes on from the number it names."""
    head = "[Rank 0] 2031-03-09 08:01:38,331 INFO fairseq2.trainer - "
    lines = (
        head + "Training restored. Resuming from step 1000.",
        head + "Train Metrics (step 1,200) - Loss: 3.21 | Gradient Norm: 0.87",
        head + "Checkpoint at step 1200 saved.",
    )
    assert steps(tmp_path, *lines) == [(1200, None)]
    assert kinds(tmp_path, *lines) == [("restore_end", 1000), ("save_commit", 1200)]


def test_an_interactive_allocation_ends_at_its_limit(tmp_path: Path) -> None:
    """What salloc says of a limit is an end like that of a batch job."""
    line = "salloc: Job 700123 has exceeded its time limit and its allocation has been revoked."
    assert kinds(tmp_path, line) == [("time_limit", None)]


def test_openrlhf_counts_rollouts_and_not_the_updates_inside(tmp_path: Path) -> None:
    """The second episode of 12 begins at step 12; the bars of updates and of generation inside a step are none."""
    lines = (
        "(ActorModelRayActor pid=4242) Episode [2/4]:  25%|██▌       | 3/12 [00:58<02:55, 19.50s/it]",
        "(LLMRayActor pid=4243) Processed prompts: 100%|██████████| 16/16 [00:12<00:00,  1.25it/s]",
        "Train epoch [1/1]: 100%|██████████| 2/2 [00:03<00:00,  1.50s/it, pg=0.161]",
    )
    assert steps(tmp_path, *lines) == [(15, 19_500 * MS)]


def test_a_stuck_watchdog_tells_how_long_it_waited(tmp_path: Path) -> None:
    """The monitor of the watchdog's heartbeat names its seconds: the hang began that much before its stamp."""
    head = "[rank7]:[E309 13:14:36.393067540 ProcessGroupNCCL.cpp:1743] [PG ID 0 PG GUID 0(default_pg) Rank 7] "
    line = head + "ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in monitoring."
    (row,) = read(tmp_path, line).events.to_pylist()
    assert (row["kind"], row["cause"], row["duration_us"], row["rank"]) == ("failure", "nccl_timeout", 480_000 * MS, 7)


def test_a_bar_of_lightning_may_have_no_meter(tmp_path: Path) -> None:
    """Where a terminal is narrow, tqdm leaves the bar out; behind SageMaker's prefix a return is written as #015."""
    lines = (
        "Epoch 0:  50% 100/200 [00:50<00:50,  2.00it/s, loss=1.25, v_num=4]",
        "[1,mpirank:3,algo-2]<stdout>:#015Epoch 1:  50% 100/200 [00:50<00:50,  2.00it/s, loss=1.25, v_num=4]",
    )
    assert steps(tmp_path, *lines) == [(100, 500 * MS), (300, 500 * MS)]


def test_olmo_is_read_with_blanks_for_its_tabs(tmp_path: Path) -> None:
    """A terminal writes blanks where the log has tabs."""
    head = "2031-03-09 09:59:26.181 gpu-a:0  olmo.train:908  INFO    "
    assert steps(tmp_path, head + "[step=20/739328,epoch=0]") == [(20, None)]
    assert kinds(tmp_path, head + "Checkpoint saved to /runs/a/step1000") == [("save_commit", 1000)]


def test_open_clip_counts_samples_and_writes_a_comma_into_its_stamps(tmp_path: Path) -> None:
    """Sample 6,464 of the second epoch of 109,468 is the 115,932nd; between two lines lie 52 seconds."""
    line = (
        "2031-03-09,08:{} | INFO | Train Epoch: {} [ {:5d}/109468 (3%)] Loss: 0.97 (1.02) Data (t): 0.158 "
        "Batch (t): 0.559, 36.0876/s LR: 0.000001 Logit Scale: 99.995"
    )
    rows = read(tmp_path, line.format("45:36", 1, 64), line.format("46:28", 1, 6464)).steps.to_pylist()
    assert [(row["step"], row["duration_us"]) for row in rows] == [(109_532, None), (115_932, None)]
    assert rows[1]["ts"] - rows[0]["ts"] == 52_000 * MS
