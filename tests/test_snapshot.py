"""A snapshot answers like its lake, opens in old readers, is whole or absent, and keeps names to itself when asked."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

import ettlog
from ettlog import manifest
from ettlog.check import examine
from ettlog.errors import LakeError, UsageError
from ettlog.fleet import Fleet
from ettlog.redact import RULES, Redactor
from ettlog.relations import relations
from ettlog.report import build
from ettlog.snapshot import Held
from ettlog.snapshot_read import BEHIND
from tests.conftest import ROOT
from tests.test_cli import process, run

TINY = ROOT / "fixtures/tiny/logs"
REGISTRY = """[[optimization]]
name = "cache"
owner = "compiler"
components = ["compilation"]
rollouts = [{model = "*", since = 2031-05-06}]
"""
FORMS = ["fleet.duckdb", "folder"]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a lake of the tiny fixture with a registry and an owner of its own."""
    folder = tmp_path_factory.mktemp("snapshot")
    logs = folder / "logs"
    logs.mkdir()
    for file in TINY.iterdir():
        (logs / file.name).write_bytes(file.read_bytes())
    (logs / "optimizations.toml").write_text(REGISTRY)
    (logs / "ettlog.toml").write_text('[owners]\ncompile = "kernels"\n')
    ettlog.ingest([logs], folder / "lake")
    return folder / "lake"


@pytest.fixture(scope="module")
def fleet(lake: Path) -> Fleet:
    """Return the lake's fleet, whose relations are computed once."""
    return ettlog.open(lake)


@pytest.fixture(scope="module", params=FORMS)
def both(request: pytest.FixtureRequest, lake: Path, fleet: Fleet) -> Iterator[tuple[Fleet, Fleet, Path]]:
    """Return the lake's fleet, the snapshot's, and where the snapshot lies."""
    path = lake.parent / request.param
    ettlog.snapshot(fleet, path)
    yield fleet, ettlog.open(path), path


def test_every_public_relation_is_in_it_unchanged(both: tuple[Fleet, Fleet, Path]) -> None:
    """Each relation of the snapshot has the rows, columns and types of the lake's."""
    fleet, held, _ = both
    for name in fleet.relations():
        assert_frame_equal(fleet.table(name), held.table(name))
        assert fleet.shape(name) == held.shape(name)


def test_all_answers_work_from_it(both: tuple[Fleet, Fleet, Path]) -> None:
    """Every public answer over a snapshot equals that over its lake."""
    fleet, held, path = both
    job = fleet.table("job")["job"][0]
    answers: dict[str, Callable[[Fleet], pl.DataFrame]] = {
        "ett": lambda one: ettlog.ett(one, by="owner"),
        "lost": lambda one: ettlog.ett(one, waste="lost"),
        "jobs": ettlog.jobs,
        "timeline": lambda one: ettlog.timeline(one, job),
        "starts": lambda one: ettlog.timeline(one, job, starts=True),
        "explain": lambda one: ettlog.explain(one, job).drop("kind", "format", "pattern", "clock", "inferences"),
        "status": ettlog.status,
        "credit": lambda one: ettlog.attribute(one).credit,
        "advise": ettlog.advise,
        "terms": ettlog.terms,
        "reliability": ettlog.reliability,
        "sql": lambda one: one.sql("SELECT part, sum(end_us) AS us FROM segment GROUP BY part ORDER BY part"),
    }
    for answer in answers.values():
        assert_frame_equal(answer(fleet), answer(held))
    assert_frame_equal(fleet.check(), held.check())
    keys = ["level", "check", "subject", "detail"]
    assert_frame_equal(ettlog.check(path).sort(keys), pl.concat(examine(fleet)).sort(keys))
    assert build(fleet) == build(held)


def test_owners_of_the_configuration_stay(both: tuple[Fleet, Fleet, Path]) -> None:
    """An owner that the lake's ettlog.toml names is the owner in the snapshot too."""
    _, held, _ = both
    assert held.config is not None
    assert held.config.owner_of("compile") == "kernels"


def test_what_it_does_not_hold_is_refused_with_a_way_out(both: tuple[Fleet, Fleet, Path]) -> None:
    """Logged steps and the steps between relations are named as absent, not answered as empty."""
    _, held, _ = both
    with pytest.raises(UsageError, match="--steps"):
        held.table("_stream")
    with pytest.raises(UsageError, match="there is no relation"):
        held.table("step")


