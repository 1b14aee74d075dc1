"""Small logs and the lakes they make: the ground on which faults are injected, and what must hold after each."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ettlog import manifest
from ettlog.ingest import IngestOptions, IngestReport, ingest
from ettlog.lake import Lake
from tests.ingesting import accounting, tree

SETTINGS = "[limits]\ndepth = {}\n"
TRAINER = """\
2031-05-06 08:00:00 torchrun: launching 8 processes
[2031-05-06 08:01:40] iteration       10/     500 | consumed samples:         1280 | elapsed time per iteration (ms): \
1000.0 | learning rate: 1.000E-04 | global batch size:   128 | lm loss: 9.1E+00 | loss scale: 1.0 | grad norm: 1.000 | \
number of skipped iterations:   0 | number of nan iterations:   0 |
[2031-05-06 08:01:50] iteration       20/     500 | consumed samples:         2560 | elapsed time per iteration (ms): \
1000.0 | learning rate: 1.000E-04 | global batch size:   128 | lm loss: 8.7E+00 | loss scale: 1.0 | grad norm: 1.000 | \
number of skipped iterations:   0 | number of nan iterations:   0 |
  successfully saved checkpoint from iteration      20 to /ckpt/owl
"""


def first(folder: Path) -> None:
    """Lay out logs that were never ingested: facts, a copy of equal bytes, settings."""
    logs = folder / "logs"
    logs.mkdir(parents=True)
    for n in range(2):
        (logs / f"{n}.txt").write_text(accounting(10 * n, 10 * n + 1))
    (logs / "copy.txt").write_text(accounting(0, 1))
    (logs / "ettlog.toml").write_text(SETTINGS.format(4))


def grown(folder: Path) -> None:
    """Lay out a lake whose logs have grown, been replaced and rotated since, one of them with a twin."""
    first(folder)
    again(folder)
    logs = folder / "logs"
    with (logs / "1.txt").open("a") as stream:
        stream.write(accounting(99).split("\n", 1)[1])
    (logs / "0.txt").write_text(accounting(77))
    (logs / "new.txt").write_text(accounting(5))
    (logs / "ettlog.toml").write_text(SETTINGS.format(5))


def reparsed(folder: Path) -> None:
    """Lay out a lake that other options made, so that every source is read again."""
    first(folder)
    again(folder, zone="Asia/Kolkata")


def rotated(folder: Path) -> None:
    """Lay out a lake whose logs have been rotated and packed since: two names are gone, their bytes are not."""
    first(folder)
    again(folder)
    logs = folder / "logs"
    (logs / "1.txt").rename(logs / "1.txt.1")
    (logs / "1.txt").write_text(accounting(42))
    (logs / "0.txt.gz").write_bytes(gzip.compress((logs / "0.txt").read_bytes(), mtime=0))
    (logs / "0.txt").unlink()
    (logs / "copy.txt").unlink()


def trained(folder: Path) -> None:
    """Lay out logs of accounting and of a trainer that were never ingested: allocations, events and steps."""
    first(folder)
    (folder / "logs/owl-17").mkdir()
    (folder / "logs/owl-17/train.log").write_text(TRAINER)


SCENARIOS: dict[str, Callable[[Path], None]] = {
    "first": first,
    "grown": grown,
    "reparsed": reparsed,
    "rotated": rotated,
    "trained": trained,
}


def again(folder: Path, **options: str | int) -> IngestReport:
    """Ingest the logs of a folder into the lake beside them."""
    return ingest([folder / "logs"], folder / "lake", options=IngestOptions(workers=1, **options))  # type: ignore[arg-type]


def sound(scenario: str, folder: Path) -> tuple[Path, dict[str, bytes]]:
    """Lay out a scenario; return its folder, as it is before the ingest, and the lake's files after it."""
    start, done = folder / "start", folder / "sound"
    SCENARIOS[scenario](start)
    shutil.copytree(start, done)
    again(done)
    return start, tree(done / "lake")


def fresh(start: Path, case: Path) -> Path:
    """Copy a scenario into a case of its own, which it empties first."""
    shutil.rmtree(case, ignore_errors=True)
    shutil.copytree(start, case)
    return case


def told(lake: Path) -> dict[str, manifest.SourceEntry]:
    """Return what a lake says of each path, but for its history: which older facts an entry stood for."""
    current = Lake.open(lake, verify=True).state.current
    return {path: replace(entry, supersedes=None, relation=None, was=()) for path, entry in current.items()}


def same(lake: Path, other: Path) -> bool:
    """Tell whether two lakes hold the same facts under the same paths, whatever their histories."""
    facts = [{name: data for name, data in tree(one).items() if "/" in name} for one in (lake, other)]
    return told(lake) == told(other) and facts[0] == facts[1]
