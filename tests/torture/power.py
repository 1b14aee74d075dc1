"""F6, the run: trace an ingest, enumerate the states of the disk, hold each against the invariants."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ettlog.errors import LakeError
from ettlog.lake import Lake
from tests.ingesting import tree
from tests.torture import ingest_faults, lakes, shim
from tests.torture.acts import BUGS
from tests.torture.disk_states import Call, Disk, read_log
from tests.torture.nursery import Nursery, lent
from tests.torture.registry import Outcome

if TYPE_CHECKING:
    from tests.torture.registry import Scope


FOUND_BY_RERUN = ("no newline repair",)
"""Mistakes that show only when an ingest goes on with what was left."""


class Left(NamedTuple):
    """One state of the disk: files by name, folders, and whether the ingest had reported success by then."""

    files: dict[str, bytes]
    folders: frozenset[str]
    acknowledged: bool


def run(scope: Scope) -> Outcome:
    """Try all states of the right protocol, which must hold, and some of each mistaken one, which must not."""
    found = Outcome()
    if shim.library() is None:
        found.skipped.append("no C compiler, so no calls can be traced")
        return found
    with lent(scope.folder / "nursery") as nursery:
        for scenario in lakes.SCENARIOS:
            states, bad = attempt(nursery, scope, scenario, None)
            found.counts["states"] += states
            found.failures.extend(f"{scenario} ingest: {text}" for text in bad)
        for bug in BUGS:
            states, bad = attempt(nursery, scope, "grown", bug)
            found.expect(bool(bad), f"{bug}: none of {states} states was found to be broken")
            found.notes.append(f"the mistake `{bug}` is found: {len(bad):,} of {states:,} states are broken")
    return found


def attempt(nursery: Nursery, scope: Scope, scenario: str, bug: str | None) -> tuple[int, list[str]]:
    """Return how many states of one scenario were tried, and the first thing that did not hold in each."""
    folder = scope.folder / f"{scenario}{bug or ''}"
    start, expected = lakes.sound(scenario, folder)
    states = list(left(nursery, start, folder, bug))
    if bug is None:
        states = scope.some(states, 25)
    elif bug in FOUND_BY_RERUN and not scope.full:  # only where a line was torn can it show
        states = [state for state in states if not state.files.get("lake/manifest.jsonl", b"\n").endswith(b"\n")]
    bad: list[str] = []
    for number, state in enumerate(states, 1):
        case = lakes.fresh(start, folder / "case")
        put(state, case / "lake")
        found = next(at_once(state, case, expected), "")
        if not found and (bug is None or scope.full or bug in FOUND_BY_RERUN):
            found = next(after_all(nursery, case, expected, bug), "")
        if found:
            bad.append(f"state {number}: {found}")
            if bug and not scope.full:  # one is enough
                return number, bad
    return len(states), bad


def left(nursery: Nursery, start: Path, folder: Path, bug: str | None) -> Iterator[Left]:
    """Yield the distinct states that power cuts may leave of an ingest."""
    case = lakes.fresh(start, folder / "traced")
    log = folder / "log"
    disk = Disk(case)
    trap = shim.Trap(str(case), log=str(log))
    ended = nursery.run(ingest_faults.command(case), trap, bug=bug)
    assert ended.code == 0, ended.err
    calls = [*read_log(log, str(case)), Call("end", 0, "", "", 0, b"")]
    known = set()
    for number, call in enumerate(calls):
        if call.op != "end":
            disk.take(call)
        for names, folders, files in disk.states():
            held = {name: files.get(node, b"") for name, node in names.items() if name.startswith("lake/")}
            state = Left(held, frozenset(folders), number == len(calls) - 1)
            mark = hashlib.sha256(repr((sorted(held.items()), sorted(folders), state.acknowledged)).encode()).digest()
            if mark not in known:
                known.add(mark)
                yield state


def put(state: Left, lake: Path) -> None:
    """Make a state on a disk in memory."""
    shutil.rmtree(lake, ignore_errors=True)
    for folder in sorted(state.folders):
        if folder.startswith("lake"):
            (lake.parent / folder).mkdir(exist_ok=True)
    for name, data in state.files.items():
        (lake.parent / name).write_bytes(data)
        (lake.parent / name).chmod(0o600)


def at_once(state: Left, case: Path, expected: dict[str, bytes]) -> Iterator[str]:
    """Yield what does not hold in a state as it is: listed facts are whole (I1), acknowledged ones are listed (I2)."""
    lake = case / "lake"
    try:
        opened = Lake.open(lake, verify=True, strict=False)
        yield from (f"I1: {text}" for text in opened.damage)
        if state.acknowledged and tree(lake) != expected:
            yield "I2: the ingest had ended well, and something of it is lost"
    except LakeError as error:
        if state.acknowledged:
            yield f"I2: the ingest had ended well, and now {error.what}"


def after_all(nursery: Nursery, case: Path, expected: dict[str, bytes], bug: str | None) -> Iterator[str]:
    """Yield what does not hold after the same ingest ran again: the bytes of an undisturbed one (I3)."""
    ended = nursery.run(ingest_faults.command(case), bug=bug)
    if ended.code:
        yield f"I3: the next ingest ends with {ended.code}: {ended.err[-200:]!r}"
    elif tree(case / "lake") != expected:
        yield "I3: the next ingest does not give the bytes of an undisturbed one"
