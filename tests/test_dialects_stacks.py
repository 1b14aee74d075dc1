"""Stacks beside the large ones, and early versions of known ones: what a small log in each of them says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dialects import read

SECOND = 1_000_000


def steps(folder: Path, *lines: str) -> list[tuple[int, int | None, int | None]]:
    """Return (step, target, printed duration in microseconds) of the steps of a log."""
    rows = read(folder, *lines).steps.to_pylist()
    return [(row["step"], row["target"], row["duration_us"]) for row in rows]


def kinds(folder: Path, *lines: str) -> list[tuple[str, int | None]]:
    """Return (kind, step) of the events of a log."""
    return [(row["kind"], row["step"]) for row in read(folder, *lines).events.to_pylist()]


BAR = "{}|{}|Loss: 1.25: {:>3}%|###       | {}/100 [00:{:02d}<01:00,  2.00s/it]".format


def test_torchtune_counts_steps_over_its_epochs(tmp_path: Path) -> None:
    """Behind the words `epoch|step|Loss`, the bar's own count begins anew in each epoch; the step does not."""
    line = "\r".join(BAR(1 + at // 100, at + 1, at % 100, at % 100 + 1, at % 60) for at in (98, 99, 100, 101))
    assert [step for step, _, _ in steps(tmp_path, line)] == [99, 100, 101, 102]
    head = "INFO:torchtune.utils._logging:Saving checkpoint"
    begun = f"{head}. This may take some time. Retrieving full model state dict..."
    rows = read(tmp_path, begun, f"{head} took 12.50 secs").events.to_pylist()
    assert [(row["kind"], row["duration_us"]) for row in rows] == [("save_request", None), ("save_commit", 12_500_000)]


def test_verl_counts_a_step_with_its_whole_time(tmp_path: Path) -> None:
    """One line a step, behind the label of an actor; the time of the step holds generation and update."""
    lines = [
        f"(TaskRunner pid=7) step:{at} - actor/kl:0.1 - timing_s/gen:21.0 - timing_s/step:{40 + at}.5 - x/y:0"
        for at in (1, 2)
    ]
    assert steps(tmp_path, *lines) == [(1, None, 41_500_000), (2, None, 42_500_000)]
    folder = "checkpoints/gsm/grpo/global_step_20"
    assert kinds(tmp_path, f"(TaskRunner pid=7) local_global_step_folder: {folder}") == [("save_blocking", 20)]


def test_litgpt_counts_optimizer_steps_only(tmp_path: Path) -> None:
    """Four micro batches make one step, which only the last of them names so; the others are passed over."""
    line = (
        "Epoch 1 | iter {} step {} | loss train: 3.2, val: n/a | iter time: 400.00 ms{} remaining time: 0:41:10".format
    )
    found = read(tmp_path, *(line(at, at // 4, " (step)" if at % 4 == 0 else "") for at in range(1, 9)))
    assert [row["step"] for row in found.steps.to_pylist()] == [1, 2]
    assert (found.lines["matched"], found.lines["ignored"]) == (2, 6)


def test_openmmlab_counts_inside_an_epoch_or_over_the_run(tmp_path: Path) -> None:
    """Step 50 of the third epoch of 1000 is step 2050; a runner by iterations prints the number itself."""
    tail = "lr: 1.0e-02  eta: 1 day, 0:10:00  time: 0.5000  data_time: 0.01  memory: 5000  loss: 1.2"
    head = "2031/03/09 08:00:05 - mmengine - INFO - "
    lines = (f"{head}Epoch(train)  [3][  50/1000]  base_lr: 1.0e-02 {tail}", f"{head}Iter(train) [ 2100/80000]  {tail}")
    assert steps(tmp_path, *lines) == [(2050, None, 500_000), (2100, 80_000, 500_000)]


def test_karpathys_second_trainer_prints_its_own_line(tmp_path: Path) -> None:
    """The trainer built from scratch pads the step to five places and prints the time as dt."""
    line = "step {:5d} | loss: 7.654321 | lr 1.2000e-05 | norm: 2.1234 | dt: 338.25ms | tok/sec: 1550012.25".format
    assert steps(tmp_path, line(3), line(12_345)) == [(3, None, 338_250), (12_345, None, 338_250)]


@pytest.mark.parametrize(
    "prefix",
    [
        "[HCTR][08:00:01.250][INFO][RK0][main]: ",
        "[HUGECTR][08:00:01][INFO][RANK0]: ",
        "[03d08h00m01s][HUGECTR][INFO]: ",
    ],
)
def test_hugectr_of_every_age(tmp_path: Path, prefix: str) -> None:
    """The prefix changed twice, the line did not: 1000 iterations in 5.2 s are 5.2 ms each."""
    line = f"{prefix}Iter: 2000 Time(1000 iters): 5.200000s Loss: 0.125000 lr:0.001000"
    assert steps(tmp_path, line) == [(2000, None, 5_200)]


def test_mlperf_records_of_the_second_round(tmp_path: Path) -> None:
    """`:::MLL` records of 0.6: init, run and evaluation with epoch stamps; an aborted run is a failure."""
    record = ':::MLL 19331356{:02d}.250 {}: {{"value": null, "metadata": {{"lineno": 7, "file": "main.py"{}}}}}'.format
    keys = ("init_start", "init_stop", "run_start", "eval_start", "eval_stop", "run_stop")
    rows = read(tmp_path, *(record(at, key, "") for at, key in enumerate(keys))).events.to_pylist()
    assert [row["kind"] for row in rows] == [
        "trainer_start", "init_mark", "train_start", "evaluation_begin", "evaluation_end", "train_end",
    ]  # fmt: skip
    assert [row["ts"] for row in rows] == [1_933_135_600_250_000 + at * SECOND for at in range(6)]
    assert {row["clock"] for row in rows} == {"exact"}
    assert kinds(tmp_path, record(9, "run_stop", ', "status": "aborted"')) == [("failure", None)]


def test_checkpoints_of_early_and_late_versions(tmp_path: Path) -> None:
    """torchtitan 0.1 names the step it loads, Orbax of 2025 the folder it finished, OLMo 1 the folder it saved."""
    titan = "[titan] 2031-03-09 08:00:10,100 - root - INFO - "
    orbax = "I0309 08:31:04.123456 140001112223334 async_checkpointer.py:170] "
    olmo = "2031-03-09 08:20:09.125\tgpu-a:0\ttrain:520\tINFO\t"
    assert kinds(
        tmp_path,
        f"{titan}Loading the checkpoint at step 500.",
        f"{titan}Saving a model weights only checkpoint in torch.bfloat16 at last step, step 900.",
        f"{orbax}Finished async_save (blocking + background). Time taken: 124.125s. directory=gs://runs/a/1000",
        f"{olmo}Checkpoint saved to /runs/a/step500-unsharded",
    ) == [("restore_begin", 500), ("publish_begin", 900), ("save_commit", 1000), ("save_commit", 500)]
