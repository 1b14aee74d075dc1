"""Kubernetes objects: JSON lists, watches, audit lines and YAML into rows of a scheduler, whatever their layout."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from ettlog.parse import k8s, k8s_object, k8s_pod_text
from ettlog.parse.parsed import Parsed, ScanOptions

OPTIONS = ScanOptions()


def us(text: str) -> int:
    """Return microseconds of a stamp in UTC."""
    return round(datetime.fromisoformat(text).timestamp() * 1_000_000)


def read(tmp_path: Path, text: str, reader: Any = k8s) -> Parsed:
    """Read a text as a file that the reader knows, and check that every line has one outcome."""
    path = tmp_path / "objects.txt"
    path.write_text(text, encoding="utf-8")
    assert reader.sniff(text.encode()[: 1 << 16], OPTIONS)
    parsed: Parsed = reader.read(path, OPTIONS)
    assert sum(parsed.lines.values()) == parsed.n_lines == text.count("\n") + (not text.endswith("\n"))
    return parsed


def rows(parsed: Parsed, record: str) -> list[dict[str, Any]]:
    """Return the rows about one kind of thing."""
    return [row for row in parsed.allocs.to_pylist() if row["record"] == record]


def pod(name: str = "run-worker-1", **status: Any) -> dict[str, Any]:
    """Return a pod of the job `run` with 8 GPUs."""
    labels = {"training.kubeflow.org/job-name": "run", "jobset.sigs.k8s.io/restart-attempt": "2"}
    meta = {
        "name": name,
        "namespace": "ml",
        "uid": f"u-{name}",
        "creationTimestamp": "2031-03-09T08:00:00Z",
        "labels": labels,
    }
    container = {
        "name": "pytorch",
        "resources": {"limits": {"nvidia.com/gpu": "8"}, "requests": {"nvidia.com/gpu": "8"}},
    }
    spec = {"nodeName": "gpu-7", "containers": [container, {"name": "sidecar", "resources": {}}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}


RAN: dict[str, Any] = {
    "phase": "Failed",
    "conditions": [
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2031-03-09T08:02:00Z"},
        {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": "2031-03-09T09:00:01Z",
         "reason": "PreemptionByScheduler"},
    ],
    "containerStatuses": [
        {
            "name": "pytorch",
            "restartCount": 3,
            "state": {
                "terminated": {
                    "exitCode": 137,
                    "reason": "Error",
                    "startedAt": "2031-03-09T08:50:00Z",
                    "finishedAt": "2031-03-09T09:00:31Z",
                }
            },
            "lastState": {
                "terminated": {"exitCode": 1, "startedAt": "2031-03-09T08:03:00Z", "finishedAt": "2031-03-09T08:49:50Z"}
            },
        }
    ],
}  # fmt: skip


def test_pod_is_a_task_of_its_job(tmp_path: Path) -> None:
    """Placement, readiness, end, GPUs counted once, and the reason that tells preemption from a lack of memory."""
    (row,) = rows(read(tmp_path, json.dumps(pod(**RAN), indent=1)), "task")
    assert (row["id"], row["raw"], row["task"], row["node"], row["partition"]) == (
        "run",
        "run/2",
        "run-worker-1",
        "gpu-7",
        "ml",
    )
    assert (row["state"], row["reason"], row["exit_code"], row["restarts"]) == (
        "Failed",
        "PreemptionByScheduler",
        137,
        3,
    )
    times = [row[name] for name in ("submit_us", "start_us", "ready_us", "end_us")]
    stamps = ("08:00:00", "08:02:00", "08:03:00", "09:00:31")
    assert times == [us(f"2031-03-09T{stamp}+00:00") for stamp in stamps]
    assert (row["gpus"], row["gpus_requested"], row["clock"]) == (8, 8, "exact")


def test_pod_that_was_never_placed_holds_nothing(tmp_path: Path) -> None:
    """An unschedulable pod has no start and no GPU, only what it asks for."""
    waiting = {
        "type": "PodScheduled",
        "status": "False",
        "lastTransitionTime": "2031-03-09T08:00:00Z",
        "reason": "Unschedulable",
    }
    (row,) = rows(read(tmp_path, json.dumps(pod(phase="Pending", conditions=[waiting]))), "task")
    assert (row["start_us"], row["end_us"], row["gpus"], row["gpus_requested"]) == (None, None, 0, 8)
    assert row["reason"] == "Unschedulable"


def test_only_the_last_two_runs_of_a_container_are_known(tmp_path: Path) -> None:
    """Of four runs two have times: the counter tells of the others."""
    runs = rows(read(tmp_path, json.dumps(pod(**RAN))), "step")
    assert [(run["task"], run["restarts"], run["exit_code"]) for run in runs] == [
        ("run-worker-1/pytorch", 3, 137),
        ("run-worker-1/pytorch", None, 1),
    ]


def test_pods_of_services_belong_to_no_job(tmp_path: Path) -> None:
    """A ReplicaSet's pod is read and makes no job."""
    web = pod("web-5c9f-x2b", phase="Running")
    web["metadata"] |= {
        "labels": {},
        "ownerReferences": [{"kind": "ReplicaSet", "name": "web-5c9f", "controller": True}],
    }
    (row,) = rows(read(tmp_path, json.dumps(web)), "task")
    assert (row["id"], row["task"]) == (None, "web-5c9f-x2b")


