"""Dialects met in public logs: what their lines say, and what is easily taken for something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.dialects import read

ICEFALL = "2031-03-09 {}:00,100 INFO [{}.py:{}] (0/2) {}".format


def events(folder: Path, *lines: str) -> list[dict[str, Any]]:
    """Return the events of a log."""
    rows: list[dict[str, Any]] = read(folder, *lines).events.to_pylist()
    return rows


def steps(folder: Path, *lines: str) -> list[tuple[int, int | None]]:
    """Return (step, microseconds of one step) of the steps of a log."""
    return [(row["step"], row["duration_us"]) for row in read(folder, *lines).steps.to_pylist()]


@pytest.mark.parametrize(
    ("why", "kind", "cause"),
    [
        ("CANCELLED AT 2031-03-09T18:00:00 DUE TO JOB REQUEUE ***", "signal", None),
        ("CANCELLED AT 2031-03-09T18:00:00 ***", "cancelled", None),
        ("CANCELLED AT 2031-03-09T18:00:00 DUE TO PREEMPTION ***", "preempted", "preemption"),
        ("UNCORRECTABLE MEMORY ERROR AT 2031-03-09T18:00:00 ***", "failure", "node"),
        ("FAILED (non-zero exit code or other failure mode) ***", "exit_code", None),
    ],
)
def test_slurm_ends_a_job_for_one_reason(tmp_path: Path, why: str, kind: str, cause: str | None) -> None:
    """A requeue is no cancellation: nobody gave the job up; memory that cannot be corrected is the node's."""
    (row,) = events(tmp_path, f"slurmstepd: error: *** JOB 700123 ON gpu-a {why}")
    assert (row["kind"], row["cause"], row["node"]) == (kind, cause, "gpu-a")


@pytest.mark.parametrize(
    "head",
    ["i.pretrain/0 [default0]:", "llm_8b/0 [default0]:", "(task, pid=4242) ", "(a, rank=3, pid=4, ip=10.1.2.3) "],
)
def test_prefixes_of_nemo_run_and_skypilot_are_peeled(tmp_path: Path, head: str) -> None:
    """Tasks of NeMo-Run may have a dot in their name, and SkyPilot names no rank where there is one node."""
    line = "Training epoch 0, iteration 4/99 | lr: 1e-07 | global_step: 4 | loss: 11 | train_step_timing in s: 1.5"
    assert steps(tmp_path, head + line) == [(4, 1_500_000)]


def test_megatron_with_the_time_of_day_in_its_line(tmp_path: Path) -> None:
    """A fork prints seconds since 1970 before the samples."""
    line = " iteration        9/   40000 | current time: 1930000000.25 | consumed samples:          144 | elapsed time"
    assert steps(tmp_path, line + " per iteration (ms): 431.5 | learning rate: 1.0E-06 |") == [(9, 431_500)]


def test_mlx_prints_the_rate_of_an_interval(tmp_path: Path) -> None:
    """Half an iteration a second is two seconds each; a validation names the iteration and is none."""
    lines = (
        "Starting training..., iters: 600",
        "Iter 1: Val loss 2.875, Val took 8.125s",
        "Iter 10: Train loss 2.250, Learning Rate 1.000e-05, It/sec 0.500, Tokens/sec 200.125, Trained Tokens 4000",
        "Iter 10: Saved adapter weights to adapters/adapters.safetensors and adapters/0000010_adapters.safetensors.",
    )
    assert steps(tmp_path, *lines) == [(10, 2_000_000)]
    assert [(row["kind"], row["step"]) for row in events(tmp_path, *lines)] == [
        ("trainer_start", None), ("evaluation_end", 1), ("save_commit", 10),
    ]  # fmt: skip


def test_icefall_has_the_number_of_the_run_in_its_checkpoints_only(tmp_path: Path) -> None:
    """Batches of an epoch are signs of life, a checkpoint named after an epoch is no step, one after a batch is."""
    lines = (
        ICEFALL("08:00", "train", 948, "Training started"),
        ICEFALL(
            "08:03",
            "train",
            901,
            "Epoch 1, batch 0, loss[loss=7.2, over 50.0 frames. ], tot_loss[loss=7.2, over 50.0 frames. ]",
        ),
        ICEFALL("09:03", "checkpoint", 75, "Saving checkpoint to z/exp/checkpoint-4000.pt"),
        ICEFALL(
            "09:04",
            "train",
            901,
            "Epoch 1, batch 4050, loss[loss=1.2, over 50.0 frames. ], tot_loss[loss=1.2, over 50.0 frames. ]",
        ),
        ICEFALL("10:03", "checkpoint", 75, "Saving checkpoint to z/exp/epoch-1.pt"),
        ICEFALL("10:05", "train", 1137, "Done!"),
    )
    assert steps(tmp_path, *lines) == [(4000, None)]
    assert [row["kind"] for row in events(tmp_path, *lines)] == [
        "worker_start", "train_start", "heartbeat", "save_written", "heartbeat", "save_written", "train_end",
    ]  # fmt: skip


