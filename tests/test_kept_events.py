"""The events of a lake in one file beside its relations: what its thousands of data files say, and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ettlog
from ettlog import fact_files, kept, simulate
from ettlog.config import Config
from ettlog.ingest import IngestOptions, ingest
from ettlog.lake import Lake
from ettlog.renewal import EVENTS
from ettlog.simulate.faults import parse
from ettlog.simulate.write import write
from tests.tables import Log, fleet, minute, record

ALONE = IngestOptions(workers=1)


@pytest.fixture(autouse=True)
def renew_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep and renew the relations of the smallest lakes too."""
    monkeypatch.setattr(kept, "KEEP_ROWS", 0)
    monkeypatch.setattr(kept, "RENEW_LINES", -1)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return logs of four jobs, rotated: one of them between the lines that open a launch."""
    place = tmp_path_factory.mktemp("fleet")
    made = simulate.fleet(simulate.default().having(models=3, jobs=4, days=8), seed=2)
    write(made, place / "logs", parse("rotated"))
    return place / "logs"


def opened_files(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the list that from now on takes how many data files of events are opened each time."""
    seen: list[int] = []
    real = fact_files.view

    def spied(con: Any, name: str, files: Any, **how: Any) -> None:
        paths = list(files)
        if name == EVENTS:
            seen.append(len(paths))
        real(con, name, paths, **how)

    monkeypatch.setattr(fact_files, "view", spied)
    return seen


def data_files(lake: Path) -> pl.DataFrame:
    """Return the events as the data files have them, each read by itself."""
    frames = [
        pl.read_parquet(path).with_columns(key=pl.lit(key)).cast({"ts": pl.Int64})
        for key, path in Lake.open(lake).files(EVENTS)
    ]
    return pl.concat(frames, how="diagonal")


def test_events_are_kept_as_their_files_tell_them(logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch that is numbered over two files stays in the kept file what each file alone says; no file is opened."""
    ingest([logs], tmp_path / "lake", options=ALONE)
    first = ettlog.open(tmp_path / "lake", Config())
    first.table("job")
    whole = first.table(EVENTS)
    assert first.connection.execute("SELECT count(*) FROM seam_fact").fetchone() != (0,)
    one = next((tmp_path / "lake" / kept.FOLDER).glob(f"{EVENTS}-*.parquet"))
    columns = ["key", "line", "ts", "launch", "kind"]
    told = pl.read_parquet(one).select(columns).sort(columns)
    assert told.equals(data_files(tmp_path / "lake").select(columns).cast(told.schema).sort(columns))
    seen = opened_files(monkeypatch)
    again = ettlog.open(tmp_path / "lake", Config())
    assert again.table(EVENTS).equals(whole)
    assert not seen


def test_a_day_later_the_events_of_new_logs_alone_are_opened(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One log grows and two come: one file for the rest, three data files, and the relations of a new lake."""
    some, lake = tmp_path / "logs", tmp_path / "lake"
    shutil.copytree(logs, some)
    texts = sorted(path for path in some.rglob("*") if path.is_file() and path.stat().st_size > 20_000)
    late = {path: path.read_bytes() for path in texts[-2:]}
    for path in late:
        path.unlink()
    ingest([some], lake, options=ALONE)
    ettlog.open(lake, Config()).table("job")
    for path, data in late.items():
        path.write_bytes(data)
    with texts[0].open("ab") as grown:
        grown.write(b"one line more\n")
    ingest([some], lake, options=ALONE)
    shutil.copytree(lake, tmp_path / "anew", ignore=shutil.ignore_patterns(kept.FOLDER))
    seen = opened_files(monkeypatch)
    found = ettlog.open(lake, Config())
    found.table("job")
    assert seen == [3]
    anew = ettlog.open(tmp_path / "anew", Config())
    for name in (EVENTS, "mark", "segment", "ledger"):
        assert found.table(name).equals(anew.table(name)), name


def test_events_below_a_shift_of_clocks_are_told_apart() -> None:
    """A clock ten minutes ahead is set back by five: what is kept has the stamps of the log alone."""
    log = Log("a", allocation="7", clock="exact", first_us=minute(15), last_us=minute(65))
    log.say(15, "launch", clock="exact")
    log.step(64, 1, clock="exact")
    log.say(65, "train_end", clock="exact")
    held = record(clock="exact", submit=-10, start=0, end=60)
    found = fleet(log, alloc=[held], config=Config({"clock.correct": "always"}))
    newest = "SELECT max(ts) FROM "
    assert found.connection.execute(newest + EVENTS).fetchone() == (minute(60),)
    below = fact_files.as_read(found.connection, EVENTS)
    assert found.connection.execute(newest + below).fetchone() == (minute(65),)
