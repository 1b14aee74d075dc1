"""The pods of a simulated fleet, as `kubectl get pods -o json` lists them: what a cluster with Kubernetes tells."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ettlog.simulate.words import End
from ettlog.windows import moment

if TYPE_CHECKING:
    from ettlog.simulate.plan import Job, Start
    from ettlog.simulate.run import Simulated

NODE_GPUS = 8
"""GPUs of a node: a pod holds one node, or a part of one."""
DISRUPTED = {End.preempted: "PreemptionByScheduler", End.node: "DeletionByTaintManager"}
"""Why pods went that did not end by themselves."""
GONE = {End.done: (0, "Completed"), End.planned: (0, "Completed"), End.failed: (1, "Error")}
"""Exit code and reason of a trainer that ended by itself; all others are killed."""
KILLED = (137, "Error")


def pods(fleet: Simulated, shift_us: int = 0) -> dict[str, str]:
    """Return name -> text of one list of pods a cluster, in order of creation; stamps are UTC and `shift_us`.

    An allocation is a set of pods that come and go together, one a node. `startedAt` of their containers is the launch
    of the first start in it: placement takes whole seconds where the scheduler is Kubernetes.
    """
    found: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for job in fleet.plans:
        first: dict[int, Start] = {}
        for one in job.starts:
            first.setdefault(one.allocation, one)
            if one.releases:
                cluster = fleet.models[job.model].cluster
                made = _pods(job, first[one.allocation], one, shift_us)
                found.setdefault(cluster, []).extend((one.submit_us, pod) for pod in made)
    return {
        f"pods-{cluster}.json": _list([pod for _, pod in sorted(every, key=lambda each: (each[0], _name(each[1])))])
        for cluster, every in found.items()
    }


def _list(items: list[dict[str, Any]]) -> str:
    return json.dumps({"apiVersion": "v1", "items": items, "kind": "List"}, indent=1) + "\n"


def _name(pod: dict[str, Any]) -> str:
    return str(pod["metadata"]["name"])


def _pods(job: Job, first: Start, last: Start, shift_us: int) -> list[dict[str, Any]]:
    count = max(1, -(-first.gpus // NODE_GPUS))
    return [_pod(job, first, last, rank, first.gpus // count, shift_us) for rank in range(count)]


def _pod(job: Job, first: Start, last: Start, rank: int, gpus: int, shift_us: int) -> dict[str, Any]:
    """Return one pod of an allocation whose first and last start are given."""
    name = f"{job.name}-{first.allocation}-worker-{rank}"
    created, granted, ran, done = (
        f"{moment(us + shift_us):%Y-%m-%dT%H:%M:%SZ}"
        for us in (first.submit_us, first.granted_us, first.launched_us, last.done_us)
    )
    code, reason = GONE.get(last.end, KILLED)
    ended = {"exitCode": code, "reason": reason, "startedAt": ran, "finishedAt": done}
    conditions = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": granted}]
    if last.end in DISRUPTED:
        told = {"status": "True", "lastTransitionTime": done, "reason": DISRUPTED[last.end]}
        conditions.append({"type": "DisruptionTarget", **told})
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "train", "uid": f"uid-{name}", "creationTimestamp": created,
            "labels": {"training.kubeflow.org/job-name": job.name, "training.kubeflow.org/replica-index": str(rank)},
        },
        "spec": {
            "nodeName": f"gpu-{rank}",
            "containers": [{"name": "pytorch", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}],
        },
        "status": {
            "phase": "Failed" if code else "Succeeded", "conditions": conditions,
            "containerStatuses": [{"name": "pytorch", "restartCount": 0, "state": {"terminated": ended}}],
        },
    }  # fmt: skip
