"""The ledger as sufficient statistics: one row per job and period with exposure, counts of starts and GPU time by
cell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from ettlog.attribute import periods, tiers
from ettlog.attribute.choices import DAY, PRE_ROLLOUT_DAYS, baseline_span
from ettlog.lifecycle import RECOVERY_KINDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ettlog.attribute.choices import Choices
    from ettlog.attribute.periods import Chain, Plan, Unit
    from ettlog.attribute.tiers import Cell
    from ettlog.registry import Registry
    from ettlog.windows import Window

COUNTED = ("direct", "cascade", "recovery_only")
"""Tiers whose cells are kept apart by start kind."""


class Left(NamedTuple):
    """What could not be counted: GPU time without an instant, and held wall time on an unknown number of GPUs."""

    undated_us: int
    unsized_us: int
    by_wall: bool
    """No job tells its GPUs, so that all is counted in wall time, as on one GPU each."""


class Panel(NamedTuple):
    """Sufficient statistics of a window.

    `stats` is int64 of shape (job x period rows, columns): effective, wall, then the drivers, then the cells, all in
    GPU-microseconds or counts. `slot[i]` is the period (over all units, numbered through) of row i. `starts` has one
    row per start (id, job, unit, kind, launched_us, slot), `rows` one per start, part and stage (id, part, stage,
    tier, amount, time).
    """

    units: list[Unit]
    chains: list[Chain]
    plan: Plan
    first_slot: list[int]
    cells: list[Cell]
    drivers: list[str]
    stats: NDArray[np.int64]
    slot: NDArray[np.int64]
    starts: pl.DataFrame
    rows: pl.DataFrame
    left: Left
    every: pl.DataFrame
    """All starts of the window, in a period that is compared or not: what the tests of causes look at."""

    @property
    def slots(self) -> int:
        """Return the number of periods over all units."""
        return self.first_slot[-1]

    def totals(self) -> NDArray[np.int64]:
        """Return the statistics summed by period: int64 of shape (periods, columns)."""
        sums = np.zeros((self.slots, self.stats.shape[1]), dtype=np.int64)
        np.add.at(sums, self.slot, self.stats)
        return sums

    def jobs(self) -> NDArray[np.int64]:
        """Return the number of jobs by period."""
        return np.bincount(self.slot, minlength=self.slots).astype(np.int64)


def build(ledger: pl.DataFrame, registry: Registry, window: Window, choices: Choices) -> Panel:
    """Sum a ledger frame (one row per job, start, part and stage) by unit, period and job inside a window.

    A start belongs to the period in which it was launched. Exposure is effective GPU time, on the basis `wall` the GPU
    time held. Starts outside the chosen baseline, or between the ends of a chain of two, belong to no period.
    """
    sized, left = _sized(ledger)
    starts, rows = _apart(sized, window)
    units = [
        periods.Unit(*pair) for pair in starts.select("model", "platform").unique().sort("model", "platform").rows()
    ]
    plan = periods.plan(units, registry, window, choices.chain)
    every = _with_raw_period(starts, units, plan)
    starts = _compared(every, units, plan, choices.baseline, window)
    chains = _chains(rows.join(starts.select("id", "unit", "raw"), on="id"), units, plan, choices)
    starts = _with_slot(starts, chains)
    rows = rows.join(every.select("id"), on="id", how="semi")
    cells, drivers = _columns(starts, rows)
    stats, slot = _statistics(starts, rows, cells, drivers)
    sizes = np.cumsum([0] + [len(chain.periods) for chain in chains]).tolist()
    return Panel(units, chains, plan, sizes, cells, drivers, stats, slot, starts, rows, left, every)


def _sized(ledger: pl.DataFrame) -> tuple[pl.DataFrame, Left]:
    """Choose what is counted, fill what a start inherits from its job, and set aside what cannot be counted."""
    by_wall = ledger["allocated_gpu_us"].null_count() == ledger.height
    amount = pl.col("allocated_us" if by_wall else "allocated_gpu_us").cast(pl.Int64)
    rows = ledger.select(
        "job", pl.col("model", "platform").fill_null(""), pl.col("start").fill_null(-1),
        pl.col("kind").fill_null(tiers.UNKNOWN), "part", "stage", "role",
        pl.col("launched_us").fill_null(pl.col("launched_us").min().over("job")), amount.alias("amount"),
        pl.col("allocated_us").fill_null(0).alias("time"),
    )  # fmt: skip
    unsized = rows.filter(pl.col("amount").is_null())["time"].sum()
    rows = rows.with_columns(pl.col("amount").fill_null(0))
    undated = rows.filter(pl.col("launched_us").is_null())["amount"].sum()
    return rows.filter(pl.col("launched_us").is_not_null()), Left(int(undated), int(unsized), by_wall)


def _apart(rows: pl.DataFrame, window: Window) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Divide the window's rows into starts and what each start spent, joined by `id`."""
    held = rows.filter((pl.col("launched_us") >= window.since_us) & (pl.col("launched_us") < window.until_us))
    key = ["job", "start"]
    facts = [pl.col(name).first() for name in ("model", "platform")] + [
        pl.col("kind").min(),
        pl.col("launched_us").min(),
    ]
    starts = held.group_by(key).agg(facts).sort(key).with_row_index("id")
    spent = held.with_columns(tiers.tier().alias("tier")).join(starts.select("id", *key), on=key)
    return starts, spent.select("id", "kind", "part", "stage", "tier", "amount", "time")


