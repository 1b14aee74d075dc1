"""Kubernetes and Kueue on real files: every fact of every file."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from ettlog.fleet import Fleet

pytestmark = pytest.mark.shared

COMPARED = {
    "kind", "name", "created", "start_time", "completion_time", "condition", "condition_time", "reason", "succeeded",
    "failed", "seconds_start_to_end", "backoff_limit",
}  # fmt: skip
"""Keys of a Job: all of them are compared."""
Row = dict[str, Any]


def of_dialect(k8s_facts: dict[str, Row], dialect: str) -> list[Row]:
    """Return the facts of the files in a dialect."""
    return [fact for fact in k8s_facts.values() if fact.get("dialect") == dialect]


def rows(k8s_fleet: Fleet, file: str, record: str, where: str = "TRUE") -> list[Row]:
    """Return the rows of a file that are about one kind of thing."""
    query = f"SELECT a.* FROM alloc a JOIN source s ON s.key = a.key WHERE s.path = '{file}' AND a.record = '{record}'"
    return k8s_fleet.sql(f"SELECT * FROM ({query}) AS found WHERE {where} ORDER BY line, start_us").to_dicts()


def told(us: int | None, digits: int = 0) -> str | None:
    """Return an instant as the facts write it, with so many digits behind the second."""
    if us is None:
        return None
    text = datetime.fromtimestamp(us // 1_000_000, UTC).replace(tzinfo=None).isoformat()
    return text + (f".{us % 1_000_000:06d}"[: digits + 1] if digits else "") + "Z"


def first(found: list[Row], column: str = "start_us") -> int | None:
    """Return the first instant of rows."""
    return min((row[column] for row in found if row[column] is not None), default=None)


def test_every_line_has_one_outcome(k8s_fleet: Fleet, k8s_facts: dict[str, Row]) -> None:
    """The outcomes of each file add up to its lines, and no record is rejected."""
    for file, fact in k8s_facts.items():
        found = dict(k8s_fleet.sql(f"SELECT outcome, lines FROM line_stat WHERE path = '{file}'").iter_rows())
        assert sum(found.values()) == fact["physical_lines"], file
        assert "bad_record" not in found or "skipped" in fact, file


def test_event_lists(k8s_fleet: Fleet, k8s_facts: dict[str, Row]) -> None:
    """Rows and happenings by reason, times where the scheduler's events have them, and what each pod went through."""
    files = of_dialect(k8s_facts, "k8s_events_json")
    for fact in files:
        found, extra = rows(k8s_fleet, fact["file"], "mark"), fact["extra"]
        assert len(found) == fact["records"]
        assert Counter(row["state"] for row in found) == extra["rows_by_reason"]
        happened: Counter[str] = Counter()
        for row in found:
            happened[row["state"]] += row["count"] or 1
        assert happened == extra["happenings_by_reason"]
        assert happened.total() == extra["happenings"]
        assert sum(row["count"] is None for row in found) == extra["rows_with_null_last_timestamp"]
        assert sum((row["count"] or 1) > 1 for row in found) == extra["rows_counted_more_than_once"]
        assert told(max(row["end_us"] for row in found)) == extra["last_time"]
        pods = {row["raw"] for row in found if row["name"] == "Pod"}
        assert len(pods) == extra["pods"]
        assert len({row["raw"] for row in found if row["state"] == "Scheduled"}) == extra["pods_scheduled"]
        for pod in fact["objects"]:
            assert_pod_events(pod, [row for row in found if row["raw"] == pod["uid"]])
    assert len(files) == 2


def assert_pod_events(pod: Row, found: list[Row]) -> None:
    """Compare what a list of events tells of one pod."""
    by: dict[str, list[Row]] = {}
    for row in found:
        by.setdefault(row["state"], []).append(row)
    assert {row["task"] for row in found} == {pod["name"]}
    assert told(first(by.get("Scheduled", [])), 6) == pod["scheduled"]
    assert told(first(by.get("Started", []))) == pod["first_started"]
    for key, state in (("started_times", "Started"), ("killing_times", "Killing"), ("backoff_times", "BackOff")):
        assert sum(row["count"] or 1 for row in by.get(state, [])) == pod[key], (pod["name"], key)
    failed = by.get("FailedScheduling", [])
    if "failed_scheduling_times" in pod:
        assert sum(row["count"] or 1 for row in failed) == pod["failed_scheduling_times"]
        assert told(first(failed), 6) == pod["failed_scheduling_first"]
        assert told(max(row["end_us"] for row in failed), 6) == pod["failed_scheduling_last"]


