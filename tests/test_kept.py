"""Relations kept in a lake are those that the facts give, value by value; stale, torn or damaged ones are not used."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import ettlog
from ettlog import durable, fact_files, keeping, kept, kept_write
from ettlog.config import Config
from ettlog.fleet import Fleet
from ettlog.ingest import IngestOptions, ingest
from ettlog.lake import Lake
from ettlog.relations import relations
from tests.conftest import ROOT
from tests.ingesting import tree

ALONE = IngestOptions(workers=1)
TINY = ROOT / "fixtures/tiny/logs"


@pytest.fixture(autouse=True)
def keep_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the relations of the smallest lakes too."""
    monkeypatch.setattr(kept, "KEEP_ROWS", 0)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a lake of a few logs that keeps no relations yet."""
    lake = tmp_path_factory.mktemp("bare") / "lake"
    ingest([TINY], lake, options=ALONE)
    return lake


@pytest.fixture(scope="module")
def full(bare: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the same with its relations."""
    lake = tmp_path_factory.mktemp("full") / "lake"
    shutil.copytree(bare, lake)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept, "KEEP_ROWS", 0)
        ettlog.open(lake, Config()).table("ledger")
    return lake


def test_facts_seen_where_they_lie_are_those_that_were_copied(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The facts of a large lake stay in their files; of each table and of the answers every value is the same."""
    monkeypatch.setattr(kept, "KEEP_ROWS", 1 << 60)
    kind = "SELECT table_type FROM information_schema.tables WHERE table_name = 'event'"
    found = []
    for copied in (True, False):
        monkeypatch.setattr(fact_files, "fits", lambda *_, copied=copied: copied)
        fleet = ettlog.open(bare, Config())
        tables = [fleet.sql(f"SELECT * FROM {name} ORDER BY ALL") for name in ("event", "step", "alloc", "ledger")]
        found.append((tables, fleet.connection.execute(kind).fetchall()))
    assert [kinds for _, kinds in found] == [[("LOCAL TEMPORARY",)], [("VIEW",)]]
    for few, many in zip(found[0][0], found[1][0], strict=True):
        assert few.equals(many) and few.height


@pytest.mark.parametrize("name", ["_island", "_wall", "segment"])
def test_any_relation_may_be_the_first_that_is_asked_for(name: str, bare: Path, tmp_path: Path) -> None:
    """Where what it needs is made to be kept, it may come along, and is not made twice."""
    lake = shutil.copytree(bare, tmp_path / "lake")
    shutil.rmtree(lake / kept.FOLDER, ignore_errors=True)
    first = ettlog.open(lake, Config()).table(name)
    fleet = ettlog.open(lake, Config())
    fleet.table("ledger")
    assert first.equals(fleet.table(name))


@pytest.mark.parametrize(
    ("name", "rows", "memory_mib", "copies"),
    [
        ("event", 500_000, 64, True),
        ("event", 500_001, 64, False),
        ("event", 894_784, 1024, True),  # 268,435,456 of 1,073,741,824 bytes at 300 each
        ("event", 894_785, 1024, False),
        ("step", 500_001, 1 << 20, False),
    ],
)
def test_as_many_events_are_copied_as_fit_into_a_quarter_of_the_memory(
    name: str, rows: int, memory_mib: int, copies: bool
) -> None:
    """Half a million rows always are; more only of events, which nearly every relation reads."""
    assert fact_files.fits(name, rows, memory_mib) is copies


def test_files_of_one_version_are_alike(full: Path) -> None:
    """The columns of the first file tell those of all where one version of the parsers wrote them."""
    assert Lake.open(full).alike
    lake = Lake.open(full)
    lake.state.current = {
        path: replace(entry, parser=entry.parser + (path == min(lake.state.current)))
        for path, entry in lake.state.current.items()
    }
    assert not lake.alike


def copied(lake: Path, tmp_path: Path, name: str = "lake") -> Path:
    """Copy a lake to where a test may change it."""
    shutil.copytree(lake, tmp_path / name)
    return tmp_path / name


def made(tmp_path: Path, logs: Path = TINY, name: str = "lake") -> Path:
    """Ingest a folder of logs into a new lake."""
    lake = tmp_path / name
    ingest([logs], lake, options=ALONE)
    return lake


def rebuilt(lake: Path, config: Config | None = None) -> Fleet:
    """Open a lake with every relation made of the facts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept, "KEEP_ROWS", 1 << 60)
        return ettlog.open(lake, config)


