"""From the exact decomposition to credit: who may claim which effect, the bound beside it, hours, shares and
points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ettlog.attribute import overlap, tiers
from ettlog.lifecycle import RECOVERY_KINDS
from ettlog.summing import exact_sum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ettlog.attribute.decompose import Change, Links
    from ettlog.attribute.panel import Panel
    from ettlog.registry import Registry

    Array = NDArray[np.float64]


class Row(NamedTuple):
    """What a credit row is about: an optimization (or bundle, or nobody), a tier, and a unit by its number."""

    optimization: str
    tier: str
    unit: int


class Book(NamedTuple):
    """Where every effect goes: the rows, and for each link and cell the row of its amount, count, mix and
    interaction.
    """

    rows: list[Row]
    amount: NDArray[np.int64]
    frequency: NDArray[np.int64]
    mix: NDArray[np.int64]
    interaction: NDArray[np.int64]
    bounds: list[tuple[int, int, int, int]]
    """(row, link, cascade cell, first-start cell) of every bound."""
    entry: list[int]
    exit: list[int]


def open_book(panel: Panel, made: Links, registry: Registry) -> Book:
    """Decide for every effect which row it belongs to."""
    places: dict[Row, int] = {}

    def place(optimization: str, tier: str, unit: int) -> int:
        return places.setdefault(Row(optimization, tier, unit), len(places))

    moving = _migrating(panel)
    claims = [[_claim(registry, names, cell) for cell in panel.cells] for names in made.names]
    grid = [(link, unit) for link, unit in enumerate(made.unit)]
    amount = [[place(*claims[link][i], unit) for i in range(len(panel.cells))] for link, unit in grid]
    frequency = [[place("", _count_row(cell), unit) for cell in panel.cells] for _, unit in grid]
    mix = [place("", "migration" if unit in moving else "mix", unit) for unit in made.unit]
    between = [place("", "interaction", unit) for unit in made.unit]
    bounds = [
        (place(claims[link][cascade][0], "cascade", unit), link, cascade, first)
        for link, unit in grid
        for cascade, first in _bound_cells(panel)
        if claims[link][cascade][0]
    ]
    entry = [place("", "migration" if unit in moving else "entry", unit) for unit, _ in made.entrants]
    leave = [place("", "migration" if unit in moving else "exit", unit) for unit, _ in made.leavers]
    shape = (len(grid), len(panel.cells))
    arrays = [np.array(part, dtype=np.int64) for part in (amount, frequency, mix, between)]
    return Book(
        list(places), arrays[0].reshape(shape), arrays[1].reshape(shape), arrays[2], arrays[3], bounds, entry, leave
    )


def _claim(registry: Registry, names: frozenset[str], cell: tiers.Cell) -> tuple[str, str]:
    """Return (optimization, tier) of a change of amount: the one that declares the part, a bundle, or drift."""
    if cell.tier == tiers.UNKNOWN:
        return "", tiers.UNKNOWN
    claimants = registry.claimants(names, cell.part)
    return (" + ".join(claimants), cell.tier) if claimants else ("", "drift")


def claims(book: Book) -> NDArray[np.bool_]:
    """Tell for each link and cell whether an optimization claims its amount: (links, cells)."""
    named = np.array([bool(row.optimization) for row in book.rows])
    return np.asarray(named[book.amount])


def claimed(registry: Registry, names: frozenset[str], cell: tiers.Cell) -> str:
    """Return the optimization or bundle that may claim a change of a cell's amount, or an empty text."""
    return _claim(registry, names, cell)[0]


def _count_row(cell: tiers.Cell) -> str:
    return (
        tiers.UNKNOWN if cell.tier == tiers.UNKNOWN else "drift" if cell.driver == tiers.EXPOSURE else cell.count_tier
    )


def _migrating(panel: Panel) -> set[int]:
    """Return the units of models that were seen on more than one platform."""
    models = [unit.model for unit in panel.units]
    return {index for index, model in enumerate(models) if models.count(model) > 1}


def _bound_cells(panel: Panel) -> list[tuple[int, int]]:
    """Return (cascade cell, cell of the same part in first starts) of every part that each start repeats.

    Planned starts stand in where the window holds no first start of the part.
    """
    place = {cell: index for index, cell in enumerate(panel.cells)}
    pairs: list[tuple[int, int]] = []
    for cell, index in place.items():
        if cell.tier != "cascade" or cell.kind not in RECOVERY_KINDS:
            continue
        firsts = [place.get(tiers.cell(cell.part, "direct", kind)) for kind in ("first", "planned")]
        found = next((first for first in firsts if first is not None), None)
        if found is not None:
            pairs.append((index, found))
    return pairs


def post(book: Book, made: Change) -> tuple[Array, Array]:
    """Add every effect to its row: (saving, bound) per replicate and row, both (R, rows), in overhead per
    exposure.
    """
    places: list[NDArray[np.int64] | list[int]] = [
        book.amount.ravel(),
        book.frequency.ravel(),
        book.mix,
        book.interaction,
        book.entry,
        book.exit,
    ]
    where = np.concatenate([np.asarray(place, dtype=np.int64) for place in places])
    parts = (
        made.effects.amount, made.effects.frequency, made.effects.mix.sum(axis=2) + made.tilt,
        made.effects.interaction.sum(axis=2), made.entry, made.exit,
    )  # fmt: skip
    saved = _added(where, np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1), len(book.rows))
    if not book.bounds:
        return saved, np.zeros_like(saved)
    row, link, cascade, first = (np.array(column, dtype=np.int64) for column in zip(*book.bounds, strict=True))
    gain = made.amounts[0][:, link, first] - made.amounts[1][:, link, first]
    return saved, _added(row, made.bound_weight[:, link, cascade] * gain, len(book.rows))


def _added(where: NDArray[np.int64], values: Array, size: int) -> Array:
    """Sum the columns of `values` (R, n) into the places `where` (n): (R, size)."""
    return np.stack([np.bincount(where, weights=row, minlength=size) for row in values])


def bundle_shares(registry: Registry, name: str) -> dict[str, float] | None:
    """Return the members' shares of a bundle by Shapley on their declared cuts, or None where one declares nothing.

    Shares add up to one. They rest on what the registry says, not on the logs: evidence D.
    """
    declared = {item.name: item.effect for item in registry.optimizations if item.name in name.split(" + ")}
    cuts = {member: cut for member, cut in declared.items() if cut is not None}
    if len(declared) < 2 or len(cuts) < len(declared):
        return None
    split = overlap.multiplicative(cuts)
    whole = exact_sum(member.shapley for member in split)
    return {member.name: member.shapley / whole for member in split} if whole else None
