"""Day after day the kept relations of a growing lake are the bytes that all of its logs give at once."""

from __future__ import annotations

import hashlib
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

import ettlog
from ettlog import kept, portions, renewal
from ettlog.ingest import IngestOptions, ingest
from tests.conftest import ROOT
from tests.ingesting import tree
from tests.tables import Log, fleet

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


def test_what_is_not_compared_of_a_mark_is_as_its_event_has_it() -> None:
    """Key, line and kind tell the event; of it these columns are taken as they are, whatever they hold."""
    dice, log = random.Random(1), Log("a")
    log.say(0, "launch", world=8)
    for at in range(200):
        told = {column: dice.choice([None, "x", "y"]) for column in ("node", "cause", "name")}
        numbers = {column: dice.choice([None, -1, 7, 10**6]) for column in renewal._OF_EVENT if column not in told}
        log.say(
            dice.choice([None, at]), dice.choice(["restart", "save_commit", "compile", "failure"]), **told, **numbers
        )
    asked = fleet(log)
    names = ", ".join(("key", "line", "kind", *renewal._OF_EVENT))
    assert asked.table("mark").height == 201
    assert asked.sql(f"SELECT {names} FROM mark EXCEPT ALL SELECT {names} FROM event").is_empty()
