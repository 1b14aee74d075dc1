"""Further trainers and launchers: language models, translation, TensorFlow, JAX, MindSpore, MPI, and their prefixes."""

from __future__ import annotations

from pathlib import Path

import pytest

from ettlog import fleet
from ettlog.ingest import ingest
from ettlog.parse.decode import word_span
from tests.assembly import starts, stepping
from tests.dialects import read
from tests.tables import Log
from tests.tables import fleet as assembled

MS = 1_000

PRIMUS = (
    "[20310309 12:{:02d}:12][rank-7/8][INFO ] [--------trainer.py:2382] :  iteration      {}/   40000 | "
    "consumed samples:        27136 | elapsed time per iteration (ms): 16600.0/17219.3 | "
    "hip mem usage/free/total/usage_ratio: 253.38GB/2.60GB/255.98GB/98.98% | "
    "throughput per GPU (TFLOP/s/GPU): 11.9/11.5 | lm loss: 4.44E+00 | "
    "number of skipped iterations:   1 | number of nan iterations:   0 |"
).format
MINDFORMERS = (
    "2031-03-09 08:05:00,123 - mindformers[mindformers/core/callback/callback.py:314] - INFO - "
    "{{ Epoch:[  {}/  3], step:[   20/  500], loss: 10.7, per_step_time: 1015ms, lr: 1.2e-06, overflow cond: False"
).format


def kinds(folder: Path, *lines: str) -> list[tuple[str, int | None, int | None]]:
    """Return (kind, step, code) of the events of a log."""
    return [(row["kind"], row["step"], row["code"]) for row in read(folder, *lines).events.to_pylist()]


def test_primus_prints_the_last_iteration_before_the_mean(tmp_path: Path) -> None:
    """The first of the two durations is the step's own; rank and a stamp without dashes stand in the prefix."""
    rows = read(tmp_path, PRIMUS(0, 424), PRIMUS(1, 425)).steps.to_pylist()
    assert [(row["step"], row["duration_us"], row["rank"], row["skipped"]) for row in rows] == [
        (424, 16_600 * MS, 7, 1),
        (425, 16_600 * MS, 7, 1),
    ]
    assert rows[1]["ts"] - rows[0]["ts"] == 60_000_000


def test_mindformers_counts_inside_an_epoch(tmp_path: Path) -> None:
    """Step 20 of the second epoch of 500 is step 520."""
    rows = read(tmp_path, MINDFORMERS(1), MINDFORMERS(2)).steps.to_pylist()
    assert [(row["step"], row["duration_us"]) for row in rows] == [(20, 1_015 * MS), (520, 1_015 * MS)]


def test_seconds_since_the_loop_began_become_those_of_a_step(tmp_path: Path) -> None:
    """OpenNMT's hundred steps from second 200 to second 250 took half a second each."""
    line = (
        "[2031-03-09 08:16:21,693 INFO] Step {}/9000; acc:   5.05; ppl: 2389.35; xent: 7.78; lr: "
        "0.1; 17/28 tok/s;    {} sec"
    )
    rows = read(tmp_path, line.format(100, 200), line.format(200, 250)).steps.to_pylist()
    assert [(row["step"], row["target"], row["duration_us"]) for row in rows][1] == (200, 9000, 500 * MS)


def test_an_estimator_saves_evaluates_and_ends(tmp_path: Path) -> None:
    """What TensorFlow prints twice, through its own logger and through absl, is one step; saves bear their number."""
    absl = "I0309 08:10:{:02d}.005 140001112223334 basic_session_run_hooks.py:262] ".format
    found = read(
        tmp_path,
        "INFO:tensorflow:Saving checkpoints for 0 into /runs/a/model.ckpt.",
        absl(1) + "loss = 7.25, step = 0",
        absl(31) + "loss = 4.25, step = 100 (30.0 sec)",
        "INFO:tensorflow:Saving checkpoints for 120 into /runs/a/model.ckpt.",
        "INFO:tensorflow:Starting evaluation at 2031-03-09T08:47:37Z",
        "INFO:tensorflow:Finished evaluation at 2031-03-09-08:48:37",
        "INFO:tensorflow:Loss for final step: 0.0412.",
    )
    assert [row["step"] for row in found.steps.to_pylist()] == [0, 100]
    assert [(row["kind"], row["step"]) for row in found.events.to_pylist()] == [
        ("save_blocking", 0),
        ("save_blocking", 120),
        ("evaluation_begin", None),
        ("evaluation_end", None),
        ("train_end", None),
    ]


