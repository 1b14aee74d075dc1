"""Text dialects of trainers, launchers, checkpoints and compilers, by small logs written in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ettlog.lifecycle import CAUSE_ROWS, CAUSES
from ettlog.parse import format as formats
from ettlog.parse.parsed import ScanOptions
from ettlog.parse.scan import scan
from tests.dialects import FORMATS, read

PATTERNS = [pytest.param(one, id=f"{one.format}.{one.name}") for one in FORMATS.patterns if not one.ignore]
MINUTE = 60_000_000
OMP = "torch/distributed/run.py:852] Setting OMP_NUM_THREADS environment variable for each process to be 1"
DEATH = "torch/distributed/elastic/agent/server/api.py:719] Received 15 death signal, shutting down workers"
FAILED = "torch/distributed/elastic/multiprocessing/api.py:984] failed (exitcode: 1) local_rank: 1 (pid: 9)"
NEMO_BAR = (
    "Epoch 0:   4%|▍ | 12/300 [00:40<16:00,  3.33s/it, v_num=a, reduced_train_loss=nan.0, "
    "global_step={}, consumed_samples=1.0]"
)
RENAMED = (
    "I0309 08:31:04.123456 140001112223334 atomicity.py:289] Renaming /r/40.orbax-checkpoint-tmp-3{} to /r/40{}"
).format


def steps(folder: Path, *lines: str, launch: bool = False) -> list[Any]:
    """Return the step numbers of a log, with `launch` as (launch, step)."""
    rows = read(folder, *lines).steps.to_pylist()
    return [(row["launch"], row["step"]) if launch else row["step"] for row in rows]


def kinds(folder: Path, *lines: str) -> list[tuple[str, int | None]]:
    """Return (kind, step) of the events of a log."""
    return [(row["kind"], row["step"]) for row in read(folder, *lines).events.to_pylist()]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_sample_is_read_by_the_scanner_as_what_it_is(pattern: formats.Pattern, tmp_path: Path) -> None:
    """The literal pass finds every sample line, and its pattern gives its event or step with the fields it names."""
    for number, sample in enumerate(pattern.samples):
        path = tmp_path / f"{number}.log"
        path.write_text(sample.line + "\n\n", encoding="utf-8")
        found = scan(path, FORMATS, ScanOptions())
        rows = (found.steps if pattern.kind == "step" else found.events).to_pylist()
        mine = [row for row in rows if (row["format"], row["pattern"]) == (pattern.format, pattern.name)]
        if pattern.needs:
            assert not mine
            continue
        assert len(mine) == 1
        for field, value in sample.event.items():
            if field != "stamp" and field in mine[0] and "total_" not in str(pattern.groups):
                assert mine[0][field] == value


def test_causes_have_one_domain_each() -> None:
    """Every cause is told apart by whose domain it is, and `other` stands last."""
    assert {row.domain for row in CAUSE_ROWS} == {"workload", "infrastructure", "user", "unknown"}
    assert CAUSES[-1] == "other"
    assert len(set(CAUSES)) == len(CAUSES)


# Steps


def test_rounded_steps_of_a_bar_are_read_as_printed(tmp_path: Path) -> None:
    """NeMo's bar prints steps as decimals below a thousand and in engineering notation above; nan losses do no harm."""
    assert steps(tmp_path, *(NEMO_BAR.format(value) for value in ("0.000", "99.00", "100.0", "1.23e+3", "2e+4"))) == [
        0, 99, 100, 1230, 20000,
    ]  # fmt: skip


def test_bars_count_only_behind_the_banner_of_their_trainer(tmp_path: Path) -> None:
    """Bars of data preparation come before the banner, those of evaluation have another total: neither makes a step."""
    bar = " {}%|█ | {}/{} [00:04<00:12,  4.00it/s]"
    lines = (
        bar.format(50, 1, 2), "***** Running training *****", "  Total optimization steps = 300",
        bar.format(33, 100, 300), bar.format(20, 5, 25), bar.format(66, 200, 300),
    )  # fmt: skip
    assert steps(tmp_path, *lines) == [100, 200]
    assert read(tmp_path, *lines).steps.to_pylist()[0]["duration_us"] == 250_000


def test_states_of_one_bar_line_are_separate_steps(tmp_path: Path) -> None:
    """Carriage returns divide the states; the state without a step made is none."""
    bar = "\r".join(f" {n * 25}%|█ | {n}/4 [00:0{n}<00:03,  {'?' if n == 0 else '2.00s/it'}]" for n in range(5))
    assert steps(tmp_path, "***** Running training *****", bar) == [1, 2, 3, 4]


