"""Rows that were made anew stand among those that are kept where their jobs belong, however the writing ends."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ettlog
from ettlog import database, kept, splice
from ettlog.errors import LakeError
from ettlog.ingest import ingest
from tests.ingesting import tree
from tests.test_renewal import ALONE, flocks, rebuilt

TYPES = {"job": "VARCHAR", "k": "BIGINT", "gid": "BIGINT", "evidence": "VARCHAR"}


def carried(place: Path) -> splice.Carried:
    """Return kept rows of jobs a, b, d and e, of which a and d stay; their starts 1, 2, 4 are now 1, 3, 7."""
    rows = {"job": ["a", "a", "b", "d", "e"], "k": [0, 1, 0, 0, 0], "gid": [1, 2, 3, 4, 5], "evidence": list("vwxyz")}
    pq.write_table(pa.table(rows), place)
    numbers = pa.table({"was": [4, 1, 2], "now": [7, 1, 3]})
    return splice.Carried({"start": place}, {"start": TYPES}, pa.array(["d", "a", "q"]), numbers)


def test_rows_stand_where_their_jobs_belong_and_starts_are_numbered_anew(tmp_path: Path) -> None:
    """New rows before, between and behind the kept ones; rows without a job are last, rows that do not stay gone."""
    con, given = database.connect(None), carried(tmp_path / "start.parquet")
    splice.begin(con, given)
    made = [("b", 1, 5, "n"), (None, 0, 9, "o"), ("b", 0, 4, "p"), ("c", 0, 6, "q"), ("A", 0, 2, "r"), ("f", 0, 8, "s")]
    con.executemany("INSERT INTO new_start VALUES (?, ?, ?, ?)", made)
    found = splice.rows(con, given, "start").to_pydict()
    assert found["job"] == ["A", "a", "a", "b", "b", "c", "d", "f", None]
    assert found["gid"] == [2, 1, 3, 4, 5, 6, 7, 8, 9]
    assert "".join(found["evidence"]) == "rvwpnqyso"


def test_kept_rows_stay_in_order_where_nothing_was_made(tmp_path: Path) -> None:
    """A day that makes no rows of a relation takes those of the jobs that stay."""
    con, given = database.connect(None), carried(tmp_path / "start.parquet")
    splice.begin(con, given)
    assert splice.rows(con, given, "start").to_pydict()["evidence"] == ["v", "w", "y"]


def test_a_kept_file_that_is_no_parquet_is_told_of(tmp_path: Path) -> None:
    """What cannot be read ends as an error, and nothing of it is taken."""
    con, given = database.connect(None), carried(tmp_path / "start.parquet")
    splice.begin(con, given)
    (tmp_path / "start.parquet").write_bytes(b"PAR1" + bytes(60) + b"PAR1")
    with pytest.raises(LakeError, match="cannot be read"):
        splice.rows(con, given, "start")


def test_answers_are_right_where_nothing_can_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While an ingest holds the lock of a lake, a day's relations are put together in memory and are the same."""
    monkeypatch.setattr(kept, "KEEP_ROWS", 0)
    monkeypatch.setattr(kept, "RENEW_LINES", -1)
    logs, lake, files = tmp_path / "logs", tmp_path / "lake", flocks()
    logs.mkdir()
    for day in range(2):
        for name in files:
            if day or "finch" not in name:
                (logs / name).write_bytes(files[name])
        with monkeypatch.context() as patch:
            if day:
                patch.setattr(kept, "write", lambda *_: None)
            ingest([logs], lake, options=ALONE)
            fleet = ettlog.open(lake)
            found = {name: fleet.table(name) for name in ("segment", "start", "ledger", "recovery", "job", "mark")}
    assert tree(lake / kept.FOLDER) != rebuilt(lake, tmp_path / "all")
    whole = ettlog.open(tmp_path / "all")
    for name, frame in found.items():
        assert frame.equals(whole.table(name)) and frame.height
