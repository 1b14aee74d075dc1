"""Schedulers other than Kubernetes on real files: every fact that was worked out for them by other programs."""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ettlog
from ettlog.fleet import Fleet
from ettlog.ingest import IngestOptions, ingest
from ettlog.parse.parsed import Parsed, ScanOptions
from ettlog.parse.records import READERS, reader_for
from tests.conftest import ROOT
from tests.scheduling import iso, jobs_of, seconds_of

pytestmark = pytest.mark.shared

SCHEDULER = ROOT.parent / "shared" / "data" / "scheduler"
DIALECTS = {
    "slurm_json_slurmdbd": "slurm_json",
    "slurm_json_slurmctld": "slurm_json",
    "slurm_scontrol_job": "scontrol",
    "slurm_squeue_text": "sacct",
    "slurmctld_log": "slurmctld",
    "lsf_acct": "lsf",
    "pbs_acct": "pbs",
    "sge_acct": "sge",
    "htcondor_history_text": "htcondor",
    "htcondor_history_classad": "htcondor",
    "htcondor_joblog_tsv": "htcondor",
}
"""Dialect of the facts -> the reader that must know it."""

Fact = dict[str, Any]
Row = dict[str, Any]

NOT_KEPT = {
    "if_duplicates_were_counted": "the answer of a careless reader",
    "snapshot": "when a snapshot was taken is no fact about a job",
    "forecast_ends_of_running": "forecasts are not kept",
    "forecast_starts_of_pending": "forecasts are not kept",
    "forecast_start": "forecasts are not kept",
    "forecast_end": "forecasts are not kept",
    "last_schedule_evaluation": "no fact about the job",
    "allocated_seconds_if_duplicates_were_counted": "the answer of a careless reader",
    "rows_with_scale": "a site's scale for time, which must not be used",
    "committed_seconds": "work that survived is told by the trainer's log; the sum covers no single run",
    "num_restarts": "0 although the job was started twice",
    "last_vacate": "an instant without the day's other instants joins nothing",
    "allocated_seconds_from_transfer_start": "runs are counted from event 001 here",
    "trainer_executions_in_run": "told by the trainer's log, see the joined set",
}
"""Facts among `extra` that are not kept, each with its reason."""
MISSES = {
    ("slurmctld_log_parallelcluster/slurmctld_tail.log", "states"): "the facts give none; ours tell how attempts ended",
    ("batch_apel/condor_history.txt", "rows_wall_differs_from_status_minus_start"): "line 6 repeats line 1: no row",
    ("batch_apel/pbs_accounting.txt", "walltime_differs_from_end_minus_start_lines"): "line 7 repeats line 6: no row",
}
"""Facts of one file that differ, each with its reason."""


def facts() -> list[Fact]:
    """Return the facts of all files of these dialects."""
    path = SCHEDULER / "facts.json"
    told: list[Fact] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    return [fact for fact in told if fact.get("dialect") in DIALECTS]


ABSENT = pytest.param({"file": "absent"}, marks=pytest.mark.skip(reason="no shared folder"))
EACH = [pytest.param(fact, id=fact["file"]) for fact in facts()] or [ABSENT]


def told_options(fact: Fact) -> ScanOptions:
    """Return what a user must tell of a file that has no header."""
    fields = fact["needs"].get("fields") if fact["dialect"] == "slurm_squeue_text" else None
    return ScanOptions(
        sacct_fields=tuple(fields) if fields else None,
        sacct_delimiter=fact["needs"].get("delimiter") if fields else None,
    )


@functools.cache
def parsed(name: str) -> Parsed:
    """Read one file as an ingest does."""
    path, options = SCHEDULER / name, told_options(next(fact for fact in facts() if fact["file"] == name))
    reader = reader_for(path, options)
    assert reader is not None
    return reader.read(path, options)


def rows_of(fact: Fact) -> list[Row]:
    """Return the rows of a file; what an ad without a job's id tells counts as one job here."""
    found: list[Row] = parsed(fact["file"]).allocs.to_pylist()
    if fact["dialect"] == "htcondor_history_classad":
        return [{**row, "record": "job"} if row["record"] == "run" else row for row in found]
    return found


def test_every_dialect_is_compared() -> None:
    """Forty-nine files are compared, each known by the reader of its dialect and by no other."""
    assert len(facts()) == 49
    for fact in facts():
        head = (SCHEDULER / fact["file"]).read_bytes()[: 1 << 16]
        known = [reader.name for reader in READERS if reader.sniff(head, told_options(fact))]
        assert known == [DIALECTS[fact["dialect"]]], fact["file"]


