"""What answers lose when only some step lines are read: `python -m bench.thinned LOGS`.

A faster way to read logs would take the first and the last step line between two other events only. This ingests LOGS
twice, once as ettlog does and once with all other step lines left out behind the parser, and counts the jobs whose
segments or ETT are no longer the same. Any job is one too many: a hang, a save or a slow stretch between two step lines
is told by the lines between.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl

import ettlog
from ettlog.ingest import IngestOptions
from ettlog.parse.chunks import Columns
from ettlog.parse.facts import Facts
from ettlog.parse.passes import LINE, STEP, joined, settled


class Thinned(Facts):
    """Facts with the first and the last step of every stretch between two events of a launch."""

    read = kept = 0
    """Step lines of all sources, and those left."""

    def tables(self, shift: int = 0, nominal: bool = False) -> tuple[Any, Any]:
        """Return the tables that ettlog makes of the steps that are left."""

        def thinned(*given: Any) -> Iterator[Columns]:
            chunks = list(settled(*given))
            return iter([self._ends(joined(*chunks))] if chunks else [])

        with mock.patch("ettlog.parse.facts.settled", thinned):
            return super().tables(shift, nominal)

    def _ends(self, steps: Columns) -> Columns:
        lines = [line for (line,) in self._rows.some("line")]
        events = np.sort(np.concatenate(lines)) if lines else np.zeros(0, np.int64)
        stretch = np.searchsorted(events, steps[LINE])
        begins = np.ones(len(stretch), bool)
        begins[1:] = np.diff(stretch) + np.diff(steps[-1]) > 0
        begins[1:] |= np.diff(steps[STEP]) <= 0
        kept = begins | np.append(begins[1:], True)
        Thinned.read, Thinned.kept = Thinned.read + len(kept), Thinned.kept + int(kept.sum())
        return tuple(column[kept] for column in steps)


def compared(logs: Path, scratch: Path) -> str:
    """Return how many jobs have other segments, or another ETT, where steps are left out."""
    ettlog.ingest([logs], scratch / "whole.lake", options=IngestOptions(workers=1))
    with mock.patch("ettlog.parse.engine.Facts", Thinned):
        ettlog.ingest([logs], scratch / "thinned.lake", options=IngestOptions(workers=1))
    whole, thinned = (ettlog.open(scratch / f"{name}.lake") for name in ("whole", "thinned"))
    jobs = whole.table("job").filter(pl.col("effective_us") > 0).select("job", "ett")
    both = jobs.join(thinned.table("job").select("job", other="ett"), on="job", how="left")
    off = [abs(ours - (theirs or 0)) for ours, theirs in both.select("ett", "other").iter_rows()]
    rows = [fleet.table("segment").drop("evidence") for fleet in (whole, thinned)]
    told = [dict(frame.group_by("job", maintain_order=True)) for frame in rows]
    other = sum((job,) not in told[1] or not told[0][job,].equals(told[1][job,]) for job in jobs["job"])
    return (
        f"{Thinned.kept:,} of {Thinned.read:,} step lines left: of {len(jobs)} jobs with effective time {other} have "
        f"other segments and {sum(points > 0 for points in off)} another ETT, by up to {100 * max(off, default=0):.1f} "
        "points"
    )


def main() -> None:
    """Compare the logs of a folder and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("logs", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        print(compared(given.logs, Path(scratch)))


if __name__ == "__main__":
    main()
