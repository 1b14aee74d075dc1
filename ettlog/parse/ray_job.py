"""KubeRay RayJobs: each retry is a new RayCluster, and the object shows the current one only."""

from __future__ import annotations

from collections.abc import Iterator

from ettlog.parse.k8s_object import Fields, Object, Story, base, count, gpus_of_sets, moment, part, parts, word

OPEN = ("", "New", "Initializing", "Waiting")


def rows(story: Story) -> Iterator[Fields]:
    """Yield the row of the current try of a RayJob.

    `startTime` is when the try began to be set up, so it is not a start of hardware; that of the Ray job itself is.
    """
    job = story.newest
    state = word(job, "status", "jobStatus") or word(job, "status", "jobDeploymentStatus") or "New"
    cluster = word(job, "status", "rayClusterName")
    named, asked = base(job), _gpus(job)
    ran = moment(job, "status", "rayJobInfo", "startTime")
    ended = moment(job, "status", "rayJobInfo", "endTime") or moment(job, "status", "endTime")
    yield {
        **named,
        "record": "job",
        "raw": f"{named['raw']}/{cluster}" if cluster else named["raw"],
        "state": state,
        "reason": word(job, "status", "reason") or word(job, "status", "jobDeploymentStatus"),
        "submit_us": story.created_us,
        "eligible_us": moment(job, "status", "startTime"),
        "start_us": ran,
        "ready_us": ran,
        "end_us": ended if word(job, "status", "jobDeploymentStatus") not in OPEN else None,
        "gpus": asked if ran is not None else None,
        "gpus_requested": asked,
        "restarts": count(job, "status", "failed"),
    }


def key_of(job: Object) -> str:
    """Return what tells one try of a RayJob from the next."""
    return word(job, "status", "rayClusterName") or ""


def _gpus(job: Object) -> int | None:
    spec = part(job, "spec", "rayClusterSpec")
    head = part(spec, "headGroupSpec", "template", "spec")
    workers = parts(spec, "workerGroupSpecs")
    sets = [(count(found, "replicas"), part(found, "template", "spec")) for found in workers]
    return gpus_of_sets([(1, head), *sets]) if head else None
