"""MLPerf, fairseq, maskrcnn and NVRx lines inside ordinary text: both kinds of line are read, each with its own
clock.
"""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from ettlog.parse import format as formats
from ettlog.parse.parsed import Parsed, ScanOptions
from ettlog.parse.scan import scan
from tests.telemetry import BASE, events, seconds, steps, write

MLLOG = (
    ':::MLLOG {{"namespace": "", "time_ms": {ms}, "event_type": "{edge}", "key": "{key}", "value": {value}, '
    '"metadata": {{"file": "train.py", "lineno": 7{more}}}}}'
)
MASKRCNN = (
    "2031-04-05 06:06:52,641 maskrcnn_benchmark.trainer INFO: eta: 0:45:03  iter: 50  time: 0.0625 (0.0677)  "
    "data: 0.0001 (0.0046)  loss: 1.4 (2.2)"
)
INNER = '{{"epoch": 1, "update": 0.5, "ups": "0.2", "num_updates": "{}", "train_wall": "700", "wall": "720"}}'
SUMMARY = '{"epoch": 1, "train_loss": "8.0", "train_num_updates": "310", "train_wall": "200"}'
HYDRA = "[2031-04-05 06:{}][{}][INFO] - {}".format
PHASE = (
    "2031-04-05 06:20:00,123 [INFO] [gpu-a] [workload:0(0) infra:0(0)] profiling.py:90   - Cycle: 1 Event: {} "
    "Node: gpu-b Rank: 3 Time: 2031-04-05 06:06:{}.250 UTC"
).format


@functools.cache
def known() -> formats.FormatSet:
    """Return all formats that come with ettlog."""
    return formats.load_all()


def read(path: Path, lines: list[str]) -> Parsed:
    """Scan lines as a file of text."""
    return scan(write(path / "run.log", lines), known(), ScanOptions())


def mllog(second: float, key: str, value: str = "null", **more: object) -> str:
    """Return one MLLOG record so many seconds after the base."""
    edge = "INTERVAL_START" if key.endswith("start") else "INTERVAL_END" if key.endswith("stop") else "POINT_IN_TIME"
    extra = "".join(
        f', "{name}": {f"{chr(34)}{told}{chr(34)}" if isinstance(told, str) else told}' for name, told in more.items()
    )
    return MLLOG.format(ms=round((BASE + second) * 1000), edge=edge, key=key, value=value, more=extra)


RUN = [
    mllog(0, "cache_clear", "true"),
    mllog(3, "init_start"),
    mllog(4, "init_start"),
    mllog(5, "submission_org", '"dove"'),
    mllog(9, "init_stop"),
    mllog(10, "run_start"),
    mllog(10, "block_start", first_epoch_num=0),
    mllog(12, "tracked_stats", '{"train_step_timing": 2.0}', step=4096),
    mllog(14, "tracked_stats", '{"train_step_timing": 2.0}', step=8192),
    mllog(14, "eval_start", epoch_num=8192),
    mllog(15, "tracked_stats", '{"validation_step_timing": 1.0}', step=8192),
    mllog(16, "eval_accuracy", "0.7", epoch_num=8192),
    mllog(16, "eval_stop", epoch_num=8192),
    mllog(17, "run_stop", status="success"),
]


def test_mllog_run(tmp_path: Path) -> None:
    """Init, run, evaluations and timed steps of an MLPerf run, dated by their epoch values."""
    parsed = read(tmp_path, RUN)
    assert [(row[0], seconds(row[1])) for row in events(parsed, "ts")] == [
        ("trainer_start", 0), ("trainer_start", 3), ("trainer_start", 4), ("init_mark", 9), ("train_start", 10),
        ("heartbeat", 10),
        ("evaluation_begin", 14), ("heartbeat", 16), ("evaluation_end", 16), ("train_end", 17),
    ]  # fmt: skip
    assert [(row[0], seconds(row[1])) for row in steps(parsed, "ts")] == [(4096, 12), (8192, 14)]
    assert (parsed.lines["unmatched"], parsed.clock) == (0, "exact")


def test_mllog_of_two_attempts_in_one_file(tmp_path: Path) -> None:
    """A file opened for append holds two attempts: copies of a begin are one launch, one behind a stop is another."""
    parsed = read(tmp_path, [*RUN, *RUN])
    assert [row[1] for row in events(parsed, "launch") if row[0] == "trainer_start"] == [1, 1, 1, 2, 2, 2]
    assert steps(parsed, "launch") == [(4096, 1), (8192, 1), (4096, 2), (8192, 2)]


def test_mllog_aborted_run(tmp_path: Path) -> None:
    """A run that was stopped is a failure, not an end."""
    assert events(read(tmp_path, [*RUN[:-1], mllog(17, "run_stop", status="aborted")]), "cause")[-1] == (
        "failure",
        "other",
    )


