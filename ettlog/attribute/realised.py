"""What an optimization saved in this very fleet: the chance in what its starts would have cost without it.

A claimed saving is w (a0 - a1): the amount per event before and after, with the weight w of the ledger. The truth a
fleet could have shown is w (b1 - a1), where b1 is what the events after the rollout would have cost without it. a1 is
known: it was measured on all of them. What is not known is b1, of which a0 is the estimate; b1 is the mean of j1 jobs
drawn from what a0 is the mean of j0 jobs of, so that Var(a0 - b1) = Var(a0) (1 + j0 / j1). Drawing the jobs after the
rollout again measures another thing, the chance in a1, which an optimization that halves a cost halves too: intervals
about the saving of this fleet would be too narrow. In a replicate a1 is therefore left as it is, and a0's deviation is
stretched by sqrt(1 + j0 / j1). Where nothing is saved both are the same, so that a null is called as seldom as before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ettlog.attribute.decompose import Change, Links

    Array = NDArray[np.float64]


def stretch(made: Links, clusters: list[int]) -> Array:
    """Return sqrt(1 + j0 / j1) of every link, (links,): j0 and j1 are the clusters of its two periods."""
    sides = ([clusters[slot] for slot in side] for side in (made.before, made.after))
    before, after = (np.array(side, dtype=np.float64) for side in sides)
    return np.asarray(np.sqrt(1 + before / np.maximum(after, 1)))


def amount(point: Change, drawn: Change, stretched: Array, claimed: NDArray[np.bool_]) -> Array:
    """Return what is added to the amount effects of replicates, (R, links, cells): zero where nobody claims the cell.

    `point` is the ledger as measured (one replicate), `drawn` the replicates.
    """
    (a0, a1), (b0, b1) = point.amounts, drawn.amounts
    more = (stretched[:, None] - 1) * (b0 - a0) + (b1 - a1)
    return np.asarray(np.where(claimed, drawn.bound_weight * more, 0.0))