def test_columns_carry_their_sentences_in_the_database(lake: Path, fleet: Fleet) -> None:
    """The comments in the file are the sentences of `ettlog schema`, for every column of every relation."""
    path = lake.parent / "comments.duckdb"
    ettlog.snapshot(fleet, path)
    with duckdb.connect(str(path), read_only=True) as connection:
        query = "SELECT table_name, column_name, comment FROM duckdb_columns() WHERE NOT internal"
        found = {(table, column): comment for table, column, comment in connection.execute(query).fetchall()}
        tables = dict(connection.execute("SELECT table_name, comment FROM duckdb_tables()").fetchall())
    for relation, column, _, sentence in fleet.schema().iter_rows():
        assert found[relation, column] == sentence
    assert tables["segment"] == relations()["segment"].sentence
    assert all(tables.values())


def test_columns_carry_their_sentences_in_parquet(lake: Path, fleet: Fleet) -> None:
    """Field metadata of the Parquet files holds the same sentences."""
    path = lake.parent / "meaning"
    ettlog.snapshot(fleet, path)
    field = pq.read_schema(path / "segment.parquet").field("begin_us")
    assert field.metadata[b"meaning"].decode() == relations()["segment"].columns["begin_us"]


def test_file_has_the_storage_version_of_old_readers(lake: Path, fleet: Fleet) -> None:
    """The header of the file says version 64, which DuckDB 0.9 to 1.1 wrote and every later one reads."""
    path = lake.parent / "old.duckdb"
    ettlog.snapshot(fleet, path)
    assert struct.unpack_from("<Q", path.read_bytes(), 12)[0] == 64


def test_failure_leaves_the_older_snapshot_and_nothing_else(
    lake: Path, monkeypatch: pytest.MonkeyPatch, fleet: Fleet
) -> None:
    """A snapshot that fails half way changes no byte of an earlier one and leaves no temporary file."""
    folder = lake.parent / "whole"
    folder.mkdir()
    for name in FORMS:
        ettlog.snapshot(fleet, folder / name)
    before = {file: file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}
    real = Fleet.table

    def full(self: Fleet, name: str) -> pl.DataFrame:
        if name == "ledger":
            raise OSError(28, "No space left on device")
        return real(self, name)

    monkeypatch.setattr(Fleet, "table", full)
    for name in FORMS:
        with pytest.raises(UsageError, match="No space left"):
            ettlog.snapshot(fleet, folder / name)
    assert {file: file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()} == before


