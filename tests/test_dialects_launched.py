"""What launchers print around a loop that prints little: submitit, Ray, LLaMA-Factory."""

from __future__ import annotations

from pathlib import Path

from tests.dialects import read

SUBMITIT = "submitit {} (2031-03-09 {},125) - {}".format
TASK = "Starting with JobEnvironment(job_id=700123, hostname=gpu-a, local_rank=0(2), node=0(1), global_rank=0(2))"
KOHYA = "steps:  10%|█         | {}/800 [00:46<02:44,  4.00it/s, avr_loss=0.25]".format


def test_a_job_that_submitit_requeues_is_two_starts_of_one_log(tmp_path: Path) -> None:
    """The warning signal ends the first start as preempted; the task that says its place again opens the second."""
    found = read(
        tmp_path,
        SUBMITIT("INFO", "08:00:00", TASK),
        SUBMITIT("WARNING", "09:00:00", "Caught signal SIGUSR2 on gpu-a: this job is preempted."),
        SUBMITIT("INFO", "09:00:01", "Requeued job 700123 (2 remaining timeouts)"),
        SUBMITIT("INFO", "09:10:00", TASK),
        SUBMITIT("WARNING", "10:00:00", "Caught signal SIGUSR2 on gpu-a: this job is timed-out."),
        SUBMITIT("INFO", "10:10:00", TASK),
        SUBMITIT("INFO", "10:20:00", "Job completed successfully"),
    )
    assert [(row["launch"], row["kind"], row["world"]) for row in found.events.to_pylist()] == [
        (1, "worker_start", 2), (1, "preempted", None), (1, "heartbeat", None), (2, "worker_start", 2),
        (2, "time_limit", None), (3, "worker_start", 2), (3, "exit_ok", None),
    ]  # fmt: skip


def test_llama_factory_tells_its_ranks_and_where_it_goes_on(tmp_path: Path) -> None:
    """Ranks of one launch join it, with the world size of the job; the step stands in the name of what is loaded."""
    told = "[INFO|2031-03-09 08:00:{}] llamafactory.hparams.parser:{} >> {}".format
    rank = "Process rank: {}, world size: 16, device: cuda:0, distributed training: True, compute dtype: torch.bfloat16"
    found = read(
        tmp_path,
        "[INFO|2031-03-09 08:00:01] llamafactory.cli:143 >> Initializing 8 distributed tasks at: 10.1.2.3:29500",
        told(12, 423, rank.format(0)),
        told(12, 410, rank.format(1)),
        told(13, 143, "Resuming training from saves/wren/checkpoint-500."),
    )
    assert [(row["launch"], row["kind"], row["world"], row["step"]) for row in found.events.to_pylist()] == [
        (1, "agent_start", None, None), (1, "worker_start", 16, None), (1, "worker_start", 16, None),
        (1, "restore_begin", None, 500),
    ]  # fmt: skip


def test_the_banner_of_sd_scripts_opens_the_next_start_behind_an_end(tmp_path: Path) -> None:
    """Two runs appended to one log are two launches; a save names its step where its file's name does."""
    banner = "2031-03-09 0{}:00:00 INFO     running training / 学習開始                    train_network.py:993".format
    lines = (
        banner(8), KOHYA(80), "saving checkpoint: out/a-step00000080.safetensors", KOHYA(160),
        "saving checkpoint: out/a.safetensors", "2031-03-09 08:05:00 INFO     model saved.     train_network.py:1312",
        banner(9), KOHYA(80),
    )  # fmt: skip
    found = read(tmp_path, *lines)
    assert [(row["launch"], row["step"], row["duration_us"]) for row in found.steps.to_pylist()] == [
        (1, 80, 250_000), (1, 160, 250_000), (2, 80, 250_000),
    ]  # fmt: skip
    saves = [(row["kind"], row["step"]) for row in found.events.to_pylist() if row["kind"].startswith("save")]
    assert saves == [("save_blocking", 80), ("save_blocking", None)]


