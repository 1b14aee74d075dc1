"""The models of a simulated fleet: size, dialect, speed, its own rates and factors, and when it gets what."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, NamedTuple

from ettlog.simulate.dialect import Dialect, dialect
from ettlog.simulate.draw import generator
from ettlog.simulate.words import DAY, SECOND, P
from ettlog.windows import micros

if TYPE_CHECKING:
    import numpy as np

    from ettlog.simulate.spec import Spec, Time

NODES = 256
"""Nodes of a cluster, each with its own failure rate."""
_ROOTS = ("ranker", "retrieval", "embedder", "caption", "reranker", "ctr", "speech", "vision", "router", "summary")
_SIZES = ("small", "base", "large", "xl")


class Model(NamedTuple):
    """One model of the fleet."""

    number: int
    name: str
    cluster: str
    dialect: Dialect
    gpus: int
    step_us: int
    frailty: float
    factor: dict[P, float]
    rollout_us: dict[str, int]
    """Optimization -> instant from which new starts have it; an optimization it never gets is missing."""


class Habits(NamedTuple):
    """How a model's starts go with the optimizations that are on: times by part, and the loop's settings in steps."""

    times: dict[P, Time]
    save_every: int
    evaluate_every: int
    background_us: int
    recompiles: float


def begin(spec: Spec) -> int:
    """Return the first instant of the scenario in microseconds."""
    day = spec.fleet["begin"]
    return micros(datetime.combine(day, time(), UTC)) if isinstance(day, date) else micros(day)


def models(spec: Spec, seed: int) -> list[Model]:
    """Return the models; those of a smaller fleet are the first of a larger one."""
    return [_model(spec, seed, number) for number in range(spec.fleet["models"])]


def _model(spec: Spec, seed: int, number: int) -> Model:
    fleet, rng = spec.fleet, generator(seed, 1, number)
    root, size = _ROOTS[number % len(_ROOTS)], _SIZES[int(rng.integers(len(_SIZES)))]
    turn = number // len(_ROOTS)
    speaks = dialect(fleet["dialects"][number % len(fleet["dialects"])])
    gpus = int(rng.choice(fleet["gpus"]))
    grain = max(speaks.resolution_us, SECOND // 10)
    low, high = fleet["step_s"]
    step_us = max(round(math.exp(rng.uniform(math.log(low), math.log(high))) * SECOND / grain), 1) * grain
    shape = float(spec.failures["model_shape"])
    frailty = float(rng.gamma(shape, 1 / shape)) if shape else 1.0
    factor = {part: math.exp(fleet["spread"] * z) for part, z in zip(P, rng.standard_normal(len(P)), strict=True)}
    return Model(
        number, f"{root}-{size}{f'-{turn + 1}' if turn else ''}", fleet["clusters"][number % len(fleet["clusters"])],
        speaks, gpus, step_us, frailty, factor, _rollouts(spec, seed, number),
    )  # fmt: skip


def _rollouts(spec: Spec, seed: int, number: int) -> dict[str, int]:
    """Return when the model gets what; drawn by the optimization's name, so that leaving one out moves no other."""
    found = {}
    for one in spec.optimizations:
        rng = generator(seed, 3, number, *one.name.encode())
        has, day = rng.random() < one.share, rng.uniform(*one.when)
        if has:
            found[one.name] = begin(spec) + int(day * int(spec.fleet["days"])) * DAY
    return found


def habits(spec: Spec, model: Model, on: frozenset[str]) -> Habits:
    """Return how a model's starts go while the named optimizations are on."""
    loop, scale = dict(spec.loop), model.gpus / 64
    factors: dict[str, tuple[float, float]] = {}
    for one in spec.optimizations:
        if one.name in on:
            loop.update(one.set)
            for part, (first, again) in one.effect.items():
                before = factors.get(part, (1.0, 1.0))
                factors[part] = (before[0] * first, before[1] * again)
    times = {}
    for part, mean in spec.parts.items():
        grown, (first, again) = model.factor[P(part)] * scale**mean.grows, factors.get(part, (1.0, 1.0))
        times[P(part)] = mean._replace(first=mean.first * grown * first, again=mean.again * grown * again)
    every = [_steps(loop[name], model, spec) for name in ("save_every_s", "evaluate_every_s")]
    return Habits(times, every[0], every[1], round(loop["background_s"]) * SECOND, loop["recompiles"])


def _steps(seconds: float, model: Model, spec: Spec) -> int:
    """Return a distance in steps, a multiple of the printed ones; 0 for never."""
    lines: int = spec.fleet["log_every"]
    return max(round(seconds * SECOND / model.step_us / lines), 1) * lines if seconds else 0


def nodes(spec: Spec, seed: int, cluster: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the failure rates of a cluster's nodes, in units of their mean."""
    shape = float(spec.failures["node_shape"])
    rng = generator(seed, 4, cluster)
    return rng.gamma(shape, 1 / shape, NODES) if shape else rng.random(NODES) * 0 + 1


def shocks(spec: Spec, seed: int, cluster: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return a cluster's failure rate day by day, in units of its mean."""
    shape, days = float(spec.failures["day_shape"]), int(spec.fleet["days"]) + 1
    rng = generator(seed, 5, cluster)
    return rng.gamma(shape, 1 / shape, days) if shape else rng.random(days) * 0 + 1
