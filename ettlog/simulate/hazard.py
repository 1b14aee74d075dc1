"""When a job is struck, by what: failures, preemptions and planned stops at amounts of new work."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ettlog.lifecycle import START_KINDS
from ettlog.simulate.draw import generator
from ettlog.simulate.models import NODES
from ettlog.summing import exact_sum

if TYPE_CHECKING:
    from ettlog.simulate.draw import Draws
    from ettlog.simulate.models import Model
    from ettlog.simulate.spec import Spec

FIRST, FAILURE, PREEMPTION, PLANNED, UNKNOWN = START_KINDS


class Strike(NamedTuple):
    """The end of a start: after which step, and the kind of start it asks for; FIRST: the target is reached."""

    step: int
    kind: str


class Place(NamedTuple):
    """The nodes of a job, and how much more often than usual it fails there and then."""

    nodes: tuple[int, ...]
    rate: float


def place(
    seed: int, number: int, gpus: int, rates: np.ndarray[tuple[int], np.dtype[np.float64]], shock: float
) -> Place:
    """Return where a job runs."""
    count = min(max(1, gpus // 8), NODES)
    chosen = generator(seed, 6, number).choice(NODES, count, replace=False)
    return Place(tuple(int(node) for node in chosen), float(rates[chosen].mean()) * shock)


def strikes(spec: Spec, model: Model, draws: Draws, target: int, where: Place) -> list[Strike]:
    """Return what ends the starts of a job, in order of the step, ending with the target.

    Gamma-Poisson: the rate is the scenario's, times the model's, the day's and the mean of the nodes' own factors.
    """
    days, failures, lines = model.step_us / 86_400e6, spec.failures, int(spec.fleet["log_every"])
    size = (model.gpus / 64) ** float(failures["grows"])
    rates = {
        FAILURE: float(failures["per_day"]) * size * model.frailty * where.rate,
        PREEMPTION: float(failures["preempted_per_day"]),
        PLANNED: float(failures["planned_per_day"]),
    }
    found: dict[int, str] = {}
    for kind, rate in rates.items():
        for amount in draws.strike[kind] if rate else ():
            step = max(round(amount / (rate * days) / lines), 1) * lines
            if step < target:
                found.setdefault(step, kind)
    return [*(Strike(step, found[step]) for step in sorted(found)), Strike(target, FIRST)]


def cause(spec: Spec, u: float) -> str:
    """Return the cause that a uniform number chooses by the scenario's weights."""
    weights: dict[str, float] = spec.failures["causes"]
    left = u * exact_sum(weights.values())
    for name, weight in weights.items():
        left -= weight
        if left < 0:
            return name
    return next(reversed(weights))
