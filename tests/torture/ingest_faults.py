"""F1: every call with which an ingest changes the lake is the last one, fails, or is done by half."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.ingesting import tree
from tests.torture import invariants, lakes, shim
from tests.torture.nursery import Nursery, lent
from tests.torture.registry import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.torture.registry import Scope


class Case(NamedTuple):
    """One fault: in which scenario, at which call, of which kind, and what is done to it."""

    scenario: str
    at: int
    kind: int
    action: str

    def __str__(self) -> str:
        """Return the case as a phrase."""
        return f"{self.scenario} ingest, call {self.at} ({shim.KINDS[self.kind]}) {self.action}"


class Ground(NamedTuple):
    """A scenario: its folder before the ingest, and the files of the lake after an undisturbed one."""

    start: Path
    expected: dict[str, bytes]


def run(scope: Scope) -> Outcome:
    """Spoil each call of each scenario in each way."""
    found = Outcome()
    if shim.library() is None:
        found.skipped.append("no C compiler, so calls cannot be spoilt; tests/test_ingest_kill.py does without")
        return found
    with lent(scope.folder / "nursery") as nursery:
        grounds = {name: Ground(*lakes.sound(name, scope.folder / name)) for name in lakes.SCENARIOS}
        cases = [case for name, ground in grounds.items() for case in plan(nursery, name, ground, scope.folder)]
        for case in scope.some(cases, 60):
            found.counts["faults"] += 1
            ground = grounds[case.scenario]
            found.failures.extend(f"{case}: {text}" for text in broken(nursery, case, ground, scope.folder / "case"))
    return found


def command(case: Path) -> list[str]:
    """Return the words that ingest the logs of a case."""
    return ["ingest", str(case / "logs"), "--lake", str(case / "lake"), "--workers", "1", "-q"]


def plan(nursery: Nursery, scenario: str, ground: Ground, folder: Path) -> Iterator[Case]:
    """Count the calls of an undisturbed ingest, and yield every fault that can be made of them."""
    case = lakes.fresh(ground.start, folder / "case")
    seen = folder / "seen.json"
    ended = nursery.run(command(case), shim.Trap(str(case / "lake"), seen=str(seen)))
    assert ended.code == 0, ended.err
    for at, kind in enumerate(json.loads(seen.read_text()), 1):
        for action in shim.ACTIONS:
            if kind == shim.WRITE or action not in shim.OF_WRITES:
                yield Case(scenario, at, kind, action)


def broken(nursery: Nursery, case: Case, ground: Ground, folder: Path) -> Iterator[str]:
    """Do what the case says, and yield every invariant that does not hold."""
    lakes.fresh(ground.start, folder)
    lake, logs = folder / "lake", invariants.Logs.of(folder / "logs")
    action, error = shim.ACTIONS[case.action]
    ended = nursery.run(command(folder), shim.Trap(str(lake), case.at, action, error))
    yield from invariants.after_fault(lake, ended, killed=action in shim.KILLS)
    if ended.code == 0 and tree(lake) != ground.expected:
        yield "I2: it ended well, and its lake is not that of an undisturbed run"
    yield from invariants.after_rerun(lake, nursery.run(command(folder)), ground.expected)
    if invariants.Logs.of(folder / "logs") != logs:
        yield "I5: a log was changed or touched"