def test_nnunet_prints_the_number_of_an_epoch_above_it(tmp_path: Path) -> None:
    """Above epoch 0 nothing is done, above epoch 1 one is; both generations."""
    head = "2031-03-09 08:{:02d}:30.250000: {}".format
    assert steps(tmp_path, head(2, "Epoch 0 "), head(3, "Epoch 1 "), head(4, "Epoch 2 ")) == [(1, None), (2, None)]
    first = (head(2, ""), "epoch:  0", head(3, "train loss : 1.3"), head(4, ""), "epoch:  1")
    assert steps(tmp_path, *first) == [(1, None)]


def test_flashlight_counts_updates(tmp_path: Path) -> None:
    """The milliseconds of a batch stand behind its number; reports of older releases have none and are no step."""
    head = "I0309 09:10:03.123456 4242 Train.cpp:345] epoch:        3 | "
    tail = "lr: 0.050000 | lrcriterion: 0.000000 | runtime: 00:50:10 | bch(ms): 602.50 | smp(ms): 1.12"
    assert steps(tmp_path, head + "nupdates:        15000 | " + tail, head + tail) == [(15000, 602_500)]


def test_rsl_rl_counts_iterations_from_zero(tmp_path: Path) -> None:
    """The heading of a block, in bold or not; the other lines of it are none."""
    block = (
        "                      Learning iteration 0/1500                       ",
        "   Computation: 31842 steps/s (collection: 2.8s)",
    )
    assert steps(tmp_path, *block) == [(0, None)]


def test_hyperpod_starts_a_step_again_in_place(tmp_path: Path) -> None:
    """The agent's answer opens the next start, behind the failure of the task."""
    head = "[Auto Resume] {}: JobID: 7 StepID: 0 {}".format
    lines = (
        head("Error", "TaskID: 3 Task failed on node ip-10-1-2-3"),
        head("Info", "Initiating communication with cluster agent to diagnose health of nodes"),
        head("Info", "Response from cluster agent: JobId=7, ResumeAction=RETRYSTEP"),
    )
    assert [row["kind"] for row in events(tmp_path, *lines)] == ["exit_code", "restart"]


def test_old_fairseq_names_its_gpus(tmp_path: Path) -> None:
    """Before it logged, it printed behind a bar; a sentence about training on something is no world size."""
    assert [row["world"] for row in events(tmp_path, "| training on 4 GPUs")] == [4]
    assert events(tmp_path, "We are training on 4 GPUs of the cluster") == []


def test_jax_names_what_it_compiles_and_where_it_found_it(tmp_path: Path) -> None:
    """Tracing, lowering and compiling have a time each; a look-up that hits or misses has none."""
    head = "2031-03-09 08:04:{},125 - WARNING - {}".format
    lines = (
        head(10, "Finished tracing + transforming train_step for pjit in 1.25 sec"),
        head(11, "Finished jaxpr to MLIR module conversion jit(train_step) in 0.5 sec"),
        head(12, "PERSISTENT COMPILATION CACHE MISS for 'jit_train_step' with key 'jit_train_step-0a1b'"),
        head(55, "Finished XLA compilation of jit(train_step) in 41.75 sec"),
        head(56, "Persistent compilation cache hit for 'jit_init'"),
    )
    assert [(row["kind"], row["duration_us"]) for row in events(tmp_path, *lines)] == [
        ("compile", 1_250_000), ("compile", 500_000), ("cache_miss", None), ("compile", 41_750_000),
        ("cache_hit", None),
    ]  # fmt: skip


def test_slime_counts_updates_of_the_actor_not_rollouts(tmp_path: Path) -> None:
    """A rollout prints its time and is no step; verl names the step it goes on from."""
    lines = (
        "(RolloutManager pid=42) [2031-03-09 08:11:53] rollout.py:1193 - perf 12: {'perf/rollout_time': 371.25}",
        "(MegatronTrainRayActor pid=43) [2031-03-09 08:12:53] model.py:441 - step 24: {'train/loss': 0.125}",
    )
    assert steps(tmp_path, *lines) == [(24, None)]
    (row,) = events(tmp_path, "(TaskRunner pid=42) Setting global step to 40")
    assert (row["kind"], row["step"]) == ("resume", 40)
