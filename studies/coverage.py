"""Does attribution find what was truly saved, and are its intervals what they say? `python -m studies.coverage`.

Every fleet is simulated with and without its optimization under common random numbers. One optimization saves half of
`launch` in first starts and three tenths in recoveries (pass-through .3 x 600 / (.5 x 900) = .4); three more are in the
registry with the same dates and do nothing. The truth of a fleet is what its own starts would have cost without it.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from ettlog import registry
from ettlog.attribute import attribute_ledger
from ettlog.windows import moment
from studies import fleets

if TYPE_CHECKING:
    from ettlog.attribute import Attribution
    from ettlog.registry import Registry

NAME = "init"
CHANGE = fleets.Change("launch", 0.5, 0.3)
NULLS = ("data_warmup", "compile", "placement")
TIERS = ("direct", "cascade")
SCENES: dict[str, fleets.Plan] = {
    "one": fleets.Plan(dates="one"),
    "staggered": fleets.Plan(),
    "few": fleets.Plan(jobs=20),
    "skewed": fleets.Plan(shared=0.6, spread=1.0),
}
"""Scene -> plan: one date for all, staggered dates, staggered with few jobs, and with jobs very unlike each other."""
ALPHA = 0.05


class Row(NamedTuple):
    """One credit row beside its truth, in GPU-hours; `expected` is the mean of the truth given how many starts ran."""

    found: float
    low: float
    high: float
    true: float
    expected: float


class Outcome(NamedTuple):
    """One fleet's answer: the rows of the optimization, the bound, the counterfactual saving of all, and the nulls.

    `nulls` tells for each null row whether its interval leaves zero out; `p` for each null effect whether its
    randomisation p is at most .05.
    """

    direct: Row
    cascade: Row
    bound: float
    saved: float
    said_below: bool
    nulls: tuple[bool, ...]
    p: tuple[bool, ...]
    grade: str


def registered(rollouts: dict[str, int]) -> Registry:
    """Return the registry of the optimization and of the three that do nothing, with the dates of each model."""
    dates = ",".join(
        f"{{model='{model}',since={moment(at):%Y-%m-%dT%H:%M:%SZ}}}"
        for model, at in rollouts.items()
        if at < fleets.NEVER
    )
    names = [(NAME, CHANGE.part), *((f"null-{part}", part) for part in NULLS)]
    text = [
        f"[[optimization]]\nname='{name}'\nowner='o'\nparts=['{part}']\nrollouts=[{dates}]\n" for name, part in names
    ]
    return registry.parse("".join(text))


def rates(plan: fleets.Plan, seeds: range) -> tuple[float, float]:
    """Return what a treated first start and a treated recovery save per GPU in the mean, in hours, over many fleets."""
    made = [fleets.simulate(seed, plan, (CHANGE,)) for seed in seeds]
    firsts, recoveries = sum(one.firsts for one in made), sum(one.recoveries for one in made)
    return sum(one.direct for one in made) / firsts, sum(one.cascade for one in made) / recoveries


def run(seed: int, plan: fleets.Plan, mean: tuple[float, float], replicates: int = 200) -> Outcome:
    """Attribute one simulated fleet."""
    fleet = fleets.simulate(seed, plan, (CHANGE,))
    answer = attribute_ledger(fleet.ledger, registry=registered(fleet.rollouts), seed=seed, replicates=replicates)
    rows = _rows(answer)
    direct, cascade = rows[NAME, "direct"], rows[NAME, "cascade"]
    nulls = [rows[f"null-{part}", tier] for part in NULLS for tier in TIERS if (f"null-{part}", tier) in rows]
    return Outcome(
        Row(*_bounds(direct), fleet.direct, mean[0] * fleet.firsts),
        Row(*_bounds(cascade), fleet.cascade, mean[1] * fleet.recoveries),
        cascade["bound_gpu_hours"], fleet.saved, _pass_through(cascade) < 1,
        tuple(row["low"] > 0 or row["high"] < 0 for row in nulls if row["low"] is not None),
        _called(answer), direct["evidence"],
    )  # fmt: skip


def _rows(answer: Attribution) -> dict[tuple[str, str], dict[str, Any]]:
    whole = answer.credit.filter(pl.col("model") == "all")
    return {(row["optimization"], row["tier"]): row for row in whole.iter_rows(named=True)}


def _bounds(row: dict[str, Any]) -> tuple[float, float, float]:
    return row["saved_gpu_hours"], row["low"], row["high"]


def _pass_through(row: dict[str, Any]) -> float:
    return float(row["saved_gpu_hours"] / row["bound_gpu_hours"])


def _called(answer: Attribution) -> tuple[bool, ...]:
    chosen = pl.col("optimization").str.starts_with("null-") & pl.col("p").is_not_null()
    return tuple(p <= ALPHA for p in answer.effects.filter(chosen)["p"])


def table(found: list[Outcome]) -> dict[str, str]:
    """Return the figures over some fleets, each with its standard error of simulation."""
    saved = np.array([one.direct.found + one.cascade.found for one in found])
    truth = np.array([one.saved for one in found])
    bound = np.array([one.direct.found + one.bound for one in found])
    figures = {
        "direct + cascade / truth": _mean(saved / truth),
        "direct + bound / truth": _mean(bound / truth),
        "pass-through below one is said": _share([one.said_below for one in found]),
    }
    for name, rows in (("direct", [one.direct for one in found]), ("cascade", [one.cascade for one in found])):
        figures[f"interval of {name} holds the truth"] = _share([row.low <= row.true <= row.high for row in rows])
        figures[f"interval of {name} holds its mean"] = _share([row.low <= row.expected <= row.high for row in rows])
    figures["null called an effect by its interval"] = _share([call for one in found for call in one.nulls])
    if any(one.p for one in found):
        figures["null called an effect by randomisation"] = _share([call for one in found for call in one.p])
        figures["true effect graded B"] = _share([one.grade == "B" for one in found])
    return figures


def _mean(values: np.ndarray[Any, np.dtype[np.float64]]) -> str:
    return f"{values.mean():.3f} (se {values.std(ddof=1) / np.sqrt(len(values)):.3f})"


def _share(values: list[bool]) -> str:
    share = float(np.mean(values))
    return f"{share:.1%} (se {np.sqrt(share * (1 - share) / len(values)):.1%}, {len(values):,} trials)"


def main() -> None:
    """Print a table for each scene asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fleets", type=int, default=100, help="fleets of each scene")
    parser.add_argument("--scene", action="append", choices=sorted(SCENES), help="scene; by default all")
    parser.add_argument("--replicates", type=int, default=200, help="bootstrap replicates of an attribution")
    given = parser.parse_args()
    for scene in given.scene or SCENES:
        plan = SCENES[scene]
        mean = rates(plan, range(10_000, 10_000 + given.fleets))
        found = []
        for seed in range(given.fleets):
            found.append(run(seed, plan, mean, given.replicates))
            print(f"\r{scene} {seed + 1}", end="", file=sys.stderr, flush=True)
        print(f"\n{scene}: {plan}")
        for name, figure in table(found).items():
            print(f"  {name:42s} {figure}", flush=True)


if __name__ == "__main__":
    main()
