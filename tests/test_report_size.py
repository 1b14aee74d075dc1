"""The page of a large fleet stays small: what a mail carries and a laptop opens at once."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import ettlog
from ettlog.fleet import Fleet
from ettlog.report import build
from ettlog.report.page import MOST_ROWS
from tests.conftest import ROOT

MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a snapshot of the tiny fixture."""
    folder = tmp_path_factory.mktemp("size")
    ettlog.ingest([ROOT / "fixtures/tiny/logs"], folder / "lake")
    ettlog.snapshot(ettlog.open(folder / "lake"), folder / "tiny.duckdb")
    return folder / "tiny.duckdb"


def grown(snapshot: Path, path: Path, copies: int, models: int) -> Fleet:
    """Return a fleet of copies of every job under other names, spread over models."""
    path.write_bytes(snapshot.read_bytes())
    with duckdb.connect(str(path)) as connection:
        query = "SELECT table_name, list(column_name) FROM duckdb_columns() WHERE NOT internal GROUP BY table_name"
        for table, columns in connection.execute(query).fetchall():
            if "job" not in columns:
                continue
            named = ["CAST(t.job || '-' || i AS VARCHAR) AS job"]
            named += [f"CAST('model-' || i % {models} AS VARCHAR) AS model"] if "model" in columns else []
            connection.execute(
                f"CREATE OR REPLACE TABLE {table} AS SELECT t.* REPLACE ({', '.join(named)})"
                f" FROM {table} AS t, range({copies}) AS r(i)"
            )
    return ettlog.open(path)


@pytest.mark.slow
@pytest.mark.parametrize(("copies", "models", "most"), [(500, 500, 5), (1700, 60, 15)])
def test_page_of_a_large_fleet_stays_small(
    snapshot: Path, tmp_path: Path, copies: int, models: int, most: float
) -> None:
    """1,500 jobs of 500 models give a page under 5 MB with every model on it; 5,100 jobs one under 15 MB."""
    fleet = grown(snapshot, tmp_path / "grown.duckdb", copies, models)
    assert fleet.table("job").height == 3 * copies
    page = build(fleet)
    assert len(page.encode()) < most * MEGABYTE
    assert page.count(">model-499<") > 0 or models < MOST_ROWS // 2
    assert f"All {3 * copies:,} jobs" in page
