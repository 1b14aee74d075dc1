"""The truth of a simulated job: exclusive segments, in the terms of the relation `segment`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ettlog.lifecycle import PART_BY_NAME, STAGES
from ettlog.simulate.hazard import FAILURE, FIRST, PREEMPTION
from ettlog.simulate.words import P

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ettlog.simulate.plan import Job, Start

FIRST_START, RESTART, RECOVERY, STEADY, SHUTDOWN = (stage.stage for stage in STAGES)
RECOVERIES = (FAILURE, PREEMPTION)
COMPONENT = {part: PART_BY_NAME[part].component for part in P}


class Segment(NamedTuple):
    """An exclusive interval of a job; `start` is the start whose stage it belongs to."""

    start: int
    part: P
    stage: str
    begin_us: int
    end_us: int
    gpus: int
    allocated: bool


class Spell(NamedTuple):
    """What one start spends on one thing: `us` in `events` intervals, the first of which begins at `begin_us`."""

    start: int
    part: P
    stage: str
    us: int
    events: int
    gpus: int
    allocated: bool
    begin_us: int


def segments(job: Job) -> Iterator[Segment]:
    """Yield the segments of a job in order of time; they tile its wall, first submission to last release."""
    for k, one in enumerate(job.starts):
        after = job.starts[k + 1] if k + 1 < len(job.starts) else None
        yield from _before(job, k)
        yield from _loop(job, one)
        yield from _after(one, after)


def spells(job: Job) -> Iterator[Spell]:
    """Yield what each start spends on each part and stage, for sums."""
    held: dict[tuple[int, P, str, int, bool], list[int]] = {}
    for one in segments(job):
        cell = held.setdefault((one.start, one.part, one.stage, one.gpus, one.allocated), [0, 0, one.begin_us])
        cell[0] += one.end_us - one.begin_us
        cell[1] += 1
    for (start, part, stage, gpus, allocated), (us, events, begin) in held.items():
        yield Spell(start, part, stage, us, events, gpus, allocated, begin)


def _stage(one: Start) -> str:
    return FIRST_START if one.kind == FIRST else RECOVERY if one.kind in RECOVERIES else RESTART


def _before(job: Job, k: int) -> Iterator[Segment]:
    """Yield waiting and start-up."""
    one, stage = job.starts[k], _stage(job.starts[k])
    freed = job.starts[k - 1].done_us if k else one.submit_us
    if not k or job.starts[k - 1].releases:
        yield from _some(k, P.queue, stage, freed, one.granted_us, one.gpus, allocated=False)
        freed = one.granted_us
    yield from _some(k, P.placement, stage, freed, one.launched_us, one.gpus)
    now = one.launched_us
    for part, us in one.path:
        yield from _some(k, part, stage, now, now + us, one.gpus)
        now += us
    yield from _some(k, P.first_step_excess, stage, now, now + one.excess, one.gpus)


def _loop(job: Job, one: Start) -> Iterator[Segment]:
    """Yield steps, cut where they turn new or lost, and what held the loop between them."""
    if not one.steps:
        return
    fresh = max(job.protected, one.high) if job.gone else job.target
    edges = ((one.high, P.replay), (fresh, P.step), (one.last, P.abandoned))
    now, done = one.loop_us + one.excess, one.resumed
    for held in (*one.interrupts, None):
        upto = held.step if held else one.last
        for edge, part in edges:
            if done < min(edge, upto):
                count = min(edge, upto) - done
                stage = _stage(one) if part is P.replay else STEADY
                yield Segment(one.k, part, stage, now, now + count * one.step_us, one.gpus, True)
                now, done = now + count * one.step_us, done + count
        if held:
            stage = STEADY if done > one.high else _stage(one)
            yield from _some(one.k, held.part, stage, now, now + held.us, one.gpus)
            now += held.us


def _after(one: Start, after: Start | None) -> Iterator[Segment]:
    """Yield the end: of a start that is recovered from it belongs to the recovery, else it is the shutdown."""
    recovered = after is not None and after.kind in RECOVERIES
    k, stage = (one.k + 1, RECOVERY) if recovered else (one.k, SHUTDOWN)
    now = one.progress_us
    for part, us in (
        (P.hang, one.hang), (P.final_save, one.final_save), (P.publish, one.publish), (P.teardown, one.teardown),
    ):  # fmt: skip
        yield from _some(k, part, stage, now, now + us, one.gpus)
        now += us


def _some(
    start: int, part: P, stage: str, begin: int, end: int, gpus: int, allocated: bool = True
) -> Iterator[Segment]:
    if end > begin:
        yield Segment(start, part, stage, begin, end, gpus, allocated)
