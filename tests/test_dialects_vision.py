"""Loops of computer vision, most of which count batches inside an epoch: what a small log in each of them says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ettlog import fleet
from ettlog.ingest import ingest
from tests.dialects import read

MS = 1_000

IMAGENET = "Epoch: [{}][{:>4}/400]\tTime  0.250 ( 0.310)\tData  0.000 ( 0.051)\tLoss 6.9e+00 (6.9e+00)".format
OLD_IMAGENET = "Epoch: [{}][{}/400]\tTime 0.250 (0.310)\tData 0.000 (0.051)\tLoss 6.9 (6.9)\tPrec@1 0.4 (0.2)".format
REFERENCES = (
    "Epoch: [{}]  [{:>3}/400]  eta: 0:31:00  lr: 0.000123  loss: 6.80 (6.88)  time: 0.2500  data: 0.0002  max mem: 51"
).format
TIMM = (
    "Train: {} [{:>4}/400 ( 12%)]  Loss: 6.9 (6.9)  Time: 0.250s, 999.0/s  (0.3s, 900.1/s)  LR: 1.0e-06  Data: 0.01"
).format
SWIN = (
    "[2031-03-09 08:05:16 swin_tiny] (main.py 226): INFO Train: [{}/300][{}/400]\teta 0:10:52 lr 0.0007\t wd 0.05\t"
    "time 0.2500 (0.6516)\tloss 6.5 (6.3)\tmem 14000MB"
).format
PADDLE = (
    "[03/09 08:40:44] ppdet.engine INFO: Epoch: [{}] [{:>3}/400] learning_rate: 0.000025 loss: 103.6 "
    "eta: 10 days, 19:39:33 batch_cost: 0.2500 data_cost: 0.0753 ips: 4.8315 images/s"
).format
DETECTRON = (
    "[03/09 08:{:02d}:00 d2.utils.events]:  eta: 0:30:00  iter: {}  total_loss: 1.21  loss_cls: 0.61    "
    "time: 0.2500  last_time: 0.2412  data_time: 0.01  last_data_time: 0.01   lr: 1.9e-05  max_mem: 4000M"
).format


def kinds(folder: Path, *lines: str) -> list[tuple[str, int | None]]:
    """Return (kind, step) of the events of a log."""
    return [(row["kind"], row["step"]) for row in read(folder, *lines).events.to_pylist()]


@pytest.mark.parametrize(
    "line",
    [IMAGENET, OLD_IMAGENET, REFERENCES, TIMM, SWIN, PADDLE],
    ids=["imagenet", "old", "references", "timm", "swin", "paddle"],
)
def test_batches_of_an_epoch_become_steps_of_the_run(tmp_path: Path, line: Any) -> None:
    """An epoch of 400 batches, numbered from 0: batch 50 of the second is step 450, and each takes a quarter second."""
    rows = read(tmp_path, line(0, 0), line(0, 399), line(1, 50)).steps.to_pylist()
    assert [(row["step"], row["duration_us"]) for row in rows] == [(0, 250 * MS), (399, 250 * MS), (450, 250 * MS)]


def test_mmcv_counts_epochs_and_batches_from_one(tmp_path: Path) -> None:
    """Batch 50 of the second epoch of 643 is step 693; the number that it resumed at counts over the run."""
    step = (
        "2031-03-09 08:10:03,123 - mmdet - INFO - Epoch [{}][50/643]\tlr: 9.8e-03, eta: 1 day, "
        "1:21:10, time: 0.250, memory: 8"
    )
    found = read(
        tmp_path,
        "2031-03-09 08:00:01,123 - mmdet - INFO - Environment info:",
        "2031-03-09 08:00:02,123 - mmdet - INFO - resumed epoch 1, iter 643",
        "2031-03-09 08:00:03,123 - mmdet - INFO - Start running, host: ann@gpu-a, work_dir: /w/solo",
        step.format(2),
    )
    assert [row["step"] for row in found.steps.to_pylist()] == [693]
    assert [(row["kind"], row["step"], row["launch"]) for row in found.events.to_pylist()] == [
        ("trainer_start", None, 1),
        ("resume", 643, 1),
        ("train_start", None, 1),
    ]


def test_detectron_goes_on_behind_the_iteration_in_its_checkpoint(tmp_path: Path) -> None:
    """Checkpoint 0004999 holds iteration 4999; training goes on from 5000, and iteration 5019 is twenty further on."""
    log = tmp_path / "train.log"
    log.write_text(
        "[03/09 08:00:01 detectron2]: Rank of current process: 0. World size: 8\n"
        "[03/09 08:00:20 d2.checkpoint.c2]: [DetectionCheckpointer] Loading from ./out/model_0004999.pth ...\n"
        "[03/09 08:00:30 d2.engine.train_loop]: Starting training from iteration 5000\n"
        f"{DETECTRON(1, 5019)}\n{DETECTRON(2, 5039)}\n"
        "[03/09 08:02:05 fvcore.common.checkpoint]: Saving checkpoint to ./out/model_0005039.pth\n"
        f"{DETECTRON(3, 5059)}\n",
        encoding="utf-8",
    )
    ingest([log], tmp_path / "lake")
    made = fleet.open(tmp_path / "lake")
    assert made.sql("SELECT first_step, last_step, resumed_from, world_size FROM start").rows() == [
        (5019, 5059, 4999, 8)
    ]
    assert made.sql("SELECT step, state FROM checkpoint ORDER BY step, state").rows() == [
        (5039, "committed"),
        (5039, "requested"),
    ]


def test_stamps_of_detectron_and_openmmlab_lack_the_year_or_bear_slashes(tmp_path: Path) -> None:
    """An hour lies between two lines whose stamps say only month, day and time, in either dialect."""
    for first, second in (
        (DETECTRON(0, 19), DETECTRON(0, 39).replace("08:", "09:")),
        (
            "[03/09 08:00:00 d2.x]: Start inference on 10 batches",
            "[03/09 09:00:00 d2.x]: Total inference time: 0:59:59.1 (",
        ),
        (
            "03/09 08:00:00 - mmengine - INFO - Saving checkpoint at 4 iterations",
            "03/09 09:00:00 - mmengine - INFO - resumed epoch: 1, iter: 4",
        ),
        (
            "2031/03/09 08:00:00 - mmengine - INFO - Saving checkpoint at 4 epochs",
            "2031/03/09 09:00:00 - mmengine - INFO - resumed epoch: 1, iter: 4",
        ),
    ):
        found = read(tmp_path, first, second)
        stamps = [row["ts"] for row in (*found.steps.to_pylist(), *found.events.to_pylist())]
        assert stamps[1] - stamps[0] == 3_600_000_000


def test_saves_and_evaluations_of_vision_loops(tmp_path: Path) -> None:
    """Each loop's own words for a save, a load and an evaluation; what is printed for a batch of a test is no step."""
    swin = "[2031-03-09 09:00:09 swin_tiny] (utils.py 60): INFO "
    assert kinds(
        tmp_path,
        swin + "==============> Resuming form output/a/ckpt_epoch_1.pth....................",
        swin + "=> loaded successfully 'output/a/ckpt_epoch_1.pth' (epoch 1)",
        swin + "output/a/ckpt_epoch_2.pth saving......",
        swin + "output/a/ckpt_epoch_2.pth saved !!!",
        "Test: [ 0/98]\tTime  3.100 ( 3.100)\tLoss 6.8e+00 (6.8e+00)",
        "Test: [10/98]\tTime  3.100 ( 3.100)\tLoss 6.8e+00 (6.8e+00)",
        " * Acc@1 76.130 Acc@5 92.862",
        "Training time 1 day, 2:03:04",
    ) == [
        ("restore_begin", None),
        ("restore_end", None),
        ("save_request", None),
        ("save_commit", None),
        ("evaluation_begin", None),
        ("evaluation_end", None),
        ("train_end", None),
    ]
