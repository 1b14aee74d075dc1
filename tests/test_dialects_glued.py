"""Loss dicts right behind a bar, whose carriage returns are lost; validations of NeMo 2, SkyRL and Automodel."""

from __future__ import annotations

from pathlib import Path

from ettlog import fleet
from ettlog.ingest import ingest
from tests.dialects import read

BAR = " 14%|█▍        | {}/69 [10:55<1:11:19, 72.50s/it]".format
LOSS = "{'loss': '5.4375', 'grad_norm': '19.75', 'learning_rate': '1.8e-05', 'epoch': '0.45'}"
SWIFT = (
    "Train:   8%|▊         | {0}/60 [00:42<41:47, 42.51s/it]{{'loss': '0.371', 'grad_norm': '0.89', 'learning_rate': "
    "'3.3e-05', 'epoch': '0.08', 'global_step/max_steps': '{0}/60', 'elapsed_time': '{1}', 'train_speed(s/it)': '42'}}"
).format
NEMO = "[NeMo I 2031-03-09 {} nemo_logging:393] {}".format
STEP = (
    "Training epoch 0, iteration {0}/3 | lr: 2e-05 | global_batch_size: 8 | global_step: {0} | loss: 3 | "
    "train_step_timing in s: 10.0"
).format


def seconds(folder: Path, *lines: str) -> dict[str, float]:
    """Return seconds of each part of the one job of a log."""
    (folder / "run.log").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    ingest([folder / "run.log"], folder / "lake")
    found: dict[str, float] = {}
    for part, begin, end in fleet.open(folder / "lake").table("segment").select("part", "begin_us", "end_us").rows():
        found[part] = found.get(part, 0) + (end - begin) / 1_000_000
    return found


def test_a_bar_with_a_loss_behind_it_is_a_step_of_a_trainer(tmp_path: Path) -> None:
    """No banner is printed at the usual level: the dicts alone tell that the bar is a Trainer's, and how it ended."""
    end = "{'train_runtime': '5002.5', 'train_samples_per_second': '0.11', 'epoch': '3'}"
    found = read(tmp_path, BAR(10) + LOSS, BAR(20) + LOSS, BAR(69) + end)
    assert [(row["step"], row["duration_us"]) for row in found.steps.to_pylist()] == [
        (10, 72_500_000), (20, 72_500_000), (69, 72_500_000),
    ]  # fmt: skip
    assert [row["kind"] for row in found.events.to_pylist()] == ["heartbeat", "heartbeat", "train_end"]


def test_a_result_in_the_words_of_another_line_is_no_evaluation(tmp_path: Path) -> None:
    """A summary behind the loop repeats what an evaluation took; behind a bar the same dict is a result."""
    result = "{'eval_loss': 1.5, 'eval_runtime': 16.5, 'epoch': 1.0}"
    found = read(tmp_path, f"saved adapter to out (steps 5, eval {result})", BAR(20) + result)
    assert [(row["line"], row["kind"]) for row in found.events.to_pylist()] == [(2, "evaluation_end")]


def test_ms_swift_prints_its_loss_behind_the_bar(tmp_path: Path) -> None:
    """The time since the loop began is that of all steps: four steps from second 43 to second 233 took 47.5 s each."""
    found = read(tmp_path, SWIFT(1, "43s"), SWIFT(5, "3m 53s"))
    assert [(row["step"], row["duration_us"]) for row in found.steps.to_pylist()][1] == (5, 47_500_000)


def test_an_evaluation_of_hugging_face_tells_what_it_took(tmp_path: Path) -> None:
    """Thirty seconds before its stamp it began, though the last bar was shown a minute before."""
    stamp = "2031-03-09T08:{}Z ".format
    bar = " 50%|█████     | {}/8 [00:40<00:40, 10.00s/it]".format
    lines = [stamp(f"00:{10 * step}") + bar(step) for step in range(1, 5)]
    evaluated = "{'eval_loss': '1.5', 'eval_accuracy': '0.79', 'eval_runtime': '30', 'epoch': '0.5'}"
    found = seconds(
        tmp_path,
        *lines,
        stamp("00:40") + LOSS,
        stamp("01:40") + evaluated,
        stamp("01:50") + bar(5),
        stamp("02:00") + bar(6),
    )
    assert found == {"step": 60, "evaluation": 30, "gap": 30}


