"""Several optimizations on one place of one model, one after the other: the part of each, whatever their order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ettlog.attribute.credit import Book
    from ettlog.attribute.decompose import Change, Links
    from ettlog.attribute.panel import Panel

    Array = NDArray[np.float64]
    Ints = NDArray[np.int64]

SPLITS = ("shapley", "rollout")
"""How successive optimizations of one place share its saving: over all orders, or as the calendar had it."""

OVERLAP: dict[str, pl.DataType] = {
    "optimization": pl.String(), "part": pl.String(), "first_in": pl.Float64(), "last_in": pl.Float64(),
    "shapley": pl.Float64(), "log_share": pl.Float64(), "low": pl.Float64(), "high": pl.Float64(),
    "rolled_out": pl.Float64(), "models": pl.Int64(),
}  # fmt: skip
"""Columns of the overlap table, all in GPU-hours: `low` and `high` are the least and most over all orders."""


class Rivals(NamedTuple):
    """Places with the same number of successive claims: arrays (places, claims) of links, and of cells (places)."""

    links: Ints
    cells: Ints


def find(panel: Panel, made: Links, book: Book) -> list[Rivals]:
    """Return the cells of a unit whose amount different optimizations claim at different links, by their number."""
    found: dict[int, list[tuple[list[int], int]]] = {}
    by_unit: dict[int, list[int]] = {}
    for link, unit in enumerate(made.unit):
        by_unit.setdefault(unit, []).append(link)
    for links in by_unit.values():
        for cell in range(len(panel.cells)) if len(links) > 1 else ():
            mine = [link for link in links if book.rows[book.amount[link, cell]].optimization]
            if len({book.rows[book.amount[link, cell]].optimization for link in mine}) > 1:
                found.setdefault(len(mine), []).append((mine, cell))
    return [
        Rivals(np.array([links for links, _ in places]), np.array([cell for _, cell in places]))
        for _, places in sorted(found.items())
    ]


class Parts(NamedTuple):
    """The parts of a joint saving by different rules: arrays (R, places, claims), in the unit of an amount."""

    first_in: Array
    last_in: Array
    shapley: Array
    log_share: Array
    low: Array
    high: Array
    rolled_out: Array


def parts(made: Change, rivals: Rivals) -> Parts:
    """Return what each successive cut of an amount is worth: cuts multiply, and the order of rollout is luck."""
    links, cells = rivals.links, rivals.cells[:, None]
    a0, a1 = made.amounts[0][:, links, cells], made.amounts[1][:, links, cells]
    r = np.where(a0 > 0, 1 - a1 / np.where(a0 > 0, a0, 1.0), 0.0)
    start, kept = a0[..., :1], 1 - r
    before = np.cumprod(np.concatenate([np.ones_like(kept[..., :1]), kept[..., :-1]], axis=-1), axis=-1)
    others = [np.delete(kept, index, axis=-1) for index in range(r.shape[-1])]
    edges = [
        np.stack([fold(other).prod(axis=-1) for other in others], axis=-1) for fold in (_self, _shrinking, _growing)
    ]
    whole = start * (1 - kept.prod(axis=-1, keepdims=True))
    logs = np.log(np.maximum(kept, 1e-12))
    total = logs.sum(axis=-1, keepdims=True)
    ends = np.stack([start * r * edge for edge in (np.ones_like(r), *edges)])
    return Parts(
        start * r, ends[1], start * r * _owen(r), whole * logs / np.where(total == 0, 1.0, total),
        ends.min(axis=0), ends.max(axis=0), start * before * r,
    )  # fmt: skip


def _self(kept: Array) -> Array:
    return kept


def _shrinking(kept: Array) -> Array:
    return np.minimum(kept, 1.0)


def _growing(kept: Array) -> Array:
    return np.maximum(kept, 1.0)


def _owen(r: Array) -> Array:
    """Return the mean over all orders of what the others leave: Owen's integral by exact quadrature, last axis."""
    points, weights = np.polynomial.legendre.leggauss(r.shape[-1] // 2 + 1)
    left = 1 - (points + 1)[:, None] / 2 * r[..., None, :]
    others = [np.delete(left, index, axis=-1).prod(axis=-1) @ weights / 2 for index in range(r.shape[-1])]
    return np.stack(others, axis=-1)


def weight(made: Change, rivals: Rivals) -> Array:
    """Return the weight that turns an amount into overhead, the mean over a place's links: (R, places, 1)."""
    mean: Array = made.bound_weight[:, rivals.links, rivals.cells[:, None]].mean(axis=-1, keepdims=True)
    return mean


def shift(book: Book, made: Change, rivals: list[Rivals], size: int) -> Array:
    """Return what moves between rows when successive optimizations share by Shapley: (R, rows), each place sums to 0.

    In overhead per exposure, to be added to the savings by calendar order.
    """
    moved = np.zeros((len(made.bound_weight), size))
    for group in rivals:
        found = parts(made, group)
        change = weight(made, group) * (found.shapley - found.rolled_out)
        where = book.amount[group.links, group.cells[:, None]].ravel()
        flat = change.reshape(len(change), -1)
        moved += np.stack([np.bincount(where, weights=row, minlength=size) for row in flat])
    return moved


def frame(panel: Panel, book: Book, made: Change, rivals: list[Rivals], scale: float) -> pl.DataFrame:
    """Return the overlap table: one row per optimization and part; `scale` turns overhead into GPU-hours."""
    rows: list[dict[str, object]] = []
    for group in rivals:
        each = [weight(made, group)[0] * part[0] * scale for part in parts(made, group)]
        for place, (links, cell) in enumerate(zip(group.links, group.cells, strict=True)):
            for claim, link in enumerate(links):
                row = book.rows[book.amount[link, cell]]
                values = {name: float(part[place, claim]) for name, part in zip(Parts._fields, each, strict=True)}
                name = panel.cells[cell].part
                rows.append({"optimization": row.optimization, "part": name, **values, "models": row.unit})
    made_of = pl.DataFrame(rows, schema=OVERLAP)
    sums = [pl.col(name).sum() for name in OVERLAP if name not in ("optimization", "part", "models")]
    grouped = made_of.group_by("optimization", "part").agg(*sums, pl.col("models").n_unique().cast(pl.Int64))
    return grouped.select(list(OVERLAP)).sort("part", "optimization")
