"""F10: several ingests, readers and repairs of one lake at the same time, and one ingest killed among them."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from typing import TYPE_CHECKING

import ettlog
from ettlog import manifest
from ettlog.errors import LakeError
from ettlog.ingest import IngestOptions
from ettlog.lake import Lake
from tests.ingesting import accounting
from tests.torture import lakes
from tests.torture.nursery import Nursery, lent
from tests.torture.registry import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.torture.registry import Scope


def run(scope: Scope) -> Outcome:
    """Play rounds: each lays out logs anew and lets a seeded number of processes loose on them."""
    found = Outcome()
    chance = random.Random(scope.seed)
    with lent(scope.folder / "nursery") as nursery:
        for number in range(scope.number(50, 4)):
            many = 8 if number % 5 == 4 else 2
            folder = scope.folder / str(number)
            _lay_out(folder)
            found.counts["executions"] += 1
            found.failures.extend(f"round {number}: {text}" for text in _round(nursery, folder, many, chance))
    return found


def _lay_out(folder: Path) -> None:
    for place, part in enumerate(("one", "two")):
        (folder / "logs" / part).mkdir(parents=True)
        for number in range(6):
            (folder / "logs" / part / f"{number}.txt").write_text(accounting(100 * place + number, number))


def _round(nursery: Nursery, folder: Path, many: int, chance: random.Random) -> Iterator[str]:
    """Race `many` ingests, one of them killed, with a repair and a reader; then one ingest alone must find no work."""
    lake, logs = folder / "lake", folder / "logs"
    words = ["ingest", str(logs), "--lake", str(lake), "--workers", "1", "-q"]
    doomed = nursery.start(words)
    others = [nursery.start(words) for _ in range(many)]
    time.sleep(chance.uniform(0, 0.2))
    os.kill(doomed[0], signal.SIGKILL)
    yield from _read(lake, 20)
    repair = nursery.start(["check", "--fix", "--lake", str(lake), "--format", "json"]) if lake.is_dir() else None
    ends = [nursery.wait(child) for child in others]
    nursery.wait(doomed)
    yield from (f"an ingest ended with {one.code}: {one.err[-200:]!r}" for one in ends if one.code)
    if repair is not None and not (mended := nursery.wait(repair)).polite:
        yield f"the repair ended with {mended.code}: {mended.err[-200:]!r}"
    lakes.again(folder, label="logs")
    (folder / "alone").mkdir()
    ettlog.ingest([logs], folder / "alone/lake", options=IngestOptions(workers=1))
    if not lakes.same(lake, folder / "alone/lake"):
        yield "the lake is not that of one ingest alone"
    yield from _listed_once(lake)


def _read(lake: Path, times: int) -> Iterator[str]:
    """Open the lake again and again while others write to it."""
    for _ in range(times):
        try:
            Lake.open(lake)
        except LakeError as error:
            if "no lake" not in error.what and "not a lake" not in error.what:
                yield f"a reader was told: {error}"
        time.sleep(0.005)


def _listed_once(lake: Path) -> Iterator[str]:
    """Yield sources that the manifest lists more than once for the same content."""
    lines = (lake / manifest.NAME).read_bytes().splitlines()
    counts = Counter((entry.path, entry.key) for entry in map(manifest.decode, lines))
    yield from (f"{path} was read {count} times" for (path, _), count in counts.items() if count > 1)