def test_pods(k8s_fleet: Fleet, k8s_facts: dict[str, Row]) -> None:
    """Phase, placement, conditions, GPUs asked for, owner and the runs of every container of five pods."""
    files = of_dialect(k8s_facts, "k8s_pods_json")
    for fact in files:
        (pod,), (row,) = fact["objects"], rows(k8s_fleet, fact["file"], "task")
        marks = {mark["state"]: mark for mark in rows(k8s_fleet, fact["file"], "mark")}
        assert (row["task"], row["partition"], row["state"]) == (pod["name"], pod["namespace"], pod["phase"])
        assert (told(row["submit_us"]), told(row["start_us"])) == (pod["created"], pod["scheduled"])
        for key, state in (("initialized", "Initialized"), ("ready", "Ready")):
            assert told(marks[state]["start_us"] if state in marks else None) == pod[key], (fact["file"], key)
        unplaced = marks.get("PodScheduled=False")
        assert told(unplaced["start_us"] if unplaced else None) == pod.get("unschedulable_since")
        assert "reason" not in pod or row["reason"] == pod["reason"]
        assert row["gpus_requested"] == pod["gpus_requested"]
        assert (marks["OwnedBy"]["reason"] if "OwnedBy" in marks else None) == pod["owner"]
        assert row["restarts"] == fact["requeues_or_restarts"]
        assert (row["start_us"] is None) == bool(fact["pending"])
        runs = rows(k8s_fleet, fact["file"], "step")
        for container in [*pod.get("containers", []), *pod.get("init_containers", [])]:
            mine = [run for run in runs if run["task"] == f"{pod['name']}/{container['name']}"]
            assert_run(container, next(run for run in mine if run["restarts"] is not None))
            if "last_state" in container:
                assert_run(container["last_state"], next(run for run in mine if run["restarts"] is None))
    assert len(files) == 5


def assert_run(container: Row, row: Row) -> None:
    """Compare one run of a container."""
    assert (row["state"], row["reason"]) == (container["state"], container["reason"])
    assert container.get("restarts") in (None, row["restarts"])
    assert row["exit_code"] == container.get("exit_code")
    assert (told(row["start_us"]), told(row["end_us"])) == (container.get("started"), container.get("finished"))


def test_jobs(k8s_fleet: Fleet, k8s_facts: dict[str, Row]) -> None:
    """Times, condition, reason and counters of three Jobs; the controller's start time is no start of hardware."""
    names = {"created": "submit_us", "start_time": "eligible_us", "completion_time": "end_us"}
    files = of_dialect(k8s_facts, "k8s_jobs_json")
    for fact in files:
        found = {row["id"]: row for row in rows(k8s_fleet, fact["file"], "job")}
        assert Counter(row["state"] for row in found.values()) == fact["states"]
        for job in fact["objects"]:
            row = found[job["name"]]
            assert {key: told(row[column]) for key, column in names.items()} == {key: job[key] for key in names}
            assert set(job) == COMPARED
            assert (row["state"], row["reason"] or None, row["start_us"]) == (job["condition"], job["reason"], None)
            marks = {mark["state"]: mark for mark in rows(k8s_fleet, fact["file"], "mark", f"id = '{job['name']}'")}
            assert told(marks[job["condition"]]["start_us"]) == job["condition_time"]
            for counter, key in (("succeeded", "succeeded"), ("failed", "failed"), ("backoffLimit", "backoff_limit")):
                assert (marks[counter]["count"] if counter in marks else None) == job[key]
            assert (row["end_us"] - row["eligible_us"]) == job["seconds_start_to_end"] * 1_000_000
    assert sum(fact["records"] for fact in files) == 3


def test_pytorchjobs(k8s_fleet: Fleet, k8s_facts: dict[str, Row]) -> None:
    """Creation, run and end of three generations: never the start time field, of two times of a condition the later."""
    files = of_dialect(k8s_facts, "pytorchjob_yaml")
    for fact in files:
        (job,), (row,) = fact["objects"], rows(k8s_fleet, fact["file"], "job")
        assert row["id"] == job["name"]
        found = [told(row[column]) for column in ("submit_us", "start_us", "end_us")]
        assert found == [job["created"], job["running"], job["succeeded"]]
        assert ({row["state"]: 1}, row["restarts"]) == (fact["states"], fact["requeues_or_restarts"])
        assert (row["start_us"] - row["submit_us"]) == fact["extra"]["seconds_created_to_running"] * 1_000_000
        assert (row["end_us"] - row["submit_us"]) == fact["extra"]["seconds_created_to_succeeded"] * 1_000_000
    assert len(files) == 3


