"""How often `ettlog alerts` cries over nothing, and how much it misses: `python -m studies.alerts` prints a table.

Null fleets do not change; in the others one thing grows in the last third, for one model or for all. An alert is false
where nothing changed: in a fleet that did change, every alert of another component, or of another model.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from ettlog import registry
from ettlog.alerts import burn, found
from ettlog.alerts.match import REGRESSION
from ettlog.lifecycle import PART_BY_NAME, PARTS
from studies import fleets

if TYPE_CHECKING:
    from collections.abc import Iterable

OWNERS = {part.part: part.owner for part in PARTS}
PART = fleets.PHASES[1].part
PLAN = fleets.Plan(jobs=180, days=180, work=12.0)


class Count(NamedTuple):
    """Alerts of one fleet: series watched, regressions told, other changes told, and whether the true one was."""

    series: int
    regressions: int
    others: int
    hit: bool


def run(seed: int, plan: fleets.Plan, rise: float = 0.0, models: tuple[str, ...] | None = None) -> Count:
    """Watch one simulated fleet, in whose last third a part of every start takes `rise` more (of `models`, or all)."""
    ledger = fleets.simulate(seed, plan, ()).ledger
    late = pl.col("launched_us") >= fleets.BEGIN + plan.days * fleets.DAY * 2 // 3
    chosen = late & (pl.col("part") == PART) & (pl.lit(models is None) | pl.col("model").is_in(list(models or ())))
    grown = pl.when(chosen).then((pl.col("allocated_gpu_us") * (1 + rise)).cast(pl.Int64))
    ledger = ledger.with_columns(allocated_gpu_us=grown.otherwise(pl.col("allocated_gpu_us")))
    rows, series = found(ledger, OWNERS, registry.EMPTY)
    component = PART_BY_NAME[PART].component if rise else ""
    true = [row for row in rows if row["component"] == component and _mine(row, models)]
    regressions = [row for row in rows if row["kind"] == REGRESSION and row not in true]
    return Count(series, len(regressions), len(rows) - len(regressions) - len(true), bool(true))


def _mine(row: dict[str, Any], models: tuple[str, ...] | None) -> bool:
    return models is None or row["model"] in models


def pages(seed: int, budget_share: float, hours: int = 24 * 30) -> dict[str, bool]:
    """Tell for each burn rule whether it fires at the end of thirty days that use `budget_share` of their budget.

    Forty jobs: starts come at random, an hour of start-up each every ten hours of training in the mean.
    """
    rng = np.random.default_rng(seed)
    rows = [row for _ in range(40) for row in _life(rng, hours)]
    frame = pl.DataFrame(rows, schema=["begin_us", "end_us", "gpus", "trained"], orient="row")
    edges = burn.grid(hours * 60 * burn.MINUTE, 0)
    spent, trained = (burn.held(frame.filter(pl.col("trained") == side), edges) for side in (False, True))
    overhead = float(spent[-1] / trained[-1])
    fires = burn.burning(spent, trained, edges, overhead / budget_share)
    return {rule.name: fires is not None and fires.rule.name == rule.name for rule in burn.RULES}


def _life(rng: np.random.Generator, hours: int) -> Iterable[tuple[int, int, int, bool]]:
    hour, at = 60 * burn.MINUTE, -int(rng.exponential(10) * 60) * burn.MINUTE
    while at < hours * hour:
        start, loop = (int(rng.exponential(mean) * 60) * burn.MINUTE for mean in (1.0, 10.0))
        yield max(at, 0), min(max(at + start, 0), hours * hour), 8, False
        yield min(max(at + start, 0), hours * hour), min(max(at + start + loop, 0), hours * hour), 8, True
        at += start + loop


def table(fleets_each: int, first: int = 0) -> list[tuple[str, str]]:
    """Return the rows of the table as (what, figures)."""
    scenes = {
        "nothing changes": (PLAN, 0.0, None),
        "nothing changes, days alike (AR .5, sigma .15)": (PLAN._replace(shock=0.15), 0.0, None),
        "one part of all models takes 20 % more": (PLAN, 0.2, None),
        "one part of one model takes 60 % more": (PLAN, 0.6, ("m005",)),
    }
    rows = []
    for name, (plan, rise, models) in scenes.items():
        counts = [run(first + seed, plan, rise, models) for seed in range(fleets_each)]
        rows.append((name, _figures(counts, rise)))
    return rows


def _figures(counts: list[Count], rise: float) -> str:
    series, told = sum(count.series for count in counts), sum(count.regressions + count.others for count in counts)
    cried = sum(count.regressions > 0 for count in counts)
    hits = sum(count.hit for count in counts)
    false = f"{cried} of {len(counts)} fleets with a false regression; {told} false changes in {series:,} series"
    return false + (f"; found in {hits} of {len(counts)}" if rise else "")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fleets", type=int, default=100, help="fleets of each kind")
    size: int = parser.parse_args().fleets
    for name, figures in table(size):
        print(f"{name:50s} {figures}", flush=True)
    for share in (0.5, 0.8):
        fired = [pages(seed, share) for seed in range(size)]
        counts = ", ".join(f"{rule}: {sum(one[rule] for one in fired)} of {size}" for rule in fired[0])
        print(f"steady fleet that uses {share:.0%} of its budget      rules that fire at its end: {counts}", flush=True)


if __name__ == "__main__":
    main()
