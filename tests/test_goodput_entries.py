"""Goodput entries: a step is done when the next one begins, whatever order, rank or attempt the entries come from."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import ettlog
from tests.telemetry import BASE, SECOND, events, read, seconds, steps, write

NAME = "goodput_entries"


def at(second: float, key: str, **fields: Any) -> dict[str, Any]:
    """Return an entry of a job, its time in seconds after the base."""
    return {"job_name": "dove", **fields, key: BASE + second}


def run(first: int, begins: Iterable[float]) -> list[dict[str, Any]]:
    """Return the entries of steps that begin at the given seconds."""
    return [at(second, "step_start_time", step_count=step) for step, second in enumerate(begins, first)]


START = [at(0, "job_start_time"), at(2, "tpu_init_start_time"), at(5, "tpu_init_end_time")]


def rows(path: Path, entries: list[dict[str, Any]]) -> list[tuple[int, float | None, float]]:
    """Return steps with their ends and lengths in seconds."""
    parsed = read(write(path / "goodput.jsonl", entries), NAME)
    return [(step, seconds(ts), duration / SECOND) for step, ts, duration in steps(parsed, "ts", "duration_us")]


def test_step_is_done_when_the_next_one_begins(tmp_path: Path) -> None:
    """Each row ends where the next step begins; the last one at the end of the job."""
    entries = [*START, *run(0, (10, 30, 40)), at(50, "job_end_time")]
    assert rows(tmp_path, entries) == [(0, 30, 20), (1, 40, 10), (2, 50, 10)]


def test_step_without_an_end_is_no_step(tmp_path: Path) -> None:
    """A job that still runs, or died, shows its last step begun and not done."""
    parsed = read(write(tmp_path / "g.jsonl", [*START, *run(0, (10, 20))]), NAME)
    assert [row[0] for row in steps(parsed)] == [0]
    assert events(parsed, "step")[-1] == ("heartbeat", 1)


def test_marks_of_a_start(tmp_path: Path) -> None:
    """Device init, preparation and the first data load are marks of the start-up, the loop begins with the first
    step.
    """
    loads = [at(6, "data_loading_start_time"), at(8, "data_loading_end_time")]
    entries = [
        *START,
        *loads,
        *run(0, (10,)),
        at(11, "data_loading_start_time"),
        at(12, "data_loading_end_time"),
        *run(1, (20,)),
    ]
    parsed = read(write(tmp_path / "g.jsonl", entries), NAME)
    assert [(row[0], seconds(row[1])) for row in events(parsed, "ts")] == [
        ("launch", 0), ("init_mark", 2), ("process_group", 5), ("init_mark", 6), ("data_ready", 8), ("train_start", 10),
        ("heartbeat", 20),
    ]  # fmt: skip
    assert (parsed.hints, parsed.lines["ignored"]) == ({"job": "dove"}, 2)


def test_copies_of_a_second_rank_are_duplicates(tmp_path: Path) -> None:
    """Entries of two ranks are one start and one set of steps."""
    second = [
        {**entry, key: entry[key] + 0.25}
        for entry in [*START[:1], *run(0, (10, 20, 30))]
        for key in entry
        if key.endswith("time")
    ]
    entries = sorted(
        [*START, *run(0, (10, 20, 30)), *second],
        key=lambda entry: max(value for value in entry.values() if isinstance(value, float | int)),
    )
    parsed = read(write(tmp_path / "g.jsonl", entries), NAME)
    assert steps(parsed, "launch") == [(0, 1), (1, 1)]
    assert parsed.lines["duplicate"] == 4


def test_entries_out_of_order(tmp_path: Path) -> None:
    """Between two job starts the entries are sorted by their own time."""
    begun = run(0, (10, 20, 30, 40))
    entries = [*START, begun[0], begun[2], begun[1], begun[3]]
    assert sorted(rows(tmp_path, entries)) == [(0, 20, 10), (1, 30, 10), (2, 40, 10)]


def test_sparse_log_shares_the_time_evenly(tmp_path: Path) -> None:
    """A log of every tenth step covers the steps between, and as many behind its last one where the time fits."""
    entries = [
        *START,
        *(at(10 + 50 * k, "step_start_time", step_count=10 * k) for k in range(3)),
        at(160, "job_end_time"),
    ]
    assert rows(tmp_path, entries) == [(0, 15, 5), (9, 60, 5), (19, 110, 5), (29, 160, 5)]


def test_restart_that_repeats_no_step_proves_the_last_one(tmp_path: Path) -> None:
    """A start that continues behind the last begun step shows that step done, in the usual time."""
    entries = [*START, *run(0, (10, 20, 30)), at(100, "job_start_time"), *run(3, (110, 120)), at(130, "job_end_time")]
    assert rows(tmp_path, entries) == [(0, 20, 10), (1, 30, 10), (2, 40, 10), (3, 120, 10), (4, 130, 10)]


def test_old_attempt_that_goes_on_beside_the_new_one(tmp_path: Path) -> None:
    """Steps of an attempt that has not noticed its end are copies; the new attempt's own steps count."""
    both = [
        at(65, "step_start_time", step_count=8),
        at(66, "step_start_time", step_count=10),
        at(75, "step_start_time", step_count=9),
    ]
    entries = [*START, *run(8, (40, 50)), at(55, "job_start_time"), *both, *run(10, (85,)), at(95, "job_end_time")]
    assert rows(tmp_path, entries) == [(8, 50, 10), (8, 75, 10), (9, 85, 10), (10, 95, 10)]


