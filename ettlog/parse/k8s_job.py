"""Jobs of Kubernetes and Kubeflow: batch/v1 Job, PyTorchJob and its kin, TrainJob.

Their objects keep one time per condition: a second restart leaves no sign of the first. What hardware was held when
is known only where a condition says that the job ran; a Job's `startTime` is when its controller took it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ettlog.parse.k8s_object import (
    Cycle,
    Fields,
    Object,
    Story,
    base,
    count,
    cycles,
    gpus_asked,
    gpus_of_sets,
    mark,
    moment,
    part,
    word,
)

ENDS = ("Succeeded", "Failed", "Complete", "Completed")


def batch_job(story: Story) -> Iterator[Fields]:
    """Yield the rows of a batch/v1 Job: its end is known, its start is not, for its pods are not in it."""
    job = story.newest
    number = count(job, "spec", "parallelism")
    ended = story.last("Complete", "Failed") or story.last("SuccessCriteriaMet", "FailureTarget")
    held = story.last("Suspended")
    state = ended.type if ended else "Suspended" if held else "Active" if count(job, "status", "active") else "Pending"
    yield {
        **base(job),
        "record": "job",
        "state": state,
        "reason": ended.reason if ended else None,
        "submit_us": story.created_us,
        "eligible_us": moment(job, "status", "startTime"),
        "end_us": moment(job, "status", "completionTime") or (ended.at if ended else None),
        "gpus_requested": gpus_of_sets([(1 if number is None else number, part(job, "spec", "template", "spec"))]),
    }
    for name in ("succeeded", "failed", "active"):
        if count(job, "status", name) is not None:
            told = {"state": name, "count": count(job, "status", name)}
            yield {**base(job), "record": "mark", "name": "Job", **told}
    if count(job, "spec", "backoffLimit") is not None:
        limit = {"state": "backoffLimit", "count": count(job, "spec", "backoffLimit")}
        yield {**base(job), "record": "mark", "name": "Job", **limit}
    for condition in story.marks:
        yield mark(story, condition)


def training_job(story: Story) -> Iterator[Fields]:
    """Yield the rows of a PyTorchJob, or of another job of the training operator: one per run that it shows."""
    job = story.newest
    named = {**base(job), "submit_us": story.created_us, "gpus_requested": _gpus(job)}
    runs = list(cycles(_runs(story))) or [Cycle(None, None, "")]
    for number, run in enumerate(runs):
        final = number == len(runs) - 1
        lost = run.start is None and not final
        held = _gpus(job) if run.start is not None else None
        row = {**named, "start_us": run.start, "ready_us": run.start, "end_us": run.end, "gpus": held}
        row |= {"raw": f"{named['raw']}/earlier"} if lost else {}
        yield {**row, "record": "job", "state": run.why or _state(story), "reason": _reason(story, run)}
    for condition in story.marks:
        yield mark(story, condition)


def _runs(story: Story) -> Iterator[tuple[int, bool, str]]:
    """Yield when the job began and ceased to run.

    A Running that has turned false keeps the time it turned true; where both were seen only the true one counts.
    """
    begun = story.times("Running", on=True) or story.times("Running", on=False)
    stopped = [*story.times("Restarting"), *story.times("Suspended", on=True), *story.times(*ENDS, on=True)]
    found = [(mark.at or 0, True, "") for mark in begun]
    found += [(at, False, why) for at, why in {mark.at or 0: mark.type for mark in stopped}.items()]
    yield from sorted(found, key=lambda entry: (entry[0], entry[1]))


def _state(story: Story) -> str:
    """Return the newest condition that is true; on equal times the one that stands last in the object."""
    true = [mark for mark in story.marks if mark.on]
    return max(enumerate(true), key=lambda entry: (entry[1].at or 0, entry[0]))[1].type if true else "Created"


def _reason(story: Story, run: Cycle) -> str | None:
    found = [mark.reason for mark in story.marks if mark.type == run.why and mark.at == run.end]
    return found[0] if found else None


def _gpus(job: Object) -> int | None:
    """Return the GPUs of all replicas, where the object shows their pods."""
    spec = part(job, "spec")
    kinds = [value for key, value in spec.items() if str(key).endswith("ReplicaSpecs") and isinstance(value, dict)]
    replicas = [found for kind in kinds for found in kind.values() if isinstance(found, dict)]
    if not replicas:
        return None
    return gpus_of_sets((_number(found), part(found, "template", "spec")) for found in replicas)


def _number(replica: Object) -> int | None:
    number = count(replica, "replicas")
    return 1 if number is None else number


def train_job(story: Story) -> Iterator[Fields]:
    """Yield the rows of a TrainJob (trainer v2): it shows when it was allowed to run and its end, not its start."""
    job = story.newest
    ended = story.last("Complete", "Failed")
    resumed = story.times("Suspended", on=False)
    yield {
        **base(job),
        "record": "job",
        "state": ended.type if ended else "Suspended" if story.last("Suspended") and not resumed else "Active",
        "reason": ended.reason if ended else None,
        "submit_us": story.created_us,
        "eligible_us": resumed[-1].at if resumed else None,
        "end_us": ended.at if ended else None,
        "gpus_requested": _trainer_gpus(job),
        "restarts": count(job, "status", "restarts"),
    }
    for condition in story.marks:
        yield mark(story, condition)


def _trainer_gpus(job: Object) -> int | None:
    """Return the GPUs that the trainer asks for on all its nodes; None where its runtime decides."""
    each, nodes = part(job, "spec", "trainer", "resourcesPerNode"), count(job, "spec", "trainer", "numNodes")
    gpus = gpus_asked({**part(each, "requests"), **part(each, "limits")})
    return None if nodes is None or not gpus else nodes * gpus


def is_kubeflow(record: Object) -> bool:
    """Tell whether an object is a job of the training operator."""
    kind, version = word(record, "kind") or "", word(record, "apiVersion") or "kubeflow.org/v1"
    return version.startswith("kubeflow.org/") and kind.endswith("Job") and len(kind) > 3
