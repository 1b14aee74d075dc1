"""JobSet: jobs of many replicas that restart together. Restarts are counters; only new releases say when they were."""

from __future__ import annotations

from collections.abc import Iterator

from ettlog.parse.k8s_object import (
    Cycle,
    Fields,
    Object,
    Story,
    at,
    base,
    count,
    gpus_of_sets,
    mark,
    part,
    parts,
    word,
)


def rows(story: Story) -> Iterator[Fields]:
    """Yield the rows of a JobSet: one per attempt between restarts that it tells the times of."""
    job = story.newest
    ended = story.last("Completed", "Failed")
    resumed = story.times("Suspended", on=False)
    named = {**base(job), "record": "job", "submit_us": story.created_us, "gpus_requested": _gpus(job)}
    named |= {"eligible_us": resumed[-1].at if resumed else None, "restarts": restarts(job)}
    attempts = list(_attempts(story))
    for number, run in enumerate(attempts):
        final = number == len(attempts) - 1
        state = (
            (ended.type if ended else word(job, "status", "terminalState") or _open_state(story)) if final else run.why
        )
        row = {**named, "start_us": run.start, "end_us": run.end, "state": state}
        row |= {"raw": f"{named['raw']}/{number}"} if run.start is None and not final else {}
        yield {**row, "reason": ended.reason if ended and final else None}
    for condition in story.marks:
        yield mark(story, condition)


def restarts(job: Object) -> int | None:
    """Return the restarts of a JobSet: of the whole set and of single Jobs, which `restarts` does not hold."""
    total = count(job, "status", "totalRestarts")
    if total is not None:
        return total
    whole = count(job, "status", "restarts")
    lists = [at(found, "jobRestarts") for found in parts(job, "status", "replicatedJobsStatus")]
    single = sum(number for found in lists if isinstance(found, list) for number in found if isinstance(number, int))
    return None if whole is None and not single else (whole or 0) + single


def _attempts(story: Story) -> Iterator[Cycle]:
    """Yield the attempts: a restart ends one when it begins and opens the next when all Jobs are ready again."""
    ended = story.last("Completed", "Failed")
    ready = story.times("StartupPolicyCompleted", on=True)
    begun = ready[0].at if ready else None
    for restart in story.times("RestartingJobSet"):
        if restart.on:
            yield Cycle(begun, restart.at, "RestartingJobSet")
            begun = None
        elif restart.reason == "JobsReady":
            begun = restart.at
    yield Cycle(begun, ended.at if ended else None, "")


def _open_state(story: Story) -> str:
    suspended = story.times("Suspended")
    return "Suspended" if suspended and suspended[-1].on else "Active"


def _gpus(job: Object) -> int | None:
    sets = []
    for found in parts(job, "spec", "replicatedJobs"):
        number, inside = count(found, "replicas"), count(found, "template", "spec", "parallelism")
        pods = (1 if number is None else number) * (1 if inside is None else inside)
        sets.append((pods, part(found, "template", "spec", "template", "spec")))
    return gpus_of_sets(sets) if sets else None