def test_custom_events_are_not_the_step(tmp_path: Path) -> None:
    """What the loop did beside the step is taken from the step's time, and the step ends before it where it came
    last.
    """
    away = [
        at(14, "custom_badput_event_start_time", custom_badput_event_type="eval"),
        at(20, "custom_badput_event_end_time", custom_badput_event_type="eval"),
    ]
    assert rows(tmp_path, [*START, *run(0, (10,)), *away, *run(1, (20,))]) == [(0, 14, 4)]


def test_lost_slice_is_a_failure_and_a_restart_in_place(tmp_path: Path) -> None:
    """An elastic job that loses a slice fails by its hardware and comes up again without a new job start."""
    lost = [
        at(35, "elastic_wait_start_time", elastic_wait_event_type="elastic_slice_down"),
        at(45, "elastic_wait_end_time", elastic_wait_event_type="elastic_slice_down"),
        at(45, "elastic_reinit_start_time"), at(50, "elastic_reinit_end_time"),
    ]  # fmt: skip
    entries = [*START, *run(0, (10, 20, 30)), *lost, *run(1, (60, 70)), at(80, "job_end_time")]
    parsed = read(write(tmp_path / "g.jsonl", entries), NAME)
    assert ("node_failure", "node", 1) in events(parsed, "cause", "launch")
    assert steps(parsed, "launch") == [(0, 1), (1, 1), (1, 2), (2, 2)]


def test_orbax_entries(tmp_path: Path) -> None:
    """A save blocks the loop from its begin for its length; a restore also tells the step it continues from."""
    save = {
        "event_type": "save",
        "step": 4,
        "directory": "/ckpt",
        "synchronous": False,
        "checkpoint_manager_blocking_start_time": BASE + 30.0,
        "checkpoint_manager_blocking_duration_secs": 2.5,
    }
    restore = {
        "event_type": "emergency_restore",
        "step": 4,
        "checkpointer_start_time": BASE + 6.0,
        "checkpointer_duration_secs": 3.0,
    }
    entries = [
        *START,
        restore,
        save,
        {**save, "step": 5, "synchronous": True},
        {**save, "checkpoint_manager_blocking_duration_secs": None},
    ]
    parsed = read(write(tmp_path / "g.jsonl", entries), NAME)
    assert [(row[0], row[1], seconds(row[2])) for row in events(parsed, "step", "ts")][3:] == [
        ("restore_begin", 4, 6), ("restore_end", 4, 9), ("resume", 4, 9), ("save_request", 4, 30),
        ("save_staged", 4, 32.5),
        ("save_request", 5, 30), ("save_commit", 5, 32.5),
    ]  # fmt: skip
    assert parsed.lines["bad_time"] == 1


