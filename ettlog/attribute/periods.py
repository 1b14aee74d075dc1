"""Periods of a unit (a model on a platform): cut where an optimization of the registry begins or ends for it."""

from __future__ import annotations

import statistics
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from ettlog import windows

if TYPE_CHECKING:
    from ettlog.registry import Registry
    from ettlog.windows import Window

NEVER = 2**62
"""An instant later than all."""


class Unit(NamedTuple):
    """A model on a platform: the cell of the fleet whose periods are compared."""

    model: str
    platform: str


class Cut(NamedTuple):
    """An instant that ends one period and begins the next, with the optimizations that begin or end there."""

    at_us: int
    names: frozenset[str]


class Plan(NamedTuple):
    """Where each unit is cut, and on what ground (`rollout`, `median rollout date`, `middle of the window`)."""

    cuts: dict[Unit, tuple[Cut, ...]]
    ground: dict[Unit, str]


def plan(units: list[Unit], registry: Registry, window: Window, chain: str = "rollouts") -> Plan:
    """Cut every unit inside the window: at its own rollouts, or without any at the median rollout date of the others.

    Without a rollout anywhere in the window all units are cut in its middle. `chain` = `monthly` cuts at the beginning
    of every month as well, where nothing rolled out.
    """
    own = {unit: _own(unit, registry, window) for unit in units}
    dates = sorted(cut.at_us for cuts in own.values() for cut in cuts)
    common = int(statistics.median_low(dates)) if dates else (window.since_us + window.until_us) // 2
    ground = "median rollout date" if dates else "middle of the window"
    months = _months(window) if chain == "monthly" else []
    return Plan(
        cuts={unit: _merged(cuts or (Cut(common, frozenset()),), months) for unit, cuts in own.items()},
        ground={unit: "rollout" if cuts else ground for unit, cuts in own.items()},
    )


def _own(unit: Unit, registry: Registry, window: Window) -> tuple[Cut, ...]:
    edges = registry.boundaries(unit.model, unit.platform)
    return tuple(Cut(at, names) for at, names in edges.items() if window.since_us < at < window.until_us)


def _merged(cuts: tuple[Cut, ...], months: list[int]) -> tuple[Cut, ...]:
    taken = {cut.at_us for cut in cuts}
    return tuple(sorted((*cuts, *(Cut(at, frozenset()) for at in months if at not in taken))))


def _months(window: Window) -> list[int]:
    """Return the beginnings of the calendar months inside a window, UTC."""
    begin = windows.moment(window.since_us)
    found: list[int] = []
    year, month = begin.year, begin.month
    while True:
        year, month = (year + 1, 1) if month == 12 else (year, month + 1)
        at = windows.instant(f"{year:04d}-{month:02d}-01")
        if at >= window.until_us:
            return found
        found.append(at)


class Chain(NamedTuple):
    """The periods of a unit that hold exposure, in order; `joins[i]` are the cuts passed between period i and i + 1.

    `first` and `last` tell whether the unit was there at the beginning (before its first cut) and at the end.
    """

    periods: tuple[tuple[int, ...], ...]
    joins: tuple[frozenset[str], ...]
    first: bool
    last: bool


def chain(cuts: tuple[Cut, ...], exposure: list[int]) -> Chain:
    """Join the periods of a unit that have no exposure to their earlier neighbour (a leading one to the next).

    `exposure[i]` is the exposure of period i, of which there are len(cuts) + 1; a negative one means that no start
    was launched in the period at all. A join carries the names of every cut between the periods it connects: what
    rolled out with no start in between cannot be told apart.
    """
    groups: list[list[int]] = []
    pending: list[int] = []
    for index, amount in enumerate(exposure):
        if amount > 0:
            groups.append([*pending, index])
            pending = []
        elif amount == 0 and groups:
            groups[-1].append(index)
        elif amount == 0:
            pending.append(index)
    if not groups and pending:
        groups = [pending]
    anchors = [
        next(i for i in group if exposure[i] > 0) if any(exposure[i] > 0 for i in group) else group[0]
        for group in groups
    ]
    joins = tuple(frozenset().union(*(cut.names for cut in cuts[a:b])) for a, b in pairwise(anchors))
    return Chain(
        periods=tuple(tuple(group) for group in groups),
        joins=joins,
        first=bool(anchors) and anchors[0] == 0,
        last=bool(anchors) and anchors[-1] > 0,
    )


def ends(made: Chain) -> Chain:
    """Return a chain of its first and last period only; all that rolled out in between is told of at the one join."""
    if len(made.periods) < 3:
        return made
    names = frozenset().union(*made.joins)
    return made._replace(periods=(made.periods[0], made.periods[-1]), joins=(names,))
