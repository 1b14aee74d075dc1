"""The lake: files that appear whole, one writer, damage that is noticed, bytes that depend on the facts alone."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import sys
import zlib
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ettlog import durable, lake, manifest, packing
from ettlog.check import fix
from ettlog.errors import LakeError
from ettlog.ingest import ingest
from ettlog.manifest import SourceEntry
from ettlog.schema import EVENT, PARSER_VERSION, TABLES, arrow_schema
from tests.ingesting import ALONE, accounting, tree

KEY_A, KEY_B = "a" * 32, "b" * 32


def events(rows: int) -> pa.Table:
    """Make an event table of some rows."""
    records = [{"line": n + 1, "launch": 0, "ts": 1_700_000_000_000_000 + n, "kind": "heartbeat"} for n in range(rows)]
    return pa.Table.from_pylist(records, schema=arrow_schema("event"))


def put(writer: lake.Writer, path: str, key: str, rows: int = 3) -> None:
    """Publish and list one source with some events."""
    data = packing.parquet("event", events(rows))
    writer.publish(key, {"event": data})
    writer.add(SourceEntry("add", path, key, files={"event": packing.describe(data, rows)}, n_lines=rows))


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Return a lake of two sources."""
    folder = tmp_path / "lake"
    with lake.writer(folder) as writer:
        put(writer, "logs/a", KEY_A)
        put(writer, "logs/b", KEY_B)
        writer.flush()
    return folder


def test_what_was_written_is_read(made: Path) -> None:
    """Sources and files come in the order of their paths, and DuckDB reads the rows."""
    found = lake.Lake.open(made, verify=True)
    assert [entry.path for entry in found.sources()] == ["logs/a", "logs/b"]
    assert found.files("event") == [(KEY_A, made / f"event/{KEY_A}.parquet"), (KEY_B, made / f"event/{KEY_B}.parquet")]
    assert found.files("step") == []
    assert found.problems() == []
    query = f"select count(*), min(line), max(ts) from read_parquet('{made}/event/*.parquet')"
    rows = duckdb.connect().execute(query).fetchall()
    assert rows == [(6, 1, 1_700_000_000_000_002)]


def test_files_are_private_whatever_the_umask(tmp_path: Path) -> None:
    """Files are 0600 and folders 0700 under an open and under a closed umask."""
    for umask in (0o000, 0o077):
        folder = tmp_path / f"lake{umask}"
        before = os.umask(umask)
        try:
            with lake.writer(folder) as writer:
                put(writer, "a", KEY_A)
                writer.keep_copy("ettlog.toml", b"")
                writer.flush()
        finally:
            os.umask(before)
        for item in [folder, *folder.rglob("*")]:
            assert stat.S_IMODE(item.stat().st_mode) == (0o700 if item.is_dir() else 0o600), item


def test_bytes_depend_on_the_rows_alone() -> None:
    """Two tables with equal rows in other chunks and with other dictionaries give the same file."""
    whole = events(10)
    pieces = pa.concat_tables([whole.slice(0, 4), whole.slice(4)])
    column = pieces.schema.get_field_index("kind")
    kinds = pa.array(["heartbeat"] * 10).dictionary_encode()
    other = pieces.set_column(column, arrow_schema("event").field("kind"), kinds)
    assert packing.parquet("event", whole) == packing.parquet("event", other)


def test_chunks_do_not_show_in_files_of_several_row_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """However the rows came, a long table is written in row groups of the same bytes."""
    monkeypatch.setattr(packing, "ROW_GROUP", 1000)
    whole = events(packing.BIG_ROWS)
    pieces = pa.concat_tables([whole.slice(start, 700) for start in range(0, packing.BIG_ROWS, 700)])
    data = packing.parquet("event", whole)
    assert packing.parquet("event", pieces) == data
    assert pq.ParquetFile(pa.BufferReader(data)).metadata.num_row_groups == 5
    assert pq.read_table(pa.BufferReader(data)).column("line").to_pylist() == list(range(1, packing.BIG_ROWS + 1))


