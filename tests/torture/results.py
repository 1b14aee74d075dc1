"""What the areas of a run found, kept in a folder: an interrupted run goes on with what is missing."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from tests.torture.registry import Area, Outcome, Run


def keep(done: Run, folder: Path) -> None:
    """Write what one area found into a file of its name."""
    found = done.outcome
    told = {
        "counts": dict(found.counts), "failures": found.failures, "skipped": found.skipped, "notes": found.notes,
        "seconds": done.seconds, "date": done.date, "full": done.full,
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{area_file(done.area)}.tmp").write_text(json.dumps(told, indent=1))
    (folder / f"{area_file(done.area)}.tmp").replace(folder / area_file(done.area))


def kept(area: Area, folder: Path) -> Run | None:
    """Return what an area found in an earlier part of the run; None where it was not run yet."""
    path = folder / area_file(area)
    if not path.exists():
        return None
    told = json.loads(path.read_text())
    found = Outcome(Counter(told["counts"]), told["failures"], told["skipped"], told["notes"])
    return Run(area, found, told["seconds"], told["date"], told["full"])


def area_file(area: Area) -> str:
    """Return the name of the file that keeps an area's result."""
    return f"{area.name}.json"
