"""The exact decomposition: overhead of the fleet before and after, split by link, cell and factor, for many
replicates at once.

Overhead o = U / X: GPU time that was not exposure-making per unit of exposure X. In a unit u with share s of the
survivors' exposure, o = sum over cells of s r a with r = events per exposure and a = GPU time per event. A unit is
compared along its chain of periods; its share moves from the first to the last period in equal steps, so that the
links add up to the whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ettlog.attribute.methods import Effects, Factors
from ettlog.attribute.tiers import EXPOSURE, SHUTDOWNS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ettlog.attribute.panel import Panel

    Array = NDArray[np.float64]


class Links(NamedTuple):
    """The comparisons of a fleet: link i leads from period `before[i]` to `after[i]` of unit `unit[i]`.

    `step` is (from, to) along the unit's chain as shares of it; `names` what rolled out in between. `entrants` and
    `leavers` are (unit, period) of units without a counterpart.
    """

    unit: list[int]
    before: list[int]
    after: list[int]
    step: list[tuple[float, float]]
    names: list[frozenset[str]]
    ends: dict[int, tuple[int, int]]
    entrants: list[tuple[int, int]]
    leavers: list[tuple[int, int]]


def links(panel: Panel) -> Links:
    """Connect the periods of every unit in order; a unit with one period only is an entrant or a leaver."""
    made = Links([], [], [], [], [], {}, [], [])
    for unit, chain in enumerate(panel.chains):
        base, length = panel.first_slot[unit], len(chain.periods)
        if length == 1:
            (made.leavers if chain.first else made.entrants).append((unit, base))
            continue
        made.ends[unit] = (base, base + length - 1)
        for index in range(length - 1):
            made.unit.append(unit)
            made.before.append(base + index)
            made.after.append(base + index + 1)
            made.step.append((index / (length - 1), (index + 1) / (length - 1)))
            made.names.append(chain.joins[index])
    return made


class Change(NamedTuple):
    """What changed, per replicate (leading axis R); overhead is per exposure, a positive number is a saving.

    `effects` holds arrays (R, links, cells), `bound_weight` the Das Gupta weight of the amount in the same shape,
    `entry` and `exit` arrays (R, entrants) and (R, leavers), `tilt` the correction of the mix by link (R, links),
    which sums to zero.
    """

    effects: Effects
    amounts: tuple[Array, Array]
    counts: tuple[Array, Array]
    bound_weight: Array
    tilt: Array
    entry: Array
    exit: Array
    overhead: tuple[Array, Array]
    exposure: tuple[Array, Array]


def change(
    panel: Panel, made: Links, totals: Array, basis: str, method: Callable[[Factors, Factors], Effects]
) -> Change:
    """Split the change of overhead for totals of shape (R, periods, columns)."""
    exposed = totals[..., 1 if basis == "wall" else 0]
    wasted = totals[..., 1] - totals[..., 0]
    own, fleet, sums = _ends(made, exposed, wasted)
    s0, s1 = _shares(made, exposed, sums)
    before, after, counts = _factors(panel, made, totals, exposed, (s0, s1))
    effects = method(before, after)
    return Change(
        effects=Effects(*(-part for part in effects)),
        amounts=(before.amount, after.amount),
        counts=counts,
        bound_weight=_product_weight(before, after),
        tilt=(own[0] + own[1])[:, None] / 2 * (s1 - s0),
        entry=_against(made.entrants, exposed, wasted, own[1], -1 / fleet[1][1]),
        exit=_against(made.leavers, exposed, wasted, own[0], 1 / fleet[0][1]),
        overhead=(fleet[0][0] / fleet[0][1], fleet[1][0] / fleet[1][1]),
        exposure=(fleet[0][1], fleet[1][1]),
    )


def _ends(made: Links, exposed: Array, wasted: Array) -> tuple[list[Array], list[tuple[Array, Array]], list[Array]]:
    """Return per side the survivors' overhead, the fleet's (wasted, exposure), and the survivors' exposure."""
    own: list[Array] = []
    fleet: list[tuple[Array, Array]] = []
    sums: list[Array] = []
    for side, others in ((0, made.leavers), (1, made.entrants)):
        slots = [ends[side] for ends in made.ends.values()]
        waste, held = wasted[:, slots].sum(axis=1), exposed[:, slots].sum(axis=1)
        other = [slot for _, slot in others]
        own.append(waste / held)
        fleet.append((waste + wasted[:, other].sum(axis=1), held + exposed[:, other].sum(axis=1)))
        sums.append(held)
    return own, fleet, sums