def test_a_trainer_of_paddle_saves_and_evaluates_between_steps(tmp_path: Path) -> None:
    """The rate is that of the interval; the save at step 100 is complete because the loop goes on behind it."""
    head = "[2031-03-09 08:{:02d}:{:02d},000] [    INFO] - ".format
    step = (
        "loss: 0.8, learning_rate: 2.9e-05, global_step: {}, interval_runtime: 5.0, "
        "interval_samples_per_second: 16.0, interval_steps_per_second: 2.0, epoch: 0.5"
    )
    log = tmp_path / "train.log"
    log.write_text(
        head(0, 0)
        + "***** Running training *****\n"
        + head(0, 10)
        + step.format(90)
        + "\n"
        + head(0, 15)
        + step.format(100)
        + "\n"
        + head(0, 15)
        + "***** Running Evaluation *****\n"
        + head(0, 25)
        + ("eval_loss: 4.1, eval_accuracy: 0.5, eval_runtime: 10.0, eval_samples_per_second: 9.9, epoch: 5.0\n")
        + head(0, 25)
        + "Saving model checkpoint to ./out/checkpoint-100\n"
        + head(0, 50)
        + step.format(110).replace("2.0, epoch", "0.2857, epoch")
        + "\n",
        encoding="utf-8",
    )
    ingest([log], tmp_path / "lake")
    made = fleet.open(tmp_path / "lake")
    assert made.sql("SELECT first_step, last_step FROM start").rows() == [(90, 110)]
    assert made.sql("SELECT step, state FROM checkpoint ORDER BY state").rows() == [
        (100, "committed"),
        (100, "requested"),
    ]
    rows = made.sql("SELECT sum(end_us - begin_us) FROM segment WHERE part = 'evaluation'").rows()
    assert rows == [(10_000_000,)]


@pytest.mark.parametrize(
    ("line", "step", "us"),
    [
        (
            ("08:40:52 SUCCESS Step 12 | Time: 5.13s | Loss: 12.25 | Grad. Norm: 28.2 | Throughput: 3324 tokens/s"),
            12,
            5_130 * MS,
        ),
        (
            (
                "2031-03-09 08:48:59 | INFO | root | step 13 | epoch 0 | loss 0.64 | grad_norm 1.17 | lr "
                "1e-05 | mem 31.55 GiB | tps 65.5(8.1/gpu)"
            ),
            13,
            None,
        ),
        (
            (
                "{'loss': 0.4, 'grad_norm': 25.8, 'learning_rate': 1e-06, 'memory(GiB)': 69.1, "
                "'global_step/max_steps': '14/94', 'percentage': '12%'}"
            ),
            14,
            None,
        ),
        (
            ("[2031-03-09 08:10:00] Ep. 1 : Up. 1,500 : Sen. 123,456 : Cost 5.20 : Time 123.45s : 12345.67 words/s"),
            1500,
            None,
        ),
        (
            (
                "I0309 08:10:20.005123 140001112223334 local.py:50] Setting work unit notes: 4.0 steps/s, "
                "2.2% (2000/90000), ETA: 6h6m"
            ),
            2000,
            250 * MS,
        ),
        (
            (
                "I0309 08:10:20.005123 140001112223334 controller.py:516] train | step:   2000 | steps/sec:  "
                "  4.0 | output: "
            ),
            2000,
            250 * MS,
        ),
        ("INFO:tensorflow:global step 8: loss = 57.9715 (16.765 sec/step)", 8, 16_765 * MS),
        (
            (
                "[2031-03-09 08:12:28,082] [    INFO] - loss: 0.8, learning_rate: 2.9e-05, global_step: 20, "
                "current_memory_allocated: 12.5, interval_runtime: 5.0, interval_samples_per_second: 1.0, "
                "interval_tokens_per_second_per_device: 9.0, interval_steps_per_second: 2.0, "
                "progress_or_epoch: 0.5"
            ),
            20,
            500 * MS,
        ),
    ],
    ids=["prime-rl", "automodel", "ms-swift", "marian", "clu", "orbit", "slim", "paddleformers"],
)
def test_step_lines_of_further_loops(tmp_path: Path, line: str, step: int, us: int | None) -> None:
    """Each line is one step, with the duration that it prints or none."""
    rows = read(tmp_path, line).steps.to_pylist()
    assert [(row["step"], row["duration_us"]) for row in rows] == [(step, us)]


def test_launchers_of_mpi_and_batch_systems_say_what_ended_a_run(tmp_path: Path) -> None:
    """Open MPI, Hydra and PALS name a code or a signal, PBS the limit that was reached."""
    assert kinds(
        tmp_path,
        "mpirun noticed that process rank 7 with PID 4242 on node gpu-a exited on signal 9 (Killed).",
        "  Exit code:    1",
        "=   EXIT CODE: 9",
        "x3006c0s19b1n0.hsn.example.org: rank 3 died from signal 6 and dumped core",
        "=>> PBS: job killed: walltime 3611 exceeded limit 3600",
    ) == [
        ("exit_code", None, -9),
        ("exit_code", None, 1),
        ("exit_code", None, 9),
        ("exit_code", None, -6),
        ("time_limit", None, None),
    ]


