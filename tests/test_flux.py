"""Flux: eventlogs as text and JSON, the listing of jobs, what holds hardware, why a job ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ettlog.parse.flux_eventlog import held
from tests.scheduling import jobs, read

SUBMIT = "submit userid=4100 urgency=16 flags=0 version=1"
ALLOC = 'alloc annotations={"sched":{"resource_summary":"rank[4-5]/core[0-47],gpu[0-3]"}}'
RUN = (SUBMIT, "validate", "depend", "priority priority=16", ALLOC, 'prolog-start description="site prolog"', "start")
AT = 1_893_456_000


def events(*lines: str, at: int = AT) -> str:
    """Write events ten seconds apart."""
    return "".join(f"{at + 10 * number}.250000 {line}\n" for number, line in enumerate(lines))


def rows(tmp_path: Path, text: str, name: str = "flux_eventlog") -> list[dict[str, Any]]:
    """Return the attempts that a text tells of."""
    return jobs(read(tmp_path / "flux.txt", name, text))


def test_hardware_is_held_from_alloc_to_free(tmp_path: Path) -> None:
    """Prolog and epilog hold it too; the exit code is that of wait(2), GPUs are those of all ranks."""
    over = ("finish status=256", 'release ranks="all" final=true', 'epilog-finish description="x" status=0', "free")
    (row,) = rows(tmp_path, events(*RUN, *over, "clean"))
    told = {
        key: (row[key] - AT * 10**6) / 1e6 for key in ("submit_us", "eligible_us", "start_us", "ready_us", "end_us")
    }
    assert told == {"submit_us": 0.25, "eligible_us": 30.25, "start_us": 40.25, "ready_us": 60.25, "end_us": 100.25}
    assert (row["state"], row["exit_code"], row["exit_signal"]) == ("FAILED", 1, None)
    assert (row["nodes"], row["gpus"], row["raw"], row["id"]) == (2, 8, f"{AT}.250000", None)


@pytest.mark.parametrize(
    ("exception", "status", "state", "signal"),
    [
        ('type="cancel" severity=0 userid=4100 note=""', 15, "CANCELLED", 15),
        ('type="timeout" severity=0 note="resource allocation expired"', 36608, "TIMEOUT", None),
        ('type="node-failure" severity=0 note="node failure on m7 (shell rank 3)"', 9, "NODE_FAIL", 9),
        ('type="exec" severity=0 note="task 0 (host m7): start failed: a=b"', 32512, "FAILED", None),
        ('type="node-failure" severity=2 note="rank 5 offline"', 0, "COMPLETED", None),
    ],
)
def test_exceptions_end_a_job_by_their_severity(
    tmp_path: Path, exception: str, status: int, state: str, signal: int | None
) -> None:
    """Only severity 0 is fatal; the type tells why, the note is kept."""
    (row,) = rows(tmp_path, events(*RUN, f"exception {exception}", f"finish status={status}", "free", "clean"))
    assert (row["state"], row["exit_signal"]) == (state, signal)
    assert row["reason"].startswith(exception.split('"')[1])


def test_the_release_of_all_ranks_is_the_end_until_they_are_free(tmp_path: Path) -> None:
    """A log that was printed while an epilog ran has no other; the release of some ranks ends nothing."""
    text = events(*RUN, "finish status=0", 'release ranks="all" final=true', 'epilog-start description="x"')
    (row,) = rows(tmp_path, text)
    assert (row["state"], row["end_us"]) == ("COMPLETED", (AT + 80) * 10**6 + 250_000)
    (row,) = rows(tmp_path, events(*RUN, "finish status=0", 'release ranks="1" final=false'))
    assert (row["state"], row["end_us"]) == ("CLEANUP", None)


def test_the_same_events_as_json(tmp_path: Path) -> None:
    """A job that is cancelled while it waits never holds hardware; events of unknown names change nothing."""
    told = [
        ("submit", {"urgency": 16, "userid": 4100, "flags": 0, "version": 1}),
        ("validate", None),
        ("memo", {"uri": "local:///x"}),
        ("exception", {"type": "cancel", "severity": 0, "note": "", "userid": 4100}),
        ("clean", None),
    ]
    lines = [
        json.dumps({"timestamp": AT + number, "name": name} | ({"context": context} if context else {}))
        for number, (name, context) in enumerate(told)
    ]
    (row,) = rows(tmp_path, "\n".join(lines) + "\n")
    assert (row["state"], row["submit_us"], row["start_us"]) == ("CANCELLED", AT * 10**6, None)
    assert row["end_us"] == (AT + 4) * 10**6


def test_several_jobs_in_one_text(tmp_path: Path) -> None:
    """Each submission begins a job; a command of a terminal names the job whose events follow."""
    text = f"$ flux job eventlog f5R5zqy\n{events(*RUN)}{events(*RUN, 'finish status=0', at=AT + 900)}"
    parsed = read(tmp_path / "flux.txt", "flux_eventlog", text)
    first, second = jobs(parsed)
    assert (first["id"], first["state"], first["end_us"]) == ("f5R5zqy", "RUNNING", None)
    assert (second["id"], second["state"], second["end_us"]) == (None, "CLEANUP", None)
    assert parsed.lines == {"ignored": 1, "matched": 15}


def test_what_is_no_event_is_counted(tmp_path: Path) -> None:
    """Lines of other kinds, and instants that are none, are losses."""
    parsed = read(
        tmp_path / "flux.txt", "flux_eventlog", f"{events(SUBMIT)}no event\n999999999999.0 free\n10.5 start\n"
    )
    assert parsed.lines == {"bad_record": 3, "matched": 1}


@pytest.mark.parametrize(
    ("summary", "nodes", "gpus"),
    [
        ("rank0/core[0-5],gpu0", 1, 1),
        ("rank[0-3]/core0", 4, 0),
        ("rank[0-1,7]/core[0-3],gpu[0-1] rank9/core0,gpu[2,5]", 4, 8),
        ("", None, None),
        ("hosts", None, None),
    ],
)
def test_resources_of_a_summary(summary: str, nodes: int | None, gpus: int | None) -> None:
    """Sets of ranks are counted, and the GPUs that each of them has."""
    assert held(summary) == (nodes, gpus)


def listed(**told: Any) -> dict[str, Any]:
    """Return one job of the listing."""
    job = {
        "t_depend": AT + 1.5, "t_run": AT + 60.0, "t_cleanup": AT + 600.0, "t_inactive": AT + 630.25, "name": "pre",
        "queue": "pbatch", "ntasks": 8, "ncores": 96, "nnodes": 2, "success": True, "result": "COMPLETED",
        "waitstatus": 0, "id": "f7aB", "t_submit": AT + 1.25, "state": "INACTIVE", "username": "ada", "urgency": 16,
        "status": "COMPLETED", "annotations": {}, "exception": {"occurred": False},
    }  # fmt: skip
    return job | told


def test_the_listing_of_jobs(tmp_path: Path) -> None:
    """A job holds hardware from its run to its end; one that runs has no end, and one that waits nothing."""
    failed = {"occurred": True, "severity": 0, "type": "node-failure", "note": "node failure on m7"}
    told = [
        listed(),
        listed(id="f7aC", state="RUN", result="", status="RUNNING", waitstatus=None, t_inactive=0),
        listed(id="f7aD", state="SCHED", result="", status="PENDING", t_run=0, t_inactive=0),
        listed(id="f7aE", result="FAILED", waitstatus=9, exception=failed),
        listed(id="f7aF", result="CANCELED", waitstatus=15),
        listed(),
    ]
    parsed = read(tmp_path / "jobs.json", "flux_jobs", json.dumps({"jobs": told}, indent=1))
    done, runs, waits, lost, stopped = jobs(parsed)
    assert (done["submit_us"], done["start_us"], done["end_us"]) == (
        AT * 10**6 + 1_250_000,
        (AT + 60) * 10**6,
        AT * 10**6 + 630_250_000,
    )
    assert (done["state"], done["user"], done["partition"], done["nodes"], done["exit_code"]) == (
        "COMPLETED", "ada", "pbatch", 2, 0,
    )  # fmt: skip
    assert [(row["state"], row["start_us"] is None, row["end_us"]) for row in (runs, waits)] == [
        ("RUNNING", False, None),
        ("PENDING", True, None),
    ]
    assert (lost["state"], lost["exit_signal"], lost["reason"]) == (
        "NODE_FAIL",
        9,
        "node-failure: node failure on m7",
    )
    assert (stopped["state"], parsed.lines["duplicate"] > 0) == ("CANCELLED", True)
