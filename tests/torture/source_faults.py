"""F3: the system refuses to open, read, look at or list logs; each loses itself only, until the next ingest."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.ingesting import accounting
from tests.torture import invariants, lakes, shim
from tests.torture.nursery import Ended, Nursery, lent
from tests.torture.registry import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.torture.registry import Scope

ERRORS = ("EINTR", "EMFILE", "EROFS", "EACCES", "EDQUOT", "ESTALE", "ENOENT", "EIO")
CALLS = (shim.OPEN, shim.READ, shim.STAT, shim.FSTAT, shim.LIST)
NAMES = ("logs/a.txt", "logs/b.txt", "logs/sub/c.txt")


class Case(NamedTuple):
    """One fault: which call of a kind fails, and how."""

    kind: int
    at: int
    error: str

    def __str__(self) -> str:
        """Return the case as a phrase."""
        return f"{shim.KINDS[self.kind]} {self.at} of the logs gives {self.error}"


def lay_out(folder: Path) -> Path:
    """Write three logs, one of them in a folder inside."""
    (folder / "logs/sub").mkdir(parents=True)
    for number, name in enumerate(NAMES):
        (folder / name).write_text(accounting(number))
    return folder


def run(scope: Scope) -> Outcome:
    """Let each call on the logs fail once with each error."""
    found = Outcome()
    if shim.library() is None:
        found.skipped.append("no C compiler; tests/test_ingest.py lets logs be refused without")
        return found
    start, sound = lay_out(scope.folder / "start"), lay_out(scope.folder / "sound")
    lakes.again(sound)
    with lent(scope.folder / "nursery") as nursery:
        for case in scope.some(list(plan(nursery, start, scope.folder)), 24):
            found.counts["faults"] += 1
            folder = lakes.fresh(start, scope.folder / "case")
            found.failures.extend(f"{case}: {text}" for text in broken(nursery, case, folder, sound))
    return found


def plan(nursery: Nursery, start: Path, folder: Path) -> Iterator[Case]:
    """Count the calls of each kind, and let each fail with each error."""
    for kind in CALLS:
        case, seen = lakes.fresh(start, folder / "case"), folder / "seen.json"
        _ingest(nursery, case, shim.Trap(str(case / "logs"), kinds=kind, seen=str(seen)))
        for at in range(1, len(json.loads(seen.read_text())) + 1):
            yield from (Case(kind, at, error) for error in ERRORS)


def _ingest(nursery: Nursery, case: Path, trap: shim.Trap | None = None) -> Ended:
    return nursery.run([str(case / "logs"), str(case / "lake")], trap, call="account")


def broken(nursery: Nursery, case: Case, folder: Path, sound: Path) -> Iterator[str]:
    """Do what the case says; yield what does not hold of the account, the other files, and the next ingest."""
    logs = invariants.Logs.of(folder / "logs")
    trap = shim.Trap(str(folder / "logs"), case.at, shim.FAIL, getattr(errno, case.error), case.kind)
    ended = _ingest(nursery, folder, trap)
    yield from invariants.after_fault(folder / "lake", ended, killed=False)
    if ended.code == 0:
        yield from _accounted(json.loads(ended.out), folder, sound)
    again = _ingest(nursery, folder)
    if again.code or not lakes.same(folder / "lake", sound / "lake"):
        yield f"I3: the next ingest ends with {again.code} and another lake: {again.err[-200:]!r}"
    if invariants.Logs.of(folder / "logs") != logs:
        yield "I5: a log was changed or touched"


def _accounted(told: dict[str, dict[str, str]], folder: Path, sound: Path) -> Iterator[str]:
    """Yield files that are neither in the lake, as they should be, nor said to be missing."""
    expected, there = lakes.told(sound / "lake"), lakes.told(folder / "lake")
    for name in NAMES:
        silent = told["files"].get(name) != "rejected" and not any(name.startswith(one) for one in told["not_read"])
        if silent and there.get(name) != expected[name]:
            yield f"{name} is not in the lake, and nothing says so"