def _with_raw_period(starts: pl.DataFrame, units: list[Unit], plan: Plan) -> pl.DataFrame:
    """Number the units, and the periods of each from 0 by counting the cuts at or before the launch."""
    names = pl.DataFrame(
        [(*unit, index) for index, unit in enumerate(units)], schema=["model", "platform", "unit"], orient="row"
    )
    cuts = pl.DataFrame(
        [
            (place, cut.at_us, index + 1)
            for place, unit in enumerate(units)
            for index, cut in enumerate(plan.cuts[unit])
        ],
        schema={"unit": pl.Int64, "launched_us": pl.Int64, "raw": pl.Int64},
        orient="row",
    ).sort("launched_us")
    numbered = starts.join(names, on=["model", "platform"]).sort("launched_us")
    joined = numbered.join_asof(cuts, on="launched_us", by="unit", strategy="backward", check_sortedness=False)
    return joined.select("id", "job", "unit", "kind", "launched_us", pl.col("raw").fill_null(0)).sort("id")


def _compared(starts: pl.DataFrame, units: list[Unit], plan: Plan, baseline: str, window: Window) -> pl.DataFrame:
    """Leave out what lies before the first rollout of its unit and outside the chosen baseline."""
    if baseline == "first":
        return starts
    first = [next((cut.at_us for cut in plan.cuts[unit] if cut.names), plan.cuts[unit][0].at_us) for unit in units]
    edge = pl.DataFrame({"unit": list(range(len(units))), "edge": first}, schema={"unit": pl.Int64, "edge": pl.Int64})
    span = baseline_span(baseline, window)
    at, cut = pl.col("launched_us"), pl.col("edge")
    inside = at >= cut - PRE_ROLLOUT_DAYS * DAY if span is None else (at >= span[0]) & (at < span[1])
    return starts.join(edge, on="unit").filter((at >= cut) | inside).drop("edge").sort("id")


def _chains(rows: pl.DataFrame, units: list[Unit], plan: Plan, choices: Choices) -> list[Chain]:
    wall, ends = choices.basis == "wall", choices.chain == "none"
    exposure = pl.col("amount") if wall else pl.col("amount").filter(pl.col("tier") == tiers.EFFECTIVE)
    sums = {(unit, raw): amount for unit, raw, amount in rows.group_by("unit", "raw").agg(exposure.sum()).rows()}
    found = [
        periods.chain(plan.cuts[unit], [sums.get((place, index), -1) for index in range(len(plan.cuts[unit]) + 1)])
        for place, unit in enumerate(units)
    ]
    return [periods.ends(chain) for chain in found] if ends else found


