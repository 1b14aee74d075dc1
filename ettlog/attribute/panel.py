"""The ledger as sufficient statistics: one row per job and period with exposure, counts of starts and GPU time by
cell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from ettlog.attribute import periods, tiers
from ettlog.attribute.tiers import Cell
from ettlog.lifecycle import RECOVERY_KINDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ettlog.attribute.periods import Chain, Cut, Plan, Unit
    from ettlog.registry import Registry
    from ettlog.windows import Window

AMOUNT = "allocated_gpu_us"
"""What is counted: GPU time while the hardware was held; a queue holds none."""


class Panel(NamedTuple):
    """Sufficient statistics of a window.

    `stats` is int64 of shape (job x period rows, columns): effective, wall, then the drivers, then the cells, all in
    GPU-microseconds or counts. `slot[i]` is the period (over all units, numbered through) of row i.
    """

    units: list[Unit]
    chains: list[Chain]
    plan: Plan
    first_slot: list[int]
    cells: list[Cell]
    drivers: list[str]
    stats: NDArray[np.int64]
    slot: NDArray[np.int64]
    rows: pl.DataFrame
    undated_gpu_us: int

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


def build(ledger: pl.DataFrame, registry: Registry, window: Window, basis: str) -> Panel:
    """Sum a ledger frame (one row per job, start, part and stage) by unit, period and job inside a window.

    A start belongs to the period in which it was launched. `basis` is `work` (exposure = effective GPU time) or
    `wall` (exposure = GPU time held).
    """
    dated, undated = _dated(ledger)
    rows = _inside(dated, window)
    units = [periods.Unit(*pair) for pair in rows.select("model", "platform").unique().sort("model", "platform").rows()]
    plan = periods.plan(units, registry, window.since_us, window.until_us)
    rows = _with_raw_period(rows, plan)
    chains = _chains(rows, units, plan, basis)
    rows = _with_slot(rows, units, chains)
    cells, drivers = _columns(rows)
    stats, slot = _statistics(rows, cells, drivers)
    sizes = np.cumsum([0] + [len(chain.periods) for chain in chains]).tolist()
    return Panel(units, chains, plan, sizes, cells, drivers, stats, slot, rows, undated)


def _dated(ledger: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Give rows outside any start their job's first launch, and drop (and sum) what has no instant at all."""
    rows = ledger.with_columns(
        pl.col("model", "platform", "cluster", "owner").fill_null(""),
        pl.col("kind").fill_null(tiers.UNKNOWN),
        pl.col("launched_us").fill_null(pl.col("launched_us").min().over("job")),
        pl.col("start").fill_null(-1),
        pl.col(AMOUNT).fill_null(0).cast(pl.Int64),
    )
    undated = rows.filter(pl.col("launched_us").is_null())
    return rows.filter(pl.col("launched_us").is_not_null()), int(undated[AMOUNT].sum())


def _inside(rows: pl.DataFrame, window: Window) -> pl.DataFrame:
    held = rows.filter((pl.col("launched_us") >= window.since_us) & (pl.col("launched_us") < window.until_us))
    return held.with_columns(tiers.tier().alias("tier"))


