"""Kueue workloads: each admission is a time that quota was held.

An object keeps the last change of each condition only, so earlier admissions are lost unless a watch shows them.
`Evicted` does not prove that work stopped: an admission ends when `Admitted` turns false. The seconds of past
admissions are a counter.
"""

from __future__ import annotations

from collections.abc import Iterator

from ettlog.parse import k8s_object as shown
from ettlog.parse.k8s_object import Cycle, Fields, Object, Story

SECOND = 1_000_000
PAST = ("accumulatedPastExecutionTimeSeconds", "accumulatedPastExexcutionTimeSeconds")
"""Keys of the seconds of past admissions; v1beta1 spells it wrong."""


def rows(story: Story) -> Iterator[Fields]:
    """Yield the rows of a workload: its admissions and its conditions."""
    load = story.newest
    named = {**shown.base(load), "record": "job", "task": shown.base(load)["name"], "submit_us": story.created_us}
    kind, name = shown.owner(load)
    named |= {"id": name or named["id"], "name": name or named["name"], "gpus_requested": _gpus(load)}
    reserved = story.times("QuotaReserved", on=True)
    held = list(_admissions(story)) or [Cycle(None, None, "")]
    for number, admission in enumerate(held):
        final = number == len(held) - 1
        before = [mark.at for mark in reserved if admission.start is None or (mark.at or 0) <= admission.start]
        row = {**named, "start_us": admission.start, "end_us": admission.end}
        row |= {
            "eligible_us": before[-1] if before else None,
            "restarts": number if len(held) > 1 else _evictions(load),
        }
        row |= {"gpus": named["gpus_requested"] if admission.start is not None else None}
        yield {**row, **_ended(story, admission, final), **_lost(story, admission)}
    for condition in story.marks:
        yield shown.mark(story, condition, id=named["id"], task=named["task"])
    if kind:
        yield {**named, "record": "mark", "name": "Workload", "state": "OwnedBy", "reason": kind, "submit_us": None}


def _admissions(story: Story) -> Iterator[Cycle]:
    found = [(mark.at or 0, mark.on, mark.type) for mark in story.times("Admitted")]
    finished = story.last("Finished")
    if finished and not any(not on and time >= (finished.at or 0) for time, on, _ in found):
        found.append((finished.at or 0, False, "Finished"))
    for admission in shown.cycles(sorted(found, key=lambda entry: entry[0])):
        yield admission._replace(start=_begun(story, admission)) if admission.start is None else admission


def _begun(story: Story, admission: Cycle) -> int | None:
    """Return the start of an admission that is no longer shown: its end less the seconds of past admissions.

    That holds for a workload that was admitted once; where it was requeued the seconds are those of several times.
    """
    past = _past(story.newest)
    again = (shown.count(story.newest, "status", "requeueState", "count") or 0) + max(
        (_evictions(story.newest) or 0) - 1, 0
    )
    if not past or again or admission.end is None:
        return None
    begun = admission.end - past * SECOND
    return begun if story.created_us is None or begun >= story.created_us else None


def _past(load: Object) -> int | None:
    return next((found for key in PAST if (found := shown.count(load, "status", key)) is not None), None)


def _lost(story: Story, admission: Cycle) -> Fields:
    """Return the seconds held, where they are all that is known."""
    past = _past(story.newest)
    return {"elapsed_us": past * SECOND} if past and admission.start is None and admission.end is not None else {}


def _ended(story: Story, admission: Cycle, final: bool) -> Fields:
    """Return state and reason of an admission: Finished and how, else Evicted and why, else what it still is."""
    finished = story.last("Finished")
    if final and finished and (admission.end is None or (finished.at or 0) >= admission.end):
        return {"state": finished.reason or "Finished", "reason": finished.message}
    evicted = [mark for mark in story.times("Evicted", on=True) if (mark.at or 0) >= (admission.start or 0)]
    if admission.end is not None:
        told = [mark for mark in evicted if (mark.at or 0) <= admission.end]
        return {"state": "Evicted", "reason": told[-1].reason if told else None}
    return {"state": "Admitted" if admission.start is not None else "Pending", "reason": None}


def _evictions(load: Object) -> int | None:
    """Return how often the workload was admitted again; an eviction that ended it is none."""
    counts = [shown.count(found, "count") or 0 for found in shown.parts(load, "status", "schedulingStats", "evictions")]
    final = bool(counts) and shown.part(load, "spec").get("active") is False
    return max(sum(counts) - final, 0) if counts else None


def _gpus(load: Object) -> int | None:
    sets = [
        (shown.count(found, "count"), shown.part(found, "template", "spec"))
        for found in shown.parts(load, "spec", "podSets")
    ]
    return shown.gpus_of_sets(sets) if sets else None
