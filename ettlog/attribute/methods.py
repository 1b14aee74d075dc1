"""Ways to split the change of mix x frequency x amount; each is a plain function, all stand in one tuple.

A method takes `before` and `after`, each a `Factors` of arrays of one shape, and returns `Effects` of the same shape
whose sum is after.product - before.product (a rise of overhead is positive).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class Factors(NamedTuple):
    """Overhead as a product: `mix` (share of exposure), `frequency` (events per exposure), `amount` (GPU time per
    event).
    """

    mix: Array
    frequency: Array
    amount: Array

    @property
    def product(self) -> Array:
        """Return the overhead itself."""
        return self.mix * self.frequency * self.amount


class Effects(NamedTuple):
    """The change of a product, by factor; `interaction` is what a method leaves between them (zero for the exact
    ones).
    """

    mix: Array
    frequency: Array
    amount: Array
    interaction: Array


def das_gupta(before: Factors, after: Factors) -> Effects:
    """Split exactly with Das Gupta's three-factor weights (1/3, 1/6, 1/6, 1/3): the Shapley value of the product."""

    def effect(x0: Array, x1: Array, y0: Array, y1: Array, z0: Array, z1: Array) -> Array:
        return ((y0 * z0 + y1 * z1) / 3 + (y0 * z1 + y1 * z0) / 6) * (x1 - x0)

    (s0, r0, a0), (s1, r1, a1) = before, after
    return Effects(
        mix=effect(s0, s1, r0, r1, a0, a1),
        frequency=effect(r0, r1, s0, s1, a0, a1),
        amount=effect(a0, a1, s0, s1, r0, r1),
        interaction=np.zeros_like(before.product),
    )


def threefold(before: Factors, after: Factors) -> Effects:
    """Split as Oaxaca and Blinder: amount and count at the baseline's weights, and their interaction as its own row.

    The count is mix x frequency; its effect is divided between the two by halves.
    """
    (s0, r0, a0), (s1, r1, a1) = before, after
    return Effects(
        mix=(r0 + r1) / 2 * (s1 - s0) * a0,
        frequency=(s0 + s1) / 2 * (r1 - r0) * a0,
        amount=s0 * r0 * (a1 - a0),
        interaction=(s1 * r1 - s0 * r0) * (a1 - a0),
    )


def lmdi(before: Factors, after: Factors) -> Effects:
    """Split along the exponential path: L ln(x1 / x0) with L the logarithmic mean of the products (additive LMDI-I).

    Logarithms need values above zero; cells that hold a zero fall back on `das_gupta`.
    """
    usable = np.ones_like(before.product, dtype=bool)
    for factor in (*before, *after):
        usable &= factor > 0
    exact = das_gupta(before, after)
    one = np.ones_like(before.product)
    safe0 = Factors(*(np.where(usable, factor, one) for factor in before))
    safe1 = Factors(*(np.where(usable, factor, one) for factor in after))
    weight = _log_mean(safe0.product, safe1.product)
    mix, frequency, amount = (
        np.where(usable, weight * np.log(x1 / x0), fallback)
        for x0, x1, fallback in zip(safe0, safe1, exact[:3], strict=True)
    )
    return Effects(mix, frequency, amount, interaction=exact.interaction)


def laspeyres(before: Factors, after: Factors) -> Effects:
    """Split with each factor changed alone from the baseline (one at a time); the rest is the interaction row."""
    (s0, r0, a0), (s1, r1, a1) = before, after
    mix, frequency, amount = (s1 - s0) * r0 * a0, s0 * (r1 - r0) * a0, s0 * r0 * (a1 - a0)
    return Effects(mix, frequency, amount, interaction=after.product - before.product - mix - frequency - amount)


def _log_mean(x: Array, y: Array) -> Array:
    """Return (y - x) / ln(y / x), and x where both are equal."""
    ratio = np.log(y / x)
    flat = np.abs(ratio) < 1e-9
    return np.where(flat, (x + y) / 2, (y - x) / np.where(flat, 1.0, ratio))


METHODS: tuple[Callable[[Factors, Factors], Effects], ...] = (das_gupta, threefold, lmdi, laspeyres)
"""All methods; the first is the default."""
