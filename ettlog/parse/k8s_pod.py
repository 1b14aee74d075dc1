"""Pods: when they were placed, when their containers ran, what ended them. A pod is a task of the job it belongs to."""

from __future__ import annotations

from collections.abc import Iterator

from ettlog.parse.k8s_object import (
    ATTEMPT_LABELS,
    JOB_LABELS,
    Fields,
    Object,
    Story,
    at,
    base,
    count,
    gpus_of_pod,
    mark,
    micros,
    moment,
    owner,
    part,
    parts,
    word,
)

SERVICES = frozenset(("ReplicaSet", "DaemonSet", "StatefulSet", "Deployment", "Node"))
"""Owners whose pods serve and belong to no job."""
ENDED = frozenset(("Succeeded", "Failed"))


def rows(story: Story) -> Iterator[Fields]:
    """Yield the rows of a pod: the task, the runs of its containers, its conditions."""
    pod = story.newest
    named = _named(pod)
    yield {**named, **_task(story)}
    kind, name = owner(pod)
    if kind:
        yield {**named, "record": "mark", "name": "Pod", "state": "OwnedBy", "reason": kind, "user": name}
    for condition in story.marks:
        yield {**mark(story, condition), **named, "name": "Pod", "record": "mark"}
    for status in _statuses(pod):
        yield from _runs(named, status)


def job_of(pod: Object) -> str | None:
    """Return the job a pod belongs to: by its labels, by its owner, or the pod itself; None for a pod that serves."""
    labels = part(pod, "metadata", "labels")
    for label in JOB_LABELS:
        if word(labels, label):
            return word(labels, label)
    kind, name = owner(pod)
    return None if kind in SERVICES else name or word(pod, "metadata", "name")


def _named(pod: Object) -> Fields:
    job, labels = job_of(pod), part(pod, "metadata", "labels")
    attempt = next((word(labels, label) for label in ATTEMPT_LABELS if word(labels, label)), None)
    raw = job if attempt is None else f"{job}/{attempt}"
    found = base(pod)
    return {**found, "id": job, "raw": raw if job else found["raw"], "name": job, "task": found["name"]}


def _task(story: Story) -> Fields:
    pod = story.newest
    placed = [condition.at for condition in story.times("PodScheduled", on=True)]
    start = min((time for time in placed if time is not None), default=None)
    # what shows no conditions may show when the node took it
    start = moment(pod, "status", "startTime") if start is None and not story.marks else start
    statuses = _statuses(pod)
    asked = gpus_of_pod(part(pod, "spec"))
    return {
        "record": "task",
        "state": word(pod, "status", "phase"),
        "reason": _reason(story),
        "node": word(pod, "spec", "nodeName"),
        "submit_us": story.created_us,
        "start_us": start,
        "ready_us": _ready(parts(pod, "status", "containerStatuses")),
        "end_us": _end(story),
        "nodes": None if start is None else 1,
        "gpus": asked if start is not None else 0 if asked is not None else None,
        "gpus_requested": asked,
        "exit_code": next((code for code in map(_exit, statuses) if code), None),
        "restarts": sum(count(status, "restartCount") or 0 for status in statuses),
    }


def _statuses(pod: Object) -> list[Object]:
    return [*parts(pod, "status", "initContainerStatuses"), *parts(pod, "status", "containerStatuses")]


def _ready(statuses: list[Object]) -> int | None:
    """Return the first instant that is known at which a container ran."""
    places = (("state", "running"), ("state", "terminated"), ("lastState", "terminated"))
    times = [moment(status, *place, "startedAt") for status in statuses for place in places]
    return min((time for time in times if time is not None), default=None)


def _end(story: Story) -> int | None:
    """Return when the pod ended: its last container's end, else the time its readiness was lost, else its deletion."""
    pod = story.newest
    if word(pod, "status", "phase") in ENDED:
        times = [moment(status, "state", "terminated", "finishedAt") for status in _statuses(pod)]
        times += [condition.at for condition in story.times("DisruptionTarget", on=True)]
        found = max((time for time in times if time is not None), default=None)
        if found is not None:
            return found
        lost = story.times("Ready", "ContainersReady", on=False)
        return lost[-1].at if lost else moment(pod, "metadata", "deletionTimestamp")
    return story.deleted_us


def _exit(status: Object) -> int | None:
    return count(status, "state", "terminated", "exitCode")


def _reason(story: Story) -> str | None:
    """Return why the pod is where it is; an exit code alone does not tell memory, eviction and preemption apart."""
    disrupted = story.last("DisruptionTarget", "TerminationTarget")
    if disrupted:
        return disrupted.reason
    statuses = _statuses(story.newest)
    ended = [word(status, "state", "terminated", "reason") for status in statuses if _exit(status)]
    waiting = [word(status, "state", "waiting", "reason") for status in statuses]
    unplaced = [found.reason for found in story.times("PodScheduled", on=False)]
    told = [word(story.newest, "status", "reason"), *ended, *waiting, *unplaced]
    return next((reason for reason in told if reason), None)


def _runs(named: Fields, status: Object) -> Iterator[Fields]:
    """Yield the runs of a container: the newest and the one before it; of earlier ones only the number is left."""
    task = f"{named['task']}/{word(status, 'name')}"
    for place in ("state", "lastState"):
        for state, found in part(status, place).items():
            told = found if isinstance(found, dict) else {}
            run: Fields = {"record": "step", "task": task, "state": str(state), "reason": word(told, "reason")}
            run |= {"start_us": micros(told.get("startedAt")), "end_us": micros(told.get("finishedAt"))}
            run |= {"exit_code": count(told, "exitCode"), "exit_signal": count(told, "signal")}
            if place == "state":
                run["restarts"] = count(status, "restartCount")
            yield {**named, **run, "node": None}


def event_rows(event: Object) -> Iterator[Fields]:
    """Yield the row of an event: what happened to which object, from when to when, how many times."""
    about = part(event, "involvedObject") or part(event, "regarding")
    times = [moment(event, "eventTime"), moment(event, "firstTimestamp"), moment(event, "deprecatedFirstTimestamp")]
    times.append(moment(event, "metadata", "creationTimestamp"))
    first = next((time for time in times if time is not None), None)
    ends = [
        moment(event, "series", "lastObservedTime"),
        moment(event, "lastTimestamp"),
        moment(event, "deprecatedLastTimestamp"),
    ]
    last = next((time for time in ends if time is not None), first)
    told = (count(event, "series", "count"), count(event, "count"), count(event, "deprecatedCount"))
    yield {
        "record": "mark",
        "id": None if word(about, "kind") in ("Pod", *SERVICES) else word(about, "name"),
        "raw": word(about, "uid"),
        "name": word(about, "kind"),
        "task": word(about, "name"),
        "partition": word(about, "namespace") or word(event, "metadata", "namespace"),
        "node": word(event, "source", "host") or word(event, "deprecatedSource", "host"),
        "state": word(event, "reason"),
        "reason": word(event, "message") or word(event, "note"),
        "start_us": first,
        "end_us": last,
        "count": next((number for number in told if number), None),
    }


def is_event(record: Object) -> bool:
    """Tell whether an object is an event of either interface."""
    return word(record, "kind") == "Event" and at(record, "auditID") is None
