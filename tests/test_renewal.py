"""Day after day the kept relations of a growing lake are the bytes that all of its logs give at once."""

from __future__ import annotations

import hashlib
import random
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

import ettlog
from ettlog import kept, portions, renewal, touched
from ettlog.fleet import Fleet
from ettlog.ingest import IngestOptions, ingest
from ettlog.relations import relations
from tests.conftest import ROOT
from tests.ingesting import tree

ALONE = IngestOptions(workers=1)
LOGS = ROOT / "fixtures/tiny/logs"
BIRDS = {"finch": "crane", "robin": "raven", "wren": "egret", "50100": "60100", "50300": "60300", "sacct": "sacct_more"}
"""A second flock: other names and numbers for the same logs."""


@pytest.fixture(autouse=True)
def renew_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep and renew the relations of the smallest lakes too."""
    monkeypatch.setattr(kept, "KEEP_ROWS", 0)
    monkeypatch.setattr(kept, "RENEW_LINES", -1)


def flocks() -> dict[str, bytes]:
    """Return file name and bytes of two flocks of jobs with their accounting."""
    found = {}
    for path in sorted(LOGS.iterdir()):
        name, text = path.name, path.read_bytes()
        found[name] = text
        for old, new in BIRDS.items():
            name, text = name.replace(old, new), text.replace(old.encode(), new.encode())
        found[name] = text
    return found


def rebuilt(lake: Path, place: Path) -> dict[str, bytes]:
    """Return the files of kept relations that the facts alone give."""
    shutil.copytree(lake, place, ignore=shutil.ignore_patterns(kept.FOLDER))
    ettlog.open(place).table("job")
    return tree(place / kept.FOLDER)


@pytest.mark.parametrize("seed", [1])
def test_each_day_gives_the_bytes_of_all_logs_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Logs come in random order and grow; jobs that they do not touch are carried over, and every file is the same."""
    made: list[int] = []
    real = portions._deal

    def spied(*given: Any) -> list[int]:
        numbers = real(*given)
        made.extend(given[0].connection.table("portion").count("*").fetchall()[0])
        return numbers

    monkeypatch.setattr(portions, "_deal", spied)
    dice, logs, lake, files = random.Random(seed), tmp_path / "logs", tmp_path / "lake", flocks()
    logs.mkdir()
    for day in range(4):
        for name in files if day == 3 else dice.sample([*files], 3):
            text = files[name]
            end = len(text) if day == 3 else text.rfind(b"\n", 0, len(text) * dice.randrange(1, 4) // 3 + 1) + 1
            (logs / name).write_bytes(text[:end])
        ingest([logs], lake, options=ALONE)
        ettlog.open(lake).table("job")
        assert tree(lake / kept.FOLDER) == rebuilt(lake, tmp_path / f"all{day}")
    assert min(made) < max(made)


def test_what_is_compared_is_all_that_is_read() -> None:
    """A relation that begins to read something else must be compared too, or jobs that it changes would not be seen."""
    assert {*portions.inputs()} - {"lifecycle_kind", "lifecycle_part", "lifecycle_recovery"} == {*renewal.READ}


def test_a_kept_file_that_cannot_be_read_renews_nothing(tmp_path: Path) -> None:
    """Its hash and its columns are what the index says, and its rows are no Parquet: all jobs are made anew."""
    logs, lake, files = tmp_path / "logs", tmp_path / "lake", flocks()
    logs.mkdir()
    for name in sorted(files)[:-1]:
        (logs / name).write_bytes(files[name])
    ingest([logs], lake, options=ALONE)
    ettlog.open(lake).table("job")
    index = kept.read(lake)
    assert index is not None
    old = index.path(lake, "ledger")
    data = bytearray(old.read_bytes())
    data[4:400] = bytes(396)
    digest = hashlib.sha256(data).hexdigest()
    told = {**index.files, "ledger": index.files["ledger"]._replace(sha256=digest)}
    forged = kept.Index(index.digest, told, index.base)
    forged.path(lake, "ledger").write_bytes(data)
    (lake / kept.FOLDER / kept.INDEX).write_bytes(kept._encode(forged))
    (logs / sorted(files)[-1]).write_bytes(files[sorted(files)[-1]])
    ingest([logs], lake, options=ALONE)
    ettlog.open(lake).table("job")
    assert tree(lake / kept.FOLDER) == rebuilt(lake, tmp_path / "all")


def test_what_is_made_anew_of_touched_names_reads_their_sources_only() -> None:
    """A relation on the way to marks and places of starts that reads something else would lack it there."""
    given = {*touched.GIVEN, "step", "_held", "lifecycle_kind"}
    waiting, read = [*touched.OF_LOG, *touched.OF_START, *touched.HELD, "launch"], set[str]()
    while waiting:
        needs = {*relations()[waiting.pop()].needs}
        read |= needs
        waiting += needs - given
    assert given <= read
    assert not read & {"alloc", "allocation", "setting", "_named", "_resumed", "_now", "_joined"}


def test_accounting_that_comes_later_changes_jobs_whose_logs_are_what_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their starts are made a second time, of the names that no changed source bears, and all bytes are right."""
    turns: list[int] = []
    real = touched._part

    def spied(fleet: Fleet, turn: int) -> Fleet:
        part = real(fleet, turn)
        turns.append(part.table("launch").height)
        return part

    monkeypatch.setattr(touched, "_part", spied)
    logs, lake, files = tmp_path / "logs", tmp_path / "lake", flocks()
    logs.mkdir()
    for day in (False, True):
        for name in files:
            if ("sacct" in name) is day:
                (logs / name).write_bytes(files[name])
        ingest([logs], lake, options=ALONE)
        ettlog.open(lake).table("job")
    assert len(turns) == 2 and turns[0] == 0 < turns[1]
    assert tree(lake / kept.FOLDER) == rebuilt(lake, tmp_path / "all")


def test_a_log_of_two_names_and_the_members_of_a_sweep_are_touched_together() -> None:
    """Names that one log bears, one after the other, and a name with numbers behind it go with the one that changed."""
    con = duckdb.connect()
    con.execute(
        "CREATE TABLE _stream (key VARCHAR, stream VARCHAR, name VARCHAR);"
        "CREATE TABLE touched (stem VARCHAR, turn BIGINT)"
    )
    rows = [
        ("1", "u", "a"),
        ("2", "u", "b"),
        ("3", "v", "b#2"),
        ("4", "v", "c"),
        ("5", "w", "d"),
        ("6", "x", "c#2#3"),
        ("7", "y", "#c"),
    ]
    con.executemany("INSERT INTO _stream VALUES (?, ?, ?)", rows)
    con.execute("CREATE VIEW was__stream AS SELECT * FROM _stream")
    con.execute(touched._KIN)
    con.execute("INSERT INTO touched VALUES ('a', 1)")
    while con.execute(touched._MORE, {"turn": 1}).fetchall()[0][0]:
        pass
    stems = con.execute("SELECT DISTINCT key FROM kin JOIN touched ON touched.stem = kin.stem ORDER BY key").fetchall()
    assert stems == [("1",), ("2",), ("3",), ("4",), ("6",)]