def test_iterations_of_litgpt_of_2023_are_micro_batches(tmp_path: Path) -> None:
    """Only the iteration that steps the optimizer is a step."""
    told = "iter {} step {}: loss 10.1250, iter time: 412.50ms{} remaining time: 41.25 hours.".format
    lines = (told(6, 1, ""), told(7, 2, " (optimizer.step)"), told(8, 2, ""))
    assert [row["step"] for row in read(tmp_path, *lines).steps.to_pylist()] == [2]


def test_saves_and_loads_of_nemo_rl_are_of_the_step_in_the_path_not_of_iteration_zero(tmp_path: Path) -> None:
    """Megatron counts no iterations under NeMo-RL; the value model beside the policy tells nothing more."""
    worker = "(MegatronPolicyWorker[rank=0] pid=4242) {}".format
    lines = (
        worker(" loading distributed checkpoint from /r/grpo/step_40/policy/weights at iteration 0"),
        worker("  successfully loaded checkpoint from /r/grpo/step_40/policy/weights [ t 1/1, p 1/1 ] at iteration 0"),
        "========================= Step 41/100 =========================",
        "Saving checkpoint for step 41...",
        worker("saving checkpoint at iteration       0 to /r/grpo/tmp_step_41/policy/weights in torch_dist format"),
        worker(
            "  successfully saved checkpoint from iteration       0 to /r/grpo/tmp_step_41/policy/weights [ t 1/1 ]"
        ),
        worker("saving checkpoint at iteration       0 to /r/grpo/tmp_step_41/value/weights in torch_dist format"),
        worker("  successfully saved checkpoint from iteration       0 to /r/grpo/tmp_step_41/value/weights [ t 1/1 ]"),
        "========================= Step 42/100 =========================",
    )
    found = read(tmp_path, *lines)
    assert [(row["kind"], row["step"]) for row in found.events.to_pylist()] == [
        ("restore_begin", 40), ("restore_end", 40), ("save_blocking", 41), ("save_written", 41),
    ]  # fmt: skip
    assert [row["step"] for row in found.steps.to_pylist()] == [40, 41]


def test_a_worker_group_that_ray_train_starts_again_is_the_next_start(tmp_path: Path) -> None:
    """What the failure policy decides ends the first one; its size is the world size of each."""
    group = "(TrainController pid=4242) Started training worker group of size 8: "
    found = read(tmp_path, group, "(TrainController pid=4242) [FailurePolicy] RETRY", group)
    assert [(row["launch"], row["kind"], row["world"]) for row in found.events.to_pylist()] == [
        (1, "launch", 8), (1, "failure", None), (2, "launch", 8),
    ]  # fmt: skip


def test_batches_of_wenet_are_no_steps_and_its_epochs_are(tmp_path: Path) -> None:
    """Checkpoints number the epochs from 0; what the other ranks print of a cross-validation is its end."""
    told = "2031-03-09 0{}:{}:00,125 {}".format
    lines = []
    for epoch in range(2):
        lines += [
            told(8 + epoch, "05", f"DEBUG TRAIN Batch {epoch}/100 loss 9.5 loss_att 8.5 loss_ctc 9.7 lr 0.0004 rank 0"),
            told(
                8 + epoch, "50", f"DEBUG CV Batch {epoch}/0 loss 2.5 loss_att 2.1 loss_ctc 3.7 history loss 2.9 rank 1"
            ),
            told(8 + epoch, "55", f"INFO Epoch {epoch} CV info cv_loss 7.625"),
            told(8 + epoch, "56", f"INFO Checkpoint: save to checkpoint exp/conformer/{epoch}.pt"),
        ]
    found = read(tmp_path, *lines)
    assert [row["step"] for row in found.steps.to_pylist()] == [0, 1]
    assert [row["kind"] for row in found.events.to_pylist()] == [
        "heartbeat", "evaluation_begin", "evaluation_end", "save_written",
    ] * 2  # fmt: skip
