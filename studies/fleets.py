"""Fleets simulated job by job with and without their optimizations, under common random numbers.

A job has a fixed amount of work. Every start takes its phases, drawn once for (job, start, phase) and used in both
worlds; then it trains until its next fault or its end. Faults come at exponential distances from a start's launch, so
that a quicker start-up also changes how far a start gets and how many faults the job meets. What was not saved at a
fault is trained again. The saving is what the world without the optimization would have wasted more: no formula of the
code under test is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from ettlog.lifecycle import PART_BY_NAME
from ettlog.windows import instant

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Ints = NDArray[np.int64]

BEGIN = instant("2026-01-01")
SECOND = 1_000_000
DAY = 86_400 * SECOND
NEVER = 2**62
MOST_STARTS = 60
"""Starts after which a job is given up: no fleet of a study comes near."""


class Phase(NamedTuple):
    """One phase of a start: mean seconds in a first start and in a recovery (0: it has none), sigma of its logs."""

    part: str
    first: float
    again: float
    sigma: float


PHASES: tuple[Phase, ...] = (
    Phase("placement", 120, 60, 0.8),
    Phase("launch", 900, 600, 0.4),
    Phase("data_warmup", 300, 300, 0.4),
    Phase("compile", 700, 400, 0.5),
    Phase("restore", 0, 200, 0.5),
)
"""Phases in their order; a recovery begins with its hang, and ends with its replay."""
HANG, HANG_SIGMA = 400.0, 0.8


class Change(NamedTuple):
    """An optimization: the part it works on, and the shares it saves of a first start and of a recovery start."""

    part: str
    first: float
    again: float


class Plan(NamedTuple):
    """A fleet: `jobs` per model spread over `days`; work in hours, mean hours to a fault, minutes between saves.

    `spread` is the sigma of the logs of a job's work, and of a factor that all phases of a job share.
    """

    models: int = 12
    jobs: int = 60
    days: int = 120
    work: float = 24.0
    mttf: float = 12.0
    saves: float = 30.0
    spread: float = 0.5
    shared: float = 0.2
    shock: float = 0.0
    """Sigma of the logs of a factor that all starts of a day share; a day resembles the one before by a half."""
    dates: str = "staggered"
    """Rollouts: `staggered` over the middle third with a fifth of the models never treated, or `one` date for all."""


class World(NamedTuple):
    """What every start did: arrays over starts, in seconds; `phase` has a column per phase, `dead` died starting."""

    job: Ints
    k: Ints
    launched: Ints
    phase: Array
    hang: Array
    replay: Array
    step: Array
    dead: NDArray[np.bool_]


class Fleet(NamedTuple):
    """A simulated fleet: its ledger, the instant of each model's rollout, and the truth in GPU-hours.

    `saved` is the counterfactual saving; `direct` and `cascade` what the optimization saved of the phases that ran;
    `firsts` and `recoveries` the GPUs x starts that were treated, and `starts` and `dead` of all.
    """

    ledger: pl.DataFrame
    rollouts: dict[str, int]
    saved: float
    direct: float
    cascade: float
    firsts: int
    recoveries: int
    starts: int
    dead: int


class _Draws(NamedTuple):
    """Everything random of a fleet, in seconds: arrays over jobs, and over (start, job) or (start, job, phase)."""

    model: Ints
    gpus: Ints
    launched: Ints
    work: Array
    phase: Array
    hang: Array
    fault: Array


def simulate(seed: int, plan: Plan, changes: tuple[Change, ...]) -> Fleet:
    """Simulate a fleet with and without its optimizations; the same seed gives the same fleet."""
    rng = np.random.default_rng(seed)
    draws = _draw(rng, plan)
    cut = _cuts(changes)
    since = _rollouts(rng, plan)[draws.model]
    never = np.full(len(since), NEVER)
    now, without = (_run(draws, plan, cut, when) for when in (since, never))
    gpus = draws.gpus
    saved = _waste(without, gpus) - _waste(now, gpus)
    treated = now.launched >= since[now.job]
    firsts = now.k == 0
    base = draws.phase[now.k, now.job]
    whole = _ran(base * (1 - cut[np.minimum(now.k, 1)] * treated[:, None]), now)
    won = (base * cut[np.minimum(now.k, 1)] * whole) * treated[:, None] * gpus[now.job, None] / 3600
    model = np.array([f"m{index:03d}" for index in range(plan.models)])
    return Fleet(
        ledger=_ledger(now, draws, model),
        rollouts={name: int(at) for name, at in zip(model, _by_model(since, draws.model, plan.models), strict=True)},
        saved=saved,
        direct=float(won[firsts].sum()),
        cascade=float(won[~firsts].sum()),
        firsts=int(gpus[now.job][treated & firsts].sum()),
        recoveries=int(gpus[now.job][treated & ~firsts].sum()),
        starts=len(now.k),
        dead=int(now.dead.sum()),
    )


MEANS = np.array([[phase.first for phase in PHASES], [phase.again for phase in PHASES]])


def _cuts(changes: tuple[Change, ...]) -> Array:
    """Return the share saved of each phase: a row for first starts, one for recoveries."""
    names = [phase.part for phase in PHASES]
    cut = np.zeros((2, len(names)))
    for change in changes:
        cut[:, names.index(change.part)] = change.first, change.again
    return cut


def _draw(rng: np.random.Generator, plan: Plan) -> _Draws:
    jobs = plan.models * plan.jobs
    model = np.repeat(np.arange(plan.models), plan.jobs)
    gpus = rng.choice([8, 16, 32, 64], plan.models)[model]
    launched = BEGIN + (rng.random(jobs) * plan.days * DAY).astype(np.int64)
    shared = _lognormal(rng, np.ones(jobs), plan.shared) * _shocks(rng, plan)[(launched - BEGIN) // DAY]
    work = _lognormal(rng, np.full(jobs, plan.work * 3600), plan.spread)
    sigma = np.array([phase.sigma for phase in PHASES])
    mean = MEANS[np.minimum(np.arange(MOST_STARTS), 1)][:, None, :]
    phase = _lognormal(rng, np.broadcast_to(mean, (MOST_STARTS, jobs, len(PHASES))), sigma) * shared[None, :, None]
    hang = _lognormal(rng, np.full((MOST_STARTS, jobs), HANG), HANG_SIGMA)
    hang[0] = 0.0
    return _Draws(model, gpus, launched, work, phase, hang, rng.exponential(plan.mttf * 3600, (MOST_STARTS, jobs)))


def _shocks(rng: np.random.Generator, plan: Plan) -> Array:
    """Return the factor of each day: logs with an autocorrelation of one half."""
    days = np.zeros(plan.days + 1)
    for day in range(1, len(days)):
        days[day] = 0.5 * days[day - 1] + rng.normal() * np.sqrt(0.75)
    return np.asarray(np.exp(plan.shock * days - plan.shock**2 / 2))


def _lognormal(rng: np.random.Generator, mean: Array, sigma: float | Array) -> Array:
    """Draw with a given arithmetic mean."""
    return np.asarray(mean * np.exp(sigma * rng.standard_normal(mean.shape) - np.square(sigma) / 2))


def _rollouts(rng: np.random.Generator, plan: Plan) -> Ints:
    """Return the instant of each model's rollout; NEVER for models that get none."""
    if plan.dates == "one":
        return np.full(plan.models, BEGIN + plan.days * DAY // 2)
    at = BEGIN + (rng.uniform(1 / 3, 2 / 3, plan.models) * plan.days).astype(np.int64) * DAY
    at[: plan.models // 5] = NEVER
    return at


def _by_model(values: Ints, model: Ints, models: int) -> Ints:
    return np.array([values[model == index][0] for index in range(models)])


def _run(draws: _Draws, plan: Plan, cut: Array, since: Ints) -> World:
    """Run every job to its end: one round per start, over the jobs that still have work."""
    left, clock = draws.work.copy(), draws.launched.astype(np.float64)
    again = np.zeros(len(left))
    rounds: list[tuple[Ints, ...]] = []
    going = np.arange(len(left))
    for k in range(MOST_STARTS):
        at = clock[going]
        phase = draws.phase[k, going] * (1 - cut[min(k, 1)] * (at >= since[going])[:, None])
        fault, need = draws.fault[k, going], phase.sum(axis=1)
        # the hang comes before the launch in time and belongs to the recovery
        loop = np.minimum(np.maximum(fault - need, 0.0), again[going] + left[going])
        dead, done = fault <= need, fault >= need + again[going] + left[going]
        part = np.minimum(phase, np.maximum(fault[:, None] - (np.cumsum(phase, axis=1) - phase), 0.0))
        replay = np.minimum(loop, again[going])
        step = loop - replay
        rounds.append((going, np.full(len(going), k), at, part, draws.hang[k, going], replay, step, dead))  # type: ignore[arg-type]
        left[going] -= step
        # the start began at the last save, `again` below the high-water mark, and saved every so often
        again[going] += step - np.floor(loop / (plan.saves * 60)) * plan.saves * 60
        clock[going] = at + (part.sum(axis=1) + loop + draws.hang[min(k + 1, MOST_STARTS - 1), going]) * SECOND
        going = going[~done]
        if not len(going):
            break
    job, k_, launched, *rest = (np.concatenate(column) for column in zip(*rounds, strict=True))
    return World(job, k_, launched.astype(np.int64), *rest)


def _ran(phase: Array, world: World) -> Array:
    """Return which share of each phase ran: less than one where the start died in it."""
    return np.divide(world.phase, phase, out=np.zeros_like(phase), where=phase > 0)


def _waste(world: World, gpus: Ints) -> float:
    """Return GPU-hours held without new work."""
    return float(((world.phase.sum(axis=1) + world.hang + world.replay) * gpus[world.job]).sum()) / 3600


def _ledger(world: World, draws: _Draws, names: NDArray[np.str_]) -> pl.DataFrame:
    """Return the relation `ledger` of a world."""
    again = world.k > 0
    startup = np.where(again, "recovery", "first_start")
    found = [(phase.part, world.phase[:, index], startup) for index, phase in enumerate(PHASES)]
    found += [("hang", world.hang, startup), ("replay", world.replay, startup)]
    found += [("step", world.step, np.full(len(startup), "steady"))]
    gpus, model = draws.gpus[world.job], names[draws.model[world.job]]
    job = np.char.add(np.char.add(model, "-"), world.job.astype(str))
    keys = pl.DataFrame(
        {
            "job": job, "model": model, "start": world.k, "kind": np.where(again, "failure", "first"),
            "launched_us": world.launched, "gpus": gpus,
        }
    )  # fmt: skip
    return pl.concat([_rows(keys, part, seconds, stage) for part, seconds, stage in found])


def _rows(keys: pl.DataFrame, name: str, seconds: Array, stage: NDArray[np.str_]) -> pl.DataFrame:
    part, us = PART_BY_NAME[name], np.rint(seconds * SECOND).astype(np.int64)
    amount = pl.Series("us", us)
    rows = keys.with_columns(amount, pl.Series("stage", stage)).filter(pl.col("us") > 0)
    text = {"platform": "", "cluster": "c", "part": name, "component": part.component, "owner": part.owner}
    words = [pl.lit(value).alias(key) for key, value in (*text.items(), ("role", part.role))]
    times = [pl.col("us").alias("allocated_us"), (pl.col("us") * pl.col("gpus")).alias("gpu_us")]
    made = rows.with_columns(*words, *times, pl.lit(1).cast(pl.Int64).alias("events"))
    return made.with_columns(pl.col("gpu_us").alias("allocated_gpu_us")).select(COLUMNS)


COLUMNS = (
    "job", "model", "platform", "cluster", "start", "kind", "component", "part", "stage", "owner", "role",
    "launched_us", "us", "gpu_us", "allocated_us", "allocated_gpu_us", "events",
)  # fmt: skip
