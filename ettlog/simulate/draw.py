"""Common random numbers: what chance decides of a model or a job depends on the seed and its number alone.

The same draws are used whatever optimizations are on, so that two runs of a scenario differ by them only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ettlog.simulate.words import P

if TYPE_CHECKING:
    from numpy.typing import NDArray

STARTS = 64
"""Starts of a job; one that has crashed so often is given up."""
COLUMN = {part: index for index, part in enumerate(P)}
CHOICES = ("crash", "where", "again", "place", "back", "older", "size", "hung", "recompiles", "cause", "node", "late")
CHOICE = {name: index for index, name in enumerate(CHOICES)}


class Draws(NamedTuple):
    """What chance holds for one job: normals by start and part, uniforms by start and choice, strikes to come."""

    normal: NDArray[np.float64]
    uniform: NDArray[np.float64]
    strike: dict[str, list[float]]
    """Kind of strike -> amounts of new work at which it comes, in units of its mean, ascending."""

    def pick(self, k: int, choice: str) -> float:
        """Return the uniform of start `k` for a choice."""
        return float(self.uniform[min(k, STARTS - 1), CHOICE[choice]])


def generator(seed: int, *path: int) -> np.random.Generator:
    """Return the generator of one thing of the fleet, named by a path of numbers."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, *path])))


def draws(seed: int, job: int) -> Draws:
    """Return the draws of a job by its number in the fleet."""
    rng = generator(seed, 2, job)
    normal = rng.standard_normal((STARTS, len(COLUMN)))
    uniform = rng.random((STARTS, len(CHOICES)))
    kinds = ("failure", "preemption", "planned")
    strike = {kind: np.cumsum(rng.standard_exponential(STARTS)).tolist() for kind in kinds}
    return Draws(normal, uniform, strike)


def lognormal(mean: float, sigma: float, z: float) -> float:
    """Return a lognormal number of a mean, at z standard deviations of its log."""
    return mean * float(np.exp(sigma * z - sigma * sigma / 2)) if sigma else mean
