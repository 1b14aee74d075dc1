"""Cycle info of nvidia-resiliency-ext: one small object a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.telemetry import events, read, seconds

CYCLE: dict[str, Any] = {
    "job_id": "918273", "attempt_index": 1, "cycle_number": 2, "cycle_start_time": "2031-04-05T06:06:50Z",
    "cycle_end_time": "2031-04-05T07:06:40Z", "cycle_log_file": "/logs/dove_cycle2.log", "active_nodes": "gpu-[a-b]",
    "standby_nodes": "", "active_ranks": "0-7,9", "generation": 1,
}  # fmt: skip


def test_cycle_is_a_restart_and_its_end(tmp_path: Path) -> None:
    """A later cycle is a restart in place with its ranks counted; the file has its lines accounted for."""
    path = tmp_path / "cycle_info.918273.1.2"
    path.write_text(json.dumps(CYCLE, indent=2))
    parsed = read(path, "nvrx_cycles")
    assert [(row[0], seconds(row[1]), row[2], row[3]) for row in events(parsed, "ts", "world", "launch")] == [
        ("restart", 10, 9, 1),
        ("kill", 3600, None, 1),
    ]
    assert (parsed.hints, parsed.lines) == ({"allocation": "918273"}, {"matched": 12})


def test_first_cycle_is_a_launch_and_may_be_open(tmp_path: Path) -> None:
    """Cycle 0 is the launch of its attempt; a cycle that runs has an empty end."""
    path = tmp_path / "cycle_info.918273.0.0"
    path.write_text(json.dumps({**CYCLE, "cycle_number": 0, "cycle_end_time": "", "active_ranks": ""}))
    assert events(read(path, "nvrx_cycles"), "world") == [("launch", None)]


@pytest.mark.parametrize(
    ("change", "outcome"), [({"cycle_start_time": "soon"}, "bad_time"), ({"cycle_number": "x"}, "bad_record")]
)
def test_cycle_that_cannot_be_read(tmp_path: Path, change: dict[str, Any], outcome: str) -> None:
    """A cycle without a number or an instant gives nothing, and is counted."""
    path = tmp_path / "cycle_info.918273.0.0"
    path.write_text(json.dumps({**CYCLE, **change}))
    parsed = read(path, "nvrx_cycles")
    assert (parsed.lines, parsed.events.num_rows) == ({outcome: 1}, 0)
