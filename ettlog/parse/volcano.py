"""Volcano jobs: one time per phase. Phase Running may be told while pods are still pending."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ettlog.parse.k8s_object import Fields, Object, Story, base, count, gpus_of_sets, moment, part, parts, word

ENDED = ("Aborted", "Completed", "Terminated", "Failed")
_LENGTH = re.compile(r"(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,9})(?:\.(\d{1,6})\d*)?s)?\Z")


def rows(story: Story) -> Iterator[Fields]:
    """Yield the rows of a Volcano job: its run and its phases."""
    job = story.newest
    phases = {
        word(found, "status"): moment(found, "lastTransitionTime") for found in parts(job, "status", "conditions")
    }
    state = word(job, "status", "state", "phase")
    end = phases.get(state, moment(job, "status", "state", "lastTransitionTime")) if state in ENDED else None
    length = duration(word(job, "status", "runningDuration"))
    start = phases.get("Running")
    if start is None and end is not None and length:
        start = end - length
    named, asked = base(job), _gpus(job)
    yield {
        **named,
        "record": "job",
        "state": state,
        "reason": word(job, "status", "state", "reason"),
        "partition": word(job, "spec", "queue") or named["partition"],
        "submit_us": story.created_us,
        "start_us": start,
        "end_us": end,
        "gpus": asked if start is not None else None,
        "gpus_requested": asked,
        "restarts": count(job, "status", "retryCount"),
    }
    for phase, time in phases.items():
        yield {**named, "record": "mark", "name": "Job", "state": phase, "start_us": time, "end_us": time}


def duration(text: str | None) -> int | None:
    """Return the microseconds of a length of time such as 1h2m3.5s; None for anything else."""
    match = _LENGTH.match(text) if text else None
    if match is None:
        return None
    hours, minutes, seconds = (int(found or 0) for found in match.groups()[:3])
    return ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + int((match[4] or "0").ljust(6, "0"))


def is_volcano(record: Object) -> bool:
    """Tell whether an object is a job of Volcano."""
    return word(record, "kind") == "Job" and (word(record, "apiVersion") or "").startswith("batch.volcano.sh/")


def _gpus(job: Object) -> int | None:
    sets = [(count(found, "replicas"), part(found, "template", "spec")) for found in parts(job, "spec", "tasks")]
    return gpus_of_sets(sets) if sets else None
