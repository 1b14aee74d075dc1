"""Records of nv-one-logger: spans, events and errors of one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.telemetry import BASE, SECOND, events, read, seconds, steps, write

NAME = "one_logger"


def moment(second: float, name: str = "span_start", **attributes: Any) -> dict[str, Any]:
    """Return the event of a record: a name and attributes with an epoch value in milliseconds."""
    return {"name": name, "attributes": {**attributes, "timestamp_msec": round((BASE + second) * 1000)}}


def records(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    """Number records as the exporter does."""
    return [{**row, "count": number, "pid": 77} for number, row in enumerate(rows, 1)]


def start(second: float, name: str, **attributes: Any) -> dict[str, Any]:
    """Return the record of a span that begins."""
    return {"type": "start", "id": "u", "name": name, "attributes": attributes, "start_event": moment(second)}


def stop(second: float, name: str, **attributes: Any) -> dict[str, Any]:
    """Return the record of a span that ends."""
    return {"type": "stop", "id": "u", "name": name, "attributes": attributes, "stop_event": moment(second)}


def complete(begin: float, end: float, name: str, **attributes: Any) -> dict[str, Any]:
    """Return the record of a span in which nothing happened."""
    whole = {**start(begin, name), "type": "complete", "stop_event": moment(end)}
    return {**whole, "attributes": {**attributes, "duration_msec": (end - begin) * 1000}}


def happened(event: dict[str, Any], kind: str = "event") -> dict[str, Any]:
    """Return the record of an event inside a span."""
    return {"type": kind, "span_id": "u", "event": event}


RUN = records(
    start(0, "application"),
    happened(moment(0, "one_logger_initialization", rank=3, world_size=16, node_name="gpu-a")),
    complete(1, 3, "distributed_code_initialization"),
    complete(3, 6, "checkpoint_load"),
    start(7, "training_loop", train_iterations_start=100, train_iterations_target=200, world_size=16),
    complete(7, 8, "training_single_iteration"),
    happened(moment(27, "training_metrics_update", current_iteration=110, avg_iteration_time_sec=2.0, interval=10)),
    happened(moment(27, "training_metrics_update", current_iteration=110, avg_iteration_time_sec=2.0, interval=10)),
    start(28, "checkpoint_save_sync", current_iteration=110),
    happened(moment(31, "save_checkpoint_success", current_iteration=110, checkpoint_directory="/ckpt")),
    stop(31.5, "checkpoint_save_sync", current_iteration=110, duration_msec=3500),
    stop(40, "training_loop"),
    stop(41, "application"),
)


def test_spans_of_a_run(tmp_path: Path) -> None:
    """Spans open and close their parts, a complete one both on one line; rank and node stand on every later event."""
    parsed = read(write(tmp_path / "onelogger.log", RUN), NAME)
    assert [(row[0], seconds(row[1])) for row in events(parsed, "ts")] == [
        ("worker_start", 0), ("world", 0), ("process_group", 3), ("restore_begin", 3), ("restore_end", 6),
        ("train_start", 7), ("resume", 7), ("save_request", 28), ("save_commit", 31), ("save_staged", 31.5),
        ("train_end", 40), ("exit_ok", 41),
    ]  # fmt: skip
    assert ("resume", 100, 3, "gpu-a") in events(parsed, "step", "rank", "node")
    assert ("world", 16) in events(parsed, "world")
    assert parsed.clock == "exact"


def test_metrics_update_is_a_step_line(tmp_path: Path) -> None:
    """An update gives the last iteration and the mean time of one; the same update twice is one."""
    parsed = read(write(tmp_path / "onelogger.log", RUN), NAME)
    assert steps(parsed, "duration_us", "target", "rank") == [(110, 2 * SECOND, 200, 3)]


def test_error_spoils_the_end(tmp_path: Path) -> None:
    """After an application error the end of the application is no success."""
    error = moment(9, "error", exception_type="OutOfMemoryError", exception_message="CUDA out of memory")
    parsed = read(
        write(
            tmp_path / "o.log",
            records(start(0, "application"), happened(error, "application_error"), stop(9, "application")),
        ),
        NAME,
    )
    assert events(parsed, "cause") == [("worker_start", None), ("failure", "oom"), ("heartbeat", None)]


def test_records_that_lack_what_they_need(tmp_path: Path) -> None:
    """A span without a name is bad, one without an instant has a bad time, a telemetry error is noise."""
    rows = records(
        start(0, "application"),
        {"type": "start", "id": "u"},
        {"type": "stop", "id": "u", "name": "x"},
        {"type": "telemetry_data_error", "error": {}},
    )
    parsed = read(write(tmp_path / "o.log", rows), NAME)
    assert parsed.lines == {"matched": 1, "bad_record": 1, "bad_time": 1, "ignored": 1}
