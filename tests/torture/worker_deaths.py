"""F15: a worker process dies over a file, or hangs: that file is set aside with the reason, all others are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from ettlog.lake import Lake
from tests.ingesting import accounting
from tests.torture import lakes
from tests.torture.dying import DEATHS
from tests.torture.nursery import Nursery, lent
from tests.torture.registry import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.torture.registry import Scope

WELL = 4
STALLED_S = 20, 8
"""Seconds without a byte read after which a worker hangs, in a full run and in a sample; ten minutes in earnest."""
PATIENCE_S = 900.0
REJECTED = 3
"""Exit code of an ingest that could not read all files."""


def run(scope: Scope) -> Outcome:
    """Let a pool of two meet each death alone, and all of them in one ingest; a sample turns no core in vain."""
    found = Outcome()
    alone = [[name] for name in DEATHS] if scope.full else []
    with lent(scope.folder / "nursery") as nursery:
        for number, names in enumerate([*alone, list(DEATHS)[: scope.number(len(DEATHS), 4)]]):
            found.counts["faults"] += len(names)
            bad = _deadly(nursery, scope.folder / str(number), names, scope.number(*STALLED_S))
            found.failures.extend(f"{' and '.join(names)}: {text}" for text in bad)
    return found


def _deadly(nursery: Nursery, folder: Path, names: list[str], stalled_s: int) -> Iterator[str]:
    """Ingest good files with deadly ones among them; yield what does not hold of that, and of the next ingest."""
    logs = folder / "logs"
    logs.mkdir(parents=True)
    good = [f"good{number}" for number in range(WELL)]
    for number, name in enumerate((*good, *names)):
        (logs / f"{name}.txt").write_text(accounting(number))
    words = ["ingest", str(logs), "--lake", str(folder / "lake"), "--workers", "2", "-v"]
    ended = nursery.run(words, dying=stalled_s, patience=PATIENCE_S)
    if ended.hung or ended.code != REJECTED or "Traceback" in ended.err:
        yield f"exit code {ended.code} after {ended.seconds:.0f} s: {ended.err[-400:]!r}"
    for name in names:
        told = [line for line in ended.err.splitlines() if f"logs/{name}.txt: " in line]
        if not any(DEATHS[name][1] in line for line in told):
            yield f"the account gives the reason for {name}.txt as {told}"
    there = {entry.path for entry in Lake.open(folder / "lake", verify=True).sources()}
    if there != {f"logs/{name}.txt" for name in good}:
        yield f"the lake holds {sorted(there)}"
    yield from _afterwards(nursery, folder, len(good) + len(names))


def _afterwards(nursery: Nursery, folder: Path, files: int) -> Iterator[str]:
    """Yield what does not hold once workers live: the next ingest reads what is missing."""
    again = nursery.run([str(folder / "logs"), str(folder / "lake")], call="account")
    if again.code or len(json.loads(again.out)["files"]) != files:
        yield f"the next ingest ends with {again.code}: {again.err[-200:]!r}"
    sound = folder / "sound"
    nursery.run([str(folder / "logs"), str(sound)], call="account")
    if not lakes.same(folder / "lake", sound):
        yield "the lake is not that of an ingest in which nobody died"
