"""Messy logs: every line has the fate worked out by hand, and what can be read is read."""

from __future__ import annotations

import shutil
import zlib
from typing import TYPE_CHECKING

import polars as pl
import pytest

import ettlog
from ettlog.ingest import IngestReport
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from ettlog.fleet import Fleet

MESSY = ROOT / "fixtures/messy"


def by_hand() -> dict[str, dict[str, int]]:
    """Return the counts that the README of the messy logs states, by file."""
    lines = [line for line in (MESSY / "README.md").read_text().splitlines() if line.startswith("| ")]
    header, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: dict(zip(header[1:], map(int, row[1:]), strict=True)) for row in rows}


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> tuple[Fleet, IngestReport]:
    """Read the messy logs into a fresh lake."""
    lake = tmp_path_factory.mktemp("messy") / "lake"
    report = ettlog.ingest([MESSY / "logs"], lake)
    return ettlog.open(lake), report


@pytest.mark.parametrize("name", sorted(by_hand()))
def test_every_line_has_the_fate_worked_out_by_hand(read: tuple[Fleet, IngestReport], name: str) -> None:
    """The counts of a file are those of the README."""
    row = ettlog.status(read[0]).filter(pl.col("path") == f"logs/{name}").row(0, named=True)
    expected = by_hand()[name]
    assert {key: row["n_lines" if key == "lines" else key] for key in expected} == expected


@pytest.mark.parametrize("path", sorted((MESSY / "logs").rglob("*.*")), ids=lambda path: path.name)
def test_lines_are_those_of_the_bytes(path: Path) -> None:
    """The README's number of lines is that of the file's line ends, and one more for a last line without one."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = zlib.decompressobj(31).decompress(data)
    lines = data.count(b"\n") + (data != b"" and not data.endswith(b"\n"))
    name = str(path.relative_to(MESSY / "logs"))
    assert by_hand()["copy_of_glued.log" if name == "glued.log" else name]["lines"] == lines


def test_closing_account_names_copies_and_unclaimed_files(read: tuple[Fleet, IngestReport]) -> None:
    """Of thirteen files twelve are new, one is a copy, and one is in no format that is known."""
    _, report = read
    assert report.states == {"new": 12, "duplicate": 1}
    assert report.unclaimed == ["logs/unclaimed.log"]
    assert sum(report.lines.values()) == report.n_lines == sum(row["lines"] for row in by_hand().values())


STEPS = {
    "carriage": 3, "copy_of_glued": 5, "hostile_text": 2, "labels": 4, "mixed_encoding": 3, "rotated/pretrain": 20,
    "torn_stream": 67, "torn_tail": 5,
}  # fmt: skip
"""Job and the number of steps its log shows."""


@pytest.mark.parametrize("job", STEPS)
def test_all_steps_are_found(read: tuple[Fleet, IngestReport], job: str) -> None:
    """Each log of a trainer is one job with one start, and none of its steps is lost."""
    start = read[0].table("start").filter(pl.col("job") == job)
    assert start["steps"].to_list() == [STEPS[job]]


def test_scheduler_records_survive_the_broken_ones(read: tuple[Fleet, IngestReport]) -> None:
    """Three of the five jobs of the accounting can be read: not the one cut at its head, not the one at 25 o'clock."""
    assert sorted(read[0].table("allocation")["raw"].to_list()) == ["7001", "7002", "7003"]


def test_sources_say_that_they_are_torn_or_empty(read: tuple[Fleet, IngestReport]) -> None:
    """A stream that ends in its middle is torn, a file without a byte is empty."""
    states = dict(ettlog.status(read[0]).select("path", "state").iter_rows())
    assert states["logs/torn_stream.log.gz"] == "torn"
    assert states["logs/empty.log"] == "empty"


def test_reading_again_changes_nothing(tmp_path: Path) -> None:
    """A second ingest of the same logs skips every file and leaves every byte of the lake as it was."""
    lake = tmp_path / "lake"
    shutil.copytree(MESSY / "logs", tmp_path / "logs")
    ettlog.ingest([tmp_path / "logs"], lake)
    before = {path: path.read_bytes() for path in sorted(lake.rglob("*")) if path.is_file()}
    again = ettlog.ingest([tmp_path / "logs"], lake)
    assert set(again.states) <= {"skipped", "duplicate"}
    assert before == {path: path.read_bytes() for path in sorted(lake.rglob("*")) if path.is_file()}
