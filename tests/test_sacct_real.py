"""Scheduler accounting on real files: every count, sum and state that was worked out for them by other programs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ettlog.parse import sacct
from ettlog.parse.parsed import Parsed, ScanOptions
from tests.scheduling import iso
from tests.test_sched_batch_real import EXTRA, NOT_KEPT

SETS = (
    "batch_apel/slurm_15col",
    "slurm_requeue_reportseff/",
    "slurm_sacct_gcm/",
    "slurm_sacct_psc/sacct_",
    "slurm_sacct_slurm2sql/",
    "slurm_sacct_xdmod/",
)
SECOND = 1_000_000

pytestmark = pytest.mark.shared


@pytest.fixture(scope="module")
def facts(shared: Path) -> list[dict[str, Any]]:
    """Return the facts of all files in the dialect."""
    found: list[dict[str, Any]] = json.loads((shared / "data/scheduler/facts.json").read_text())
    return [one for one in found if one["file"].startswith(SETS) and one.get("dialect") == "slurm_sacct_text"]


def read(shared: Path, fact: dict[str, Any]) -> tuple[Parsed, list[dict[str, Any]]]:
    """Read a file as its facts say it must be read."""
    fields = fact["needs"].get("fields")
    parsed = sacct.read(
        shared / "data/scheduler" / fact["file"], ScanOptions(sacct_fields=tuple(fields) if fields else None)
    )
    return parsed, parsed.allocs.to_pylist()


def test_the_facts_cover_the_dialect(facts: list[dict[str, Any]]) -> None:
    """Nineteen files of the dialect are compared."""
    assert len(facts) == 19


def test_records_lines_and_states(shared: Path, facts: list[dict[str, Any]]) -> None:
    """Jobs, steps, rejected and repeated records, and the states of jobs are those of the facts."""
    for fact in facts:
        parsed, rows = read(shared, fact)
        lines = parsed.lines
        rejected = sum(lines.get(outcome, 0) for outcome in ("bad_record", "bad_time", "torn", "long"))
        levels = Counter(row["record"] for row in rows)
        repeated = {level: fact.get(f"duplicate_{level}_rows") or 0 for level in ("job", "step")}
        told = fact["file"]
        assert parsed.n_lines == sum(lines.values()) == fact["physical_lines"], told
        assert rejected == fact["rejected_records"], told
        assert lines.get("duplicate", 0) == sum(repeated.values()), told
        assert levels["job"] + repeated["job"] == fact["job_rows"], told
        assert levels["step"] + repeated["step"] == fact["step_rows"], told
        assert Counter(row["state"] for row in rows if row["record"] == "job") == fact["states"], told


def test_times_and_gpus(shared: Path, facts: list[dict[str, Any]]) -> None:
    """Queue, allocation and GPU seconds of job rows are those of the facts, wherever the facts give them."""
    checked = Counter[str]()
    for fact in facts:
        _, rows = read(shared, fact)
        jobs = [row for row in rows if row["record"] == "job"]
        started = [row for row in jobs if row["start_us"] is not None]
        ended = [row for row in started if row["end_us"] is not None]
        untimed = not any(row["start_us"] or row["end_us"] or row["submit_us"] for row in jobs)
        held = [
            (row, row["elapsed_us"] if untimed else row["end_us"] - row["start_us"])
            for row in (jobs if untimed else ended)
        ]
        found = {
            "queue_seconds_sum": sum(row["start_us"] - (row["submit_us"] or 0) for row in started),
            "allocated_seconds_sum": sum(us for _, us in held),
            "gpu_seconds_sum": sum((row["gpus"] or 0) * us for row, us in held),
        }
        for name, value in found.items():
            if fact.get(name) is not None:
                assert value == fact[name] * SECOND, (fact["file"], name)
                checked[name] += 1
        if fact.get("never_started") is not None and not untimed:
            pending = [row for row in jobs if row["state"] == "PENDING"]
            assert len(jobs) - len(started) - len(pending) == fact["never_started"], fact["file"]
    assert checked == {"queue_seconds_sum": 12, "allocated_seconds_sum": 13, "gpu_seconds_sum": 7}


def walked(rows: list[dict[str, Any]], clock: str) -> dict[str, Any]:
    """Return what the rows of a file say under the names of its facts."""
    jobs = [row for row in rows if row["record"] == "job"]
    known = {row["raw"] for row in jobs}
    alone = {row["raw"] for row in rows if row["record"] == "step"} - known
    started, ended = ([row for row in jobs if row[name] is not None] for name in ("start_us", "end_us"))
    never = [row for row in ended if row["start_us"] is None]
    submits = [row["submit_us"] for row in jobs if row["submit_us"] is not None]
    return {
        "jobs": len({(row["cluster"], row["id"]) for row in jobs}) + len(alone),
        "jobs_without_job_row": len(alone), "allocations": len(started), "never_started": len(never),
        "pending": len(jobs) - len(started) - len(never),
        "running_or_open": len({row["id"] for row in jobs if row["end_us"] is None}),
        "requeues_or_restarts": max(
            sum(row["restarts"] or 0 for row in jobs), sum(row["state"] == "REQUEUED" for row in jobs)
        ),
        "gpus_max": max((row["gpus"] for row in jobs if row["gpus"] is not None), default=None),
        "first_submit": iso(min(submits, default=None), clock),
        "last_end": iso(max((row["end_us"] for row in ended), default=None), clock),
    }  # fmt: skip


MISSES = {
    ("sample-sacct-running-output.txt", "running_or_open"): "the job is known by its steps only",
    ("sacct_D_235929.txt", "allocations"): "rows without any instant hold a length and no place in time",
    ("sacct_D_235929.txt", "pending"): "the same",
    (
        "sacct_51_fields.txt",
        "running_or_open",
    ): "a cancelled row whose end is unknown: no end here, and no open job either",
}
"""Facts that are told in another way, each with its reason."""


def test_every_other_fact(shared: Path, facts: list[dict[str, Any]]) -> None:
    """Jobs, attempts, what waits and is open, GPUs, first submission and last end are those of the facts."""
    checked, missed = Counter[str](), set()
    for fact in facts:
        found, file = walked(read(shared, fact)[1], fact["clock"]), fact["file"].rpartition("/")[2]
        for name in (name for name in found if fact.get(name) is not None):
            checked[name] += 1
            if found[name] != fact[name]:
                missed.add((file, name))
    assert missed == set(MISSES)
    assert checked["jobs"] == 19
    assert sum(checked.values()) == 135


def test_late_steps_and_waits(shared: Path, facts: list[dict[str, Any]]) -> None:
    """Steps that end after their job, by how much, and the wait since a job was eligible are those of the facts."""
    compared = 0
    for fact in facts:
        rows = read(shared, fact)[1]
        for name, value in fact.get("extra", {}).items():
            if name in EXTRA and name not in NOT_KEPT:
                assert EXTRA[name](rows) == value, (fact["file"], name)
                compared += 1
    assert compared == 25


def test_the_hard_rows(shared: Path, facts: list[dict[str, Any]]) -> None:
    """Each example of the facts is a row of its line with these very fields."""
    looked = 0
    for fact in facts:
        rows = {row["line"]: row for row in read(shared, fact)[1]}
        for example in fact["examples"]:
            row = rows.get(example["line"])
            if row is None:
                assert "bad time" in example["cause"]
                continue
            looked += 1
            assert row["id"] == example["job"]
            assert row["state"] == example["state"].split(" ")[0]
            gpus = example.get("gpus", row["gpus"])
            assert row["gpus"] == gpus or (gpus == 0 and row["gpus"] is None), (fact["file"], example)
    assert looked > 50


def test_phillips_gives_its_published_gpu_hours(shared: Path, facts: list[dict[str, Any]]) -> None:
    """4,285 rows, 239 of them never started, hold 506.913 GPU-hours."""
    fact = next(one for one in facts if one["file"].endswith("phillips.log"))
    rows = read(shared, fact)[1]
    held = [row for row in rows if row["start_us"] is not None]
    assert (len(rows), len(rows) - len(held)) == (4285, 239)
    hours = sum(row["gpus"] * (row["end_us"] - row["start_us"]) for row in held) / SECOND / 3600
    assert round(hours, 3) == 506.913


def test_the_record_without_its_head_is_rejected(shared: Path, facts: list[dict[str, Any]]) -> None:
    """93 of 109 fields are never laid under the header."""
    fact = next(one for one in facts if "invalid-lines" in one["file"])
    parsed, rows = read(shared, fact)
    assert (rows, parsed.lines) == ([], {"bad_record": 1, "ignored": 1})