def test_readers_claim_no_foreign_file(shared: Path) -> None:
    """No trainer log and no file of another scheduler is taken by one of these readers."""
    mine = ({*DIALECTS.values()} - {"sacct"}) | {"slurm_jobcomp", "ckpt_probe"}
    readers = [reader for reader in READERS if reader.name in mine]
    own = {fact["file"] for fact in facts()} | {
        "htcondor_ckpt_probe/trainer.tsv",
        "htcondor_ckpt_probe/probe_outcomes.tsv",
    }
    taken = []
    for path in (shared / "data").rglob("*"):
        name = path.relative_to(shared / "data").as_posix().removeprefix("scheduler/")
        if path.is_file() and name not in own:
            with path.open("rb") as file:
                head = file.read(1 << 16)
            taken += [(str(path), reader.name) for reader in readers if reader.sniff(head, ScanOptions())]
    assert not taken


@pytest.mark.parametrize("fact", EACH)
def test_lines_and_rows(fact: Fact) -> None:
    """Lines, rejected and repeated records, rows by level, jobs and attempts are those of the facts."""
    one, rows = parsed(fact["file"]), rows_of(fact)
    jobs = jobs_of(rows)
    started = [row for row in jobs if row["start_us"] is not None]
    ended = [row for row in jobs if row["end_us"] is not None]
    never = [row for row in ended if row["start_us"] is None]
    lines = one.lines
    timeless = fact["dialect"].startswith("htcondor_history")
    found = {
        "physical_lines": sum(lines.values()),
        "rejected_records": sum(lines.get(outcome, 0) for outcome in ("bad_record", "bad_time", "torn", "long")),
        "duplicate_job_rows": lines.get("duplicate", 0),
        "job_rows": len({row["id"] for row in jobs}) if timeless else len(jobs),
        "step_rows": sum(row["record"] == "step" for row in rows),
        "other_rows": sum(row["record"] == "mark" for row in rows) if not timeless else 0,
        "jobs": len({(row["cluster"], row["id"]) for row in jobs}),
        "allocations": len(jobs) if timeless else len(started),
        "never_started": 0 if timeless else len(never),
        "pending": 0 if timeless else len(jobs) - len(started) - len(never),
        "running_or_open": 0 if timeless else len({row["id"] for row in jobs if row["end_us"] is None}),
        "requeues_or_restarts": sum(row["restarts"] or 0 for row in jobs),
        "states": states(fact["dialect"], jobs),
    }
    found["job_rows"] += found["duplicate_job_rows"]
    compare(fact, fact, found)


def states(dialect: str, jobs: list[Row]) -> Counter[str]:
    """Return the states of jobs as the facts show them: exit codes for PBS and Grid Engine."""
    if dialect == "pbs_acct":
        code = {row["line"]: 256 + row["exit_signal"] if row["exit_signal"] else row["exit_code"] for row in jobs}
        return Counter(f"exit {number}" for number in code.values())
    if dialect == "sge_acct":
        return Counter(f"{row['state']} exit {row['exit_code']}" for row in jobs)
    if dialect == "htcondor_joblog_tsv":
        return Counter({row["id"]: row["state"] for row in jobs}.values())
    return Counter(row["state"] for row in jobs if row["state"])


def compare(fact: Fact, told: dict[str, Any], found: dict[str, Any]) -> None:
    """Compare each fact that is not null with what was found, save the misses that have a reason."""
    for name, value in found.items():
        if told.get(name) is not None and (fact["file"], name) not in MISSES:
            assert value == told[name], (fact["file"], name)


@pytest.mark.parametrize("fact", EACH)
def test_times_and_gpus(fact: Fact) -> None:
    """Queue, allocated and GPU seconds, the first submission and the last end are those of the facts."""
    jobs = jobs_of(rows_of(fact))
    started = [row for row in jobs if row["start_us"] is not None]
    runs = [(row, seconds_of(row)) for row in jobs]
    timeless = fact["dialect"].startswith("htcondor_history")
    submits = [row["submit_us"] for row in jobs if row["submit_us"] is not None]
    ends = [row["end_us"] for row in jobs if row["end_us"] is not None]
    marks = [row["start_us"] for row in rows_of(fact) if row["state"] == "EnteredCurrentStatus"]
    short = fact["clock"] == "time_of_day"
    found = {
        "queue_seconds_sum": sum(row["start_us"] - (row["submit_us"] or row["start_us"]) for row in started) / 1e6,
        "allocated_seconds_sum": sum(row["elapsed_us"] for row in jobs) / 1e6 if timeless else sum(s for _, s in runs),
        "gpu_seconds_sum": sum((row["gpus"] or 0) * held for row, held in runs),
        "gpus_max": max((row["gpus"] for row in jobs if row["gpus"] is not None), default=None),
        "first_submit": iso(min(submits, default=None), fact["clock"]),
        "last_end": iso(max([*ends, *marks], default=None), fact["clock"]),
    }
    assert not short or found["first_submit"] == fact["first_submit"]
    compare(fact, fact, found)


