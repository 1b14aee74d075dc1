"""F8: data files of a lake are flipped, cut and zeroed; whoever asks for whole ones gets no wrong row in silence."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import ettlog
from ettlog.check import ERROR
from ettlog.errors import LakeError
from ettlog.lake import Lake, data_path
from tests.conftest import ROOT
from tests.torture.registry import Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from tests.torture.registry import Scope

CHECKED = 40
"""Every so-manieth mutant is shown to the whole of `check` too."""


def run(scope: Scope) -> Outcome:
    """Damage one data file of a lake a time; a change of its length must be noticed without asking."""
    found = Outcome()
    lake = scope.folder / "lake"
    ettlog.ingest([ROOT / "fixtures/tiny/logs"], lake)
    paths = [data_path(lake, table, key) for table, key, _ in Lake.open(lake, verify=True).state.listed()]
    chance = random.Random(scope.seed)
    for number in range(scope.number(2000, 200)):
        path = chance.choice(paths)
        whole = path.read_bytes()
        what, mutant = mutate(whole, chance)
        path.write_bytes(mutant)
        name = f"mutant {number}: {path.name} {what}"
        found.counts["faults"] += 1
        found.expect(_refused(lake, verify=True), f"{name}: opened as whole")
        found.expect(len(mutant) == len(whole) or _refused(lake, verify=False), f"{name}: its length was not noticed")
        if number % CHECKED == 0:
            levels = ettlog.check(lake)["level"].to_list()
            found.expect(ERROR in levels, f"{name}: `check` finds no error")
        path.write_bytes(whole)
    found.expect(not _refused(lake, verify=True), "the lake is not what it was after all mutants were taken back")
    return found


def _refused(lake: Path, *, verify: bool) -> bool:
    try:
        Lake.open(lake, verify=verify)
    except LakeError:
        return True
    return False


def mutate(data: bytes, chance: random.Random) -> tuple[str, bytes]:
    """Return what was done to some bytes, and other bytes than these."""
    place = chance.randrange(len(data))
    flipped = bytes([data[place] ^ 1 << chance.randrange(8)])
    zeros = bytes(min(512, len(data) - place))
    kinds = {
        f"flipped at {place}": data[:place] + flipped + data[place + 1 :],
        f"cut to {place}": data[:place],
        f"zeroed from {place}": data[:place] + zeros + data[place + len(zeros) :],
        "with a byte more": data + b"\0",
    }
    return chance.choice([(what, mutant) for what, mutant in kinds.items() if mutant != data])
