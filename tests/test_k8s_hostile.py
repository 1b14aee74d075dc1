"""Scheduler objects in which any one part is of another type than it should be: outcomes, never an exception."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ettlog.parse import aws_batch, k8s, kueue_log, ray_export, sagemaker
from ettlog.parse.traces import philly
from tests import test_k8s as pods
from tests import test_k8s_cloud as cloud
from tests import test_k8s_jobs as jobs

ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1.5, 1e400, 10**30, "", "x", "\u0000", "2031-13-45T99:99:99Z", [], {}, [[]], [None], {"a": {}},
    "9" * 400, float("nan"),
)  # fmt: skip
WORKERS = [{"count": 4, "replicas": 2, "template": jobs.GPU_POD}]
TOLD = [
    jobs.condition(kind, True, "08:12:00")
    for kind in ("Running", "Restarting", "RestartingJobSet", "Admitted", "Failed")
]
RAY = {
    "headGroupSpec": {"template": jobs.GPU_POD},
    "workerGroupSpecs": WORKERS,
}
RUN = {"jobStatus": "X", "rayClusterName": "a", "rayJobInfo": {"startTime": jobs.z("08:00:00")}}
PHASES = {
    "state": {"phase": "Failed", "lastTransitionTime": jobs.z("09:10:00")},
    "runningDuration": "1h",
    "conditions": [{"status": "Running"}],
}
LOAD = {"conditions": TOLD, "requeueState": {"count": 2}, "schedulingStats": {"evictions": [{"count": 1}]}}
ATTEMPT = {"start_time": "2017-10-07 01:00:30", "end_time": "None", "detail": [{"ip": "m1", "gpus": ["gpu0"]}]}
LOGGED = {
    "level": "debug",
    "ts": jobs.z("08:00:00"),
    "logger": "events",
    "object": {"kind": "Workload", "name": "job-x-1a2b3"},
}

OBJECTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "pod": (k8s, pods.pod(**pods.RAN)),
    "event": (k8s, pods.event("x", eventTime=jobs.z("08:00:00"), series={"count": 3})),
    "audit": (k8s, pods.audit("patch", sub="status", responseObject=pods.pod(**pods.RAN))),
    "watch": (k8s, {"type": "MODIFIED", "object": pods.pod(**pods.RAN)}),
    "list": (k8s, {"apiVersion": "v1", "kind": "List", "items": [pods.pod(**pods.RAN)]}),
    "training": (
        k8s,
        jobs.made("PyTorchJob", jobs.TRAINING, {"conditions": TOLD}, {"pytorchReplicaSpecs": {"Worker": WORKERS[0]}}),
    ),
    "jobset": (k8s, jobs.made("JobSet", jobs.JOBSET, {"restarts": 2, "conditions": TOLD}, {"replicatedJobs": WORKERS})),
    "workload": (k8s, jobs.made("Workload", jobs.KUEUE, LOAD, {"podSets": WORKERS}, **jobs.OWNED)),
    "volcano": (k8s, jobs.made("Job", "batch.volcano.sh/v1alpha1", PHASES, {"tasks": WORKERS})),
    "rayjob": (k8s, jobs.made("RayJob", "ray.io/v1", RUN, {"rayClusterSpec": RAY})),
    "job": (
        k8s,
        jobs.made("Job", "batch/v1", {"conditions": TOLD, "failed": 4}, {"parallelism": 2, "template": jobs.GPU_POD}),
    ),
    "batch": (
        aws_batch,
        cloud.batch(status="RUNNING", attempts=[{"startedAt": cloud.ms(60), "container": {"exitCode": 1}}]),
    ),
    "sagemaker": (sagemaker, cloud.maker(("Starting", 0, 5), ("Training", 5, 9), ("Interrupted", 9, 10))),
    "ray": (ray_export, json.loads(cloud.ray_line(2, "RUNNING"))),
    "philly": (
        philly,
        {"status": "Pass", "jobid": "a", "attempts": [ATTEMPT], "submitted_time": "2017-10-07 01:00:00"},
    ),
    "controller": (kueue_log, LOGGED),
}


def places(found: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path to every part of an object."""
    yield path
    inside = found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
    for key, value in inside:
        yield from places(value, (*path, key))


def with_part(found: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Return an object with another value in one place."""
    if not path:
        return value
    made = copy.deepcopy(found)
    place = made
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return made


@pytest.mark.parametrize("name", list(OBJECTS))
def test_odd_types_in_any_place_are_no_error(tmp_path: Path, name: str) -> None:
    """Eighteen odd values in every place of an object: each line has an outcome, each row the table's shape."""
    reader, whole = OBJECTS[name]
    file = tmp_path / "objects"
    for path in places(whole):
        file.write_text("".join(json.dumps(with_part(whole, path, value)) + "\n" for value in ODD))
        parsed = reader.read(file, pods.OPTIONS)
        assert sum(parsed.lines.values()) == parsed.n_lines == len(ODD), path
        parsed.allocs.validate(full=True)
