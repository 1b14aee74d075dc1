"""The page of the last full torture run: a table of areas, the machine, versions and date."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import metadata
from typing import Any

from tests.torture.registry import AREAS, UNITS, Outcome, Run

PACKAGES = ("ettlog", "duckdb", "pyarrow", "polars", "hypothesis")
HEAD = """# Torture

What `make torture` does to ettlog, and what came of it. Each row is one area: how many faults were injected, how often
the power was cut, how many states of a disk, inputs and executions were tried, and how many of them ended in anything
but the expected result. `floor` is the least that a full run must try; `run`
says whether that was done, or a seeded sample only, which proves less than the floor asks. Each row is the last run of
its area, and the code may have changed since. Every change of the code
runs seeded samples of the quick rows (`tests/torture/test_areas.py`), and all that is below the second heading.
"""
SKIPPED, FAILED, MISSING = "not tried: ", "**failed**: ", "not run "
"""What begins a sentence below the table that is no note."""
BESIDE = """## Beside these

| what | floor | cases | held by |
|---|---:|---:|---|
"""


def table(runs: Sequence[Run]) -> str:
    """Return a Markdown table, one row an area, and the sum."""
    used = [unit for unit in UNITS if any(one.outcome.counts[unit] for one in runs)]
    head = ["area", "what", "floor", *used, "run", "failures", "not tried", "CPU seconds"]
    lines = ["| " + " | ".join(head) + " |", "|---|---|---|" + "---:|" * len(used) + "---|" + "---:|" * 3]
    for one in runs:
        counts = [_number(one.outcome.counts[unit]) for unit in used]
        how = "full" if one.full else "sample"
        tail = [how, str(len(one.outcome.failures)), _number(len(one.outcome.skipped)), _number(round(one.seconds))]
        floor = f"{one.area.floor:,} {one.area.unit}"
        lines.append("| " + " | ".join([one.area.name, one.area.title, floor, *counts, *tail]) + " |")
    sums = [_number(sum(one.outcome.counts[unit] for one in runs)) for unit in used]
    last = [
        "",
        str(sum(len(one.outcome.failures) for one in runs)),
        _number(sum(len(one.outcome.skipped) for one in runs)),
        f"{sum(one.seconds for one in runs):.0f}",
    ]
    lines.append("| " + " | ".join(["all", "", "", *sums, *last]) + " |")
    return "\n".join(lines)


def _number(count: int) -> str:
    return f"{count:,}" if count else "-"


def beside() -> str:
    """Return the table of what the ordinary tests try, with its floors: hostile inputs and all else."""
    from tests.hostile import corpus

    counts = corpus.counts()
    rows = [(f"hostile {name}", floor, counts[name], "tests/test_hostile.py") for name, floor in corpus.FLOORS.items()]
    rows.append(("hostile inputs in all", 600, sum(counts.values()), "docs/hostile.md"))
    return BESIDE + "\n".join(
        f"| {what} | {floor:,} | {many:,} | `{where}` |" for what, floor, many, where in [*_tried(), *rows]
    )


def _tried() -> Iterator[tuple[str, int, int, str]]:
    """Yield what is tried, the floor, how much of it there is, and where."""
    from fuzz.__main__ import TARGETS
    from tests import secrets_made, test_identities, test_lake_machine, test_limits, test_redaction, test_sql_refused
    from tests.test_identity_cases import CASES
    from tests.torture.circumstances import AXES

    marks = (mark for name, test in vars(test_limits).items() if name.startswith("test_") for mark in _marks(test))
    edges = sum(len(mark.args[1]) for mark in marks)
    yield "files that grow, are rotated, packed, copied, replaced", 20, len(CASES), "tests/test_identity_cases.py"
    yield "sequences of actions on logs and lake", 1_000, test_lake_machine.SEQUENCES, "tests/test_lake_machine.py"
    yield "what must add up, or must not matter", 25, len(test_identities.LISTED), "tests/test_identities.py"
    yield "circumstances that may not matter (D1)", 16, len(AXES), "tests/torture/circumstances.py"
    yield "targets of fuzzing (Z1)", 8, len(TARGETS), "fuzz/targets.py"
    yield "limits below, at and above their edges", 36, edges, "tests/test_limits.py"
    yield "statements that are no question", 40, len(test_sql_refused.REFUSED), "tests/test_sql_refused.py"
    yield "kinds of secrets", 30, len(secrets_made.KINDS), "tests/test_redaction.py"
    yield "secrets made and looked for", 600, test_redaction.MADE, "tests/test_redaction.py"


def _marks(test: Any) -> Sequence[Any]:
    return [mark for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]


def whole(runs: Sequence[Run], seed: int) -> str:
    """Return the page."""
    notes = [f"* {one.area.name}: {note}" for one in runs for note in one.outcome.notes]
    skipped = [f"* {one.area.name}: {SKIPPED}{text}" for one in runs for text in one.outcome.skipped]
    failed = [f"* {one.area.name}: {FAILED}{text}" for one in runs for text in one.outcome.failures]
    days = sorted({one.date for one in runs})
    parts = [HEAD, f"{machine(' to '.join(dict.fromkeys((days[0], days[-1]))))}, seed {seed}.", "", table(runs), ""]
    missing = [area for area in AREAS if area.name not in {one.area.name for one in runs}]
    parts += [f"* {area.name}: {MISSING}this time: {area.title}" for area in missing]
    parts += [*notes, *skipped, *failed, "", beside()]
    return "\n".join(parts).rstrip() + "\n"


def read(text: str) -> list[Run]:
    """Return the runs of a page, in its order: what was counted, said and not tried, and the last day of the page."""
    lines = text.partition(BESIDE.partition("\n")[0])[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    day = re.findall(r"\d{4}-\d\d-\d\d", text)[-1:]
    areas, found = {area.name: area for area in AREAS}, []
    for cells in rows[1:]:
        told = dict(zip(rows[0], cells, strict=True))
        if told["area"] in areas:
            counts = Counter({unit: _count(told[unit]) for unit in UNITS if unit in told and told[unit] != "-"})
            outcome = Outcome(counts, *_said(lines, told["area"]))
            area, seconds = areas[told["area"]], float(_count(told["CPU seconds"]))
            found.append(Run(area, outcome, seconds, "".join(day), told["run"] == "full"))
    return found


def _said(lines: Sequence[str], name: str) -> tuple[list[str], list[str], list[str]]:
    """Return the failures, what was not tried and the notes of one area."""
    said = [line.removeprefix(f"* {name}: ") for line in lines if line.startswith(f"* {name}: ")]
    failures, skipped = ([t.removeprefix(mark) for t in said if t.startswith(mark)] for mark in (FAILED, SKIPPED))
    return failures, skipped, [text for text in said if not text.startswith((FAILED, SKIPPED, MISSING))]


def _count(cell: str) -> int:
    return 0 if cell == "-" else int(cell.replace(",", ""))


def machine(days: str) -> str:
    """Return machine, versions and the days of the run in one sentence."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES if _known(name))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    cores = len(os.sched_getaffinity(0))
    return (
        f"Run on {days}: {cores} cores, {memory} GiB, {platform.system()} {platform.release()}, "
        f"CPython {sys.version.split()[0]}, {versions}"
    )


def _known(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True
