"""What a start's log tells, moment by moment, whatever the dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ettlog.simulate.play import REST_US
from ettlog.simulate.words import End, P

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ettlog.simulate.dialect import Dialect
    from ettlog.simulate.plan import Start

LAUNCH, FRESH, RESUME, TRAIN, LEFT, EXIT, PLANNED, FAILED, DIED, PREEMPTED, STEP = (
    "launch", "fresh", "resume", "train", "left", "exit", "planned", "failed", "died", "preempted", "step",
)  # fmt: skip


class Moment(NamedTuple):
    """Something a log tells: when, what, and the numbers it holds."""

    us: int
    what: str
    step: int = 0
    took_us: int = 0
    """What it took; of a step the mean since the printed one before."""


def story(start: Start, dialect: Dialect, every: int) -> Iterator[Moment]:
    """Yield the moments of a start in the order in which they are written; `every` is the distance of printed steps."""
    yield Moment(start.launched_us, LAUNCH)
    yield from _path(start, dialect)
    if start.steps or start.end is not End.failed:
        yield Moment(start.loop_us, TRAIN, start.resumed)
        if start.resumed:
            yield Moment(start.loop_us, RESUME, start.resumed)
        yield from sorted(_loop(start, every), key=lambda moment: moment.us)
    yield from _end(start)


def _path(start: Start, dialect: Dialect) -> Iterator[Moment]:
    now, took = start.launched_us, dict(start.path)
    crashed = start.end is End.failed and not start.steps
    last = start.path[-1][0] if crashed and start.path else None
    for part in dialect.path:
        if part not in took:
            if part is P.restore and not start.resumed and not (crashed and last is None):
                yield Moment(now, FRESH)
            continue
        yield Moment(now, f"{part}_begin", start.resumed, took[part])
        now += took[part]
        if part is last:
            return
        yield Moment(now, f"{part}_end", start.resumed, took[part])


def _loop(start: Start, every: int) -> Iterator[Moment]:
    """Yield printed steps and what holds the loop between them; not in order where a save goes on behind it."""
    now, since, count, at = start.loop_us + start.excess, start.loop_us, 0, 0
    held_us = 0
    for step in range(start.resumed + 1, start.last + 1):
        now, count = now + start.step_us, count + 1
        if step % every == 0:
            yield Moment(now, STEP, step, (now - since - held_us) // count)
            since, count, held_us = now, 0, 0
        while at < len(start.interrupts) and start.interrupts[at].step == step:
            held = start.interrupts[at]
            yield Moment(now, f"{held.part}_begin", step, held.us)
            now, at, held_us = now + held.us, at + 1, held_us + held.us
            asynchronous = held.part is P.save_stall and held.commit_us != now
            yield Moment(now, f"{held.part}_{'staged' if asynchronous else 'end'}", step, held.us)
            if asynchronous and held.commit_us:
                yield Moment(held.commit_us, f"{held.part}_end", step, held.commit_us - now + held.us)


def _end(start: Start) -> Iterator[Moment]:
    now, over = start.stop_us, start.done_us - (REST_US if start.releases else 0)
    if start.end is End.done:
        yield Moment(now, LEFT, start.last)
    if start.final_save:
        yield Moment(now, f"{P.save_stall}_begin", start.last, start.final_save)
        now += start.final_save
        yield Moment(now, f"{P.save_stall}_end", start.last, start.final_save)
    if start.publish:
        yield Moment(now, f"{P.publish}_begin", start.last, start.publish)
        now += start.publish
        yield Moment(now, f"{P.publish}_end", start.last, start.publish)
    if start.end is End.planned:
        yield Moment(now, PLANNED, start.last, now - start.launched_us)
    if start.end in (End.done, End.planned):
        yield Moment(over, EXIT, start.last)
    elif start.end is End.failed:
        yield Moment(now, FAILED, start.last)
        yield Moment(over, DIED, start.last)
    elif start.end is End.preempted:
        yield Moment(now, PREEMPTED, start.last)
