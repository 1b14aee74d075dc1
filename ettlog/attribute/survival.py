"""How long something takes when some of it was cut short: Kaplan and Meier's estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Step(NamedTuple):
    """One step of the curve: up to `time`, and after it a share `left` is still going on."""

    time: float
    at_risk: int
    ended: int
    left: float


def kaplan_meier(times: Sequence[float], ended: Sequence[bool]) -> list[Step]:
    """Return the curve of durations of which some were cut short (`ended` false: it lasted at least that long)."""
    pairs = sorted(zip(times, ended, strict=True))
    steps, left = [], 1.0
    for time in sorted({time for time, over in pairs if over}):
        at_risk = sum(other >= time for other, _ in pairs)
        over = sum(other == time and end for other, end in pairs)
        left *= 1.0 - over / at_risk
        steps.append(Step(time, at_risk, over, left))
    return steps


def median(times: Sequence[float], ended: Sequence[bool]) -> float | None:
    """Return the time by which half have ended; None where the curve never falls that far."""
    return next((step.time for step in kaplan_meier(times, ended) if step.left <= 0.5), None)
