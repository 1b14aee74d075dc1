"""Does what a lake says hold together: its files against its manifest, and its relations against their invariants."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from ettlog.fleet import Fleet

COLUMNS = ("level", "check", "subject", "detail", "gpu_hours", "todo", "sentence")
FILES = "lake_files"
ERROR, WARNING, ADVICE = "error", "warning", "advice"
LEVELS = (ERROR, WARNING, ADVICE)
SENTENCE = "Every file of the lake is what the manifest says, and there is no other."
SAID = "What the logs do not say, and what rests on it."
RESTORE = "ingest the folder again; if that does not help, make a new lake of it"
MICROS_PER_HOUR = 3_600_000_000


def fix(path: Path | str) -> int:
    """Heal the manifest of a lake and remove files that no line of it stands for; return how many problems are gone.

    Facts that are damaged stay: only an ingest of their logs can write them anew. So does everything where a line of
    the manifest is damaged, for the facts that it lists look like leftovers. Raise LakeError when there is no lake, a
    newer ettlog made it, it cannot be written, or an ingest is writing to it.
    """
    from ettlog import lake as lakes

    opened = lakes.Lake.open(path, strict=False)
    if opened.state.left_out:
        return 0
    before = len(opened.problems())
    with lakes.writer(Path(path)):
        pass  # what it does on the way in and out is all there is to do
    return before - len(lakes.Lake.open(path, strict=False).problems())


def check(path: Path | str, verify: bool = True) -> pl.DataFrame:
    """Return one row per finding about the lake at `path`; none where all holds and the logs say everything.

    Columns: `level` (`error`: something is wrong; `warning`: the evidence of one job is thin, or an ingest was
    interrupted; `advice`: what the logs of the fleet do not say), `check`, `subject`, `detail`, `gpu_hours` at stake
    (of a job: all of its GPU time; null where nothing tells), `todo` (what to do), and `sentence` (what is checked).
    Errors come first, then warnings, then advice, each by GPU-hours at stake. With `verify` every data file is read and
    compared with its hash, without it with its length. Relations are checked only where the files are whole. A snapshot
    tells what was found when it was written.

    Raises:
        LakeError: there is no lake, or a newer ettlog made it.
    """
    import polars as pl

    from ettlog import fleet, snapshot_read
    from ettlog.lake import Lake

    found = []
    damaged = False
    if not snapshot_read.is_one(Path(path)):
        lake = Lake.open(path, verify=verify, strict=False)
        known, damaged = set(lake.damage), bool(lake.damage)
        problems = _rows((problem for problem in lake.problems() if problem not in known), WARNING)
        found = [_frame(_rows(lake.damage, ERROR)), _frame(problems)]
    if not damaged:
        found += examine(fleet.open(path))
    ranked = pl.col("level").replace_strict(LEVELS, range(len(LEVELS)), return_dtype=pl.Int8).alias("rank")
    every = pl.concat(found).with_columns(ranked)
    keys = ["rank", "gpu_hours", "check", "subject", "detail"]
    return every.sort(keys, descending=[key == "gpu_hours" for key in keys], nulls_last=True).drop("rank")


def examine(fleet: Fleet) -> list[pl.DataFrame]:
    """Return what breaks an invariant, and what the logs do not say, as two frames with the columns of `check`."""
    import polars as pl

    from ettlog.unsaid import unsaid

    us = ((pl.col("end_us") - pl.col("begin_us")).cast(pl.Int128) * pl.col("gpus").fill_null(1)).sum().cast(pl.Float64)
    spent = fleet.table("segment").group_by("job").agg(gpu_hours=us / MICROS_PER_HOUR)
    # a finding about a start names its job before the number of the start
    named = pl.col("subject").str.replace(r" start \d+$", "")
    broken = fleet.check().with_columns(job=named).join(spent, on="job", how="left", maintain_order="left")
    said = unsaid(fleet).with_columns(
        level=pl.lit(ADVICE), check="unsaid", gpu_hours=pl.col("gpu_us").cast(pl.Float64) / MICROS_PER_HOUR,
        sentence=pl.lit(SAID),
    )  # fmt: skip
    return [broken.select(COLUMNS), said.select(COLUMNS)]


def _rows(sentences: Iterable[str], level: str) -> list[tuple[str | None, ...]]:
    parts = [sentence.partition(": ") for sentence in sentences]
    return [(level, FILES, subject, detail or subject, None, RESTORE, SENTENCE) for subject, _, detail in parts]


def _frame(rows: list[tuple[str | None, ...]]) -> pl.DataFrame:
    import polars as pl

    schema = {name: pl.Float64 if name == "gpu_hours" else pl.String for name in COLUMNS}
    return pl.DataFrame(rows, schema=schema, orient="row")
