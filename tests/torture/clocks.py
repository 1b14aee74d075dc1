"""F13: the clock of the machine stands anywhere, runs backwards, or passes the night on which it is set back."""

from __future__ import annotations

import datetime
import time
from typing import TYPE_CHECKING

from tests.conftest import ROOT
from tests.ingesting import tree
from tests.torture import shim
from tests.torture.nursery import Nursery, lent
from tests.torture.registry import Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from tests.torture.registry import Scope

TINY = ROOT / "fixtures/tiny/logs"
CLOCKS = {
    "1970": "1970-01-01T00:00:10",
    "1999": "1999-12-31T23:59:58",
    "the end of 32 bits": "2038-01-19T03:14:06",
    "2100": "2100-03-01T00:00:00",
    "a night of two hours": "2031-10-26T00:59:59",
}
"""Where the clock stands, in UTC; the last is the end of summer time in Berlin."""


def run(scope: Scope) -> Outcome:
    """Ingest and measure under each clock: bytes of the lake, and what `ett` prints, are those of now."""
    found = Outcome()
    if shim.library() is None:
        found.skipped.append("no C compiler; tests/test_ingest.py changes zone and file times without")
        return found
    with lent(scope.folder / "nursery") as nursery:
        expected = _answer(nursery, scope.folder / "now", (0, 0))
        shifts = {name: (_shift(text), 0) for name, text in CLOCKS.items()} | {"running backwards": (-100, -3600)}
        for name, clock in scope.some(list(shifts.items()), len(shifts)):
            found.counts["executions"] += 1
            answer = _answer(nursery, scope.folder / str(clock[0]), clock)
            for what, one, other in zip(("lake", "ett"), answer, expected, strict=True):
                found.expect(one == other, f"clock at {name}: {what} differs from that of now")
    return found


def _shift(text: str) -> int:
    """Return how many seconds the clock must be moved to stand at an instant."""
    at = datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)
    return int(at.timestamp() - time.time())


def _answer(nursery: Nursery, folder: Path, clock: tuple[int, int]) -> tuple[dict[str, bytes], str]:
    lake = folder / "lake"
    folder.mkdir()
    words = ["ingest", str(TINY), "--lake", str(lake), "--workers", "1", "-q"]
    made = nursery.run(words, clock=clock)
    told = nursery.run(["ett", "--lake", str(lake), "--format", "json"], clock=clock)
    assert made.code == told.code == 0, made.err + told.err
    return tree(lake), told.out
