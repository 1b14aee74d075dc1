"""How much of each saving comes when: events since the rollout, saving a day at the end, saving since the rollout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ettlog.attribute import credit, frames, rivals, tiers
from ettlog.attribute.choices import DAY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ettlog.attribute.engine import Work

    Array = NDArray[np.float64]


def executions(work: Work) -> dict[credit.Row, int]:
    """Count for every claimed row the events after its rollout in the window: starts of its kinds, shutdowns.

    Steady work has no count of its own.
    """
    panel, made, counts = work.panel, work.links, work.panel.totals()
    column = {name: 2 + index for index, name in enumerate(panel.drivers)}
    seen: dict[credit.Row, set[tuple[int, str]]] = {}
    for link, unit in enumerate(made.unit):
        last = made.ends[unit][1]
        for index, cell in enumerate(panel.cells):
            row = work.book.rows[work.book.amount[link, index]]
            if row.optimization and cell.driver != tiers.EXPOSURE:
                later = {(slot, cell.driver) for slot in range(made.after[link], last + 1)}
                seen.setdefault(row, set()).update(later)
    return {row: int(sum(counts[slot, column[driver]] for slot, driver in found)) for row, found in seen.items()}


def rows(work: Work) -> tuple[Array, Array]:
    """Return by row of the book (GPU-hours saved a day in the last period, GPU-hours saved since the rollout).

    Only claimed amounts: events that came x saving per event. Neither is the ledger's figure, which weighs a saving
    with the mean of the events before and after.
    """
    gain = _gains(work)
    counts, after, last, later = _events(work)
    scale = np.where(after > 0, counts / np.where(after > 0, after, 1.0), 0.0)
    days = np.array([_days(work, unit) for unit in work.links.unit])[:, None]
    where, size = work.book.amount.ravel(), len(work.book.rows)
    daily, since = (gain * scale * events / frames.GPU_HOUR for events in (last / days, later))
    return tuple(np.bincount(where, weights=part.ravel(), minlength=size) for part in (daily, since))  # type: ignore[return-value]


def _gains(work: Work) -> Array:
    """Return the saving per event by link and cell, successive claims on one place sharing as chosen."""
    made = work.change
    gain = made.amounts[0][0] - made.amounts[1][0]
    for group in work.rivals if work.choices.split == "shapley" else ():
        found = rivals.parts(made, group)
        gain[group.links, group.cells[:, None]] += (found.shapley - found.rolled_out)[0]
    return np.asarray(gain)


def _events(work: Work) -> tuple[Array, Array, Array, Array]:
    """Return by link and cell: the count used after the link, and its driver in that period, the last, and all later.

    Where shutdowns were counted as starts, the driver only says how many of them each period had.
    """
    panel, made = work.panel, work.links
    totals = panel.totals().astype(np.float64)
    place = {name: 2 + index for index, name in enumerate(panel.drivers)}
    place[tiers.EXPOSURE] = 1 if work.choices.basis == "wall" else 0
    driver = totals[:, [place[cell.driver] for cell in panel.cells]]
    sums = np.concatenate([np.zeros_like(driver[:1]), np.cumsum(driver, axis=0)])
    ends = [made.ends[unit][1] for unit in made.unit]
    later = sums[np.array(ends) + 1] - sums[made.after]
    return work.change.counts[1][0], driver[made.after], driver[ends], later


def _days(work: Work, unit: int) -> float:
    """Return the length of a unit's last period in days: from its last cut that a period begins with."""
    chain, cuts = work.panel.chains[unit], work.panel.plan.cuts[work.panel.units[unit]]
    first = chain.periods[-1][0]
    begin = cuts[first - 1].at_us if first else work.window.since_us
    return max((work.window.until_us - begin) / DAY, 1e-9)
