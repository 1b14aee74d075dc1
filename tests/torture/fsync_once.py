"""F4: an fsync fails once and succeeds ever after, as kernels do it: what it was for must be written anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.torture import lakes, shim
from tests.torture.ingest_faults import Case, Ground, broken, command, plan
from tests.torture.nursery import Nursery, lent
from tests.torture.registry import Outcome

if TYPE_CHECKING:
    from tests.torture.registry import Scope


def run(scope: Scope) -> Outcome:
    """Let each fsync of each scenario fail once: the ingest must not end well, and must not try it again."""
    found = Outcome()
    if shim.library() is None:
        found.skipped.append("no C compiler; tests/test_lake.py lets fsync fail without")
        return found
    with lent(scope.folder / "nursery") as nursery:
        grounds = {name: Ground(*lakes.sound(name, scope.folder / name)) for name in lakes.SCENARIOS}
        cases = [case for name, ground in grounds.items() for case in plan(nursery, name, ground, scope.folder)]
        cases = [case for case in cases if case.kind == shim.FSYNC and case.action == "EIO"]
        for case in scope.some(cases, 8):
            found.counts["faults"] += 1
            ground, folder = grounds[case.scenario], scope.folder / "case"
            found.expect(_refused(nursery, case, ground), f"{case}: it ended well all the same")
            found.failures.extend(f"{case}: {text}" for text in broken(nursery, case, ground, folder))
    return found


def _refused(nursery: Nursery, case: Case, ground: Ground) -> bool:
    """Tell whether an ingest whose fsync failed ends as a failure."""
    folder = lakes.fresh(ground.start, ground.start.parent / "once")
    trap = shim.Trap(str(folder / "lake"), case.at, *shim.ACTIONS["EIO"])
    return nursery.run(command(folder), trap).code == 1
