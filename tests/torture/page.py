"""The page of the last full torture run: a table of areas, the machine, versions and date."""

from __future__ import annotations

import datetime
import os
import platform
import sys
from collections.abc import Sequence
from importlib import metadata

from tests.torture.registry import UNITS, Run

PACKAGES = ("ettlog", "duckdb", "pyarrow", "polars", "hypothesis")
HEAD = """# Torture

What `make torture` does to ettlog, and what came of it. Each row is one area: how many faults were injected, how often
the power was cut, how many states of a disk, inputs and executions were tried, and how many of them ended in anything
but the expected result. The run below is the last full one; every change of the code runs a seeded sample of each row.
"""


def table(runs: Sequence[Run]) -> str:
    """Return a Markdown table, one row an area, and the sum."""
    used = [unit for unit in UNITS if any(one.outcome.counts[unit] for one in runs)]
    head = ["area", "what", *used, "failures", "not tried", "seconds"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * 2 + "---:|" * (len(head) - 2)]
    for one in runs:
        counts = [_number(one.outcome.counts[unit]) for unit in used]
        tail = [str(len(one.outcome.failures)), _number(len(one.outcome.skipped)), f"{one.seconds:.0f}"]
        lines.append("| " + " | ".join([one.area.name, one.area.title, *counts, *tail]) + " |")
    sums = [_number(sum(one.outcome.counts[unit] for one in runs)) for unit in used]
    last = [
        str(sum(len(one.outcome.failures) for one in runs)),
        _number(sum(len(one.outcome.skipped) for one in runs)),
        f"{sum(one.seconds for one in runs):.0f}",
    ]
    lines.append("| " + " | ".join(["all", "", *sums, *last]) + " |")
    return "\n".join(lines)


def _number(count: int) -> str:
    return f"{count:,}" if count else "-"


def whole(runs: Sequence[Run], seed: int) -> str:
    """Return the page."""
    notes = [f"* {one.area.name}: {note}" for one in runs for note in one.outcome.notes]
    skipped = [f"* {one.area.name}: not tried: {text}" for one in runs for text in one.outcome.skipped]
    failed = [f"* {one.area.name}: **failed**: {text}" for one in runs for text in one.outcome.failures]
    parts = [HEAD, f"{machine()}, seed {seed}.", "", table(runs), "", *notes, *skipped, *failed]
    return "\n".join(parts).rstrip() + "\n"


def machine() -> str:
    """Return machine, versions and date in one sentence."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES if _known(name))
    today = datetime.datetime.now(datetime.UTC).date()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    cores = len(os.sched_getaffinity(0))
    return (
        f"Run on {today}: {cores} cores, {memory} GiB, {platform.system()} {platform.release()}, "
        f"CPython {sys.version.split()[0]}, {versions}"
    )


def _known(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True