def test_words_of_batches_are_numbered_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches with other dictionaries, cut anywhere by the row groups, keep their words."""
    monkeypatch.setattr(packing, "ROW_GROUP", 1000)
    names = [f"kind{number // 700 % 3}" for number in range(packing.BIG_ROWS)]
    field = arrow_schema("event").field("kind")
    pieces = []
    for start in range(0, packing.BIG_ROWS, 700):
        part = events(len(names[start : start + 700]))
        pieces.append(part.set_column(4, field, pa.array(names[start : start + 700]).dictionary_encode()))
    data = packing.parquet("event", pa.concat_tables(pieces))
    assert pq.read_table(pa.BufferReader(data)).column("kind").to_pylist() == names


@pytest.mark.parametrize("rows", [1, packing.BIG_ROWS - 1, packing.BIG_ROWS, packing.BIG_ROWS + 1])
def test_big_tables_are_compressed_and_all_have_page_checksums(tmp_path: Path, rows: int) -> None:
    """The number of rows decides on compression; a flipped byte is an error for a reader that verifies pages."""
    data = packing.parquet("event", events(rows))
    path = tmp_path / "x.parquet"
    path.write_bytes(data)
    column = pq.ParquetFile(path).metadata.row_group(0).column(0)
    assert column.compression == ("ZSTD" if rows >= packing.BIG_ROWS else "UNCOMPRESSED")
    assert ("DELTA_BINARY_PACKED" in column.encodings) == (rows >= packing.BIG_ROWS)
    assert pq.read_table(path, page_checksum_verification=True).num_rows == rows
    place = column.data_page_offset + column.total_compressed_size - 2
    path.write_bytes(data[:place] + bytes([data[place] ^ 255]) + data[place + 1 :])
    with pytest.raises((OSError, pa.ArrowInvalid)):
        pq.read_table(path, page_checksum_verification=True)


def test_many_steps_are_packed_in_the_cheapest_way() -> None:
    """Snappy, few values by dictionary, other numbers by difference; instants have statistics, line numbers none."""
    rows, names = packing.BIG_ROWS, arrow_schema("step").names
    made = {name: pa.array([None] * rows, kind.type) for name, kind in zip(names, arrow_schema("step"), strict=True)}
    made |= {"line": pa.array(range(rows)), "ts": pa.array(range(7, 7 + rows)), "step": pa.array(range(rows))}
    made["target"] = pa.array([500] * rows)
    data = packing.parquet("step", pa.table(made, schema=arrow_schema("step")))
    group = pq.ParquetFile(pa.BufferReader(data)).metadata.row_group(0)
    column = {name: group.column(place) for place, name in enumerate(names)}
    assert {one.compression for one in column.values()} == {"SNAPPY"}
    assert "DELTA_BINARY_PACKED" in column["line"].encodings
    assert "RLE_DICTIONARY" in column["target"].encodings
    assert (column["ts"].statistics.min, column["ts"].statistics.max) == (7, rows + 6)
    assert column["line"].statistics is None
    assert pq.read_table(pa.BufferReader(data))["step"].to_pylist() == list(range(rows))


def test_the_file_says_its_versions_and_columns(tmp_path: Path) -> None:
    """The key-value metadata holds versions and no path or time; columns carry their sentences."""
    path = tmp_path / "x.parquet"
    path.write_bytes(packing.parquet("event", events(1)))
    schema = pq.read_schema(path)
    assert set(schema.metadata) == {b"ettlog.table", b"ettlog.lake_version", b"ettlog.parser_version"}
    assert schema.field("line").metadata[b"meaning"].decode() == EVENT[0].meaning


def test_open_refuses_what_is_no_lake(tmp_path: Path) -> None:
    """A missing folder and one without a manifest are errors with four parts."""
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "none", tmp_path / "empty"):
        with pytest.raises(LakeError) as caught:
            lake.Lake.open(folder)
        assert caught.value.where == str(folder)


def test_a_changed_size_is_noticed_by_open_and_a_changed_byte_by_verify(made: Path) -> None:
    """Sizes are always compared, hashes when asked for."""
    path = made / f"event/{KEY_A}.parquet"
    data = path.read_bytes()
    path.write_bytes(data[:40] + bytes([data[40] ^ 1]) + data[41:])
    lake.Lake.open(made)
    with pytest.raises(LakeError, match="not what its manifest says"):
        lake.Lake.open(made, verify=True)
    path.write_bytes(data[:-1])
    with pytest.raises(LakeError) as caught:
        lake.Lake.open(made)
    assert KEY_A in caught.value.where
    problems = lake.Lake.open(made, strict=False).problems()
    assert problems == [f"event/{KEY_A}.parquet: {len(data) - 1} bytes where the manifest says {len(data)}"]


def test_a_damaged_line_is_no_lake_without_that_log(made: Path) -> None:
    """Of two logs one would be missing from every answer: the lake is not opened; a torn last line is no damage."""
    path = made / manifest.NAME
    whole = path.read_bytes()
    first, second = whole.splitlines(keepends=True)
    path.write_bytes(first.replace(b'"op"', b'"oq"') + second)
    with pytest.raises(LakeError, match=r"^1 line\(s\) of this lake's manifest are damaged") as caught:
        lake.Lake.open(made)
    assert caught.value.where == f"{made}: manifest.jsonl:1: this line is left out: its checksum does not fit"
    opened = lake.Lake.open(made, strict=False)
    assert [text.partition(": ")[0] for text in opened.problems()] == [
        "manifest.jsonl:1", *sorted(f"{item.relative_to(made)}" for item in opened.leftovers())
    ]  # fmt: skip
    path.write_bytes(whole + second[:50])
    torn = lake.Lake.open(made)
    assert (torn.damage, len(torn.sources())) == ([], 2)
    assert torn.problems() == ["manifest.jsonl:3: the last line is torn; the next ingest heals it"]


def test_a_copy_of_a_log_whose_line_is_gone_is_read_again(tmp_path: Path) -> None:
    """The line that listed the facts of both is damaged, and the log replaced: the copy stands for itself."""
    logs = tmp_path / "logs"
    logs.mkdir()
    for name in ("a.txt", "copy.txt"):
        (logs / name).write_text(accounting(1))
    ingest([logs], tmp_path / "lake", options=ALONE)
    path = tmp_path / "lake" / manifest.NAME
    path.write_bytes(path.read_bytes().replace(b'"op":"add"', b'"op":"and"', 1))
    (logs / "a.txt").write_text(accounting(2))
    damaged = lake.Lake.open(tmp_path / "lake", strict=False)
    assert damaged.state.current == {}
    assert damaged.problems()[0] == "logs/copy.txt: no line lists the facts that it shares; ingest its log again"
    report = ingest([logs], tmp_path / "lake", options=ALONE)
    assert report.states == {"new": 2}
    healed = lake.Lake.open(tmp_path / "lake", verify=True)
    assert [(one.path, one.op) for one in healed.sources()] == [("logs/a.txt", "add"), ("logs/copy.txt", "add")]
    assert healed.problems() == []


def test_fix_leaves_the_facts_of_a_damaged_line(made: Path) -> None:
    """What a damaged line lists looks like leftovers: nothing is removed, and the line stays for the next ingest."""
    path = made / manifest.NAME
    path.write_bytes(path.read_bytes().replace(b'"op"', b'"oq"', 1))
    (made / "event" / f"{durable.TEMP_MARK}1-x").write_bytes(b"left")
    before = tree(made)
    assert fix(made) == 0
    assert tree(made) == before


def test_a_missing_file_and_a_link_in_its_place_are_noticed(made: Path) -> None:
    """A data file must be a regular file where the manifest says."""
    path = made / f"event/{KEY_B}.parquet"
    moved = path.rename(made.parent / "elsewhere")
    assert lake.Lake.open(made, strict=False).problems() == [f"event/{KEY_B}.parquet: missing"]
    path.symlink_to(moved)
    assert len(lake.Lake.open(made, strict=False).damage) == 1


def test_leftovers_are_named_and_then_removed(made: Path) -> None:
    """Temporary and unlisted files are never read, are named, and go with the next ingest; others stay."""
    left = [made / "event" / f"{durable.TEMP_MARK}1-x", made / f"alloc/{'c' * 32}.parquet"]
    for path in left:
        path.write_bytes(b"left")
    foreign = made / "event/README"
    foreign.write_bytes(b"mine")
    opened = lake.Lake.open(made)
    assert sorted(opened.leftovers()) == sorted(left)
    assert all("next ingest removes it" in problem for problem in opened.problems())
    with lake.writer(made):
        assert not any(path.exists() for path in left)
    assert foreign.read_bytes() == b"mine"


def test_a_torn_tail_is_healed_to_the_bytes_before_it(made: Path) -> None:
    """A line that was cut short is cut off; one that lacks only its newline gets it."""
    path = made / manifest.NAME
    whole = path.read_bytes()
    for tail, healed in ((b'{"v":1,"op', whole), (b"", whole)):
        path.write_bytes(whole + tail)
        with lake.writer(made):
            assert path.read_bytes() == healed
    path.write_bytes(whole[:-1])
    with lake.writer(made) as writer:
        assert path.read_bytes() == whole
        assert len(writer.state.sources()) == 2


def test_a_folder_of_other_files_is_never_made_a_lake(tmp_path: Path) -> None:
    """A folder that holds something else is refused and left as it was."""
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(LakeError, match="not a lake and not empty"), lake.writer(tmp_path):
        pass
    assert [item.name for item in tmp_path.iterdir()] == ["thesis.tex"]


def test_two_writers_exclude_each_other(made: Path) -> None:
    """While one process holds the lock, another gives up with a clear error."""
    with (
        durable.locked(made / lake.LOCK_NAME, 0),
        pytest.raises(LakeError, match="another ingest"),
        lake.writer(made, patience_s=0.1),
    ):
        pass


def test_the_lock_of_a_killed_writer_is_free(made: Path) -> None:
    """The kernel gives a lock back when its holder dies, so nothing stale is left."""
    code = (
        "import os, signal, sys; from pathlib import Path; from ettlog import lake\n"
        "with lake.writer(Path(sys.argv[1])): os.kill(os.getpid(), signal.SIGKILL)"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(made)], check=False)
    assert ended.returncode == -9
    with lake.writer(made, patience_s=0):
        pass


def test_publishing_the_same_bytes_again_leaves_the_file_alone(made: Path) -> None:
    """A file that already holds the bytes keeps its inode; one with other bytes is replaced."""
    path = made / f"event/{KEY_A}.parquet"
    data, before = path.read_bytes(), path.stat().st_ino
    durable.publish([durable.NewFile(made / "event", path.name, data)])
    assert path.stat().st_ino == before
    path.write_bytes(b"half")
    durable.publish([durable.NewFile(made / "event", path.name, data)])
    assert path.read_bytes() == data
    assert not list(made.rglob(f"{durable.TEMP_MARK}*"))


def test_a_full_disk_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When a write fails, the temporary file goes away and the error has its four parts."""

    def full(handle: int, data: bytes) -> int:  # noqa: ARG001
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(LakeError) as caught:
        durable.publish([durable.NewFile(tmp_path, "x.parquet", b"data")])
    monkeypatch.undo()
    assert "space" in caught.value.todo
    assert list(tmp_path.iterdir()) == []


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that takes three bytes at a time still gets the whole file."""
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: real(handle, bytes(data)[:3]))
    durable.publish([durable.NewFile(tmp_path, "x.parquet", b"0123456789")])
    assert (tmp_path / "x.parquet").read_bytes() == b"0123456789"


def test_a_failed_append_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the manifest cannot be made durable, it is cut back to what it was."""
    path = tmp_path / manifest.NAME
    durable.append(path, b"one\n")

    def broken(handle: int) -> None:  # noqa: ARG001
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(LakeError, match="append to the manifest"):
        durable.append(path, b"two\n")
    monkeypatch.undo()
    assert path.read_bytes() == b"one\n"


