"""torchtitan's structured log: spans of one rank into events and steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ettlog.parse.parsed import Parsed
from tests.telemetry import BASE, SECOND, events, read, seconds, steps, write

NAME = "titan_jsonl"


class Log:
    """Makes records in the shape of torchtitan's handler, numbered as it numbers them."""

    def __init__(self) -> None:
        """Start with nothing written."""
        self.records: list[dict[str, Any]] = []

    def at(self, second: float, name: str, **fields: Any) -> Log:
        """Add a record so many seconds after the base."""
        us = round((BASE + second) * SECOND)
        self.records.append({
            "delta_ms": 0.1, "tid": 9, "rank": 2, "global_rank": 2, "local_rank": 0, "source": "training",
            "host_name": "gpu-a", "pid": 9, "time": us // SECOND, "time_ms": us // 1000, "time_us": us,
            "log_type": "event", "log_type_name": name,
            "event_name": None, "seq_id": len(self.records), "message": name, **fields,
        })  # fmt: skip
        return self

    def span(self, begin: float, end: float, name: str, **fields: Any) -> Log:
        """Add a span without anything in it."""
        return self.at(begin, f"{name}_start", **fields).at(end, f"{name}_end", value=(end - begin) * 1e3, **fields)

    def read(self, tmp_path: Path) -> Parsed:
        """Write the log and read it."""
        return read(write(tmp_path / "training.global_rank_2.jsonl", self.records), NAME)


def start(step: int = 0) -> Log:
    """Return a start-up of ten seconds, with a load when it continues behind a step."""
    log = Log().at(0, "structured_logger_started", log_type="instant").span(1, 3, "torch_distributed_init")
    log.span(3, 5, "model_parallelism_init").at(5, "training_start", log_type="instant")
    return log.span(5, 9, "checkpoint_load") if step else log


def test_start_up_spans_become_marks(tmp_path: Path) -> None:
    """Each part of the start-up has its end; the training loop is entered with the first step, not with
    `training_start`.
    """
    log = start(100).at(10, "step_start", step=101, relative_step=1).span(10, 12, "fwd_bwd", step=101, relative_step=1)
    parsed = log.at(12, "step_end", value=2000.0, step=101, relative_step=1).read(tmp_path)
    assert [(row[0], seconds(row[1])) for row in events(parsed, "ts")] == [
        ("worker_start", 0), ("process_group", 3), ("model_built", 5), ("init_mark", 5), ("restore_begin", 5),
        ("restore_end", 9), ("train_start", 10), ("resume", 10),
    ]  # fmt: skip
    assert ("resume", 100, 2, "gpu-a") in events(parsed, "step", "rank", "node")
    assert steps(parsed, "ts", "duration_us", "launch") == [(101, (BASE + 12) * SECOND, 2 * SECOND, 1)]


def test_spans_of_every_step_are_ignored(tmp_path: Path) -> None:
    """Three parts of a step, a metric and the begins of two start-up spans say nothing that other records do not
    say.
    """
    log = start().at(10, "step_start", step=1, relative_step=1).span(10, 11, "fetching_batch").span(11, 13, "fwd_bwd")
    log.span(13, 14, "optim").at(14, "metric_value", event_name="loss", value=2.5).at(14, "step_end", step=1, value=4e3)
    parsed = log.read(tmp_path)
    assert (parsed.lines["ignored"], parsed.steps.num_rows) == (3 * 2 + 1 + 2, 1)


def test_save_span_of_every_step_is_no_save(tmp_path: Path) -> None:
    """The call to save returns at once where none is due: only a span of some length is a save, and the step ends
    before it.
    """
    log = start()
    for step, save in ((1, 0.0001), (2, 3.0)):
        begin = 10.0 * step
        log.at(begin, "step_start", step=step, relative_step=step).span(begin, begin + 2, "optim", step=step)
        log.span(begin + 2, begin + 2 + save, "checkpoint_save", step=step)
        log.at(begin + 2 + save, "step_end", value=(2 + save) * 1e3, step=step)
    parsed = log.read(tmp_path)
    saves = [(row[0], row[1], seconds(row[2])) for row in events(parsed, "step", "ts") if row[0].startswith("save")]
    assert saves == [("save_request", 2, 22), ("save_staged", 2, 25)]
    assert [(row[0], row[1]) for row in steps(parsed, "duration_us")] == [(1, 2_000_100), (2, 2 * SECOND)]
    assert any("checkpoint_save" in note for note in parsed.inferences)