def event(reason: str, **times: Any) -> dict[str, Any]:
    """Return an event about a pod."""
    about = {"kind": "Pod", "namespace": "ml", "name": "run-worker-1", "uid": "u-1"}
    meta = {"name": "run-worker-1.17", "creationTimestamp": "2031-03-09T07:59:59Z"}
    return {"apiVersion": "v1", "kind": "Event", "metadata": meta, "involvedObject": about, "reason": reason, **times}


def test_time_of_an_event_is_the_first_it_has(tmp_path: Path) -> None:
    """The scheduler's events have an event time and null stamps; others stamps and counts; some only a creation."""
    items = [
        event("Scheduled", eventTime="2031-03-09T08:02:00.123456Z", firstTimestamp=None, lastTimestamp=None),
        event("BackOff", firstTimestamp="2031-03-09T08:03:00Z", lastTimestamp="2031-03-09T08:13:00Z", count=41),
        event("Killing", eventTime=None, series={"count": 5, "lastObservedTime": "2031-03-09T08:20:00.5Z"}),
    ]
    text = json.dumps(
        {"apiVersion": "v1", "items": items, "kind": "EventList", "metadata": {"resourceVersion": "9"}}, indent=2
    )
    found = [(row["state"], row["start_us"], row["end_us"], row["count"]) for row in rows(read(tmp_path, text), "mark")]
    scheduled = us("2031-03-09T08:02:00.123456+00:00")
    assert found == [
        ("Scheduled", scheduled, scheduled, None),
        ("BackOff", us("2031-03-09T08:03:00+00:00"), us("2031-03-09T08:13:00+00:00"), 41),
        ("Killing", us("2031-03-09T07:59:59+00:00"), us("2031-03-09T08:20:00.5+00:00"), 5),
    ]


def test_lists_are_read_in_every_layout(tmp_path: Path) -> None:
    """Pretty, compact, one object a line, concatenated, and with the kind behind the items: the same rows."""
    pods = [pod(f"run-worker-{number}", **RAN) for number in range(3)]
    whole = {"apiVersion": "v1", "items": pods, "kind": "List"}
    texts = [
        json.dumps(whole, indent=4), json.dumps(whole), "\n".join(map(json.dumps, pods)) + "\n",
        "\n".join(json.dumps(one, indent=2) for one in pods),
    ]  # fmt: skip
    found = [[(row["task"], row["gpus"]) for row in rows(read(tmp_path, text), "task")] for text in texts]
    assert found == [[(f"run-worker-{number}", 8) for number in range(3)]] * 4


def test_rows_stand_on_the_line_of_their_object(tmp_path: Path) -> None:
    """Evidence points at the first line of the object in a list."""
    parsed = read(
        tmp_path,
        '{"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": [\n'
        + json.dumps(pod())
        + ",\n"
        + json.dumps(pod("b"))
        + "\n]}\n",
    )
    assert [row["line"] for row in rows(parsed, "task")] == [2, 3]
    assert parsed.lines == {"matched": 2, "ignored": 2}


