"""The choices of an attribution, each with the words a result states it in."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ettlog import windows
from ettlog.attribute.methods import METHODS
from ettlog.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ettlog.attribute.methods import Effects, Factors
    from ettlog.windows import Window

BASES = {
    "work": "per effective GPU-hour",
    "wall": "per GPU-hour held (time-boxed)",
}
BASELINES = {
    "first": "all before each model's first rollout",
    "pre-rollout": "the 28 days before each model's first rollout",
}
"""Named baselines; `FROM..TO` is a third."""
CHAINS = {
    "rollouts": "period by period, cut at each model's own rollouts",
    "none": "first period against last, what lies between left out",
    "monthly": "month by month, and at each rollout",
}
SPLITS = {
    "shapley": "successive optimizations of one place share it by Shapley over all orders",
    "rollout": "successive optimizations of one place share it as the calendar ordered them",
}
CLUSTERS = {
    "job": "jobs drawn within model and period",
    "model": "models drawn, with all their jobs",
    "week": "weeks drawn, with all that was launched in them",
    "model+week": "models and weeks drawn, crossed",
}
PRE_ROLLOUT_DAYS = 28
DAY = 86_400_000_000


class Choices(NamedTuple):
    """How an attribution is made; the defaults are those of `ettlog attribute`."""

    basis: str = "work"
    method: Callable[[Factors, Factors], Effects] = METHODS[0]
    seed: int = 0
    replicates: int = 400
    split: str = "shapley"
    cluster: str = "job"
    baseline: str = "first"
    chain: str = "rollouts"


def check(chosen: Choices) -> None:
    """Refuse a choice that is none; raises UsageError naming the option and what it may be."""
    known = (("basis", BASES), ("split", SPLITS), ("cluster", CLUSTERS), ("chain", CHAINS))
    for name, words in known:
        value = getattr(chosen, name)
        if value not in words:
            raise _unknown(name, value, ", ".join(words))
    if chosen.baseline not in BASELINES and ".." not in chosen.baseline:
        raise _unknown("baseline", chosen.baseline, ", ".join([*BASELINES, "FROM..TO"]))


def method(name: str) -> Callable[[Factors, Factors], Effects]:
    """Return a method of decomposition by its name; raises UsageError."""
    known = {one.__name__: one for one in METHODS}
    if name not in known:
        raise _unknown("method", name, ", ".join(known))
    return known[name]


def _unknown(name: str, value: str, known: str) -> UsageError:
    return UsageError(
        f"{value!r} is not a {name}", where=f"--{name}", why=f"known are {known}", todo="choose one of them"
    )


def baseline_span(chosen: str, window: Window) -> tuple[int, int] | None:
    """Return the instants [since, until) of a baseline written FROM..TO; None for a named one; raises UsageError."""
    if chosen in BASELINES:
        return None
    since, _, until = chosen.partition("..")
    span = windows.resolve(window.until_us - 1, oldest_us=window.since_us, since=since or None, until=until or None)
    return span.since_us, span.until_us


def baseline_text(chosen: str) -> str:
    """Return what a result was compared with, in words."""
    return BASELINES.get(chosen) or f"each model's time in [{chosen.replace('..', ', ')}), before its first rollout"