def test_steps_counted_inside_epochs_become_steps_of_the_run(tmp_path: Path) -> None:
    """Lightning's bar and Composer's blocks begin at one again in every epoch."""
    bar = "Epoch {}:  10%|█ | {}/100 [00:20<03:00,  2.00s/it, v_num=4]"
    assert steps(tmp_path, bar.format(0, 10), bar.format(1, 10), bar.format(2, 100)) == [10, 110, 300]
    assert steps(tmp_path, "[epoch=1][batch=30/40]:", "[epoch=2][batch=10/40]:") == [30, 50]


def test_time_since_the_loop_began_becomes_the_time_of_one_step(tmp_path: Path) -> None:
    """Of totals 100, 350 and 850 ms at steps 1, 2 and 4 the steps took 100, 250 and 250 ms."""
    line = "step:{}/900 train_time:{}ms step_avg:1.00ms"
    rows = read(tmp_path, line.format(1, 100), line.format(2, 350), line.format(4, 850)).steps.to_pylist()
    assert [row["duration_us"] for row in rows] == [100_000, 250_000, 250_000]


def test_the_time_of_many_iterations_is_divided(tmp_path: Path) -> None:
    """HugeCTR prints the time of the iterations since the line before: 0.5 s of 100 are 5 ms each."""
    line = "[HCTR][08:10:00.125][INFO][RK0][main]: Iter: 400 Time(100 iters): 0.5s Loss: 0.1250 lr:0.004"
    assert read(tmp_path, line).steps.to_pylist()[0]["duration_us"] == 5_000


def test_reprinted_validations_are_no_steps_and_no_restart(tmp_path: Path) -> None:
    """A finished modded-nanoGPT run prints its validations a second time from step 0."""
    line, value = (
        "step:{}/500 train_time:{}ms step_avg:10.00ms",
        "step:{}/500 val_loss:4.0 train_time:{}ms step_avg:10.00ms",
    )
    lines = [
        "W0309 08:00:00.125000 4242 " + OMP,
        value.format(0, 0), line.format(499, 4990), line.format(500, 5000), value.format(500, 5000),
        value.format(0, 0), value.format(250, 2500), value.format(500, 5000),
    ]  # fmt: skip
    assert steps(tmp_path, *lines, launch=True) == [(1, 499), (1, 500)]
    assert {row["launch"] for row in read(tmp_path, *lines).events.to_pylist()} == {1}


# Launches


def test_copies_of_a_trainers_first_line_are_one_launch(tmp_path: Path) -> None:
    """Eight ranks announce the trainer without saying who they are; after a step the same line is another launch."""
    first, step = (
        "2031-03-09 08:00:0{},000 - root - INFO - Starting job: small model",
        "step: 10  loss: 5.0  memory: 1.0GiB(1.0%)  tps: 1",
    )
    copies = [first.format(n) for n in range(8)]
    assert steps(tmp_path, *copies, step, first.format(9), step.replace("10", "20"), launch=True) == [(1, 10), (2, 20)]


def test_a_worker_line_behind_an_announcement_belongs_to_it(tmp_path: Path) -> None:
    """Lightning names the GPU before the ranks say who they are; both are one launch."""
    lines = ["GPU available: True (cuda), used: True"]
    lines += [f"Initializing distributed: GLOBAL_RANK: {rank}, MEMBER: {rank + 1}/4" for rank in range(4)]
    rows = read(tmp_path, *lines).events.to_pylist()
    assert {row["launch"] for row in rows} == {1}
    assert {row["world"] for row in rows} == {None, 4}


def test_a_restart_in_place_before_the_first_step_is_seen_by_the_same_rank_coming_up_again(tmp_path: Path) -> None:
    """The agent's restart line is not printed at its default level."""
    up = "[rank{}]:[titan] 2031-03-09 08:0{}:00,000 - root - INFO - torchtitan version: 0.2"
    agent = "W0309 07:59:00.125000 4242 " + OMP
    dead = "E0309 08:03:00.125000 4242 " + FAILED
    rows = read(
        tmp_path, agent, up.format(0, 1), up.format(1, 1), dead, up.format(0, 4), up.format(1, 4)
    ).events.to_pylist()
    assert [row["launch"] for row in rows if row["kind"] == "trainer_start"] == [1, 1, 2, 2]


# Checkpoints


def test_old_text_that_announced_asynchronous_saves_as_saved_commits_nothing(tmp_path: Path) -> None:
    """MaxText until 2024 said "saved" when the save had only been started; Orbax's rename is the commit."""
    lines = (
        "saved a checkpoint at step 40",
        RENAMED("/params.orbax-checkpoint-tmp-4", ".orbax-checkpoint-tmp-3/params"),
        RENAMED("", ""),
    )
    assert kinds(tmp_path, *lines) == [("save_staged", 40), ("save_commit", 40)]