def test_watch_events_are_versions_of_one_object(tmp_path: Path) -> None:
    """A pod that is added, modified and deleted is one task, with what each version told."""
    early = pod(phase="Running", conditions=RAN["conditions"][:1])
    gone = pod(**RAN)
    gone["metadata"]["deletionTimestamp"] = "2031-03-09T09:01:00Z"
    text = "".join(
        json.dumps({"type": kind, "object": one}) + "\n" for kind, one in (("ADDED", early), ("DELETED", gone))
    )
    (row,) = rows(read(tmp_path, text), "task")
    assert (row["line"], row["state"], row["end_us"]) == (1, "Failed", us("2031-03-09T09:00:31+00:00"))


def audit(verb: str, stage: str = "ResponseComplete", sub: str = "", **extra: Any) -> dict[str, Any]:
    """Return an audit event about a pod."""
    about = {"resource": "pods", "namespace": "ml", "name": "run-worker-1", "uid": "u-1"} | (
        {"subresource": sub} if sub else {}
    )
    times = {"requestReceivedTimestamp": "2031-03-09T08:00:00.1Z", "stageTimestamp": "2031-03-09T08:00:00.200000Z"}
    head = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "auditID": "a1",
        "stage": stage,
        "verb": verb,
        "objectRef": about,
    }
    return head | times | {"user": {"username": "sys"}, "responseStatus": {"code": 200}} | extra


def test_audit_lines_keep_what_deleted_pods_took_along(tmp_path: Path) -> None:
    """Last stages of writes count once; reads, early stages, refusals are ignored; an answer's object is read."""
    lines = [
        audit("create", "RequestReceived"), audit("create"), audit("get"), audit("patch", responseStatus={"code": 409}),
        audit("create", sub="binding", requestObject={"target": {"name": "gpu-7"}}),
        audit("patch", sub="status", responseObject=pod(**RAN)), audit("delete"),
    ]  # fmt: skip
    parsed = read(tmp_path, "".join(json.dumps(line) + "\n" for line in lines))
    assert parsed.lines == {"matched": 4, "ignored": 3}
    states = ["create pods", "create pods/binding", "patch pods/status", "delete pods"]
    marks = [row for row in rows(parsed, "mark") if row["name"] == "pods"]
    assert [row["state"] for row in marks] == states
    assert marks[1]["node"] == "gpu-7"
    assert marks[0]["start_us"] == us("2031-03-09T08:00:00.2+00:00")
    assert [row["task"] for row in rows(parsed, "task")] == ["run-worker-1"]


def test_broken_and_torn_objects_are_counted(tmp_path: Path) -> None:
    """A list cut in the middle keeps what was whole; the rest is torn, not a crash."""
    text = json.dumps({"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": [pod("a"), pod("b")]}, indent=1)
    parsed = read(tmp_path, text[: len(text) - 400])
    assert [row["task"] for row in rows(parsed, "task")] == ["a"]
    assert parsed.state == "torn"
    assert parsed.lines["torn"] > 0


def test_pod_starts_as_a_table(tmp_path: Path) -> None:
    """Pods of one name but for role and number are one job; a broken row is counted."""
    text = (
        "exp-3f-master      10.1.0.4  gpu-node-4   2031-03-09T08:00:10Z\n"
        "exp-3f-worker-12   10.1.0.5  gpu-node-5   2031-03-09T08:00:12Z\n"
        "exp-3f-worker-1    10.1.0.5  gpu-node-6\n"
    )
    parsed = read(tmp_path, text, k8s_pod_text)
    assert [(row["id"], row["task"], row["node"]) for row in rows(parsed, "task")] == [
        ("exp-3f", "exp-3f-master", "gpu-node-4"),
        ("exp-3f", "exp-3f-worker-12", "gpu-node-5"),
    ]
    assert parsed.lines == {"matched": 2, "bad_record": 1}


def test_slices_of_gpus_are_not_taken_for_none() -> None:
    """A pod with two slices holds a share of a GPU that is not counted: unknown, never zero; claims are the same."""
    slices = [{"name": "t", "resources": {"limits": {"nvidia.com/mig-3g.40gb": "2"}}}]
    for spec in ({"containers": slices}, {"containers": [{"name": "t"}], "resourceClaims": [{"name": "gpu"}]}):
        assert k8s_object.gpus_of_pod(spec) is None
    assert k8s_object.gpus_of_pod({"containers": [{"name": "t", "resources": {"limits": {"amd.com/gpu": "8"}}}]}) == 8
    assert k8s_object.gpus_of_pod({"containers": [{"name": "t"}]}) == 0