@pytest.mark.parametrize(
    "label", ["0: ", " 4: ", "[0] ", "[1,3]<stdout>:", "[default0]:", "2031-04-05T06:06:40.1234567Z "]
)
def test_mllog_behind_a_label(tmp_path: Path, label: str) -> None:
    """A label before the record changes neither what it says nor, but for an outer stamp of its own, when."""
    plain, labelled = read(tmp_path, RUN), read(tmp_path, [label + line for line in RUN])
    assert [row[0] for row in events(labelled)] == [row[0] for row in events(plain)]
    assert [row[0] for row in steps(labelled)] == [row[0] for row in steps(plain)]


def test_mllog_in_a_log_of_text(tmp_path: Path) -> None:
    """Text lines between the records are read by their own formats."""
    parsed = read(tmp_path, [*RUN[:7], MASKRCNN, RUN[-1]])
    assert {"mllog", "maskrcnn_benchmark"} <= parsed.formats.keys()
    assert [(row[0], seconds(row[1]), row[2]) for row in steps(parsed, "ts", "duration_us")] == [(50, 12.641, 62_500)]


def test_mllog_of_the_first_rounds(tmp_path: Path) -> None:
    """Rounds 0.5 and 0.6 write benchmark, seconds and key as text."""
    head = ":::MLPv0.5.0 resnet {}.500000 (main.py:7) {}".format
    lines = [
        head(BASE, "run_clear_caches"),
        head(BASE + 9, "run_start"),
        head(BASE + 9, "input_batch_size: 32"),
        head(BASE + 20, "eval_start: 1"),
    ]
    lines += [head(BASE + 25, "eval_stop: 1"), head(BASE + 30, 'run_stop: {"success": true}')]
    parsed = read(tmp_path, lines)
    assert [(row[0], seconds(row[1])) for row in events(parsed, "ts")] == [
        ("trainer_start", 0.5), ("train_start", 9.5), ("evaluation_begin", 20.5), ("evaluation_end", 25.5),
        ("train_end", 30.5),
    ]  # fmt: skip
    assert parsed.lines["unmatched"] == 0


def test_fairseq_two_clocks_in_one_file(tmp_path: Path) -> None:
    """One process writes two kinds of prefix, before and after its logger is set up anew: both date their lines."""
    saved = "Saved checkpoint ckpt/a.pt (epoch 1 @ 310 updates, score 6.5) (writing took 9.5 seconds)"
    lines = [
        "2031-04-05 06:06:40 | INFO | fairseq.distributed.utils | distributed init (rank 1): tcp://gpu-a:14946",
        "2031-04-05 06:06:41 | INFO | fairseq.distributed.utils | distributed init (rank 0): tcp://gpu-a:14946",
        HYDRA("06:50,500", "fairseq.trainer", "begin training epoch 1"),
        HYDRA("08:20,250", "train_inner", INNER.format(150)),
        "2031-04-05 06:09:20 | INFO | train_inner | " + INNER.format(300),
        HYDRA("09:30,000", "fairseq.checkpoint_utils", "Preparing to save checkpoint for epoch 1 @ 310 updates"),
        HYDRA("09:40,000", "fairseq.checkpoint_utils", saved),
        HYDRA("09:41,000", "train", SUMMARY),
    ]
    parsed = read(tmp_path, lines)
    assert [(row[0], seconds(row[1])) for row in steps(parsed, "ts")] == [(150, 100.25), (300, 160)]
    assert [(row[0], row[1], seconds(row[2])) for row in events(parsed, "step", "ts")][2:] == [
        ("train_start", None, 10.5), ("save_request", 310, 170), ("save_commit", 310, 180), ("step_twin", 310, 181),
    ]  # fmt: skip
    assert parsed.events.num_rows == 6


def test_nvrx_phases_have_their_own_time(tmp_path: Path) -> None:
    """A summary behind a restart is dated by the instants it names, not by the line's."""
    lines = [PHASE("failure_detected", 50), PHASE("rendezvous_started", 51), PHASE("worker_start_started", 55)]
    parsed = read(tmp_path, lines)
    assert [(row[0], seconds(row[1]), row[2]) for row in events(parsed, "ts", "node")] == [
        ("failure", 10.25, "gpu-b"), ("rendezvous_begin", 11.25, "gpu-b"), ("restart", 15.25, "gpu-b"),
    ]  # fmt: skip


def test_megatron_progress_file(tmp_path: Path) -> None:
    """Every row that starts a job opens a launch; a committed save follows its request."""
    head = "2031-04-05 06:{}:00\tJob ID: {}\t# GPUs: 64\t".format
    lines = [
        head("07", 1) + "Starting job",
        head("20", 1) + "Saving async checkpoint\tIteration: 500\tJob throughput: 1.0 TFLOP/s/GPU",
    ]
    lines += [head("21", 1) + "Saved async checkpoint\tIteration: 500", head("40", 2) + "Starting job"]
    assert events(read(tmp_path, lines), "step", "launch") == [
        ("launch", None, 1), ("save_request", 500, 1), ("save_commit", 500, 1), ("launch", None, 2),
    ]  # fmt: skip