def reading(lake: Path, config: Config | None = None) -> Fleet:
    """Open a lake that holds kept relations which fit, and forbid to make them anew."""
    fleet = ettlog.open(lake, config)
    assert fleet._keeper is not None
    assert fleet._keeper.index is not None
    return fleet


def kept_files(lake: Path) -> dict[str, bytes]:
    """Return the files of the kept relations with their bytes."""
    return tree(lake / kept.FOLDER)


def same(left: Fleet, right: Fleet) -> None:
    """Compare every relation of two fleets: columns, types, and every value of every row."""
    for name in relations():
        first, second = left.table(name), right.table(name)
        assert first.schema == second.schema, name
        assert left.shape(name) == right.shape(name), name
        assert first.equals(second), name


@pytest.mark.parametrize("story", ["tiny", "messy", "heron"])
def test_kept_relations_are_the_rebuilt_ones(tmp_path: Path, story: str) -> None:
    """Every relation that is read back has the columns, types and values that the facts give."""
    lake = made(tmp_path, ROOT / f"fixtures/{story}/logs")
    ettlog.open(lake).table("job")
    same(reading(lake), rebuilt(lake))


@pytest.mark.shared
def test_kept_relations_of_real_logs_are_the_rebuilt_ones(tmp_path: Path, real_lake: Path) -> None:
    """The same of logs as fleets write them."""
    lake = tmp_path / "lake"
    shutil.copytree(real_lake, lake, ignore=shutil.ignore_patterns(kept.FOLDER))
    ettlog.open(lake).table("job")
    same(reading(lake), rebuilt(lake))