def test_nested_save_spans_are_one_save(tmp_path: Path) -> None:
    """A checkpointer that wraps another writes two spans around one save."""
    log = start().at(10, "checkpoint_save_start", step=5).span(10.1, 12, "checkpoint_save", step=5)
    parsed = log.at(13, "checkpoint_save_end", value=3000.0, step=5).read(tmp_path)
    assert [row[0] for row in events(parsed) if row[0].startswith("save")] == ["save_request", "save_staged"]


def test_evaluation_ends_the_steps_own_time(tmp_path: Path) -> None:
    """An evaluation inside the span of a step is not the step."""
    log = (
        start()
        .at(10, "step_start", step=1, relative_step=1)
        .span(10, 12, "fwd_bwd", step=1)
        .span(12, 20, "eval", step=1)
    )
    parsed = log.at(20, "step_end", value=1e4, step=1).read(tmp_path)
    assert [(row[0], seconds(row[1]), row[2]) for row in steps(parsed, "ts", "duration_us")] == [(1, 12, 2 * SECOND)]
    assert [row[0] for row in events(parsed)][-2:] == ["evaluation_begin", "evaluation_end"]


def test_step_without_work_is_the_end_of_the_data(tmp_path: Path) -> None:
    """When the data run out the loop is left inside a step's span: no step was made."""
    log = (
        start()
        .at(10, "step_start", step=1, relative_step=1)
        .span(10, 12, "fwd_bwd", step=1)
        .at(12, "step_end", value=2e3, step=1)
    )
    parsed = log.at(12, "step_start", step=2, relative_step=2).at(13, "step_end", value=1e3, step=2).read(tmp_path)
    assert [row[0] for row in steps(parsed)] == [1]
    assert events(parsed)[-1][0] == "train_end"


def test_error_record_names_its_cause(tmp_path: Path) -> None:
    """An exception inside a span is a failure with the cause its words name."""
    log = start().at(10, "step_start", step=1, relative_step=1)
    parsed = log.at(
        11, "fwd_bwd_error", step=1, message="[step 1] fwd_bwd_error: OutOfMemoryError: CUDA out of memory."
    ).read(tmp_path)
    assert events(parsed, "cause", "step")[-1] == ("failure", "oom", 1)


def test_teardown_is_a_clean_end(tmp_path: Path) -> None:
    """The process group is destroyed only by a process that ends with success."""
    parsed = start().span(20, 21, "torch_distributed_teardown").read(tmp_path)
    assert events(parsed)[-1][0] == "exit_ok"


def test_two_processes_in_one_file_are_two_launches(tmp_path: Path) -> None:
    """A handler that appends leaves two starts in one file: each begins with its own first record."""
    log = start().at(10, "step_start", step=1, relative_step=1).at(12, "step_end", value=2e3, step=1)
    log.at(100, "structured_logger_started", log_type="instant").at(110, "step_start", step=2, relative_step=1)
    parsed = log.at(112, "step_end", value=2e3, step=2).read(tmp_path)
    assert steps(parsed, "launch") == [(1, 1), (2, 2)]
    assert [row for row in events(parsed, "launch", "step") if row[0] == "resume"] == [("resume", 2, 1)]


def test_records_without_a_name_or_a_time(tmp_path: Path) -> None:
    """A record without its name is bad, one without its instant has a bad time; unknown spans are kept as timers."""
    log = start().span(6, 8, "custom_phase")
    log.records += [{"time_us": 1, "seq_id": 5}, {"log_type_name": "x_start", "time_us": 17, "seq_id": 6}]
    parsed = log.read(tmp_path)
    assert (parsed.lines["bad_record"], parsed.lines["bad_time"]) == (1, 1)
    assert ("timer", "custom_phase", 2 * SECOND) in events(parsed, "name", "duration_us")