@pytest.mark.parametrize("fact", EACH)
def test_extra_facts(fact: Fact) -> None:
    """What else is told of a file holds; what is not kept stands in the list with its reason."""
    rows, extra = rows_of(fact), fact.get("extra", {})
    unknown = set(extra) - set(EXTRA) - set(NOT_KEPT)
    assert not unknown, fact["file"]
    compare(fact, extra, {name: EXTRA[name](rows) for name in extra if name in EXTRA})


def steps_late(rows: list[Row]) -> list[float]:
    """Return by how much steps end after their job, in seconds."""
    ends = {row["raw"]: row["end_us"] for row in jobs_of(rows)}
    steps = [row for row in rows if row["record"] == "step" and row["end_us"] and ends.get(row["raw"])]
    return [(row["end_us"] - ends[row["raw"]]) / 1e6 for row in steps if row["end_us"] > ends[row["raw"]]]


def requeue_wait(rows: list[Row]) -> float:
    """Return the seconds that jobs waited after they were requeued."""
    again = [row for row in jobs_of(rows) if row["restarts"] and row["start_us"] and row["submit_us"]]
    return round(float(sum((row["start_us"] - row["submit_us"]) / 1e6 for row in again)), 6)


def by_kind(rows: list[Row]) -> dict[str, int]:
    """Return how many lines of the controller say what."""
    return dict(Counter(row["state"] for row in rows if row["record"] == "mark"))


def odd_walls(rows: list[Row]) -> list[int]:
    """Return the lines whose printed run time is not that between start and end; a repeated record has no row."""
    return [
        row["line"]
        for row in jobs_of(rows)
        if row["elapsed_us"] is not None and row["elapsed_us"] != row["end_us"] - row["start_us"]
    ]


def condor_events(rows: list[Row]) -> dict[str, int]:
    """Return how many events of each code the rows of one job tell of."""
    codes = {"file transfer": "040", "trigger": "-", "evicted": "004", "terminated": "005"}
    found = Counter(codes[row["state"]] for row in rows)
    return {"000": 1, "001": sum(row["start_us"] is not None for row in jobs_of(rows)), **found}


EXTRA: dict[str, Callable[[list[Row]], Any]] = {
    "eligible_wait_seconds_sum": lambda rows: sum(
        (row["start_us"] - (row["eligible_us"] or row["start_us"])) / 1e6 for row in jobs_of(rows) if row["start_us"]
    ),
    "suspended_seconds_sum": lambda rows: sum(row["suspended_us"] or 0 for row in jobs_of(rows)) / 1e6,
    "steps_ending_after_job": lambda rows: len(steps_late(rows)),
    "steps_after_job_max_seconds": lambda rows: max(steps_late(rows), default=0),
    "open_elapsed_seconds_sum": lambda rows: (
        sum(row["elapsed_us"] or 0 for row in jobs_of(rows) if not row["end_us"]) / 1e6
    ),
    "slots_max": lambda rows: max(row["cpus"] for row in jobs_of(rows)),
    "eligible": lambda rows: iso(jobs_of(rows)[0]["eligible_us"], "local"),
    "requeue_wait_seconds": requeue_wait,
    "gpus_requested_by_pending_max": lambda rows: max(
        row["gpus_requested"] or 0 for row in jobs_of(rows) if not row["start_us"]
    ),
    "lines_by_kind": by_kind,
    "walltime_as_logged_seconds_sum": lambda rows: sum(row["elapsed_us"] or 0 for row in jobs_of(rows)) / 1e6,
    "walltime_differs_from_end_minus_start_lines": odd_walls,
    "rows_wall_differs_from_status_minus_start": lambda rows: sum(
        row["start_us"] is None or row["end_us"] - row["start_us"] != row["elapsed_us"] for row in jobs_of(rows)
    ),
    "last_run_seconds": lambda rows: jobs_of(rows)[0]["elapsed_us"] / 1e6,
    "first_queue_seconds": lambda rows: (jobs_of(rows)[0]["start_us"] - jobs_of(rows)[0]["submit_us"]) / 1e6,
    "run_seconds": lambda rows: [seconds_of(row) for row in jobs_of(rows)],
    "events_by_code": condor_events,
}
"""Facts among `extra` and how they follow from the rows."""


