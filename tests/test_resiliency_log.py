"""The resiliency tools' event log: nodes that come up together are one launch, saves prove steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.telemetry import events, read, steps, write

NAME = "resiliency_log"


def event(second: int, kind: str, **fields: Any) -> dict[str, Any]:
    """Return one record; its stamp is local and has no zone."""
    return {
        "timestamp": f"2031-04-05T06:{second // 60:02d}:{second % 60:02d}.250000",
        "job_name": "dove",
        "event_type": kind,
        **fields,
    }


RUN = [
    event(0, "job_started", node_rank=0.0),
    event(1, "job_started", node_rank=1.0),
    event(60, "checkpoint_saved", step=20),
    event(120, "checkpoint_saved", step=40),
    event(130, "job_terminated", node_rank=1.0),
    event(200, "job_started", node_rank=1.0),
    event(201, "job_started", node_rank=0.0),
    event(240, "checkpoint_loaded", step=40),
    event(300, "checkpoint_saved", step=60),
]


def test_nodes_of_one_start_share_a_launch(tmp_path: Path) -> None:
    """Two nodes come up twice: two launches, and the second one continues from the loaded step."""
    parsed = read(write(tmp_path / "events.jsonl", RUN), NAME)
    assert [row for row in events(parsed, "node", "launch") if row[0] == "worker_start"] == [
        ("worker_start", "0", 1), ("worker_start", "1", 1), ("worker_start", "1", 2), ("worker_start", "0", 2),
    ]  # fmt: skip
    assert [row for row in events(parsed, "step", "launch") if row[0] in ("restore_end", "resume")] == [
        ("restore_end", 40, 2),
        ("resume", 40, 2),
    ]
    assert parsed.hints == {"job": "dove"}


def test_saves_are_commits_and_progress(tmp_path: Path) -> None:
    """A saved checkpoint proves its step; there is no other step line."""
    parsed = read(write(tmp_path / "events.jsonl", RUN), NAME)
    assert steps(parsed, "launch", "pattern") == [
        (20, 1, "checkpoint_saved"),
        (40, 1, "checkpoint_saved"),
        (60, 2, "checkpoint_saved"),
    ]
    assert [row[1] for row in events(parsed, "step") if row[0] == "save_commit"] == [20, 40, 60]


def test_cloud_logging_export_reads_the_same(tmp_path: Path) -> None:
    """The payload of an exported record is the event."""
    plain = read(write(tmp_path / "a.jsonl", RUN), NAME)
    wrapped = [{"insertId": str(k), "jsonPayload": row, "severity": "INFO"} for k, row in enumerate(RUN)]
    exported = read(write(tmp_path / "b.jsonl", wrapped), NAME)
    assert exported.events.equals(plain.events)
    assert exported.steps.equals(plain.steps)


def test_records_that_lack_what_they_need(tmp_path: Path) -> None:
    """An unknown event is unmatched, a save without a step bad, a stamp that is none a bad time."""
    rows = [
        RUN[0],
        event(1, "job_paused"),
        event(2, "checkpoint_saved"),
        {**RUN[1], "timestamp": "yesterday"},
        {"timestamp": "2031-04-05T06:00:00"},
    ]
    parsed = read(write(tmp_path / "events.jsonl", rows), NAME)
    assert parsed.lines == {"matched": 1, "unmatched": 1, "bad_record": 2, "bad_time": 1}