def test_snapshot_replaces_an_earlier_one_and_nothing_else(tmp_path: Path, fleet: Fleet) -> None:
    """A folder of other things, an unknown suffix and a folder that is not there are refused."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("words")
    for name, said in (("mine", "something else"), ("x.xlsx", "cannot be written as .xlsx"), ("no/x.db", "cannot be")):
        with pytest.raises(UsageError, match=said):
            ettlog.snapshot(fleet, tmp_path / name)
    assert [file.name for file in tmp_path.iterdir()] == ["mine"]
    ettlog.snapshot(fleet, tmp_path / "twice")
    rows = ettlog.snapshot(fleet, tmp_path / "twice", steps=True)
    assert rows["step"] == ettlog.open(tmp_path / "twice").table("step").height == fleet.table("step").height > 0


def test_newer_and_damaged_snapshots_are_refused(lake: Path, fleet: Fleet) -> None:
    """A layout of the future, a file without relations and a torn file are errors that name the file."""
    path = lake.parent / "newer.duckdb"
    ettlog.snapshot(fleet, path)
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE snapshot_info SET value = '99' WHERE name = 'layout'")
    with pytest.raises(LakeError, match="its layout is 99"):
        ettlog.open(path)
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE snapshot_info SET value = '1' WHERE name = 'layout'")
        connection.execute("ALTER TABLE segment DROP COLUMN gpus")
    with pytest.raises(LakeError, match="segment has no column gpus"):
        ettlog.open(path)
    path.write_bytes(path.read_bytes()[:9000])
    with pytest.raises(LakeError, match=r"newer\.duckdb"):
        ettlog.open(path)


def test_views_of_a_stranger_are_not_run(lake: Path, fleet: Fleet) -> None:
    """A view in a mailed file is no relation: only tables are read."""
    path = lake.parent / "view.duckdb"
    ettlog.snapshot(fleet, path)
    with duckdb.connect(str(path)) as connection:
        connection.execute("DROP TABLE job")
        connection.execute("CREATE VIEW job AS SELECT * FROM start")
    with pytest.raises(LakeError, match="relation job is not in it"):
        ettlog.open(path)


def test_command_writes_a_file_that_other_commands_read(lake: Path) -> None:
    """`ettlog snapshot -o X` says what it wrote, and `--lake X` answers from it."""
    wrote = process(["snapshot", "--lake", str(lake), "-o", "mail.duckdb", "--redact"], cwd=lake.parent)
    assert wrote.returncode == 0, wrote.stderr
    assert re.match(r"wrote mail\.duckdb: \d+ tables, \d+ rows, ", wrote.stderr)
    asked = run("ett", "--lake", str(lake.parent / "mail.duckdb"))
    assert asked.stdout == run("ett", "--lake", str(lake)).stdout
    ingest = process(["ingest", "logs", "--lake", "mail.duckdb"], cwd=lake.parent)
    assert (ingest.returncode, "not a folder" in ingest.stderr.lower()) == (1, True)


# Redaction

SECRET = ["alice", "b.kowalski", "gpu-rack7-n12", "storm-lab", "10.11.12.13"]


@pytest.fixture(scope="module")
def secretive() -> Fleet:
    """Return a fleet whose facts name users, hosts and paths in every place that can."""
    path = "storm-lab/alice/gpu-rack7-n12.log"
    source = pl.DataFrame(
        {"key": ["a" * 32], "path": [path], "stream": [path], "job_name": ["alice-llama"], "node": ["gpu-rack7-n12"]}
    )
    event = pl.DataFrame(
        {
            "key": ["a" * 32] * 5,
            "line": [1, 2, 3, 4, 5],
            "launch": [1] * 5,
            "ts": [1_000_000_000_000_000 + 60_000_000 * k for k in range(5)],
            "clock": ["exact"] * 5,
            "kind": ["launch", "resume", "save_commit", "failure", "exit_code"],
            "node": ["gpu-rack7-n12.storm-lab.org"] * 5,
            "name": [
                "gpu-rack7-n12:29500", "tcp://10.11.12.13:29500", "/home/b.kowalski/storm-lab/step_10",
                "alice: no module in /scratch/alice/x.py", "mail b.kowalski@storm-lab.org",
            ],
        }
    )  # fmt: skip
    alloc = pl.DataFrame(
        {"key": ["a" * 32], "line": [9], "record": ["job"], "user": ["alice"], "name": ["alice-llama"], "id": ["77"],
         "raw": ["77"], "node": ["gpu-rack7-n12"], "start_us": [1_000_000_000_000_000], "clock": ["exact"],
         "end_us": [1_000_000_600_000_000], "gpus": [8]}
    )  # fmt: skip
    return Fleet.from_tables(source=source.to_arrow(), event=event.to_arrow(), alloc=alloc.to_arrow())


def test_snapshot_of_an_older_ettlog_answers_what_it_can(lake: Path, fleet: Fleet) -> None:
    """Where a relation of today, or a column of it, is missing, the rest is answered and that one is named."""
    path = lake.parent / "older.duckdb"
    ettlog.snapshot(fleet, path)
    with duckdb.connect(str(path)) as connection:
        connection.execute("DROP TABLE recovery")
        connection.execute("ALTER TABLE compilation DROP COLUMN warmth")
    held = ettlog.open(path)
    assert_frame_equal(ettlog.ett(held), ettlog.ett(fleet))
    for name in ("recovery", "compilation"):
        with pytest.raises(UsageError, match=f"does not hold `{name}`"):
            held.table(name)


@pytest.mark.parametrize("form", FORMS)
def test_redaction_leaves_no_name_in_any_table(form: str, tmp_path: Path, secretive: Fleet) -> None:
    """No user, host, folder or address is in a redacted snapshot; the facts around them are."""
    ettlog.snapshot(secretive, tmp_path / form, redact=True)
    held = ettlog.open(tmp_path / form)
    names = [*held.relations(), *BEHIND, "event", "alloc", "snapshot_info"]
    text = "".join(held.table(name).write_json() for name in names)
    assert [name for name in SECRET if name in text] == []
    assert "llama" in text
    assert held.table("allocation").height == 1


def test_one_name_has_one_pseudonym_everywhere(tmp_path: Path, secretive: Fleet) -> None:
    """User, home folder and job name share a pseudonym; a host's short and full names begin alike; joins hold."""
    ettlog.snapshot(secretive, tmp_path / "r.duckdb", key=b"k" * 32, redact=True)
    held = ettlog.open(tmp_path / "r.duckdb")
    user = held.table("alloc")["user"][0]
    assert held.table("source")["path"][0].split("/")[1] == user
    assert held.table("source")["job_name"][0] == f"{user}-llama"
    host = held.table("source")["node"][0]
    assert held.table("event")["node"][0].startswith(host + ".")
    assert held.table("event")["name"][0] == f"{host}:29500"
    assert set(held.table("mark")["job"]) <= set(held.table("job")["job"])


