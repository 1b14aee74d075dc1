"""What a change of level is to its owner: matched to rollouts, sized in GPU-hours, folded into the fleet's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ettlog.alerts.series import DAY, EFFECTIVE, FLEET
from ettlog.attribute.changes import NEAR_DAYS
from ettlog.attribute.frames import GPU_HOUR

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ettlog.alerts.levels import Shift
    from ettlog.alerts.series import Series
    from ettlog.registry import Registry

REGRESSION, WIN, CONFIRMED, BURN = "regression", "unregistered win", "confirmed effect", "slo burn"
SMALLEST = 0.05
"""Changes by a smaller share of the level before are not told: certain, perhaps, and nothing to get up for."""
MOST = 0.5
"""Share of a fleet's change above which one model has it all, and the fleet's row says nothing more."""


class Edge(NamedTuple):
    """One day on which an optimization began or ended for a model, and the parts it works on."""

    model: str
    day: int
    name: str
    parts: frozenset[str]


def edges(registry: Registry, units: Iterable[tuple[str, str]]) -> list[Edge]:
    """Return the rollouts of the registry for the (model, platform) pairs there are, by model, day and name."""
    found = {
        Edge(model, instant // DAY, one.name, one.parts)
        for model, platform in units
        for one in registry.optimizations
        for instant in one.boundaries(model, platform)
    }
    return sorted(found, key=lambda edge: (edge.model, edge.day, edge.name))


def rollout(rollouts: list[Edge], series: Series, shift: Shift, parts: frozenset[str]) -> tuple[str, bool]:
    """Return the optimization that rolled out nearest to a change, and whether it declares one of these parts.

    It has to lie within seven days of the change, or where the change may have been at 95 %. One that declares the
    part goes before one that does not: the latter may have had a side effect. Nothing and False where none is near.
    """
    first, last = place(series, shift)
    day = int(series.day[shift.at])
    near = [
        (not edge.parts & parts, abs(edge.day - day), edge.name)
        for edge in rollouts
        if series.model in (edge.model, FLEET) and first <= edge.day <= last
    ]
    return (min(near)[2], not min(near)[0]) if near else ("", False)


def place(series: Series, shift: Shift) -> tuple[int, int]:
    """Return the first and the last day on which a change may have been, at least seven days to either side."""
    day = int(series.day[shift.at])
    low, high = max(shift.at - shift.near, 0), min(shift.at + shift.near, len(series.day) - 1)
    return min(int(series.day[low]), day - NEAR_DAYS), max(int(series.day[high]), day + NEAR_DAYS)


def row(series: Series, shift: Shift, near: tuple[str, bool]) -> dict[str, Any]:
    """Return a change as a row, with the rollout near it: levels in GPU-seconds per event, GPU-hours lost since."""
    before, after = (_level(series, a, b) for a, b in ((shift.begin, shift.at), (shift.at, shift.end)))
    events = series.events[shift.at : shift.end].sum()
    lost = float(series.amount[shift.at : shift.end].sum() - before * events) / GPU_HOUR
    per_second = 1.0 if series.per == EFFECTIVE else 1e6
    kind = REGRESSION if after > before else CONFIRMED if near[1] else WIN
    newest = _level(series, max(len(series.day) - (shift.end - shift.at), shift.at), len(series.day))
    still = kind == REGRESSION and newest > (before + after) / 2
    return {
        "kind": kind, "fires": still, "owner": series.owner, "component": series.component, "model": series.model,
        "per": series.per, "since_us": int(series.day[shift.at]) * DAY, "before": before / per_second,
        "after": after / per_second, "change": after / before - 1 if before else None,
        "lost_gpu_hours": lost, "events": None if series.per == EFFECTIVE else int(events),
        "found_by": shift.found_by, "p": shift.p, "rollout": near[0], "declares": near[1],
        "place": place(series, shift),
    }  # fmt: skip


def _level(series: Series, begin: int, end: int) -> float:
    return float(series.amount[begin:end].sum() / series.events[begin:end].sum())


def worth(row: dict[str, Any]) -> bool:
    """Tell whether a change is large enough to be told, and its means move the way its logarithms said."""
    change = row["change"]
    return change is None or abs(change) >= SMALLEST


def folded(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows without those that another one says already.

    A change of the whole fleet takes in the like changes of its models that may have been on the same day, and counts
    them, unless one of them is the larger part of it: then that model's row stands alone.
    """
    kept, taken = [], set()
    for whole in (one for one in rows if one["model"] == FLEET):
        same = [i for i, one in enumerate(rows) if one["model"] != FLEET and _like(one, whole)]
        largest = max((abs(rows[i]["lost_gpu_hours"]) for i in same), default=0.0)
        if largest > MOST * abs(whole["lost_gpu_hours"]):
            continue
        taken.update(same)
        kept.append(whole | {"models": len(same)})
    return kept + [one | {"models": 1} for i, one in enumerate(rows) if one["model"] != FLEET and i not in taken]


def _like(one: dict[str, Any], whole: dict[str, Any]) -> bool:
    names = ("component", "owner", "per")
    near = one["place"][0] <= whole["since_us"] // DAY <= one["place"][1]
    return near and all(one[name] == whole[name] for name in names) and (one["after"] > one["before"]) == (
        whole["after"] > whole["before"]
    )  # fmt: skip


def q_values(p: list[float], tests: int) -> list[float]:
    """Return the q of the p values found among so many tests; those that found nothing count as certain of nothing."""
    from ettlog.attribute.uncertainty import benjamini_hochberg

    if not p:
        return []
    padded = np.ones(max(tests, len(p)))
    padded[: len(p)] = p
    return [float(q) for q in benjamini_hochberg(padded)[: len(p)]]
