"""The fuzz targets of `fuzz/`, some time each: no input breaks a promise."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import TYPE_CHECKING

from fuzz import __main__ as fuzz
from tests.torture.registry import Outcome

if TYPE_CHECKING:
    from tests.torture.registry import Scope

SECONDS, FEW_SECONDS = 180, 2


def run(scope: Scope) -> Outcome:
    """Fuzz each target in a process of its own, as many at once as there are cores."""
    found = Outcome()
    if find_spec("atheris") is None:
        found.skipped.append(fuzz.MISSING)
        return found
    seconds = scope.number(SECONDS, FEW_SECONDS)
    command = [sys.executable, "-m", "fuzz", "--inside", "--seconds", str(seconds)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        ends = list(pool.map(lambda name: fuzz.ended([*command, name]), fuzz.TARGETS))
    for name, (code, count, said) in zip(fuzz.TARGETS, ends, strict=True):
        found.counts["executions"] += count
        found.expect(code == 0, f"{name}: {said[-1500:]}")
    told = ", ".join(f"`{name}` {count:,}" for name, (_, count, _) in zip(fuzz.TARGETS, ends, strict=True))
    found.notes.append(f"{seconds} s a target by the clock, inputs tried: {told}")
    return found
