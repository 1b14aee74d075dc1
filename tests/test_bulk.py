"""Data files that are too large for memory are the same bytes as others, wherever they lie."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from ettlog import bulk, durable, packing, workers
from ettlog.errors import LakeError
from ettlog.ingest import IngestOptions, ingest
from ettlog.parse.parsed import ScanOptions
from ettlog.tasks import Task
from tests.ingesting import tree

STEP = (
    " [2031-03-09 08:{minute:02d}:{second:02d}] iteration {step:8d}/    9000 | consumed samples: {step:12d} | elapsed "
    "time per iteration (ms): 1000.0 | learning rate: 1.0E-04 | global batch size: 8 | lm loss: 2.0E+00 | loss scale: "
    "1.0 | number of skipped iterations: 0 | number of nan iterations: 0 |"
)


def on_disk(data: bytes) -> bulk.Bulk:
    """Put bytes into a file."""
    found = bulk.Bulk()
    found.file.write(data)
    return found


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Write two logs of steps."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for name, steps in (("a.log", 900), ("b.log", 40)):
        lines = [STEP.format(step=step, minute=step // 60, second=step % 60) for step in range(1, steps + 1)]
        (folder / name).write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.parametrize("size", [1, 3, 10, 11])
def test_bytes_come_piece_by_piece_as_often_as_one_likes(size: int) -> None:
    """Ten bytes, on disk or not, come whole and in pieces of a size; the last one is what is left."""
    wanted = [b"0123456789"[begin : begin + size] for begin in range(0, 10, size)]
    for data in (b"0123456789", on_disk(b"0123456789")):
        for _ in range(2):
            assert list(bulk.pieces(data, size)) == wanted
            assert (len(data), bulk.whole(data)) == (10, b"0123456789")


@pytest.mark.parametrize(("held", "kind"), [(10, bytes), (9, bulk.Bulk)])
def test_what_is_received_lies_in_memory_where_it_is_small(
    held: int, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten bytes in four pieces; as many pieces are asked for as there are, and the next ones are left alone."""
    monkeypatch.setattr(bulk, "HELD", held)
    coming = iter([b"012", b"3", b"45678", b"9", b"of the next table"])
    found = bulk.taken(10, lambda: next(coming))
    assert isinstance(found, kind) and bulk.whole(found) == b"0123456789"
    assert next(coming) == b"of the next table"


def test_a_full_disk_is_told_in_four_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where temporary files have no room, the ingest ends and says what to do; no file is called damaged."""

    def full(**_more: object) -> object:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bulk, "HELD", 3)
    monkeypatch.setattr("tempfile.TemporaryFile", full)
    with pytest.raises(LakeError) as caught:
        bulk.taken(10, lambda: b"0123456789")
    assert (caught.value.why, "TMPDIR" in caught.value.todo) == ("No space left on device", True)


def test_files_from_disk_are_published_and_known_again(tmp_path: Path) -> None:
    """A file is put in its place once; where it holds these bytes it is left alone, where it holds others replaced."""
    data = bytes(range(256)) * 9000
    where = tmp_path / "file"
    durable.publish([durable.NewFile(tmp_path, "file", on_disk(data))])
    assert where.read_bytes() == data
    made = where.stat().st_ino
    durable.publish([durable.NewFile(tmp_path, "file", on_disk(data))])
    assert where.stat().st_ino == made
    where.write_bytes(data[:-1] + b"?")
    durable.publish([durable.NewFile(tmp_path, "file", on_disk(data))])
    assert where.read_bytes() == data
    assert packing.describe(on_disk(data), 5) == (hashlib.sha256(data).hexdigest(), len(data), 5)


def test_large_tables_take_the_way_over_the_disk_to_the_same_lake(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables that their reader and their writer keep on disk make the lake that one process makes in memory."""
    ingest([logs], tmp_path / "one", options=IngestOptions(workers=1))
    monkeypatch.setattr(workers, "serve", serve_from_disk)
    monkeypatch.setattr(bulk, "HELD", 100)
    monkeypatch.setattr(bulk, "PIECE", 700)
    assert ingest([logs], tmp_path / "two", options=IngestOptions(workers=2)).steps == 940
    assert tree(tmp_path / "two") == tree(tmp_path / "one")


def serve_from_disk(pipe: object, format_dirs: object, roots: object, parent: int) -> None:
    """Serve like a worker to which any table is a large one."""
    packing.LARGE_ROWS = 0
    bulk.PIECE = 700
    workers.serve(pipe, format_dirs, roots, parent)  # type: ignore[arg-type]


def test_what_lies_on_disk_weighs_nothing(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only bytes in memory keep further files from being dealt."""
    from ettlog.parse import format as formats_of

    task, formats = Task("a.log", logs / "a.log", ScanOptions()), formats_of.load_all(())
    held = workers.read(task, formats)
    monkeypatch.setattr(packing, "LARGE_ROWS", 0)
    stored = workers.read(task, formats)
    assert held.weight == sum(len(data) for data in held.tables.values()) > 900
    assert stored.weight == 0
    assert {name: bulk.whole(data) for name, data in stored.tables.items()} == held.tables