def test_cloud_logging_export_reads_the_same(tmp_path: Path) -> None:
    """The payload of an exported record is the entry."""
    entries = [*START, *run(0, (10, 20))]
    wrapped = [
        {"insertId": str(k), "jsonPayload": entry, "timestamp": "2031-04-05T06:06:40Z"}
        for k, entry in enumerate(entries)
    ]
    assert rows(tmp_path, wrapped) == rows(tmp_path, entries)


EFFECTIVE = {"06_two_ranks_duplicate": 100.2, "11_elastic": 156.0}
"""Scenarios whose answer differs from the truth by construction, and ours: the second rank's end stands 0.2 s later;
the wait for more slices inside the last step is no training, and of the step made twice the first execution counts
(10 s, not 12 s).
"""


@pytest.mark.shared
def test_published_scenarios(tmp_path: Path, shared: Path) -> None:
    """Effective training time of the 21 goodput scenarios agrees with the truth by construction, where there is
    one.
    """
    told: dict[str, Any] = {}
    for path in sorted((shared / "oracle" / "goodput").glob("[0-9]*.json")):
        scenario = json.loads(path.read_text(encoding="utf-8"))
        told[scenario["id"]] = scenario["by_construction"]
        folder = tmp_path / "logs" / scenario["id"]
        folder.mkdir(parents=True)
        write(folder / "goodput.jsonl", [{**entry, "job_name": scenario["id"]} for entry in scenario["entries"]])
    ettlog.ingest([tmp_path / "logs"], tmp_path / "lake")
    fleet = ettlog.open(tmp_path / "lake")
    found = {row["job"]: row["effective_us"] / SECOND for row in fleet.table("job").iter_rows(named=True)}
    assert len(found) == len(told) == 21
    expected = {name: truth["productive_seconds"] for name, truth in told.items()} | EFFECTIVE
    assert {name: found[name] for name, effective in expected.items() if effective is not None} == {
        name: pytest.approx(effective) for name, effective in expected.items() if effective is not None
    }


@pytest.mark.parametrize("every", [1, 10])
def test_many_steps_are_those_of_few(every: int, tmp_path: Path) -> None:
    """A long start gives the rows that its length and step numbers say, whether or not numbers are skipped."""
    begins = [10.5 + 2 * number for number in range(200)]
    entries = [
        *START,
        *(at(second, "step_start_time", step_count=every * number) for number, second in enumerate(begins)),
        at(begins[-1] + 2, "job_end_time"),
    ]
    told = [(every * (number + 1) - 1, second + 2, 2 / every) for number, second in enumerate(begins)]
    first = [(0, 10.5 + 2 / every, 2 / every)] if every > 1 else []
    assert rows(tmp_path, entries) == [*first, *told]


def test_how_an_entry_is_written_does_not_matter(tmp_path: Path) -> None:
    """Entries as the library writes them, packed, and with their keys the other way round hold the same, out of order
    or not, with steps told twice and restarts."""
    one = [*START, *run(0, (10 + number / 3 for number in range(150)))]
    two = [at(200, "job_start_time"), *run(140, (230 + number for number in range(90))), at(400, "job_end_time")]
    for entries in ([*one, *two], [*one, *one[40:60], *two], [*one[:3], *one[:2:-1], *two]):
        texts = {
            "library": [json.dumps(entry) for entry in entries],
            "packed": [json.dumps(entry, separators=(",", ":")) for entry in entries],
            "turned": [json.dumps(dict(reversed(entry.items()))) for entry in entries],
        }
        found = []
        for name, lines in texts.items():
            path = tmp_path / name
            path.write_text("\n".join(lines) + "\n")
            parsed = read(path, NAME)
            found.append(
                (parsed.events.to_pylist(), parsed.steps.to_pylist(), parsed.lines, parsed.clock, parsed.hints)
            )
        assert found[0] == found[1] == found[2]
        assert len(found[0][1]) > 200