def test_a_validation_of_nemo_2_ends_with_its_last_batch(tmp_path: Path) -> None:
    """Twenty seconds of validation between steps; behind the loop the trainer waits 100 s for what is still written."""
    found = seconds(
        tmp_path,
        NEMO("08:00:00", "Async finalization time took 0.001 s"),
        STEP(0), STEP(1),
        NEMO("08:00:20", "Async finalization time took 0.001 s"),
        "Validation: iteration 1/2", "Validation: iteration 2/2",
        NEMO("08:00:40", "Async finalization time took 0.001 s"),
        STEP(2), STEP(3),
        NEMO("08:01:00", "Async finalization time took 0.001 s"),
        "`Trainer.fit` stopped: `max_steps=4` reached.",
        NEMO("08:01:00", "Pending async checkpoint saves. Finalizing them synchronously now"),
        NEMO("08:02:40", "Async checkpoint save for step 4 (/runs/gpt/step=3.ckpt) finalized successfully."),
    )  # fmt: skip
    assert found == {"step": 40, "evaluation": 20, "final_save": 100}


def test_skyrl_counts_by_its_bar_and_times_its_phases(tmp_path: Path) -> None:
    """Steps of 60 s; that of 100 s holds a validation of 40 s, that of 90 s a save of 30 s, which is complete."""
    head = "(skyrl_entrypoint pid=7) 2031-03-09 08:{}.000 | INFO     | skyrl.train.trainer:train:210 - {}".format
    bar = "Training Batches Processed:  10%|█         | {}/40 [{}<22:15, 60.00s/it]".format
    begun = "Started: 'step'"
    worker = "(FSDPPolicyWorkerBase pid=8) 2031-03-09 08:04:40.000 | INFO     | skyrl.strategy:print:30 - [rank-0]: "
    lines = (
        head("00:00", "init policy/ref/critic models done"),
        "Training Batches Processed:   0%|          | 0/40 [00:00<?, ?it/s]",
        head("01:00", "Finished: 'step', time cost: 60.00s"), bar(1, "01:00"), head("01:00", begun),
        head("02:00", "Finished: 'step', time cost: 60.00s"),
        head("02:00", "Started: 'eval'"), head("02:40", "Finished: 'eval', time cost: 40.00s"),
        bar(2, "02:40"), head("02:40", begun),
        head("03:40", "Finished: 'step', time cost: 60.00s"), bar(3, "03:40"), head("03:40", begun),
        head("04:40", "Started: 'save_checkpoints'"),
        worker + "Saving model to /ckpts/global_step_4/policy/model_world_size_8_rank_0.pt",
        head("05:10", "Successfully saved checkpoint for global_step_4 to: /ckpts/global_step_4"),
        head("05:10", "Finished: 'step', time cost: 90.00s"), bar(4, "05:10"), head("05:10", begun),
        *(line for step in range(5, 9) for line in (
            head(f"0{step + 1}:10", "Finished: 'step', time cost: 60.00s"),
            bar(step, f"0{step + 1}:10"), head(f"0{step + 1}:10", begun),
        )),
        head("09:10", "Training done!"),
    )  # fmt: skip
    assert seconds(tmp_path, *lines) == {"step": 480, "evaluation": 40, "save_stall": 30}


def test_automodel_saves_and_validates_between_its_steps(tmp_path: Path) -> None:
    """Steps of 4 s, which print no time; 10 s of a save behind the third, 20 s of validation behind the fourth."""
    head = "2031-03-09 08:00:{} | INFO | root | {}".format
    step = "step {} {}| epoch 0 | loss 9.75 | {}lr 6.25e-05 | mem 38.50 GiB | tps 145236.75(72618.50/gpu)".format
    found = seconds(
        tmp_path,
        head("00", "- Max train steps: 18500"),
        "Loading checkpoint from /ckpts/epoch_0_step_299",
        head("04", step(300, "", "grad_norm 3.0625 | ")),
        head("08", step(301, "", "grad_norm 3.0625 | ")),
        head("12", step(302, "", "")),
        "Saving checkpoint to /ckpts/epoch_0_step_302",
        head("26", step(303, " ", "accuracy 0.5000 | grad_norm 3.0625 | ")),
        head("46", '[val] name "default" | step 303 | epoch 0 | loss 1.0625 | lr 8.50e-05'),
        head("50", step(304, "", "")),
        head("54", step(305, "", "")),
    )
    assert found == {"step": 24, "save_stall": 10, "evaluation": 20}