def _against(others: list[tuple[int, int]], exposed: Array, wasted: Array, own: Array, scale: Array) -> Array:
    """Return what units without a counterpart add against the survivors of their side, w (o - o_survivors), per unit.

    Melitz and Polanec: survivors, entry and exit add up to the fleet's change. Written with GPU time, so that a unit
    that never trained (exposure zero, overhead without end) has its finite share as well.
    """
    slots = [slot for _, slot in others]
    return (wasted[:, slots] - exposed[:, slots] * own[:, None]) * scale[:, None]


def _shares(made: Links, exposed: Array, sums: list[Array]) -> tuple[Array, Array]:
    """Return each link's share of the survivors' exposure before and after it."""
    first, last = ([made.ends[unit][side] for unit in made.unit] for side in (0, 1))
    share0, share1 = exposed[:, first] / sums[0][:, None], exposed[:, last] / sums[1][:, None]
    low, high = (np.array([step[side] for step in made.step], dtype=np.float64) for side in (0, 1))
    return share0 + (share1 - share0) * low, share0 + (share1 - share0) * high


def _factors(
    panel: Panel, made: Links, totals: Array, exposed: Array, shares: tuple[Array, Array]
) -> tuple[Factors, Factors, tuple[Array, Array]]:
    first = 2 + len(panel.drivers)
    n0, n1 = (_counts(panel, totals, exposed, slots) for slots in (made.before, made.after))
    n0, n1 = _shutdown_fallback(panel, totals, made, n0, n1)
    u0, u1 = (totals[:, slots, first:] for slots in (made.before, made.after))
    a0, a1 = _amounts(u0, n0, u1, n1)
    x0, x1 = (exposed[:, slots, None] for slots in (made.before, made.after))
    s0, s1 = (np.broadcast_to(share[..., None], a0.shape) for share in shares)
    return Factors(s0, n0 / x0, a0), Factors(s1, n1 / x1, a1), (n0, n1)


def _counts(panel: Panel, totals: Array, exposed: Array, slots: list[int]) -> Array:
    """Return the count that drives each cell: starts of its kind, shutdowns, or the exposure itself (then r = 1)."""
    place = {name: 1 + index for index, name in enumerate(panel.drivers)} | {EXPOSURE: 0}
    counts = np.concatenate([exposed[:, slots, None], totals[:, slots, 2 : 2 + len(panel.drivers)]], axis=2)
    return np.take(counts, [place[cell.driver] for cell in panel.cells], axis=2)


def _shutdown_fallback(panel: Panel, totals: Array, made: Links, n0: Array, n1: Array) -> tuple[Array, Array]:
    """Count starts instead of shutdowns where one side of a link saw no shutdown, so that its loss is an amount."""
    which = np.array([cell.driver == SHUTDOWNS for cell in panel.cells], dtype=bool)
    if not which.any():
        return n0, n1
    kinds = slice(2, 2 + len(panel.drivers))
    own = panel.drivers.index(SHUTDOWNS)
    lacking = ((n0 == 0) != (n1 == 0)) & which
    starts = [
        np.delete(totals[:, slots, kinds], own, axis=2).sum(axis=2)[..., None] for slots in (made.before, made.after)
    ]
    return np.where(lacking, starts[0], n0), np.where(lacking, starts[1], n1)


def _amounts(u0: Array, n0: Array, u1: Array, n1: Array) -> tuple[Array, Array]:
    """Return GPU time per event; a side without events takes the other side's, so its change is all frequency."""
    a0 = u0 / np.where(n0 > 0, n0, 1)
    a1 = u1 / np.where(n1 > 0, n1, 1)
    return np.where(n0 > 0, a0, a1), np.where(n1 > 0, a1, a0)


def _product_weight(before: Factors, after: Factors) -> Array:
    """Return the exact weight of a change of amount: mix x frequency averaged as Das Gupta does."""
    (s0, r0, _), (s1, r1, _) = before, after
    return (s0 * r0 + s1 * r1) / 3 + (s0 * r1 + s1 * r0) / 6
