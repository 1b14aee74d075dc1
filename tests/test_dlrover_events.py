"""DLRover's event files: both forms, steps by the number of their end, saves with and without a write behind the
loop.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ettlog.parse.parsed import ScanOptions
from tests.telemetry import SECOND, events, read, seconds, steps, write

NAME = "dlrover_events"


def line(second: int, span: str, name: str, kind: str, *, pid: bool = True, **content: Any) -> str:
    """Return one event as text; the stamp is a local time."""
    shown = f"2031-04-05T06:{6 + (40 + second) // 60:02d}:{(40 + second) % 60:02d}.000500"
    return f"[{shown}] {'[41] ' if pid else ''}[{span}] [Trainer] [{name}] [{kind}] {json.dumps(content)}"


RUN = [
    line(0, "a", "#start", "INSTANT", params={}),
    line(0, "b", "#init", "BEGIN"),
    line(1, "c", "load_ckpt", "BEGIN"),
    line(5, "c", "load_ckpt", "END", global_step=40),
    line(6, "b", "#init", "END"),
    line(7, "d", "#train", "BEGIN"),
    line(8, "e", "#step", "BEGIN", global_step=40, consumed_train_samples=0),
    line(10, "e", "#step", "END", global_step=41, consumed_train_samples=64),
    line(10, "f", "#log", "INSTANT", global_step=41, logs={"loss": 2.0}),
    line(11, "g", "#save", "BEGIN", global_step=41),
    line(14, "g", "#save", "END", global_step=41),
    line(15, "h", "#evaluate", "BEGIN", global_step=41),
    line(17, "h", "#evaluate", "END", global_step=41),
    line(18, "d", "#train", "END"),
    line(19, "i", "#finish", "INSTANT"),
]


def test_spans_of_a_run(tmp_path: Path) -> None:
    """Each span opens and closes what it is about; a step counts with the number and the instant of its end."""
    parsed = read(write(tmp_path / "events_3_41.log", RUN), NAME)
    assert [(row[0], row[1]) for row in events(parsed, "step")] == [
        ("worker_start", None), ("init_mark", None), ("restore_begin", None), ("restore_end", 40), ("init_mark", None),
        ("train_start", None), ("step_twin", 41), ("save_request", 41), ("save_commit", 41), ("evaluation_begin", 41),
        ("evaluation_end", 41), ("train_end", None), ("exit_ok", None),
    ]  # fmt: skip
    assert steps(parsed, "duration_us", "samples", "rank") == [(41, 2 * SECOND, 64, 3)]
    assert (parsed.clock, parsed.inferences) == ("zone_assumed", ["local stamps without a zone are read as UTC"])


def test_zone_is_taken_from_the_options(tmp_path: Path) -> None:
    """Local stamps are read in the zone that is set: 06:06 in Tokyo is nine hours earlier in UTC."""
    parsed = read(write(tmp_path / "events_0.log", RUN), NAME, ScanOptions(zone="Asia/Tokyo"))
    assert seconds(events(parsed, "ts")[0][1]) == pytest.approx(0.0005 - 9 * 3600)
    assert parsed.clock == "zone_set"


def test_text_without_pid_and_json_read_the_same(tmp_path: Path) -> None:
    """Older text has no process id, and the JSON form holds the same fields."""
    old = [text.replace("[41] ", "") for text in RUN]
    as_json = []
    for text in RUN:
        head, _, body = text.partition(" {")
        time, _, span, target, name, kind = (part.strip("[]") for part in head.split(" "))
        as_json.append(
            {
                "event_id": span,
                "event_time": time,
                "target": target,
                "name": name,
                "event_type": kind,
                "content": json.loads("{" + body),
            }
        )
    forms: list[list[Any]] = [RUN, old, as_json]
    texts = [write(tmp_path / f"events_3_{k}.log", lines) for k, lines in enumerate(forms)]
    tables = [read(path, NAME) for path in texts]
    assert all(one.events.equals(tables[0].events) and one.steps.equals(tables[0].steps) for one in tables)


def test_save_behind_the_loop_is_committed_by_its_own_span(tmp_path: Path) -> None:
    """With `persist_ckpt` the end of a save only lets the loop go on."""
    lines = [
        RUN[0],
        line(1, "p", "#persist_ckpt", "BEGIN", global_step=40, path="/ckpt/40"),
        line(3, "p", "#persist_ckpt", "END", global_step=40, path="/ckpt/40"),
        line(11, "g", "#save", "BEGIN", global_step=41),
        line(12, "g", "#save", "END", global_step=41),
    ]
    parsed = read(write(tmp_path / "events_0.log", lines), NAME)
    assert [row for row in events(parsed, "step") if row[0].startswith("save")] == [
        ("save_commit", 40), ("save_request", 41), ("save_staged", 41),
    ]  # fmt: skip


def test_agent_restarts_and_failures(tmp_path: Path) -> None:
    """An agent's restart opens a launch, a network check is no rendezvous, an exception names its cause."""
    lines = [
        line(0, "a", "#rendezvous", "BEGIN", rendezvous_type="elastic-training", round_num=1),
        line(2, "a", "#rendezvous", "END", rendezvous_type="elastic-training", round_num=1),
        line(3, "b", "#rendezvous", "BEGIN", rendezvous_type="network-check", round_num=1),
        line(9, "c", "#exception", "INSTANT", msg="CUDA error: unspecified launch failure"),
        line(10, "d", "#process_restart", "INSTANT", restart_round=1, errmsg={}),
    ]
    parsed = read(write(tmp_path / "events_0.log", lines), NAME)
    assert events(parsed, "cause", "launch") == [
        ("rendezvous_begin", None, 0), ("rendezvous_end", None, 0), ("heartbeat", None, 0),
        ("failure", "cuda_error", 0),
        ("restart", None, 1),
    ]  # fmt: skip


def test_broken_lines_are_counted(tmp_path: Path) -> None:
    """A line that is no event, a body that is no JSON and a stamp that is no time are told apart."""
    lines = [RUN[0], "something else", RUN[1].replace("{}", "{"), RUN[2].replace("T06:06", "T36:06")]
    parsed = read(write(tmp_path / "events_0.log", lines), NAME)
    assert parsed.lines == {"matched": 1, "bad_record": 2, "bad_time": 1}


def test_open_spans_are_bounded(tmp_path: Path) -> None:
    """Spans that never end do not pile up."""
    lines = [line(k % 60, f"s{k}", "#step", "BEGIN", global_step=k) for k in range(5000)]
    assert read(write(tmp_path / "events_0.log", lines), NAME).lines == {"matched": 5000}
