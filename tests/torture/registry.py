"""The areas of the torture run: what each does to ettlog, how much at least, and what a run of it found.

An area is a module of this package with one function, `run(scope) -> Outcome`, and a row in AREAS. `python -m
tests.torture` runs the full floors of all rows, the test `tests/torture/test_areas.py` a seeded sample of each.
"""

from __future__ import annotations

import datetime
import os
import random
import shutil
from collections import Counter
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeVar

    T = TypeVar("T")

UNITS = ("faults", "power cuts", "states", "inputs", "executions", "mutants")
"""What an area may count; each is a column of the table."""


@dataclass(frozen=True)
class Scope:
    """How much of an area to run, with which chance, and where it may write (a folder of its own)."""

    folder: Path
    full: bool = False
    seed: int = 1
    kept: Path | None = None
    """Folder that outlives an interrupted run, for an area that takes long."""
    share: float = 1.0
    """How much of a sample to take."""

    def some(self, items: Sequence[T], count: int) -> list[T]:
        """Return all items in a full run, else a seeded sample of `count` of them or of their share, in order."""
        count = max(1, round(count * self.share))
        if self.full or len(items) <= count:
            return list(items)
        chosen = random.Random(self.seed).sample(range(len(items)), count)
        return [items[place] for place in sorted(chosen)]

    def number(self, full: int, sample: int) -> int:
        """Return how many cases to make."""
        return full if self.full else sample


@dataclass
class Outcome:
    """What a run of one area found."""

    counts: Counter[str] = field(default_factory=Counter)
    """How much was done, by unit (UNITS)."""
    failures: list[str] = field(default_factory=list)
    """One sentence a failure: what was done, what came of it, what was expected."""
    skipped: list[str] = field(default_factory=list)
    """What could not be tried on this machine, a sentence each with the reason."""
    notes: list[str] = field(default_factory=list)
    """Figures worth printing beside the table, a sentence each."""

    def expect(self, holds: bool, sentence: str) -> None:
        """Keep the sentence as a failure unless the expectation holds."""
        if not holds:
            self.failures.append(sentence)


class Area(NamedTuple):
    """One row of the table: `floor` is the least of `unit` in a full run, `sample` the least in a sampled one."""

    name: str
    title: str
    module: str
    unit: str
    floor: int
    sample: int


AREAS: tuple[Area, ...] = (
    Area("F1", "each call of an ingest killed or failed", "ingest_faults", "faults", 560, 60),
    Area("F2", "each call that writes an answer killed or failed", "outputs", "faults", 150, 20),
    Area("F3", "the system refuses calls on the logs", "source_faults", "faults", 48, 24),
    Area("F4", "an fsync fails once, then succeeds", "fsync_once", "faults", 24, 8),
    Area("F5", "the power cut at each call, on a real ext4", "power_cuts", "power cuts", 162, 8),
    Area("F5-XFS", "the power cut at each call, on a real XFS", "power_cuts_xfs", "power cuts", 162, 6),
    Area("F5-Btrfs", "the power cut at each call, on a real Btrfs", "power_cuts_btrfs", "power cuts", 162, 6),
    Area("F6", "every state of the disk after a power cut", "power", "states", 300, 80),
    Area("F7", "the manifest damaged, then ingested again", "damaged_manifest", "faults", 454, 70),
    Area("F8", "data files damaged, then opened and checked", "damaged_facts", "faults", 2000, 200),
    Area("F9", "a full disk, a disk without names, a disk that is only read", "full_disk", "faults", 36, 18),
    Area("F10", "ingests, readers and repairs at once, one killed", "racing", "executions", 50, 4),
    Area("F11", "killed half way, and killed again while healing", "compound", "faults", 81, 16),
    Area("F12", "a log that changes while it is read", "changing_sources", "faults", 24, 24),
    Area("F13", "the clock of the machine anywhere and backwards", "clocks", "executions", 6, 6),
    Area("F14", "signals, a closed stdout, a reader that leaves", "endings", "faults", 60, 12),
    Area("F15", "a worker dies, or hangs", "worker_deaths", "faults", 8, 4),
    Area("F16", "what is larger than memory may be", "memory", "executions", 3, 3),
    Area("days", "days of growing, rotating, packed logs, two ingests an hour", "days", "executions", 1152, 40),
    Area("D1", "the same logs under other circumstances, all pairs of them", "circumstances", "executions", 25, 3),
    Area("D2", "the same logs read by other versions of Python", "pythons", "executions", 1, 1),
    Area("P1", "words planted in logs, looked for in all that is kept or said", "canaries", "inputs", 200, 200),
    Area("H1", "hostile files, names and texts, asked by every command", "hostile_corpus", "inputs", 550, 60),
    Area("S1", "random sequences of actions on logs and lake", "sequences", "executions", 10_000, 40),
    Area("Q1", "properties, with new examples by the thousand", "properties", "executions", 500_000, 300),
    Area("Z1", "eight fuzz targets", "fuzzing", "executions", 3_000_000, 1_000),
    Area("M-cascade", "the restart cascade changed, one place at a time", "mutation", "mutants", 120, 3),
    Area("M-manifest", "the manifest's code changed", "mutation", "mutants", 100, 3),
    Area("M-durable", "the code of durable writes changed", "mutation", "mutants", 70, 3),
    Area("M-lake", "the lake's code changed", "mutation", "mutants", 75, 3),
    Area("M-commit", "the code of commits changed", "mutation", "mutants", 85, 3),
    Area("M-moved", "the code for renamed logs changed", "mutation", "mutants", 25, 3),
    Area("M-segment", "the SQL of the segments changed", "mutation", "mutants", 45, 3),
)


class Run(NamedTuple):
    """One area that was run: what it found, and the CPU seconds of it and of the processes it started."""

    area: Area
    outcome: Outcome
    seconds: float
    date: str = ""
    """Day on which it was run (UTC, YYYY-MM-DD)."""
    full: bool = True
    """Whether everything was run, or a seeded sample."""


def run(area: Area, scope: Scope) -> Run:
    """Run one area, and hold its count against the floor."""
    begun = _computed()
    scope.folder.mkdir(parents=True, exist_ok=True)
    outcome: Outcome = import_module(f"tests.torture.{area.module}").run(scope)
    least = area.floor if scope.full else max(1, int(area.sample * scope.share) if scope.share < 1 else area.sample)
    done = outcome.counts[area.unit]
    missed = f"{area.name}: only {done:,} {area.unit}, where {least:,} are the least"
    outcome.expect(done >= least or bool(outcome.skipped), missed)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return Run(area, outcome, _computed() - begun, today, scope.full)


def _computed() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def memory() -> Path | None:
    """Return a folder in memory, where there is one: it loses nothing of what was written, and fsync costs nothing."""
    shm = Path("/dev/shm")
    return shm if os.access(shm, os.W_OK) and shutil.disk_usage(shm).free > 1 << 28 else None


def is_root() -> bool:
    """Tell whether this process may mount, which some areas need."""
    return os.geteuid() == 0
