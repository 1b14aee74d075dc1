"""The tiny fixture end to end: logs in, the hand-worked rows of every relation out."""

from __future__ import annotations

import csv
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ettlog import fleet
from ettlog.fleet import Fleet
from ettlog.ingest import ingest
from ettlog.relations import relations

TINY = Path(__file__).parent.parent / "fixtures" / "tiny"
DAY = datetime(2031, 5, 6)
LENGTHS = {"us", "gpu_us", "allocated_us", "allocated_gpu_us", "wall_us", "effective_us"}
PUBLIC = [name for name in relations() if not name.startswith("_")]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """Return a fleet over the fixture's logs."""
    lake = tmp_path_factory.mktemp("tiny") / "lake"
    ingest([TINY / "logs"], lake)
    return fleet.open(lake)


def rows_of(name: str) -> list[dict[str, str]]:
    """Return the expected rows of a relation as text."""
    with (TINY / "expected" / f"{name}.csv").open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def shown(column: str, value: Any) -> str:
    """Return a cell as the expected files write it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if column in LENGTHS:
        return f"{value / 1e6:g}"
    if column.endswith("_us"):
        value = datetime(1970, 1, 1) + timedelta(microseconds=value)
    if isinstance(value, datetime):
        assert value.date() == DAY.date()
        return value.strftime("%H:%M:%S") + (f".{value.microsecond // 1000:03d}" if value.microsecond else "")
    return str(value)


@pytest.mark.parametrize("name", PUBLIC)
def test_relation_has_the_rows_worked_by_hand(tiny: Fleet, name: str) -> None:
    """Every relation has exactly the rows of its file."""
    with (TINY / "expected" / f"{name}.csv").open(newline="", encoding="utf-8") as stream:
        columns, *rows = csv.reader(stream)
    expected = [tuple(row) for row in rows]
    found = [tuple(map(shown, columns, row)) for row in tiny.table(name).select(columns).rows()]
    assert sorted(found) == sorted(expected)


def test_the_expected_files_agree_with_each_other() -> None:
    """The hand-worked segments sum to the hand-worked ledger and walls, by plain addition."""
    sums: Counter[tuple[str, ...]] = Counter()
    walls: Counter[str] = Counter()
    for row in rows_of("segment"):
        length = int((clock(row["end_us"]) - clock(row["begin_us"])).total_seconds())
        sums[row["job"], row["start"], row["part"], row["stage"]] += length
        walls[row["job"]] += length
    assert sums == {(r["job"], r["start"], r["part"], r["stage"]): int(r["us"]) for r in rows_of("ledger")}
    assert walls == {row["job"]: int(row["wall_us"]) for row in rows_of("job")}


def clock(text: str) -> datetime:
    """Return an instant of the fixture's day."""
    return datetime.strptime(text, "%H:%M:%S")


def test_the_fixture_is_small() -> None:
    """Three jobs and two restarts in fewer than eighty lines."""
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in (TINY / "logs").iterdir())
    assert lines < 80
    assert len(rows_of("job")) == 3
    assert sum(row["kind"] != "first" for row in rows_of("start")) == 2


def test_every_check_passes(tiny: Fleet) -> None:
    """Nothing is wrong with the fixture, and nothing is thin."""
    assert tiny.check().rows() == []