def test_copies_of_settings_are_replaced_whole(made: Path) -> None:
    """A changed configuration replaces the lake's copy, an equal one is not written again."""
    with lake.writer(made) as writer:
        assert writer.keep_copy(lake.CONFIG_NAME, b"[ett]\n")
        assert not writer.keep_copy(lake.CONFIG_NAME, b"[ett]\n")
    opened = lake.Lake.open(made)
    assert opened.config_path == made / lake.CONFIG_NAME
    assert opened.registry_path is None


def test_the_manifest_holds_the_hash_of_the_data_file(made: Path) -> None:
    """SHA-256 and length in the manifest are those of the file, counted independently."""
    data = (made / f"event/{KEY_A}.parquet").read_bytes()
    file = lake.Lake.open(made).sources()[0].files["event"]
    assert (file.sha256, file.bytes, file.rows) == (hashlib.sha256(data).hexdigest(), len(data), 3)


@pytest.mark.parametrize(("versions", "alike"), [((), True), ((2, 2), True), ((1, 2), False)])
def test_files_of_one_version_of_the_parsers_have_the_same_columns(
    versions: tuple[int, ...], alike: bool, tmp_path: Path
) -> None:
    """A lake whose sources were read by two versions must be asked for the columns of each file."""
    with lake.writer(tmp_path / "lake") as writer:
        for number, parser in enumerate(versions):
            writer.add(SourceEntry("add", f"logs/{number}", f"{number:032x}", parser=parser))
        writer.flush()
        assert lake.Lake(writer.path, writer.state).alike is alike


def test_the_columns_of_this_version() -> None:
    """Files of one version of the parsers are read by the columns of one of them: other columns need another number."""
    columns = {
        name: zlib.crc32(" ".join(f"{one.name}:{one.type}" for one in table).encode()) for name, table in TABLES.items()
    }
    assert (PARSER_VERSION, columns) == (2, {"event": 0xE7FDF205, "step": 0xEBA47F36, "alloc": 0xBE5A2242})
