"""Bars without a name: which of them are a Trainer's steps, and what the trainers around it say."""

from __future__ import annotations

from pathlib import Path

from tests.dialects import read

LOSS = "{{'loss': {}, 'grad_norm': 0.25, 'learning_rate': 0.0001, 'epoch': 0.1}}".format
EVALUATED = "{'eval_loss': 1.4, 'eval_runtime': 5.2, 'epoch': 0.1}"
RUNTIME = "{'train_runtime': 300.5, 'train_samples_per_second': 4.0, 'train_steps_per_second': 0.5, 'train_loss': 1.1}"


def bar(step: int, total: int, seconds: float = 3) -> str:
    """Return a bar as tqdm draws it."""
    return f" {100 * step // total:2d}%|##        | {step}/{total} [01:00<04:00,  {seconds:.2f}s/it]"


def fast(step: int, total: int) -> str:
    """Return a bar of work that does several in a second."""
    return f" {100 * step // total:2d}%|##        | {step}/{total} [00:05<00:00,  2.50it/s]"


def steps(folder: Path, *lines: str) -> list[int]:
    """Return the steps of a log, as they come."""
    return [row["step"] for row in read(folder, *lines).steps.to_pylist()]


def test_bars_before_the_first_loss_count(tmp_path: Path) -> None:
    """A Trainer that prints no banner draws its bar before the first loss: its steps are 1, 2 and 10, not 20 on."""
    lines = (bar(1, 100), bar(2, 100), bar(10, 100), LOSS(2.5), bar(20, 100))
    assert steps(tmp_path, *lines) == [1, 2, 10, 20]


def test_bars_of_other_work_before_the_loop_do_not_count(tmp_path: Path) -> None:
    """What was tokenized before the loop has a bar with another total."""
    assert steps(tmp_path, fast(3000, 3000), bar(10, 100), LOSS(2.5), bar(20, 100)) == [10, 20]


def test_bars_of_an_evaluation_do_not_count(tmp_path: Path) -> None:
    """Inside the loop, and behind what the whole run took: an evaluation of 13 batches is none of the 100 steps."""
    lines = (
        bar(10, 100), LOSS(2.5), bar(10, 100), fast(2, 13), fast(13, 13), EVALUATED, bar(20, 100),
        bar(100, 100), RUNTIME, bar(100, 100), fast(2, 13), fast(13, 13),
    )  # fmt: skip
    assert steps(tmp_path, *lines) == [10, 10, 20, 100, 100]


def test_a_run_without_a_loss_is_told_by_what_it_took(tmp_path: Path) -> None:
    """Where losses are printed every 500 steps, a run of 60 prints none: its time at the end tells of a Trainer."""
    assert steps(tmp_path, fast(100, 100), bar(1, 60), bar(60, 60), RUNTIME) == [1, 60]


def test_two_loops_of_one_process_count_each_by_its_own_total(tmp_path: Path) -> None:
    """A script that trains twice draws bars to 100 and to 200; both have their losses."""
    lines = (bar(10, 100), LOSS(2.5), bar(100, 100), RUNTIME, bar(10, 200), LOSS(2.25), bar(20, 200))
    assert steps(tmp_path, *lines) == [10, 100, 10, 20]


def test_a_bar_alone_is_no_step(tmp_path: Path) -> None:
    """Nothing tells of a Trainer: the bar may count anything."""
    assert steps(tmp_path, bar(10, 100), bar(20, 100)) == []


def test_a_new_launch_has_to_tell_of_its_trainer_itself(tmp_path: Path) -> None:
    """Bars behind another launcher line wait for a loss of that launch."""
    launch = (
        "[2031-03-09 11:15:00,250] [INFO] [runner.py:571:main] cmd = /usr/bin/python3 -u -m deepspeed.launcher.launch"
    )
    assert steps(tmp_path, bar(10, 100), LOSS(2.5), launch, bar(10, 100)) == [10]


def test_unsloth_announces_the_steps_of_its_bar(tmp_path: Path) -> None:
    """Its banner stands for the Trainer's: a bar with the announced total counts before any loss, no other does."""
    banner = (
        "==((====))==  Unsloth - 2x faster free finetuning | Num GPUs used = 1",
        "   \\\\   /|    Num examples = 960 | Num Epochs = 1 | Total steps = 60",
    )
    assert steps(tmp_path, *banner, bar(1, 60), bar(2, 60)) == [1, 2]
    assert steps(tmp_path, *banner, bar(1, 600), bar(2, 600)) == []


def test_axolotl_begins_and_ends_in_words_of_its_own(tmp_path: Path) -> None:
    """The Trainer is started, evaluates, and the run is complete when the model is saved."""
    head = "[2031-03-09 {:02d}:02:00,125] [INFO] [axolotl.train.train:203] [PID:4242] [RANK:0] ".format
    lines = (
        head(8) + "Starting trainer...",
        head(9) + "Running evaluation step...",
        EVALUATED,
        head(10) + "Training completed! Saving trained model to ./out.",
    )
    found = [row["kind"] for row in read(tmp_path, *lines).events.to_pylist()]
    assert found == ["trainer_start", "evaluation_begin", "evaluation_end", "train_end"]
