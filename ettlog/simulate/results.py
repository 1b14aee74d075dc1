"""Writes a simulated fleet and its truth into a folder: `logs/` to ingest, `truth/` to compare with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ettlog.simulate.counterfactual import savings, worlds
from ettlog.simulate.faults import ZONE, Fault
from ettlog.simulate.whole import put, whole
from ettlog.simulate.write import write

if TYPE_CHECKING:
    from ettlog.simulate.run import Simulated


def results(fleet: Simulated, folder: str | Path, faults: frozenset[Fault] = frozenset()) -> dict[str, int]:
    """Write everything, whole or not at all; return counts: files, bytes, jobs, starts, segments.

    `truth/` holds CSV: jobs, starts, segments (as logs stamp them: shifted where they have no zone), savings, and
    counterfactuals, which are the totals of every component in every world. Raise UsageError or EttlogError when the
    folder cannot be written.
    """
    found = worlds(fleet)
    shift = ZONE if Fault.zoneless in faults else 0
    moved = fleet.segments.with_columns(pl.col("begin_us", "end_us") + shift)
    frames = {
        "jobs": fleet.jobs, "starts": fleet.starts.with_columns(pl.col("on").list.join(";")), "segments": moved,
        "savings": savings(fleet, found), "counterfactuals": totals(found),
    }  # fmt: skip
    with whole(Path(folder)) as place:
        made = write(fleet, place / "logs", faults)
        for name, frame in frames.items():
            put(place / "truth" / f"{name}.csv", frame.write_csv().encode())
    return {
        "files": len(made), "bytes": sum(map(len, made.values())), "jobs": fleet.jobs.height,
        "starts": fleet.starts.height, "segments": fleet.segments.height,
    }  # fmt: skip


def totals(found: dict[str, Simulated]) -> pl.DataFrame:
    """Return one row per world and component: us, gpu_us, and both with hardware held only."""
    sums = ("us", "gpu_us", "allocated_us", "allocated_gpu_us")
    frames = [
        one.ledger.group_by("component")
        .agg(pl.col(sums).sum())
        .sort("component")
        .select(pl.lit(name).alias("world"), pl.all())
        for name, one in found.items()
    ]
    return pl.concat(frames)