def test_pseudonyms_follow_the_key(tmp_path: Path, secretive: Fleet) -> None:
    """The same key gives the same pseudonyms again; another key, or none, gives others."""
    users = []
    for key in (b"k" * 32, b"k" * 32, b"x" * 32, None, None):
        ettlog.snapshot(secretive, tmp_path / "r.duckdb", key=key, redact=True)
        users.append(ettlog.open(tmp_path / "r.duckdb").table("alloc")["user"][0])
    assert users[0] == users[1]
    assert len(set(users)) == 4
    with pytest.raises(UsageError, match="too short"):
        ettlog.snapshot(secretive, tmp_path / "r.duckdb", key=b"short", redact=True)


def test_manifest_and_registry_are_redacted_too(lake: Path, fleet: Fleet) -> None:
    """Paths and hints of the manifest become pseudonyms, and samples of unread lines are left out."""
    path = lake.parent / "quiet.duckdb"
    ettlog.snapshot(fleet, path, redact=True)
    held = ettlog.open(path)
    assert fleet.lake is not None
    assert held.lake is not None
    assert len(held.lake.sources()) == len(fleet.lake.sources())
    lines = held.table("snapshot_source")["entry"].to_list()
    assert not any("robin" in json.loads(line)["path"] for line in lines)
    assert not any(manifest.decode(line.encode()).unmatched for line in lines)
    assert {entry.path for entry in held.lake.sources()} == set(held.table("source")["path"])
    assert_frame_equal(ettlog.attribute(held).credit, ettlog.attribute(fleet).credit)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("logs/alice/train.log.gz:17 (end to release)", [".log.gz:17 (end to release)"]),
        ("/home/carol/run: no such file", [": no such file"]),
        ("stale at node9 after 10 s", ["stale at host-", " after 10 s"]),
    ],
)
def test_sentences_stay_readable(text: str, kept: list[str]) -> None:
    """What is no name stays: suffixes, line numbers, notes, words."""
    redactor = Redactor(b"k" * 32, {"alice"}, {"node9"})
    changed = redactor.evidence(text)
    assert all(piece in changed for piece in kept)
    assert not any(name in changed for name in ("alice", "carol", "node9", "logs"))


def test_every_text_column_has_a_rule() -> None:
    """Each text column of each relation and fact is named in the rules, so that a new one is thought about."""
    empty = Fleet.from_tables()
    texts = {
        column
        for name in [*empty.relations(), *BEHIND, "event", "step", "alloc"]
        for column, kind in empty.shape(name).items()
        if kind == "VARCHAR"
    }
    assert texts <= RULES.keys()


MAKING = {"portions", "renewal", "touched"}
"""Modules that make relations of large lakes, and name those that others are made of."""


def test_whatever_answers_read_is_held() -> None:
    """Each step between the relations that the code of an answer names is one that snapshots hold."""
    read = {
        name
        for path in (ROOT / "ettlog").rglob("*.py")
        if path.stem not in MAKING
        for name in re.findall(r'"(_[a-z]+)"', path.read_text())
        if name in relations()
    }
    assert read == set(BEHIND)


def test_held_tables_have_sentences(fleet: Fleet) -> None:
    """Every table that a snapshot holds says what it is, and every relation's column too."""
    tables: list[Held] = list(import_module("ettlog.snapshot")._tables(fleet, None, steps=True))
    assert all(table.sentence.endswith(".") for table in tables)
    assert all(set(table.columns) == set(table.frame.columns) for table in tables if table.name in relations())
