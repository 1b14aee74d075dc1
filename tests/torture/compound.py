"""F11: an ingest is killed in the middle of a write, and the next one, which heals, is killed too."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.torture import invariants, lakes, shim
from tests.torture.ingest_faults import Case, Ground, command, plan
from tests.torture.nursery import Nursery, lent
from tests.torture.registry import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.torture.registry import Scope


def run(scope: Scope) -> Outcome:
    """Kill a first run half way through each write, a second one at each of its calls; the third must make it good."""
    found = Outcome()
    if shim.library() is None:
        found.skipped.append("no C compiler; tests/test_ingest_kill.py kills once without")
        return found
    with lent(scope.folder / "nursery") as nursery:
        for name in ("grown", "rotated"):
            ground = Ground(*lakes.sound(name, scope.folder / name))
            halves = [one for one in plan(nursery, name, ground, scope.folder) if one.action == "killed half way"]
            for half in scope.some(halves, 1):
                _twice(nursery, half, ground, scope, found)
    return found


def _twice(nursery: Nursery, half: Case, ground: Ground, scope: Scope, found: Outcome) -> None:
    """Kill the run after a half-written one at every call it makes."""
    seen = scope.folder / "seen.json"
    case = _left(nursery, half, ground, scope.folder / "case")
    nursery.run(command(case), shim.Trap(str(case / "lake"), seen=str(seen)))
    for at in scope.some(range(1, len(json.loads(seen.read_text())) + 1), 8):
        found.counts["faults"] += 1
        case = _left(nursery, half, ground, scope.folder / "case")
        found.failures.extend(f"{half}, then call {at}: {text}" for text in _broken(nursery, at, case, ground))


def _left(nursery: Nursery, half: Case, ground: Ground, folder: Path) -> Path:
    case = lakes.fresh(ground.start, folder)
    ended = nursery.run(command(case), shim.Trap(str(case / "lake"), half.at, shim.KILL_HALF))
    assert ended.code == -9, ended.err
    return case


def _broken(nursery: Nursery, at: int, case: Path, ground: Ground) -> Iterator[str]:
    ended = nursery.run(command(case), shim.Trap(str(case / "lake"), at, shim.KILL_BEFORE))
    yield from invariants.after_fault(case / "lake", ended, killed=True)
    yield from invariants.after_rerun(case / "lake", nursery.run(command(case)), ground.expected)