def test_the_report_behind_an_output_of_lsf_tells_of_the_past(tmp_path: Path) -> None:
    """Its stamps, submission first, pull no line before it back: a batch of 9.25 s ends 9.25 s behind the date."""
    found = read(
        tmp_path,
        "Sun Mar  9 08:00:10 2031",
        "Epoch: [0][   1/5005]\tTime  9.250 ( 9.310)\tData  0.000 ( 0.051)\tLoss 6.9e+00 (6.9e+00)",
        "Job <pre> was submitted from host <login> by user <ann> in cluster <c> at Sun Mar  9 07:30:00 2031",
        "Started at Sun Mar  9 08:00:10 2031",
        "Terminated at Sun Mar  9 18:00:10 2031",
        "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.",
        "Exited with exit code 137.",
    )
    begun = found.events.to_pylist()[0]["ts"]
    assert [row["ts"] - begun for row in found.steps.to_pylist()] == [9_250_000]
    told = [
        (row["kind"], row["code"], row["cause"], (row["ts"] - begun) // 3_600_000_000)
        for row in found.events.to_pylist()
    ]
    assert told == [
        ("heartbeat", None, None, 0),
        ("heartbeat", None, None, 10),
        ("failure", None, "oom", 10),
        ("exit_code", 137, None, 10),
    ]


def test_slurm_of_ten_years_ago_names_its_nodes_elsewhere(tmp_path: Path) -> None:
    """Before version 15 the node stood behind the stars, and a step was KILLED with its signal."""
    assert kinds(
        tmp_path,
        "slurmstepd: error: *** JOB 700123 CANCELLED AT 2031-03-09T18:00:00 DUE TO TIME LIMIT on gpu-a ***",
        "slurmd[gpu-a]: *** STEP 700123.1 KILLED AT 2031-03-09T18:00:00 WITH SIGNAL 9 ***",
        "slurmstepd: error: Exceeded job memory limit",
    ) == [("time_limit", None, None), ("signal", None, -9), ("failure", None, None)]


@pytest.mark.parametrize("host", ["gpu250", "node-7.rack1.example.org", "10.1.2.3"])
def test_the_host_that_pdsh_puts_before_every_line_is_peeled(tmp_path: Path, host: str) -> None:
    """Lines that a pattern reads from their beginning are read behind a host name as well, which becomes the node."""
    rows = read(tmp_path, f"{host}: Loading saved model /runs/dlrm.pt", f"{host}: Traceback (most recent call last):")
    assert [(row["kind"], row["node"]) for row in rows.events.to_pylist()] == [
        ("restore_begin", host),
        ("failure", host),
    ]


def test_a_load_that_names_its_step_only_at_its_beginning_is_what_a_start_resumed_from() -> None:
    """Steps go on from 41 behind a load of step 40; where they begin at 1, the load was of weights only."""
    for first, resumed in ((41, 40), (1, None)):
        log = Log()
        log.say(0, "launch")
        log.say(1, "restore_begin", step=40)
        log.say(2, "restore_end")
        stepping(log, first, (3, 4))
        assert starts(assembled(log), "resumed_from") == [(resumed,)]


def test_levanter_counts_finished_steps_and_saves(tmp_path: Path) -> None:
    """The rank stands between stamp and logger; a rounded count of thousands tells no step."""
    info = "2031-03-09T08:{}:44 - 3 - levanter.x - x.py:145 - INFO :: {}".format
    data = read(
        tmp_path,
        info("02", "No checkpoint found. Starting from scratch."),
        info("10", "Progress on:train 16.0it/20.0kit rate:3.2s/it remaining:17:50:10 elapsed:00:51 postfix:loss=9.05"),
        info("11", "Progress on:train 1.20kit/20.0kit rate:3.2s/it remaining:17:50:10 elapsed:00:51 postfix:loss=9.05"),
        info("20", "Saving checkpoint at step 500 to gs://b/run/step-500"),
        info("21", "Saved checkpoint for step 500"),
    )
    assert [(row["step"], row["rank"]) for row in data.steps.to_pylist()] == [(16, 3)]
    assert [(row["kind"], row["step"], row["rank"]) for row in data.events.to_pylist()] == [
        ("restore_none", None, 3),
        ("save_request", 500, 3),
        ("save_commit", 500, 3),
    ]


DEEPSPEED = "[2031-03-09 08:{}:00,010] [INFO] [logging.py:107:log_dist] [Rank 0] {}".format


def test_newer_deepspeed_ends_a_save_with_nothing_but_the_next_step(tmp_path: Path) -> None:
    """Since 0.18 neither a written file nor a commit is printed; a save is whole once the loop goes on."""
    model = "/ckpt/finch/global_step{}/mp_rank_00_model_states.pt".format
    steps = "steps: {} loss: 6.9 iter time (s): 30.0 samples/sec: 4.2".format
    lines = [
        DEEPSPEED("00", f"[Torch] Begin Load checkpoint from {model(490)}..."),
        DEEPSPEED("01", f"[Torch] End Load checkpoint from {model(490)}..."),
        *(DEEPSPEED(f"{n - 490:02d}", steps(n)) for n in range(492, 501)),
        DEEPSPEED("11", "[Torch] Checkpoint global_step500 is about to be saved!"),
        DEEPSPEED("11", f"Saving model checkpoint: {model(500)}"),
        DEEPSPEED("13", steps(501)),
        DEEPSPEED("14", "[Torch] Checkpoint global_step501 is about to be saved!"),
        DEEPSPEED("14", f"Saving model checkpoint: {model(501)}"),
    ]
    log = tmp_path / "train.log"
    log.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    ingest([log], tmp_path / "lake")
    made = fleet.open(tmp_path / "lake")
    assert made.sql("SELECT resumed_from FROM start").rows() == [(490,)]
    states = made.sql("SELECT step, state FROM checkpoint WHERE step > 490 ORDER BY step, state").rows()
    assert states == [(500, "committed"), (500, "requested"), (501, "requested")]


@pytest.mark.parametrize(
    ("prefix", "rank"), [("[trainer9|1]:", 9), ("[INFO     | pytorch_lightning.utilities.rank_zero]: ", None)]
)
def test_further_prefixes_are_peeled(tmp_path: Path, prefix: str, rank: int | None) -> None:
    """The launcher of TorchX puts the rank before the local one; a logger may stand between bars."""
    (event,) = read(tmp_path, prefix + "=> loaded checkpoint 'checkpoint.pth.tar' (epoch 7)").events.to_pylist()
    assert (event["kind"], event["rank"]) == ("restore_end", rank)


def test_a_fork_of_megatron_may_print_another_throughput(tmp_path: Path) -> None:
    """Only `throughput per GPU` makes a line of another version."""
    line = (
        " iteration       20/     700 | consumed samples:        10240 | elapsed time per iteration (ms): 912.4 | "
        "throughput (samples/sec/per_device): 3.21 | learning rate: 3.000E-06 | lm loss: 9.870000E+00 | "
        "number of skipped iterations:   2 | number of nan iterations:   0 |"
    )
    (row,) = read(tmp_path, line).steps.to_pylist()
    assert (row["step"], row["duration_us"], row["skipped"]) == (20, 912_400, 2)


def test_swift_dates_its_beginning_and_end_and_counts_from_the_loops_beginning(tmp_path: Path) -> None:
    """Bars, loss dicts with the time since the loop began, a runtime in exponents: a whole run of 300 s."""
    step = (
        "\rTrain:  10%|##  | {0}/3 [{1:02d}:10<14:17, 85.70s/it]\r          \r{{'loss': '1.09', 'grad_norm': '9.7', "
        "'learning_rate': '6e-08', 'global_step/max_steps': '{0}/3', 'elapsed_time': '{1}m 10s', 'memory(GiB)': '4'}}"
    ).format
    log = tmp_path / "train.log"
    lines = [
        "[INFO:swift] Start time of running main: 2031-03-09 08:00:00.500000",
        "[INFO:swift] rank: 0, local_rank: 0, world_size: 8, local_world_size: 8",
        *(step(n, n) for n in (1, 2, 3)),
        "{'train_runtime': '1.9e+02', 'train_loss': '1.218', 'global_step/max_steps': '3/3', 'elapsed_time': '3m 12s'}",
        "[INFO:swift] End time of running main: 2031-03-09 08:05:00.500000",
    ]
    log.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    ingest([log], tmp_path / "lake")
    made = fleet.open(tmp_path / "lake")
    assert made.sql("SELECT world_size, first_step, last_step, end_state FROM start").rows() == [(8, 1, 3, "completed")]
    assert made.sql("SELECT sum(end_us - begin_us) FROM segment WHERE part = 'step'").rows() == [(190_000_000,)]
    assert made.sql("SELECT sum(end_us - begin_us) FROM segment").rows() == [(300_000_000,)]


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("1d 2h 3m 4s", 93_784_000_000),
        ("49s", 49_000_000),
        ("2h", 7_200_000_000),
        ("", None),
        ("5x", None),
        ("h", None),
    ],
)
def test_a_span_in_words_is_a_time(text: str, us: int | None) -> None:
    """Each part stands with its letter; anything else is no time."""
    assert word_span(text.encode()) == us
