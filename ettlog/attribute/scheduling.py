"""What the scheduler's luck adds to the noise of a comparison, and the comparison without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ettlog.attribute import uncertainty
from ettlog.lifecycle import COMPONENTS, PART_BY_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ettlog.attribute.engine import Work
    from ettlog.attribute.uncertainty import Interval

    Array = NDArray[np.float64]

SCHEDULING = COMPONENTS[0]
FEWEST = 5
"""Jobs on each side from which on their noise can be divided."""


class Side(NamedTuple):
    """Jobs of one side in GPU time: effective, wall held, scheduling inside it; arrays (jobs)."""

    effective: Array
    wall: Array
    scheduling: Array


def theta(sides: tuple[Side, Side]) -> float:
    """Return by how many points of ETT a point of scheduling time moves a job, pooled within sides, weighed by wall."""
    above = below = 0.0
    for side in sides:
        y, x = side.effective / side.wall, side.scheduling / side.wall
        centred = x - np.average(x, weights=side.wall)
        above += float((side.wall * centred * (y - np.average(y, weights=side.wall))).sum())
        below += float((side.wall * centred**2).sum())
    return above / below if below > 0 else 0.0


class Views(NamedTuple):
    """The gain of ETT (ratios, not points) as it is, with scheduling noise taken out, and without scheduling time."""

    raw: Interval
    adjusted: Interval
    excluding: Interval


def views(before: Side, after: Side) -> Views:
    """Return three views of one gain with Welch's intervals over jobs.

    The control variate E - theta x S keeps what is estimated and narrows it; dropping scheduling from the wall
    estimates another thing, and says so by its name.
    """
    slope = theta((before, after))
    raw = uncertainty.ratio_difference(before.effective, before.wall, after.effective, after.wall)
    calm = [side.effective - slope * side.scheduling for side in (before, after)]
    level = sum(float(side.scheduling.sum()) for side in (before, after)) / sum(
        float(side.wall.sum()) for side in (before, after)
    )
    adjusted = uncertainty.ratio_difference(
        calm[0] + slope * level * before.wall, before.wall, calm[1] + slope * level * after.wall, after.wall
    )
    inner = [side.wall - side.scheduling for side in (before, after)]
    return Views(raw, adjusted, uncertainty.ratio_difference(before.effective, inner[0], after.effective, inner[1]))


def shares(work: Work) -> dict[str, float]:
    """Return each component's share of the variance of overhead per effective hour over jobs; they add up to one."""
    stats = work.panel.stats[work.panel.stats[:, 0] > 0].astype(np.float64)
    parts: dict[str, Array] = {}
    for index, cell in enumerate(work.panel.cells):
        name = PART_BY_NAME[cell.part].component
        column = stats[:, 2 + len(work.panel.drivers) + index] / stats[:, 0]
        parts[name] = parts.get(name, np.zeros(len(stats))) + column
    if len(stats) < 2 or np.ptp(np.sum(list(parts.values()), axis=0)) == 0:
        return {}
    return uncertainty.variance_shares(parts)


def sides(work: Work) -> tuple[Side, Side]:
    """Return the jobs of all models' first and last periods."""
    panel = work.panel
    base = 2 + len(panel.drivers)
    mine = [base + i for i, cell in enumerate(panel.cells) if PART_BY_NAME[cell.part].component == SCHEDULING]
    found = []
    for end in (0, 1):
        rows = panel.stats[np.isin(panel.slot, [slots[end] for slots in work.links.ends.values()])].astype(np.float64)
        rows = rows[rows[:, 1] > 0]
        found.append(Side(rows[:, 0], rows[:, 1], rows[:, mine].sum(axis=1)))
    return found[0], found[1]


def sentences(work: Work) -> Iterator[str]:
    """Yield the scheduler's share of the noise, and the gain without it; nothing for few jobs or no scheduling time."""
    before, after = sides(work)
    if min(len(before.wall), len(after.wall)) < FEWEST or not (before.scheduling.any() or after.scheduling.any()):
        return
    share = shares(work).get(SCHEDULING, 0.0)
    found = views(before, after)
    yield (
        f"ETT of survivors {_said(found.raw)} (95 %, Welch over jobs); scheduling makes {100 * share:.1f} % of the "
        "variance of overhead over jobs"
    )
    if _optimized(work):
        yield "scheduling itself rolled out an optimization here: its noise cannot be taken out of the gain"
    else:
        yield f"excluding scheduling noise (control variate): {_said(found.adjusted)}"
    yield f"excluding scheduling time from the wall, another measure: {_said(found.excluding)}"


def _optimized(work: Work) -> bool:
    """Tell whether an optimization of scheduling rolled out in the window: then it is signal, not noise."""
    names = frozenset().union(*work.links.names)
    mine = [item for item in work.registry.optimizations if item.name in names]
    return any(PART_BY_NAME[part].component == SCHEDULING for item in mine for part in item.parts)


def _said(found: Interval) -> str:
    return f"{100 * found.estimate:+.1f} points, {100 * found.low:.1f} to {100 * found.high:.1f}"