def test_kueue_watch_has_two_admissions_and_a_back_off(k8s_fleet: Fleet, k8s_facts: dict[str, Row]) -> None:
    """61 s and 61 s of quota with 59 s between them; the condition that went back is not believed."""
    fact = k8s_facts["kueue_watch/workload_watch_2291.txt"]
    (load,), found = fact["objects"], rows(k8s_fleet, fact["file"], "job")
    assert len(found) == fact["allocations"]
    for row, admission in zip(found, load["admissions"], strict=True):
        times = [told(row[column]) for column in ("eligible_us", "start_us", "end_us")]
        assert times == [admission["quota_reserved"], admission["admitted"], admission["released"]]
        assert row["reason"] == admission["evicted_reason"]
        assert row["end_us"] - row["start_us"] == admission["seconds"] * 1_000_000
        marks = rows(k8s_fleet, fact["file"], "mark", f"state = 'Evicted' AND reason = '{admission['evicted_reason']}'")
        assert [told(mark["start_us"]) for mark in marks] == [admission["evicted"]]
    assert load["admissions"][-1]["evicted"] == load["deactivated"]
    assert told(found[0]["submit_us"]) == load["first_seen"]
    assert found[-1]["restarts"] == fact["requeues_or_restarts"]
    assert [told(mark["start_us"]) for mark in rows(k8s_fleet, fact["file"], "mark", "state = 'Requeued'")] == [
        load["requeued"]
    ]
    assert rows(k8s_fleet, fact["file"], "mark", "state = 'PodsReady'") == []
    assert found[1]["start_us"] - found[0]["end_us"] == fact["extra"]["backoff_seconds"] * 1_000_000
    spans = (
        "SELECT component, CAST(sum(end_us - begin_us) AS BIGINT) // 1000000 FROM segment WHERE job = '{}' GROUP BY 1"
    )
    assert dict(k8s_fleet.sql(spans.format(load["name"])).iter_rows()) == {"unknown": 122, "scheduling": 59}
    assert k8s_fleet.lake is not None
    entry = next(one for one in k8s_fleet.lake.sources() if one.path == fact["file"])
    assert "a condition older than one seen before it was not believed" in entry.inferences


def test_an_eviction_is_no_stop(k8s_fleet: Fleet, k8s_facts: dict[str, Row]) -> None:
    """A workload that was evicted at 42 s ran on to 103 s: its allocation ends where it finished."""
    fact = k8s_facts["kueue_workload/workload_evicted_but_ran_v1beta1.yaml"]
    (load,), (row,) = fact["objects"], rows(k8s_fleet, fact["file"], "job")
    assert (row["task"], f"PyTorchJob {row['id']}") == (load["name"], load["owner"])
    times = [told(row[column]) for column in ("submit_us", "start_us", "end_us")]
    assert times == [load["created"], load["admitted"], load["released"]]
    assert (row["state"], row["restarts"]) == (load["finished_reason"], fact["requeues_or_restarts"])
    (evicted,) = rows(k8s_fleet, fact["file"], "mark", "state = 'Evicted'")
    assert (told(evicted["start_us"]), evicted["reason"]) == (load["evicted"], load["evicted_reason"])
    assert row["end_us"] - row["start_us"] == load["accumulated_seconds"] * 1_000_000


def test_controller_log(k8s_fleet: Fleet, k8s_facts: dict[str, Row]) -> None:
    """Nine JSON lines, two plain ones; one happening that is written three times counts once."""
    fact = k8s_facts["kueue_workload/controller_log_8387.jsonl"]
    (load,), found = fact["objects"], rows(k8s_fleet, fact["file"], "mark")
    counts = dict(k8s_fleet.sql(f"SELECT outcome, lines FROM line_stat WHERE path = '{fact['file']}'").iter_rows())
    assert counts == {
        "matched": 7,
        "duplicate": fact["extra"]["repeated_event_rows"],
        "ignored": fact["extra"]["plain_lines"],
    }
    by = {row["state"]: row for row in found}
    for key, state in (
        ("evicted", "EvictedDueToDeactivated"),
        ("stopped_event", "Stopped"),
        ("finished", "FinishedWorkload"),
    ):
        assert told(by[state]["start_us"], 6) == load[key][:26] + "Z"
    assert {row["id"] for row in found} == {load["owner"].removeprefix("PyTorchJob ")}
    assert by["EvictedDueToDeactivated"]["task"] == load["name"]


def test_pod_starts(k8s_fleet: Fleet, k8s_facts: dict[str, Row]) -> None:
    """Four pods with node and start are one allocation of one job, whose end is not told."""
    fact = k8s_facts["zhejiang_llama2_7b/pod-node-starttime.log"]
    found = {row["task"]: row for row in rows(k8s_fleet, fact["file"], "task")}
    assert {name: (row["node"], told(row["start_us"])) for name, row in found.items()} == {
        pod["name"]: (pod["node"], pod["started"]) for pod in fact["objects"]
    }
    held = k8s_fleet.sql("SELECT id, start_us, end_us, nodes FROM allocation WHERE job = 'zhejiang_llama2_7b'").rows()
    assert [(told(start), end, nodes) for _, start, end, nodes in held] == [(fact["extra"]["first_pod_start"], None, 4)]
