"""The restart-cascade model as pure functions: what a saved second of a start is worth when a job starts 1 + NoF
times.

All functions take numbers or numpy arrays of one shape and return the same. Times may have any unit as long as it is
one unit; counts are counts. Symbols: NoF = recoveries of a job; TTS = time to start; TTR = time to recover; E =
effective time; W = wall time.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from ettlog.summing import exact_sum

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T", float, "NDArray[np.float64]")
"""A number, or an array of numbers."""


def direct(first_before: T, first_after: T) -> T:
    """Return the saving on one first start: d0 before minus d0 after."""
    return first_before - first_after


def cascade(recoveries: T, restart_before: T, restart_after: T) -> T:
    """Return the measured saving in recoveries: NoF x (time per recovery start before - after)."""
    return recoveries * (restart_before - restart_after)


def bound(recoveries: T, first_saving: T) -> T:
    """Return what recoveries would save if each repeated the first start: NoF x direct.

    It is an upper bound only while the pass-through is at most one; direct + bound = (1 + NoF) x direct.
    """
    return recoveries * first_saving


def pass_through(first_saving: T, restart_saving: T) -> T:
    """Return phi, the saving per recovery start over the saving per first start.

    Below one where restarts were warm already, above one where the restart path was the slower one. Raises
    ZeroDivisionError for numbers whose first start saved nothing: then there is no bound to compare with.
    """
    return restart_saving / first_saving


def recovery_only(recoveries: T, ttr_saving: T, tts_saving: T) -> T:
    """Return Q = NoF x (dTTR - dTTS): what recoveries saved and a repeated start cannot explain."""
    return recoveries * (ttr_saving - tts_saving)


def factor(recoveries: T) -> T:
    """Return 1 + NoF, by which a saving in the start path grows at a pass-through of one."""
    return 1.0 + recoveries


def fleet_factor(savings: Sequence[float], recoveries: Sequence[float]) -> float:
    """Return the fleet's factor: 1 + mean NoF of the jobs, weighted by the direct saving of each.

    `savings` and `recoveries` hold one number a job. Sum((1 + N) D) / sum(D): a job that fails more carries more
    credit.
    """
    grown = exact_sum(factor(n) * saving for n, saving in zip(recoveries, savings, strict=True))
    return grown / exact_sum(savings)


class Tiers(NamedTuple, Generic[T]):
    """An exact split of the change of n1 a1 + nR aR between two periods; the four add up to before - after."""

    direct: T
    cascade: T
    workload: T
    failure_count: T


def tiers(firsts: tuple[T, T], first_time: tuple[T, T], recoveries: tuple[T, T], restart_time: tuple[T, T]) -> Tiers[T]:
    """Split a component's saving into direct, cascade, workload and failure count, each pair being (before, after).

    Kitagawa's two-factor form: the change of one factor weighted with the mean of the other over both periods.
    """
    mean_firsts, mean_recoveries = sum(firsts) / 2, sum(recoveries) / 2
    return Tiers(
        direct=mean_firsts * (first_time[0] - first_time[1]),
        cascade=mean_recoveries * (restart_time[0] - restart_time[1]),
        workload=sum(first_time) / 2 * (firsts[0] - firsts[1]),
        failure_count=sum(restart_time) / 2 * (recoveries[0] - recoveries[1]),
    )


def wall(effective: T, tts: T, ttr: T, rate: T) -> T:
    """Return the expected wall time when failures come at `rate` per unit of wall: (E + TTS) / (1 - rate x TTR)."""
    return (effective + tts) / (1.0 - rate * ttr)


class Exposure(NamedTuple, Generic[T]):
    """A saving per start at a constant failure rate: `direct`, `cascade` at the old count, `exposure` on top
    (modelled).
    """

    direct: T
    cascade: T
    exposure: T
    total: T


def exposure(effective: T, tts: T, ttr: T, rate: T, saving: T) -> Exposure[T]:
    """Return what `saving` per start and per recovery is worth when a shorter run also meets fewer failures.

    A model, no measurement: in a fleet the third term shows up in the failure count, so it is never added to the
    ledger.
    """
    before = wall(effective, tts, ttr, rate)
    total = before - wall(effective, tts - saving, ttr - saving, rate)
    repeated = rate * before * saving
    return Exposure(direct=saving, cascade=repeated, exposure=total - saving - repeated, total=total)


def ett_formula(tts: T, recoveries: T, ttr: T, wall_time: T) -> T:
    """Return the formula view of ETT, 1 - (TTS + NoF x TTR) / W: shutdown and save stalls are in neither term."""
    return 1.0 - (tts + recoveries * ttr) / wall_time


def saved_at_fixed_wall(ett_before: T, ett_after: T, wall_time: T) -> T:
    """Return the time won inside the same wall time, (ETT after - ETT before) x W: the reading of time-boxed runs."""
    return (ett_after - ett_before) * wall_time


def saved_at_fixed_work(ett_before: T, ett_after: T, effective: T) -> T:
    """Return the wall time the same work no longer needs, E x (1/ETT before - 1/ETT after): the capacity planner's
    reading.
    """
    return effective * (1.0 / ett_before - 1.0 / ett_after)


def start_cost(starts: T, time_per_start: T, gpus: T) -> T:
    """Return the GPU time that starts cost: starts x time per start x GPUs held meanwhile."""
    return starts * time_per_start * gpus


def start_phase(compile_time: T, warmup: T, overlap: bool) -> T:
    """Return the wall time of compile and data warm-up: their sum one after the other, the longer one side by
    side.
    """
    if not overlap:
        return compile_time + warmup
    return (compile_time + warmup + abs(compile_time - warmup)) / 2


class Launch(NamedTuple):
    """One start of a job in wall time: `cost` until its first new step, then a loop of which `effective` is new work
    and `lost` is not, then `shutdown` before the next start is asked for.
    """

    cost: float
    effective: float
    lost: float
    shutdown: float
    recovery: bool
    """Whether it was made by a failure or a preemption; other restarts come when they came."""


MOST_ROUNDS = 50
"""Times the observed faults are repeated before a job is called one that never ends."""


def replay(
    now: Sequence[Launch], then: Sequence[Launch], failures: float = 1.0, work: float = 1.0
) -> tuple[float, int]:
    """Return the wall time of the same work under the observed faults, and the recoveries met: a model.

    `now` are the observed starts, `then` the same ones with changed costs. Faults strike at their observed instants of
    held time, divided by `failures` (0.5: half as often); where the job runs past them they come again at the same
    rate. `work` scales the work. A fault during a start cuts it short. Infinite where the job never ends.
    """
    pace, left, clock, met, at = _paces(then), work * exact_sum(one.effective for one in now), then[0].cost, 0, 0
    faults = _faults(now, failures, math.ceil(MOST_ROUNDS * max(work, 1.0)))
    for instant, k in faults:
        if (done := pace[at] * max(instant - clock, 0.0)) >= left * (1 - 1e-12):
            break
        left -= done
        clock, at, met = instant + then[k - 1].shutdown + then[k].cost, k, met + now[k].recovery
    else:
        if faults or (left > 0 and pace[at] == 0):
            return math.inf, met
    return clock + (left / pace[at] if left > 0 else 0.0) + then[-1].shutdown, met


def _paces(launches: Sequence[Launch]) -> list[float]:
    """Return new work per loop time of each start; a start that has no loop runs at the pace of the job."""
    effective, lost = (exact_sum(getattr(one, name) for one in launches) for name in ("effective", "lost"))
    mean = effective / (effective + lost) if effective else 0.0
    return [one.effective / (one.effective + one.lost) if one.effective else mean for one in launches]


def _faults(launches: Sequence[Launch], failures: float, rounds: int) -> list[tuple[float, int]]:
    """Return (instant, number of the start it makes) in order, the observed sequence repeated in rounds."""
    found: list[tuple[float, int]] = []
    clock = 0.0
    for k, one in enumerate(launches):
        if k:
            found.append((clock, k))
        clock += one.cost + one.effective + one.lost + one.shutdown
    rates = [failures if launches[k].recovery else 1.0 for _, k in found]
    times = [instant - launches[k - 1].shutdown for instant, k in found]
    rows = [
        ((instant + clock * turn) / rate, k)
        for (_, k), instant, rate in zip(found, times, rates, strict=True)
        for turn in range(rounds)
        if rate > 0
    ]
    return sorted(rows)
