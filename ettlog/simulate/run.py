"""Whole simulated fleets as frames: jobs, starts, segments, a ledger, and what every optimization truly saved."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ettlog.simulate.draw import draws, generator
from ettlog.simulate.hazard import place, strikes
from ettlog.simulate.models import begin, models, nodes, shocks
from ettlog.simulate.play import Player, play
from ettlog.simulate.words import DAY, HOUR

if TYPE_CHECKING:
    import polars as pl

    from ettlog.simulate.models import Model
    from ettlog.simulate.plan import Job
    from ettlog.simulate.spec import Spec


@dataclass(frozen=True)
class Simulated:
    """A simulated fleet: its plans, and the frames that are made of them when asked for."""

    spec: Spec
    seed: int
    models: list[Model]
    plans: list[Job]

    @cached_property
    def jobs(self) -> pl.DataFrame:
        """Return one row per job: job, model, cluster, dialect, gpus, target, starts, failures, preemptions, ..."""
        from ettlog.simulate import frames

        return frames.jobs(self)

    @cached_property
    def starts(self) -> pl.DataFrame:
        """Return one row per start: job, k, kind, cause, end, allocation, gpus, instants, steps."""
        from ettlog.simulate import frames

        return frames.starts(self)

    @cached_property
    def segments(self) -> pl.DataFrame:
        """Return the truth in the columns of the relation `segment`: exclusive intervals that tile every job's wall."""
        from ettlog.simulate import frames

        return frames.segments_of(self)

    @cached_property
    def ledger(self) -> pl.DataFrame:
        """Return the truth summed in the columns of the relation `ledger`, as `attribute_ledger` takes it."""
        from ettlog.simulate import frames

        return frames.ledger(self)

    @cached_property
    def registry(self) -> str:
        """Return the optimizations.toml that tells of the rollouts."""
        from ettlog.simulate.registry import text

        return text(self)


def fleet(spec: Spec, seed: int = 0, like: Simulated | None = None) -> Simulated:
    """Simulate a fleet; the same scenario and seed give the same fleet on every machine.

    With `like`, the same fleet in which other optimizations are on: what is on is decided at the launches of `like`, so
    that a job that runs later for want of one optimization does not gain another one. Takes about 0.4 ms a start. No
    file is read or written.
    """
    world = _World(spec, seed)
    plans = [world.job(number, like.plans[number] if like else None) for number in range(spec.fleet["jobs"])]
    return Simulated(spec, seed, world.models, plans)


class _World:
    """What is drawn once for the whole fleet."""

    def __init__(self, spec: Spec, seed: int) -> None:
        """Draw models, and the failure rates of nodes and days."""
        self.spec, self.seed, self.models = spec, seed, models(spec, seed)
        clusters = list(spec.fleet["clusters"])
        self.rates = {name: nodes(spec, seed, at) for at, name in enumerate(clusters)}
        self.days = {name: shocks(spec, seed, at) for at, name in enumerate(clusters)}
        self.kept: list[dict[Any, Any]] = [{} for _ in self.models]

    def job(self, number: int, like: Job | None) -> Job:
        """Play one job; jobs of a model are spread evenly over the days, each at a random time of its share."""
        spec, model, rng = self.spec, self.models[number % len(self.models)], generator(self.seed, 7, number)
        rounds = -(-int(spec.fleet["jobs"]) // len(self.models))
        at = int((number // len(self.models) + float(rng.random())) / rounds * int(spec.fleet["days"]) * DAY)
        shock = float(self.days[model.cluster][min(at // DAY, int(spec.fleet["days"]))])
        where = place(self.seed, number, model.gpus, self.rates[model.cluster], shock)
        chance, target = draws(self.seed, number), _target(spec, model, float(rng.random()))
        first = begin(spec)
        launches = tuple(one.launched_us for one in like.starts) if like else ()
        player = Player(spec, model, chance, where, self.kept[model.number], first + at, first, launches)
        name = f"{model.name}-{number:05d}"
        return play(player, number, name, target, strikes(spec, model, chance, target, where))


def _target(spec: Spec, model: Model, u: float) -> int:
    """Return the last step of a job, log-uniform in hours, a multiple of the printed steps."""
    low, high = spec.fleet["hours"]
    hours, lines = math.exp(math.log(low) + u * (math.log(high) - math.log(low))), int(spec.fleet["log_every"])
    return max(round(hours * HOUR / model.step_us / lines), 2) * lines