@pytest.mark.parametrize("fact", EACH)
def test_the_hard_rows(fact: Fact) -> None:
    """Each example of the facts is a row with these very fields; one that repeats an attempt has no row of its own."""
    rows = rows_of(fact)
    jobs = jobs_of(rows)
    for example in fact.get("examples", []):
        near = [row for row in jobs if row["line"] == example.get("line", row["line"])]
        mine = [row for row in near if example["job"] in (row["id"], None)]
        if not mine:
            assert any(word in example["cause"] for word in ("040", "same", "second E record", "exit 0")), example
            continue
        row = mine[0]
        for name, column in (
            ("submit", "submit_us"),
            ("start", "start_us"),
            ("end", "end_us"),
            ("eligible", "eligible_us"),
        ):
            known = iso(row[column], fact["clock"])
            if name in example and example[name] is not None and not (row["elapsed_us"] and known is None):
                assert known == example[name], (fact["file"], name, example)
        assert example.get("gpus") in (row["gpus"], 0 if row["gpus"] is None else None), (fact["file"], example)
        if "gpus_requested" in example:
            assert (row["gpus_requested"] or 0) == example["gpus_requested"], (fact["file"], example)
        if "slots" in example:
            assert row["cpus"] == example["slots"], (fact["file"], example)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Fleet:
    """Return a lake of the two accounting files whose sums are published."""
    lake = tmp_path_factory.mktemp("published") / "lake"
    files = ("slurm_sacct_xdmod/phillips.log", "slurm_sacct_gcm/sample-sacct-output-midnight-edge-case.txt")
    told: list[Fact] = json.loads((SCHEDULER / "facts.json").read_text(encoding="utf-8"))
    fields = next(fact["needs"]["fields"] for fact in told if fact["file"] == files[0])
    ingest(
        [shared / "data/scheduler" / name for name in files], lake, options=IngestOptions(sacct_fields=tuple(fields))
    )
    return ettlog.open(lake)


def test_published_sums_of_phillips(fleet: Fleet) -> None:
    """4,285 rows: 2,324 completed, 1,717 failed, 243 cancelled of which 239 never started, one timeout; 506.913
    GPU-hours and 11,767.988 core-hours.
    """
    phillips = "(SELECT a.* FROM alloc AS a JOIN source AS s ON s.key = a.key WHERE s.path LIKE '%phillips%')"
    states = fleet.sql(f"SELECT state, count(*) AS jobs FROM {phillips} AS found GROUP BY state")
    assert dict(states.iter_rows()) == {"COMPLETED": 2324, "FAILED": 1717, "CANCELLED": 243, "TIMEOUT": 1}
    (sums,) = fleet.sql(
        "SELECT count(*) - count(start_us) AS never, CAST(sum(gpus * (end_us - start_us)) AS BIGINT) AS gpu_us, "
        f"CAST(sum(cpus * (end_us - start_us)) AS BIGINT) AS cpu_us FROM {phillips} AS found"
    ).to_dicts()
    assert sums["never"] == 239
    assert round(sums["gpu_us"] / 3.6e9, 3) == 506.913
    assert round(sums["cpu_us"] / 3.6e9, 3) == 11767.988


def test_published_sums_at_midnight(fleet: Fleet) -> None:
    """306 jobs and 880 steps, 68 of which end after their job, by 76 s at most; steps are no allocations."""
    gcm = "(SELECT a.* FROM alloc AS a JOIN source AS s ON s.key = a.key WHERE s.path LIKE '%midnight%')"
    levels = fleet.sql(f"SELECT record, count(*) AS n FROM {gcm} AS found GROUP BY record")
    assert dict(levels.iter_rows()) == {"job": 306, "step": 880}
    (late,) = fleet.sql(
        f"SELECT count(*) AS n, max(t.end_us - j.end_us) AS us FROM {gcm} AS t JOIN {gcm} AS j "
        "ON j.raw = t.raw AND j.record = 'job' AND t.record = 'step' WHERE t.end_us > j.end_us"
    ).to_dicts()
    assert (late["n"], late["us"]) == (68, 76_000_000)
    states = fleet.sql(f"SELECT state, count(*) AS n FROM {gcm} AS found WHERE record = 'job' GROUP BY state")
    assert dict(states.iter_rows()) == {
        "FAILED": 259, "CANCELLED": 24, "COMPLETED": 18, "REQUEUED": 2, "OUT_OF_MEMORY": 2, "TIMEOUT": 1,
    }  # fmt: skip
    assert fleet.sql("SELECT count(*) AS n FROM allocation WHERE evidence LIKE '%midnight%'")["n"].to_list() == [306]
