"""verl: what a step line says of validation and saves, where it stands behind a bar, and its supervised trainer."""

from __future__ import annotations

from pathlib import Path

import pytest

from ettlog import fleet
from ettlog.ingest import ingest
from tests.dialects import read

RAY = "(TaskRunner pid=77) "
BEGAN = "2031-03-09 08:00:00,766\tINFO worker.py:1843 -- Started a local Ray instance."
STEP = "step:{} - actor/entropy:0.421 - training/global_step:{} - timing_s/gen:20.5{} - perf/throughput:619.4".format
PLAIN = " - timing_s/step:40.0"
INSIDE = " - timing_s/testing:100.5 - timing_s/save_checkpoint:30.25 - timing_s/step:170.75"
BEHIND = " - timing_s/step:40.0 - timing_s/testing:100.5 - timing_s/save_checkpoint:30.25"
FOLDER = "local_global_step_folder: checkpoints/gsm/grpo/global_step_{}".format
BAR = "Training Progress:  30%|███       | {}/10 [00:54<01:00, 40.67s/it]".format


def parts(folder: Path, lines: list[str]) -> tuple[dict[str, float], str, list[tuple[object, ...]]]:
    """Return seconds of each part, the end of the start, and the steps whose checkpoints are committed."""
    (folder / "run.log").write_text("".join(lines), encoding="utf-8")
    ingest([folder / "run.log"], folder / "lake")
    made = fleet.open(folder / "lake")
    found: dict[str, float] = {}
    for part, begin, end in made.table("segment").select("part", "begin_us", "end_us").rows():
        found[part] = found.get(part, 0) + (end - begin) / 1_000_000
    kept = made.table("checkpoint").filter(state="committed").select("step").rows()
    return found, made.table("start")["end_state"][0], sorted(kept)


@pytest.mark.parametrize("told", [INSIDE, BEHIND], ids=["until 0.5", "since 0.6"])
@pytest.mark.parametrize("glued", [False, True], ids=["ray", "one stream"])
def test_validation_and_saves_are_cut_out_of_the_step_that_holds_them(tmp_path: Path, told: str, glued: bool) -> None:
    """Ten steps of 40 s, after each fifth 100.5 s of validation and 30.25 s of a save: 400, 201, 30.25 twice."""
    head, tail = ("", "") if glued else (RAY, "\n")
    lines = [BEGAN + "\n"]
    for step in range(1, 11):
        if step % 5 == 0:
            lines.append(head + FOLDER(step) + "\n")
        lines += [head + STEP(step, step, PLAIN if step % 5 else told) + "\n", head + BAR(step) + tail]
    lines.append(f"\n{head}Final validation metrics: {{'val/score': 0.5}}\n")
    found, end, kept = parts(tmp_path, lines)
    assert found == {"step": 400, "evaluation": 201, "save_stall": 30.25, "final_save": 30.25}
    assert (end, kept) == ("completed", [(5,), (10,)])


def test_a_save_that_no_step_line_confirms_is_no_checkpoint(tmp_path: Path) -> None:
    """The folder of step 5 is named above the step's line: where that never came, nothing says that it was written."""
    lines = [BEGAN, *(STEP(step, step, PLAIN) for step in range(1, 5)), FOLDER(5)]
    assert parts(tmp_path, [f"{RAY}{line}\n" if line != BEGAN else line + "\n" for line in lines])[2] == []


def test_the_supervised_trainer_prints_its_loss_behind_the_bar(tmp_path: Path) -> None:
    """A step takes what it prints, else the bar's mean; a save is complete when the tracker names it."""
    bar = "Epoch 1/2:  33%|███       | {}/62 [00:09<09:36, {}]".format
    found = read(
        tmp_path,
        bar(0, "?it/s") + "step:1 - train/loss:1.06 - train/lr(1e-3):0.0002",
        bar(1, " 9.45s/it") + "step:2 - train/loss:1.05 - train/lr(1e-3):0.0005",
        bar(2, " 4.00it/s") + "step:3 - train/loss:1.04 - train/lr(1e-3):0.0008",
        bar(3, " 8.00s/it") + "step:4 - train/loss:1.03 - train/lr(1e-3):0.0008 - train/time(s):7.5",
        "step:4 - val/loss:0.61",
        "Saving checkpoint to: /ckpt/sft/global_step_4",
        "Updated checkpoint tracker: /ckpt/sft/latest_checkpointed_iteration.txt",
        "Final validation metrics: {'val/loss': 0.61}",
    )
    assert [(row["step"], row["duration_us"]) for row in found.steps.to_pylist()] == [
        (1, None), (2, 9_450_000), (3, 250_000), (4, 7_500_000),
    ]  # fmt: skip
    assert [(row["kind"], row["step"]) for row in found.events.to_pylist()] == [
        ("evaluation_end", 4), ("save_blocking", 4), ("save_commit", None), ("evaluation_end", None),
        ("train_end", None),
    ]  # fmt: skip
