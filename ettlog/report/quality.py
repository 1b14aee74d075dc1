"""How far to trust the page: what was read, rejected, inferred and left unknown, and what is missing."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import ettlog
from ettlog.lacks import lacks
from ettlog.lifecycle import OUTCOMES, PARTS
from ettlog.report.page import Block, Notes, Section, Table, Tiles
from ettlog.tables import Shown, count, human

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from ettlog.report.scope import Scope

UNKNOWN = next(part.component for part in PARTS if part.role == "unknown")
LOST = OUTCOMES[3:]
"""Fates of lines that were meant to be read and could not be."""
SOURCES = (
    Shown("path", "file"), Shown("state", "state"), Shown("clock", "clock"), Shown("n_lines", "lines", "int"),
    Shown("matched", "matched", "int"), Shown("unmatched", "unmatched", "int"), Shown("lost", "rejected", "int"),
)  # fmt: skip
FINDINGS = (Shown("check", "check"), Shown("level", "level"), Shown("subject", "subject"), Shown("detail", "detail"))
COUNTED = (
    (
        "Inferred time rests on a line that does not say its instant itself, or on the shape of the log: it is marked"
        " in every timeline. Unknown time is time of which no line says anything; it is a row of its own everywhere."
    ),
    "Rejected lines were meant to be read and could not be: bad times, bad records, duplicates, long and torn ones.",
)


def section(scope: Scope) -> Section:
    """Return the data-quality box."""
    status = ettlog.status(scope.fleet)
    blocks: list[Block] = [Tiles(list(_tiles(scope, status)))]
    missing = list(lacks(scope.fleet, scope.names if scope.narrowed else None, registry=True))
    if missing:
        blocks.append(Notes(missing, "missing"))
    inferred = list(_inferences(scope))
    if inferred:
        blocks.append(Notes(inferred))
    findings = scope.fleet.check()
    told = Table("Findings of the checks", findings, FINDINGS) if findings.height else Notes(["Every check passes."])
    blocks.append(told)
    odd = _odd(status)
    named = Table("Files with something rejected, or in no known format", odd, SOURCES)
    blocks.append(named if odd.height else Notes(["No line was rejected, and every file is in a known format."]))
    return Section("quality", "Data quality", blocks, "ettlog status", COUNTED)


def _tiles(scope: Scope, status: pl.DataFrame) -> Iterator[tuple[str, str, str]]:
    lines = int(status["n_lines"].sum())
    lost = sum(int(status[name].sum()) for name in LOST)
    yield "Files", f"{status.height:,}", count(lines, "line")
    yield "Lines rejected", f"{lost:,}", f"{int(status['unmatched'].sum()):,} in no known shape, sampled"
    segment = scope.chosen("segment")
    wall, guessed, unknown = _walls(segment)
    if wall:
        yield "Unknown time", human(unknown / wall, "percent"), "of all jobs' wall"
        yield "Inferred time", human(guessed / wall, "percent"), "of all jobs' wall, marked in every timeline"
    job = scope.chosen("job")
    running = int(job["open"].fill_null(value=False).sum())
    yield "Open jobs", f"{running:,}", f"of {count(job.height, 'job')}; counted up to the newest event"


def _walls(segment: pl.DataFrame) -> tuple[int, int, int]:
    """Return the wall, its inferred and its unknown part, in microseconds."""
    import polars as pl

    us = pl.col("end_us") - pl.col("begin_us")
    unknown, inferred = pl.col("component") == UNKNOWN, pl.col("inferred").fill_null(value=False)
    sums = {"wall": us.sum(), "guessed": us.filter(inferred).sum(), "gaps": us.filter(unknown).sum()}
    wall, guessed, gaps = segment.select(**sums).row(0)
    return int(wall), int(guessed), int(gaps)


def _inferences(scope: Scope) -> Iterator[str]:
    entries = scope.fleet.lake.sources() if scope.fleet.lake else []
    sentences = Counter(sentence for entry in entries for sentence in entry.inferences)
    for sentence, number in sentences.most_common(12):
        yield f"Inferred in {count(number, 'file')}: {sentence}."


def _odd(status: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    frame = status.with_columns(pl.sum_horizontal(LOST).alias("lost"))
    nobody = (pl.col("formats").fill_null("") == "") & (pl.col("n_lines") > 0)
    return frame.filter((pl.col("lost") > 0) | nobody).sort("lost", "path", descending=[True, False])