def _with_slot(starts: pl.DataFrame, chains: list[Chain]) -> pl.DataFrame:
    table: list[tuple[int, int, int]] = []
    slot = 0
    for unit, chain in enumerate(chains):
        for group in chain.periods:
            table.extend((unit, raw, slot) for raw in group)
            slot += 1
    schema = {"unit": pl.Int64, "raw": pl.Int64, "slot": pl.Int64}
    return starts.join(pl.DataFrame(table, schema=schema, orient="row"), on=["unit", "raw"]).sort("id")


def _columns(starts: pl.DataFrame, rows: pl.DataFrame) -> tuple[list[Cell], list[str]]:
    """Return the cells and drivers of the window; a part of first starts gets its cascade cells even where empty."""
    found = rows.filter(pl.col("tier") != tiers.EFFECTIVE).select("part", "tier", "kind").unique().rows()
    cells = {tiers.cell(part, tier, kind) for part, tier, kind in found}
    kinds = set(starts["kind"].unique())
    direct = {cell.part for cell in cells if cell.tier == "direct" and tiers.repeats(cell.part)}
    cells |= {tiers.cell(part, "cascade", kind) for part in direct for kind in kinds & set(RECOVERY_KINDS)}
    return sorted(cells), sorted(kinds | {tiers.SHUTDOWNS})


def _statistics(
    starts: pl.DataFrame, rows: pl.DataFrame, cells: list[Cell], drivers: list[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the statistics by (period, job) and the period of each row."""
    keys = starts.select("slot", "job").unique().sort("slot", "job").with_row_index("row")
    placed = starts.join(keys, on=["slot", "job"]).select("id", "row", "kind")
    stats = np.zeros((len(keys), 2 + len(drivers) + len(cells)), dtype=np.int64)
    place = {name: 2 + index for index, name in enumerate(drivers)}
    _put(stats, placed, pl.col("kind").replace_strict(place, return_dtype=pl.Int64), pl.len())
    spent = rows.join(placed.select("id", "row"), on="id")
    _put(stats, spent.filter(pl.col("tier") == tiers.EFFECTIVE), pl.lit(0), pl.col("amount").sum())
    _put(stats, spent, pl.lit(1), pl.col("amount").sum())
    ends = spent.filter(pl.col("tier") == tiers.SHUTDOWN)
    _put(stats, ends, pl.lit(place[tiers.SHUTDOWNS]), pl.col("id").n_unique())
    _put_cells(stats, spent, cells, 2 + len(drivers))
    return stats, keys["slot"].to_numpy().astype(np.int64)


def _put(stats: NDArray[np.int64], rows: pl.DataFrame, column: pl.Expr, value: pl.Expr) -> None:
    sums = rows.group_by("row", column.cast(pl.Int64).alias("column")).agg(value.cast(pl.Int64).alias("value"))
    stats[sums["row"].to_numpy(), sums["column"].to_numpy()] = sums["value"].to_numpy()


def _put_cells(stats: NDArray[np.int64], rows: pl.DataFrame, cells: list[Cell], base: int) -> None:
    """Put the amounts of cells; the sum over stages and kinds comes first, so that few rows are joined by name."""
    kind = pl.when(pl.col("tier").is_in(COUNTED)).then(pl.col("kind")).otherwise(pl.lit("")).alias("cell_kind")
    keys = ["part", "tier", "cell_kind"]
    sums = rows.with_columns(kind).group_by("row", *keys).agg(pl.col("amount").sum())
    names = [(cell.part, cell.tier, cell.kind, base + index) for index, cell in enumerate(cells)]
    schema = {"part": pl.String, "tier": pl.String, "cell_kind": pl.String, "column": pl.Int64}
    table = pl.DataFrame(names, schema=schema, orient="row")
    _put(stats, sums.join(table, on=keys), pl.col("column"), pl.col("amount").sum())
