"""What the areas of a run found, kept in a folder: an interrupted run goes on with what is missing."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from pathlib import Path

from tests.conftest import ROOT
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


def parts(folder: Path | None, state: str, *code: str) -> Path | None:
    """Return the folder of what an interrupted area did before, emptied where `state` or a file of `code` is another.

    `code` are files and folders of the checkout. None where nothing is kept.
    """
    if folder is None:
        return None
    known = hashlib.sha256(state.encode())
    for path in sorted(path for name in code for path in _files(ROOT / name)):
        known.update(f"\n{path.relative_to(ROOT)} {path.stat().st_size}\n".encode() + path.read_bytes())
    told = folder / "state"
    if not told.exists() or told.read_text() != known.hexdigest():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        told.write_text(known.hexdigest())
    return folder


def _files(place: Path) -> list[Path]:
    return [path for path in (place, *place.rglob("*")) if path.is_file() and path.suffix != ".pyc"]
