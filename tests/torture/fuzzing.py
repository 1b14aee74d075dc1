"""The fuzz targets of `fuzz/`, round by round until there were inputs enough: none breaks a promise."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import TYPE_CHECKING

from fuzz import __main__ as fuzz
from tests.torture import results
from tests.torture.registry import Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from tests.torture.registry import Scope

    Ended = tuple[int, int, str]

SECONDS, FEW_SECONDS = 45, 2
"""Of one round of one target, by the clock."""
FULL, SAMPLE = 3_000_000, 1
"""Inputs after which no further round begins."""
MOST_ROUNDS = 60


def run(scope: Scope) -> Outcome:
    """Fuzz each target in a process of its own, as many at once as there are cores for this one."""
    found = Outcome()
    if find_spec("atheris") is None:
        found.skipped.append(fuzz.MISSING)
        return found
    seconds, enough = scope.number(SECONDS, FEW_SECONDS), scope.number(FULL, SAMPLE)
    parts = results.parts(scope.kept, f"{seconds}", "ettlog", "fuzz/targets.py", "fuzz/seeds.py", "fuzz/__main__.py")
    tried, rounds = Counter[str](), 0
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        while sum(tried.values()) < enough and rounds < MOST_ROUNDS and not found.failures:
            rounds += 1
            ends = pool.map(lambda name, number=rounds: _round(name, number, seconds, parts), fuzz.TARGETS)
            for name, (code, count, said) in zip(fuzz.TARGETS, ends, strict=True):
                tried[name] += count
                found.expect(code == 0, f"{name}: {said[-1500:]}")
    found.counts["executions"] = sum(tried.values())
    told = ", ".join(f"`{name}` {tried[name]:,}" for name in fuzz.TARGETS)
    found.notes.append(f"rounds of {seconds} s a target by the clock: {rounds}; inputs tried: {told}")
    return found


def _round(name: str, number: int, seconds: int, parts: Path | None) -> Ended:
    """Return how one round of a target ended, now or in an earlier part of an interrupted run."""
    told = parts / f"{name}-{number}.json" if parts else None
    if told and told.exists():
        code, count, said = json.loads(told.read_text())
        return code, count, said
    done = fuzz.ended([sys.executable, "-m", "fuzz", "--inside", "--seconds", f"{seconds}", name])
    if told and not done[0]:
        told.write_text(json.dumps((*done[:2], "")))
    return done
