"""Does what a lake says hold together: its files against its manifest, and its relations against their invariants."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

COLUMNS = ("level", "check", "subject", "detail", "sentence")
FILES = "lake_files"
ERROR, WARNING = "error", "warning"
SENTENCE = "Every file of the lake is what the manifest says, and there is no other."


def check(path: Path | str) -> pl.DataFrame:
    """Return one row per finding about the lake at `path`; none where all holds.

    Columns: `level` (`error`: something is wrong; `warning`: the evidence is thin, or an ingest was interrupted),
    `check`, `subject`, `detail`, and `sentence` (what is checked). Every data file is read and compared with its hash.
    Relations are checked only where the files are whole. A snapshot tells what was found when it was written.

    Raises:
        LakeError: there is no lake, or a newer ettlog made it.
    """
    import polars as pl

    from ettlog import fleet, snapshot_read
    from ettlog.lake import Lake

    if snapshot_read.is_one(Path(path)):
        return fleet.open(path).check().select(COLUMNS)
    lake = Lake.open(path, verify=True, strict=False)
    known = set(lake.damage)
    found = [_frame(_rows(lake.damage, ERROR)), _frame(_rows((p for p in lake.problems() if p not in known), WARNING))]
    if not lake.damage:
        found.append(fleet.open(path).check().select(COLUMNS))
    return pl.concat(found).sort("level", "check", "subject", "detail")


def _rows(sentences: Iterable[str], level: str) -> list[tuple[str, ...]]:
    parts = [sentence.partition(": ") for sentence in sentences]
    return [(level, FILES, subject, detail or subject, SENTENCE) for subject, _, detail in parts]


def _frame(rows: list[tuple[str, ...]]) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")
