"""Rows beyond what memory should hold: the same rows in the same order, and nothing left behind."""

from __future__ import annotations

import importlib.util
import io
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ettlog import packing
from ettlog.parse import spool as spools
from ettlog.schema import arrow_schema
from tests.ingesting import accounting

SCHEMA = arrow_schema("alloc")
LOG = Path(__file__).parent.parent / "fixtures" / "tiny" / "logs" / "finch-7b-501001.out"


def batch(first: int, count: int) -> pa.RecordBatch:
    """Return rows numbered from `first`; each batch has words of its own."""
    lines = range(first, first + count)
    columns = {
        "line": pa.array(lines, pa.int64()),
        "record": pa.array(["job"] * count).dictionary_encode(),
        "user": pa.array([f"user{line % 3}-{first}" for line in lines]).dictionary_encode(),
        "gpus": pa.array([line % 9 for line in lines], pa.int32()),
    }
    rows = [columns.get(field.name, pa.nulls(count, field.type)) for field in SCHEMA]
    return pa.RecordBatch.from_arrays(rows, schema=SCHEMA)


def filled(sizes: list[int]) -> spools.Spool:
    """Return a spool of batches of these sizes, rows numbered from 1."""
    found, first = spools.Spool(SCHEMA), 1
    for size in sizes:
        found.add(batch(first, size))
        first += size
    return found


def test_few_rows_are_a_table() -> None:
    """What memory may hold comes back as a table of its rows."""
    table = filled([2, 3]).table()
    assert isinstance(table, pa.Table)
    assert table["line"].to_pylist() == [1, 2, 3, 4, 5]
    assert table["user"].to_pylist() == ["user1-1", "user2-1", "user0-3", "user1-3", "user2-3"]


def test_many_rows_come_back_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows beyond the limit wait elsewhere; all come back once, in their order, with their words."""
    monkeypatch.setattr(spools, "KEPT_ROWS", 4)
    found = filled([3, 2, 4])
    assert found.table() is found and found.num_rows == 9
    rows = [row for one in found.batches() for row in one.to_pylist()]
    assert [row["line"] for row in rows] == list(range(1, 10))
    assert [row["user"] for row in rows][3:5] == ["user1-4", "user2-4"]


def test_a_cleared_column_is_null_in_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it shows at the end that a column meant nothing, no row has a value of it."""
    monkeypatch.setattr(spools, "KEPT_ROWS", 4)
    found = filled([3, 3])
    found.clear("gpus")
    assert [value for one in found.batches() for value in one["gpus"].to_pylist()] == [None] * 6


def test_nothing_is_left_in_the_folder_for_temporary_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The file has no name: nobody finds it, and it ends with the process."""
    monkeypatch.setattr(spools, "KEPT_ROWS", 1)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = filled([2, 2])
    assert found.num_rows == 4 and not list(tmp_path.iterdir())


def test_parquet_of_a_spool_holds_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file written from a spool reads as one written from the table, in groups of the same size."""
    table = filled([5, 6, 7]).table()
    monkeypatch.setattr(spools, "KEPT_ROWS", 4)
    monkeypatch.setattr(packing, "ROW_GROUP", 6)
    data = packing.parquet("alloc", filled([5, 6, 7]))
    assert isinstance(table, pa.Table)
    assert pq.read_table(io.BytesIO(data)).to_pylist() == table.to_pylist()
    assert [pq.ParquetFile(io.BytesIO(data)).metadata.row_group(i).num_rows for i in range(3)] == [6, 6, 6]


def test_no_library_is_imported_that_no_log_needs(tmp_path: Path) -> None:
    """Reading logs of a trainer and a scheduler, and accounting, imports no pandas though it is installed, nor what
    only answers need."""
    (tmp_path / "sacct.txt").write_text(accounting(1, 2))
    (tmp_path / "slurmctld.log").write_text(
        "[2031-03-09T11:15:30.123] sched: Allocate JobId=7 NodeList=gpu-1 #CPUs=8 Partition=batch\n"
        "[2031-03-09T12:15:30.123] _job_complete: JobId=7 WEXITSTATUS 0\n"
    )
    code = (
        "import sys; from ettlog.ingest import ingest; "
        f"made = ingest([{str(LOG)!r}, {str(tmp_path)!r}], {str(tmp_path / 'x.lake')!r}); "
        "assert made.formats['slurmctld'] == 2, made.formats; "
        "print(sorted({'pandas', 'polars', 'duckdb', 'scipy', 'matplotlib'} & set(sys.modules)))"
    )
    assert importlib.util.find_spec("pandas") is not None
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