def test_a_resumed_trainer_says_the_step_it_has(tmp_path: Path) -> None:
    """torchtitan prints the step after the loaded one; a start at step 1 resumes nothing."""
    line = "[titan] 2031-03-09 08:00:11,005 - root - INFO - Training starts at step {}"
    assert kinds(tmp_path, line.format(1)) == [("train_start", None)]
    assert kinds(tmp_path, line.format(501)) == [("train_start", None), ("resume", 500)]


def test_final_exports_are_no_checkpoints(tmp_path: Path) -> None:
    """Weights saved outside a `checkpoint-N` folder cannot be resumed from."""
    lines = "Saving model checkpoint to runs/a", "Model weights saved in runs/a/model.safetensors"
    assert kinds(tmp_path, *lines) == [("publish_begin", None), ("publish_end", None)]


# Failures


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("[123.4] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.", "node"),
        ("[123.4] NVRM: Xid (PCI:0000:3b:00): 31, pid=1, MMU Fault", "cuda_error"),
        ("RuntimeError: CUDA driver error: out of memory", "oom"),
        ("[98.7] Out of memory: Killed process 42 (python3) total-vm:9kB", "oom"),
        ("OSError: [Errno 28] No space left on device: '/ckpt/step500'", "storage"),
        ("[rank3]: ValueError: 'fp3' is not a valid precision", "user_error"),
        ("TypeError: forward() missing 1 required positional argument: 'mask'", "other"),
        ("Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.", "numeric"),
        ("jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate", "oom"),
    ],
)
def test_a_failure_names_its_cause(line: str, cause: str, tmp_path: Path) -> None:
    """One line, one failure, one cause."""
    rows = read(tmp_path, line).events.to_pylist()
    assert [(row["kind"], row["cause"]) for row in rows] == [("failure", cause)]


def test_a_watchdog_glued_to_a_bar_is_read_with_the_step(tmp_path: Path) -> None:
    """Two writers without a newline between: a step, and a collective that waited 1,802.5 seconds."""
    line = (
        "Epoch 0:   6%|█ | 320/5000 [6:28:43<94:39:17,  1.37it/s, v_num=a, global_step=320.0, consumed_samples=2.5e+7]"
        "[E ProcessGroupNCCL.cpp:456] [Rank 2] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=9, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1802500 milliseconds before timing out."
    )
    found = read(tmp_path, line)
    assert [row["step"] for row in found.steps.to_pylist()] == [320]
    (event,) = found.events.to_pylist()
    assert (event["cause"], event["rank"], event["duration_us"]) == ("nccl_timeout", 2, 1_802_500_000)


# Compilation


def test_both_times_of_an_autotune_line_are_one_compile(tmp_path: Path) -> None:
    """Benchmarking follows precompiling: 0.25 s and 5.5 s are 5.75 s, ending at the line."""
    (event,) = read(
        tmp_path, "SingleProcess AUTOTUNE benchmarking takes 0.2500 seconds and 5.5000 seconds precompiling"
    ).events.to_pylist()
    assert (event["kind"], event["duration_us"]) == ("compile", 5_750_000)


# Clocks


def test_stamps_before_the_first_year_take_the_year_of_the_first_one_behind(tmp_path: Path) -> None:
    """A launcher prints no year, the trainer behind it does: its line is a minute earlier, on New Year's Eve."""
    agent = "W1231 23:59:30.000000 4242 " + OMP
    trainer = "[titan] 2032-01-01 00:00:30,000 - root - INFO - torchtitan version: 0.2"
    first, second = read(tmp_path, agent, trainer).events.to_pylist()
    assert second["ts"] - first["ts"] == MINUTE
    assert first["clock"] == "date_inferred"


def test_a_source_without_any_year_keeps_its_differences_and_says_so(tmp_path: Path) -> None:
    """Two lines ten minutes apart stay ten minutes apart, in a year that is marked as nobody's."""
    agent = "W0309 08:{}:00.000000 4242 " + DEATH
    found = read(tmp_path, agent.format(10), agent.format(20))
    first, second = found.events.to_pylist()
    assert second["ts"] - first["ts"] == 10 * MINUTE
    assert {first["clock"], second["clock"], found.clock} == {"date_nominal"}
    assert any("no stamp of this source shows a year" in sentence for sentence in found.inferences)


def test_the_page_of_dialects_names_every_format(root: Path) -> None:
    """docs/dialects.md lists the formats that exist, and no others."""
    page = (root / "docs" / "dialects.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z0-9_]+)`", page))
    assert {one.name for one in FORMATS.formats} <= named
