"""What must not matter does not: the small fixture's logs changed in ways that say the same give the same segments."""

from __future__ import annotations

import bz2
import gzip
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import ettlog
from ettlog.ingest import IngestOptions
from tests.conftest import ROOT

LOGS = ROOT / "fixtures" / "tiny" / "logs"
FINCH, ROBIN, WREN, SACCT = "finch-7b-501001.out", "robin-1b.log", "wren-3b-503001.out", "sacct.txt"
DAY_US = 86_400_000_000
COLUMNS = ("job", "start", "component", "part", "stage", "begin_us", "end_us", "gpus", "allocated", "inferred")


def segments(folder: Path, workers: int = 1) -> pl.DataFrame:
    """Ingest a folder's logs and return its segments without their evidence."""
    ettlog.ingest([folder / "logs"], folder / "lake", options=IngestOptions(workers=workers))
    return ettlog.open(folder / "lake").table("segment").select(COLUMNS)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """Return the segments of the logs as they are."""
    folder = tmp_path_factory.mktemp("plain")
    shutil.copytree(LOGS, folder / "logs")
    return segments(folder)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Return a copy of the logs that a test may change."""
    return Path(shutil.copytree(LOGS, tmp_path / "logs"))


def rotate(logs: Path) -> None:
    """Split each trainer's log into three parts of whole lines, as rotation does: the oldest has the highest number."""
    for name in (FINCH, ROBIN, WREN):
        lines = (logs / name).read_bytes().splitlines(keepends=True)
        third = len(lines) // 3
        (logs / f"{name}.2").write_bytes(b"".join(lines[:third]))
        (logs / f"{name}.1").write_bytes(b"".join(lines[third : 2 * third]))
        (logs / name).write_bytes(b"".join(lines[2 * third :]))


def in_parts(logs: Path) -> None:
    """Split each trainer's log into numbered parts."""
    for name in (FINCH, ROBIN, WREN):
        lines = (logs / name).read_bytes().splitlines(keepends=True)
        for part in range(2):
            half = lines[: len(lines) // 2] if part == 0 else lines[len(lines) // 2 :]
            (logs / f"{name}.part{part + 1}of2").write_bytes(b"".join(half))
        (logs / name).unlink()


def unrelated(logs: Path) -> None:
    """Add prose, a table and a log that no format knows."""
    (logs / "README.md").write_text("Runs of May. finch-7b failed once: step 40 was saved.\n")
    (logs / "costs.tsv").write_text("job\teuro\nfinch-7b\t12\n")
    (logs / "proxy.log").write_text("2031-05-06 08:00:01 GET /healthz 200\n" * 50)


def rename_hosts(logs: Path) -> None:
    """Give the only node that a log names another name."""
    text = (logs / ROBIN).read_text()
    assert "gpu-c" in text
    (logs / ROBIN).write_text(text.replace("gpu-c", "pluto-07"))


def duplicate_a_rank(logs: Path) -> None:
    """Let two ranks write the same log: what each says is what the other says."""
    text = (logs / ROBIN).read_bytes()
    (logs / ROBIN).unlink()
    for rank in (0, 1):
        (logs / f"robin-1b.rank{rank}.log").write_bytes(text)


def compress(logs: Path) -> None:
    """Pack the logs as rotation and archives do."""
    for name, pack in ((FINCH, gzip.compress), (ROBIN, bz2.compress), (WREN, gzip.compress)):
        ending = ".gz" if pack is gzip.compress else ".bz2"
        (logs / f"{name}{ending}").write_bytes(pack((logs / name).read_bytes()))
        (logs / name).unlink()


def repeat_lines(logs: Path) -> None:
    """Print every step line twice, as two shippers of one log do."""
    lines = (logs / WREN).read_text().splitlines(keepends=True)
    (logs / WREN).write_text(
        "".join(line * (2 if " iteration " in line and "saved" not in line else 1) for line in lines)
    )


def end_lines_as_windows(logs: Path) -> None:
    """End lines with carriage return and line feed."""
    for name in (FINCH, ROBIN, WREN):
        (logs / name).write_bytes((logs / name).read_bytes().replace(b"\n", b"\r\n"))


CHANGES = (
    rotate, in_parts, unrelated, rename_hosts, duplicate_a_rank, compress, repeat_lines, end_lines_as_windows,
)  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: str(change.__name__))
def test_what_says_the_same_gives_the_same_segments(
    plain: pl.DataFrame, logs: Path, change: Callable[[Path], None]
) -> None:
    """Every microsecond of every job is what it was."""
    change(logs)
    assert_frame_equal(segments(logs.parent), plain)


def test_concatenated_records_are_the_same_records(plain: pl.DataFrame, logs: Path) -> None:
    """Accounting in two files with a header each, and in one after the other, is the same accounting."""
    head, *rows = (logs / SACCT).read_text().splitlines(keepends=True)
    (logs / SACCT).write_text(head + rows[0])
    (logs / "sacct-june.txt").write_text(head + "".join(rows[1:]))
    assert_frame_equal(segments(logs.parent), plain)


def test_files_may_come_in_any_order(plain: pl.DataFrame, logs: Path) -> None:
    """One ingest per file, the last first, ends where one ingest of all ends."""
    for name in (WREN, SACCT, ROBIN, FINCH):
        ettlog.ingest([logs / name], logs.parent / "lake", options=IngestOptions(workers=1))
    found = ettlog.open(logs.parent / "lake").table("segment").select(COLUMNS)
    assert_frame_equal(found, plain)


def test_more_workers_change_nothing(plain: pl.DataFrame, logs: Path) -> None:
    """Two workers read what one reads."""
    assert_frame_equal(segments(logs.parent, workers=2), plain)


def test_a_shift_of_all_clocks_shifts_all_segments(plain: pl.DataFrame, logs: Path) -> None:
    """The same logs a day later are the same segments a day later."""
    for path in logs.iterdir():
        path.write_text(path.read_text().replace("2031-05-06", "2031-05-07"))
    later = segments(logs.parent).with_columns(pl.col("begin_us", "end_us") - DAY_US)
    assert_frame_equal(later, plain)


def test_asking_again_gives_the_same_frame(plain: pl.DataFrame, logs: Path) -> None:
    """A second ingest of the same logs is a no-op, and the answer the same."""
    first = segments(logs.parent)
    assert_frame_equal(segments(logs.parent), first)
    assert_frame_equal(first, plain)
