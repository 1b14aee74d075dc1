"""Simulated fleets through the public path, beside their truth; `python -m tests.simulating` is the full run."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

import ettlog
from ettlog import simulate
from ettlog.simulate import compare
from ettlog.simulate.faults import SKEW_US, ZONE, Fault, parse
from ettlog.simulate.write import kubernetes, write

if TYPE_CHECKING:
    from ettlog.simulate.run import Simulated
    from ettlog.simulate.spec import Spec

EVERY = ["megatron", "neox", "titan", "hf", "maxtext"]


class Outcome(NamedTuple):
    """One fleet: ETT in percent, and GPU-hours held, found otherwise, found otherwise without a flag, and flagged at
    all."""

    true_ett: float
    found_ett: float
    held: float
    differs: float
    unflagged: float
    flagged: float
    pieces: pl.DataFrame

    @property
    def error(self) -> float:
        """Return how many points the found ETT is off."""
        return abs(self.found_ett - self.true_ett)


def spec(**fleet: object) -> Spec:
    """Return a fleet of all dialects, small enough to be read in seconds."""
    usual: dict[str, object] = {"models": 5, "jobs": 10, "hours": [4, 8], "step_s": [30, 60], "dialects": EVERY}
    return simulate.default().having(**{**usual, **fleet})


def outcome(made: Simulated, faults: frozenset[Fault], folder: Path) -> Outcome:
    """Write a fleet, ingest it, and compare the relation `segment` with the truth."""
    write(made, folder / "logs", faults)
    ettlog.ingest([folder / "logs"], folder / "lake")
    found: pl.DataFrame = ettlog.open(folder / "lake").table("segment")
    # pods print UTC: the zone of the logs is inferred from them
    shift = ZONE if Fault.zoneless in faults and not kubernetes(made) else 0
    truth = compare.told(made).with_columns(pl.col("begin_us", "end_us") + shift)
    slack = SKEW_US if Fault.skewed in faults else 0
    pieces = compare.differences(truth, found)
    other = pieces.filter(~pl.col("same"), pl.col("us") > slack)
    hidden = other.filter(~compare.flagged())
    held = pieces.filter(pl.col("truth_allocated"))
    return Outcome(
        compare.ett(truth), compare.ett(found), compare.hours(held),
        compare.hours(other), compare.hours(hidden), compare.hours(held.filter(compare.flagged())), pieces,
    )  # fmt: skip


ALLOWED = {"none": 0.1}
"""Points that ETT may be off, by faults; with other faults one point."""
UNFLAGGED = 5e-6
"""Share of the time that may be wrong without a flag: what is printed as 0.000 %."""


def main() -> None:
    """Print one row a seed and set of faults; fail where ETT is off by too much, or time is wrong without a flag."""
    wrong = []
    asked = argparse.ArgumentParser(description=main.__doc__)
    asked.add_argument("--seeds", type=int, default=20)
    asked.add_argument("--jobs", type=int, default=200)
    asked.add_argument("--models", type=int, default=10)
    asked.add_argument("--ranks", type=int, default=2)
    asked.add_argument("--first", type=int, default=0)
    asked.add_argument("--scheduler", choices=("slurm", "kubernetes"), default="slurm")
    asked.add_argument("--faults", default="none,all")
    args = asked.parse_args()
    print(
        "| seed | faults | jobs | ETT true | ETT found | off by, points | GPU-h held | otherwise % | unflagged % "
        "| flagged % |\n|---|---|---|---|---|---|---|---|---|---|",
        flush=True,
    )
    for seed in range(args.first, args.first + args.seeds):
        shape = spec(
            jobs=args.jobs, models=args.models, ranks=args.ranks, elastic=0.1, scheduler=args.scheduler
        )  # fmt: skip
        made = simulate.fleet(shape, seed)
        for name in args.faults.split(","):
            with tempfile.TemporaryDirectory() as folder:
                one = outcome(made, parse("" if name == "none" else name.replace("+", ",")), Path(folder))
            print(
                f"| {seed} | {name} | {args.jobs} | {one.true_ett:.3f} | {one.found_ett:.3f} | {one.error:.3f} "
                f"| {one.held:,.0f} | {100 * one.differs / one.held:.3f} | {100 * one.unflagged / one.held:.3f} "
                f"| {100 * one.flagged / one.held:.1f} |",
                flush=True,
            )
            if one.error > ALLOWED.get(name, 1.0) or one.unflagged >= UNFLAGGED * one.held:
                wrong.append(f"seed {seed}, {name}")
    if wrong:
        raise SystemExit("off by more than may be, or wrong without a flag: " + "; ".join(wrong))


if __name__ == "__main__":
    main()