def test_a_second_opening_computes_nothing(full: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once kept, a relation is read without a look at the facts it was made of."""
    lake = copied(full, tmp_path)
    rows = ettlog.open(lake).table("ledger")
    monkeypatch.setattr(Fleet, "_read", lambda *_: pytest.fail("the facts were looked at"))
    fleet = ettlog.open(lake)
    assert fleet.table("ledger").equals(rows)
    assert fleet.sql("SELECT sum(us) FROM ledger").item() == rows["us"].sum()


def test_a_small_lake_keeps_nothing(bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lake with fewer rows than KEEP_ROWS is assembled anew each time, and holds no relations."""
    lake = copied(bare, tmp_path)
    rows = sum(file.rows for _, _, file in Lake.open(lake).state.listed())
    monkeypatch.setattr(kept, "KEEP_ROWS", rows + 1)
    ettlog.open(lake).table("ledger")
    assert not (lake / kept.FOLDER).exists()
    monkeypatch.setattr(kept, "KEEP_ROWS", rows)
    ettlog.open(lake).table("ledger")
    assert (lake / kept.FOLDER / kept.INDEX).is_file()


def test_a_new_source_makes_them_stale(tmp_path: Path) -> None:
    """After an ingest of further logs the answers are those of all logs."""
    logs = tmp_path / "logs"
    logs.mkdir()
    shutil.copy(TINY / "finch-7b-501001.out", logs)
    lake = made(tmp_path, logs)
    before = ettlog.open(lake).table("job").height
    shutil.copy(TINY / "sacct.txt", logs)
    ingest([logs], lake, options=ALONE)
    after = ettlog.open(lake).table("job")
    assert after.height > before
    assert after.equals(rebuilt(lake).table("job"))
    same(reading(lake), rebuilt(lake))


def test_settings_that_shape_relations_make_them_stale(full: Path, tmp_path: Path) -> None:
    """Owners stand in the ledger, so others give another one; a setting of answers only changes nothing."""
    lake = copied(full, tmp_path)
    ettlog.open(lake, Config()).table("ledger")
    answers = Config({"ett.basis": "elapsed"})
    assert reading(lake, answers).table("ledger").equals(rebuilt(lake).table("ledger"))
    other = Config({"owners": {"compilation": "nobody"}})
    fresh = ettlog.open(lake, other)
    assert fresh._keeper is not None
    assert fresh._keeper.index is None
    assert "nobody" in fresh.table("ledger")["owner"]


def test_what_a_flag_asks_for_is_not_kept(full: Path, tmp_path: Path) -> None:
    """A setting given for one call is answered, and what is kept for the next call stays."""
    lake = copied(full, tmp_path)
    ettlog.open(lake, Config()).table("ledger")
    before = kept_files(lake)
    asked = Config({"owners": {"compilation": "nobody"}}, {"owners": "flag"})
    assert "nobody" in ettlog.open(lake, asked).table("ledger")["owner"]
    assert kept_files(lake) == before


def test_other_sql_makes_them_stale(full: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ettlog with other SQL, or another engine, does not take what this one kept."""
    lake = copied(full, tmp_path)
    reading(lake)
    monkeypatch.setattr(kept, "code", lambda: "another")
    fleet = ettlog.open(lake)
    assert fleet._keeper is not None
    assert fleet._keeper.index is None


def test_same_logs_same_bytes(bare: Path, full: Path, tmp_path: Path) -> None:
    """What is made of the same facts twice is the same, to the byte."""
    lake = copied(bare, tmp_path)
    ettlog.open(lake, Config()).table("job")
    assert kept_files(lake) == kept_files(full)
    assert len(kept_files(lake)) == len(keeping.names()) + 2  # the events, and the index


def _torn(index: Path) -> None:
    index.write_bytes(index.read_bytes()[:-40])


def _changed(index: Path) -> None:
    index.write_bytes(index.read_bytes().replace(b'"v":2', b'"v":1', 1))


def _forged(old: bytes, new: bytes) -> Callable[[Path], None]:
    def harm(index: Path) -> None:
        body = index.read_bytes().rpartition(b',"crc":"')[0].replace(old, new, 1)
        index.write_bytes(body + b',"crc":"%08x"}\n' % zlib.crc32(body))

    return harm


FORGED = (
    (b'["', b'["../../../../'),
    (b'"VARCHAR"', b'"VARCHAR AS job, 1"'),
    (b'"files":{', b'"files":{"a b":["",1,1,{}],'),
    (b'"files":', b'"fils":'),
)


@pytest.mark.parametrize(("old", "new"), FORGED)
def test_an_index_that_somebody_wrote_leads_nowhere(full: Path, tmp_path: Path, old: bytes, new: bytes) -> None:
    """A path out of the folder, SQL for a type, an odd name: with a fitting checksum too it is refused as a whole."""
    lake = copied(full, tmp_path)
    assert kept.read(lake) is not None
    _forged(old, new)(lake / kept.FOLDER / kept.INDEX)
    assert kept.read(lake) is None


@pytest.mark.parametrize("harm", [_torn, _changed, Path.unlink])
def test_an_index_that_is_not_whole_is_not_used(full: Path, tmp_path: Path, harm: object) -> None:
    """A torn or changed index, or none, costs the time to make the relations anew, and no answer."""
    lake = copied(full, tmp_path)
    rows = ettlog.open(lake).table("ledger")
    before = kept_files(lake)
    assert callable(harm)
    harm(lake / kept.FOLDER / kept.INDEX)
    assert kept.read(lake) is None
    assert ettlog.open(lake).table("ledger").equals(rows)
    assert kept_files(lake) == before


def test_a_file_of_another_length_is_noticed(full: Path, tmp_path: Path) -> None:
    """A relation whose file was cut is made anew, and named by the check until then."""
    lake = copied(full, tmp_path)
    rows = ettlog.open(lake).table("segment")
    file = next((lake / kept.FOLDER).glob("segment-*.parquet"))
    os.truncate(file, 100)
    assert any("segment-" in problem for problem in Lake.open(lake).problems())
    assert ettlog.open(lake).table("segment").equals(rows)
    assert not Lake.open(lake).problems()


def test_a_changed_byte_is_noticed_by_the_check(full: Path, tmp_path: Path) -> None:
    """The check compares the hash of every kept file."""
    lake = copied(full, tmp_path)
    ettlog.open(lake).table("segment")
    file = next((lake / kept.FOLDER).glob("segment-*.parquet"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(bytes(data))
    assert any(file.name in problem for problem in Lake.open(lake).problems())


def test_a_relation_that_vanishes_after_the_opening_is_made_anew(full: Path, tmp_path: Path) -> None:
    """Another process may replace what an open fleet was going to read: it computes instead."""
    lake = copied(full, tmp_path)
    rows = ettlog.open(lake).table("segment")
    fleet = reading(lake)
    shutil.rmtree(lake / kept.FOLDER)
    assert fleet.table("segment").equals(rows)


def test_files_of_relations_are_made_durable_many_at_a_time(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a small lake are published in one call; of a large one they wait for no more than some bytes."""
    calls: list[list[str]] = []
    real = durable.publish

    def spied(files: Sequence[durable.NewFile]) -> None:
        calls.append([new.name.rpartition("-")[0] for new in files])
        real(files)

    monkeypatch.setattr(durable, "publish", spied)
    for most, expected in ((1 << 20, 1), (-1, len(keeping.names()) + 1)):
        calls.clear()
        monkeypatch.setattr(kept_write, "BATCH_BYTES", most)
        lake = copied(bare, tmp_path / str(expected))
        ettlog.open(lake, Config()).table("ledger")
        assert len(calls) == expected
        assert sorted(name for call in calls for name in call) == sorted([*keeping.names(), "event"])


def test_a_locked_lake_answers_and_keeps_nothing(bare: Path, tmp_path: Path) -> None:
    """While an ingest holds the lock, relations are made in memory, at once and without an error."""
    lake = copied(bare, tmp_path)
    with durable.locked(lake / durable.LOCK_NAME, 0):
        rows = ettlog.open(lake).table("ledger")
    assert rows.equals(rebuilt(lake).table("ledger"))
    assert not (lake / kept.FOLDER).exists()


def test_a_lake_that_cannot_be_written_answers(bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full or read-only costs the keeping, and no answer."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    lake = copied(bare, tmp_path)
    monkeypatch.setattr(durable, "write_all", full)
    assert ettlog.open(lake).table("ledger").equals(rebuilt(lake).table("ledger"))
    assert kept.read(lake) is None


def test_relations_of_older_facts_are_not_kept(bare: Path, tmp_path: Path) -> None:
    """A fleet opened before an ingest keeps nothing after it: its relations are of the older facts."""
    lake = copied(bare, tmp_path)
    fleet = ettlog.open(lake)
    with (lake / "manifest.jsonl").open("ab") as manifest:
        manifest.write(b"\n")
    fleet.table("ledger")
    assert kept.read(lake) is None


def _killed_at(lake: Path, number: int) -> None:
    """Keep relations, and die when a name is given to the file with this number."""
    count, link = 0, os.link

    def linking(*args: object, **kwargs: object) -> None:
        nonlocal count
        count += 1
        if count == number:
            os._exit(9)
        link(*args, **kwargs)  # type: ignore[arg-type]

    os.link, kept.KEEP_ROWS = linking, 0  # a process of its own: a copy of one with threads may wait for ever
    ettlog.open(lake).table("ledger")


@pytest.mark.parametrize("number", [1, 9])
def test_a_killed_write_leaves_nothing_that_is_read(bare: Path, tmp_path: Path, number: int) -> None:
    """A process that dies while it keeps relations leaves files that the check names and the next ingest removes."""
    lake = copied(bare, tmp_path)
    process = multiprocessing.get_context("spawn").Process(target=_killed_at, args=(lake, number))
    process.start()
    process.join()
    assert process.exitcode == 9
    assert kept.read(lake) is None
    left = kept.leftovers(lake)
    assert len(left) == len(keeping.names()) + number  # all files, the events too, by one name or by both
    assert any("listed nowhere" in problem for problem in Lake.open(lake).problems())
    ingest([TINY], lake, options=ALONE)
    assert not kept.leftovers(lake)
    assert ettlog.open(lake).table("ledger").equals(rebuilt(lake).table("ledger"))


def test_files_are_private_and_old_ones_go(full: Path, tmp_path: Path) -> None:
    """Kept files are 0600 in a folder of 0700, and those of older relations are removed with the write of the new."""
    lake = copied(full, tmp_path)
    ettlog.open(lake).table("ledger")
    first = set(kept_files(lake))
    assert (lake / kept.FOLDER).stat().st_mode & 0o777 == 0o700
    assert {item.stat().st_mode & 0o777 for item in (lake / kept.FOLDER).iterdir()} == {0o600}
    ettlog.open(lake, Config({"owners": {"compilation": "nobody"}})).table("ledger")
    changed = first - set(kept_files(lake))
    assert [name.partition("-")[0] for name in sorted(changed)] == ["ledger"]
    assert len(kept_files(lake)) == len(first)


def test_any_tool_reads_them(full: Path, tmp_path: Path) -> None:
    """A kept relation is plain Parquet with the columns of the relation."""
    lake = copied(full, tmp_path)
    jobs = ettlog.open(lake).table("job")
    read = pl.read_parquet(next((lake / kept.FOLDER).glob("job-*.parquet")))
    assert read.equals(jobs)