def _with_raw_period(rows: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Number the periods of each unit from 0 by counting the cuts at or before the launch."""
    cuts = pl.DataFrame(
        [(*unit, cut.at_us, index + 1) for unit, found in plan.cuts.items() for index, cut in enumerate(found)],
        schema={"model": pl.String, "platform": pl.String, "launched_us": pl.Int64, "raw": pl.Int64},
        orient="row",
    ).sort("launched_us")
    joined = rows.sort("launched_us").join_asof(
        cuts, on="launched_us", by=["model", "platform"], strategy="backward", check_sortedness=False
    )
    return joined.with_columns(pl.col("raw").fill_null(0))


def _chains(rows: pl.DataFrame, units: list[Unit], plan: Plan, basis: str) -> list[Chain]:
    exposure = pl.col(AMOUNT) if basis == "wall" else pl.col(AMOUNT).filter(pl.col("tier") == tiers.EFFECTIVE)
    sums = {
        (model, platform, raw): amount
        for model, platform, raw, amount in rows.group_by("model", "platform", "raw").agg(exposure.sum()).rows()
    }
    return [
        periods.chain(cuts, [sums.get((*unit, index), -1) for index in range(len(cuts) + 1)])
        for unit, cuts in ((unit, plan.cuts[unit]) for unit in units)
    ]


def _with_slot(rows: pl.DataFrame, units: list[Unit], chains: list[Chain]) -> pl.DataFrame:
    table: list[tuple[str, str, int, int]] = []
    slot = 0
    for unit, chain in zip(units, chains, strict=True):
        for group in chain.periods:
            table.extend((*unit, raw, slot) for raw in group)
            slot += 1
    schema = {"model": pl.String, "platform": pl.String, "raw": pl.Int64, "slot": pl.Int64}
    return rows.join(pl.DataFrame(table, schema=schema, orient="row"), on=["model", "platform", "raw"], how="left")


def _columns(rows: pl.DataFrame) -> tuple[list[Cell], list[str]]:
    """Return the cells and drivers of the window; a part that first starts have gets its cascade cells even where
    empty.
    """
    found = rows.filter(pl.col("tier") != tiers.EFFECTIVE).select("part", "tier", "kind").unique().rows()
    cells = {tiers.cell(part, tier, kind) for part, tier, kind in found}
    kinds = set(rows["kind"].unique()) & set(RECOVERY_KINDS)
    direct = {cell.part for cell in cells if cell.tier == "direct" and tiers.repeats(cell.part)}
    cells |= {tiers.cell(part, "cascade", kind) for part in direct for kind in kinds}
    drivers = sorted(set(rows["kind"].unique()) | {tiers.SHUTDOWNS})
    return sorted(cells), drivers


def _statistics(
    rows: pl.DataFrame, cells: list[Cell], drivers: list[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the statistics by (period, job) and the period of each row."""
    keys = rows.select("slot", "job").unique().sort("slot", "job").with_row_index("row")
    keyed = rows.join(keys, on=["slot", "job"])
    stats = np.zeros((len(keys), 2 + len(drivers) + len(cells)), dtype=np.int64)
    _put(stats, keyed.filter(pl.col("tier") == tiers.EFFECTIVE), pl.lit(0), pl.col(AMOUNT).sum())
    _put(stats, keyed, pl.lit(1), pl.col(AMOUNT).sum())
    place = {name: 2 + index for index, name in enumerate(drivers)}
    _put(stats, keyed, pl.col("kind").replace_strict(place, return_dtype=pl.Int64), pl.col("start").n_unique())
    ends = keyed.filter(pl.col("tier") == tiers.SHUTDOWN)
    _put(stats, ends, pl.lit(place[tiers.SHUTDOWNS]), pl.col("start").n_unique())
    _put_cells(stats, keyed, cells, 2 + len(drivers))
    return stats, keys["slot"].to_numpy().astype(np.int64)


def _put(stats: NDArray[np.int64], rows: pl.DataFrame, column: pl.Expr, value: pl.Expr) -> None:
    sums = rows.group_by("row", column.cast(pl.Int64).alias("column")).agg(value.cast(pl.Int64).alias("value"))
    stats[sums["row"].to_numpy(), sums["column"].to_numpy()] = sums["value"].to_numpy()


def _put_cells(stats: NDArray[np.int64], rows: pl.DataFrame, cells: list[Cell], base: int) -> None:
    names = [(cell.part, cell.tier, cell.kind, base + index) for index, cell in enumerate(cells)]
    schema = {"part": pl.String, "tier": pl.String, "cell_kind": pl.String, "column": pl.Int64}
    table = pl.DataFrame(names, schema=schema, orient="row")
    counted = pl.col("tier").is_in(["direct", "cascade", "recovery_only"])
    keyed = rows.with_columns(pl.when(counted).then(pl.col("kind")).otherwise(pl.lit("")).alias("cell_kind"))
    _put(stats, keyed.join(table, on=["part", "tier", "cell_kind"]), pl.col("column"), pl.col(AMOUNT).sum())


def cuts_text(cuts: tuple[Cut, ...]) -> str:
    """Return the dates of cuts as text, in order."""
    from ettlog.windows import moment

    return ", ".join(f"{moment(cut.at_us):%Y-%m-%d}" for cut in cuts)
