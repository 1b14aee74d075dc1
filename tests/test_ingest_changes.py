"""Ingest of logs that change: grown, replaced, rotated, copied and damaged."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from ettlog import lake, moved
from ettlog.errors import LakeError
from ettlog.ingest import IngestOptions
from tests.ingesting import accounting, make_logs, opened, run, tree


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Return a folder of two accounting files and one text nobody knows."""
    return make_logs(tmp_path)


def test_a_grown_file_supersedes_its_older_self(logs: Path) -> None:
    """Its beginning is what it was: it is read again, and the older facts are gone."""
    run(logs)
    old = opened(logs).sources()[0]
    with (logs / "a.txt").open("a") as stream:
        stream.write(accounting(9).split("\n", 1)[1])
    assert run(logs).states == {"grown": 1, "skipped": 2}
    new = opened(logs).sources()[0]
    assert (new.relation, new.supersedes, new.files["alloc"].rows) == ("grown", old.key, 3)
    assert not lake.data_path(logs.parent / "lake", "alloc", old.key).exists()
    assert opened(logs).problems() == []


@pytest.mark.parametrize("gone", [True, False], ids=["gone", "there"])
def test_damaged_facts_of_a_log_that_grew_are_not_left_to_its_copy(logs: Path, gone: bool) -> None:
    """The log begins with all that its copy held: one that is gone is listed no more, one that is there is read."""
    copy = logs / "copy.txt"
    copy.write_bytes((logs / "a.txt").read_bytes())
    run(logs)
    shared = opened(logs).state.current["logs/a.txt"].key
    lake.data_path(logs.parent / "lake", "alloc", shared).write_bytes(b"")
    with (logs / "a.txt").open("a") as stream:
        stream.write(accounting(9).split("\n", 1)[1])
    if gone:
        copy.unlink()
    run(logs)
    now = opened(logs)
    assert now.problems() == []
    rows = {entry.path: entry.files["alloc"].rows for entry in now.sources() if entry.files}
    assert rows == {"logs/a.txt": 3, "logs/sub/b.txt": 1} | ({} if gone else {"logs/copy.txt": 2})


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_text(accounting(1)),
        lambda path: path.write_text(accounting(7, 8)),
        lambda path: path.write_text(accounting(7, 8, 9)),
        lambda path: path.write_text(""),
    ],
    ids=["cut", "same size", "rewritten longer", "emptied"],
)
def test_other_bytes_replace_a_source(logs: Path, change: object) -> None:
    """Whatever the size and the time stamps say, other bytes at the old place are another text."""
    run(logs)
    info = (logs / "a.txt").stat()
    change(logs / "a.txt")  # type: ignore[operator]
    os.utime(logs / "a.txt", ns=(info.st_atime_ns, info.st_mtime_ns))
    assert run(logs).states == {"replaced": 1, "skipped": 2}
    assert opened(logs).sources()[0].relation == "replaced"


def test_a_last_line_completed_later_is_growth(logs: Path) -> None:
    """A log caught in the middle of a line grows into the whole one."""
    whole = accounting(1, 2)
    (logs / "a.txt").write_text(whole[:-30])
    assert run(logs).lines["torn"] == 1
    (logs / "a.txt").write_text(whole)
    assert run(logs).states == {"grown": 1, "skipped": 2}
    assert opened(logs).sources()[0].lines == {"ignored": 1, "matched": 2}


def test_files_that_begin_alike_are_told_apart(tmp_path: Path) -> None:
    """A hundred files with the same first 64 KiB are a hundred sources."""
    folder = tmp_path / "logs"
    folder.mkdir()
    head = accounting(*range(1000, 2000))
    assert len(head) > 65536
    for n in range(100):
        (folder / f"{n}.txt").write_text(head + accounting(n).split("\n", 1)[1])
    report = run(folder)
    assert (report.states, report.sources) == ({"new": 100}, 100)


def test_equal_bytes_are_one_source(logs: Path) -> None:
    """A copy and a hard link add nothing and are listed with the path that stands for them."""
    (logs / "copy.txt").write_text(accounting(1, 2))
    os.link(logs / "a.txt", logs / "hard.txt")
    report = run(logs)
    assert report.states == {"new": 3, "duplicate": 2}
    assert report.records == 3
    assert [(entry.path, entry.of) for entry in opened(logs).duplicates()] == [
        ("logs/copy.txt", "logs/a.txt"),
        ("logs/hard.txt", "logs/a.txt"),
    ]
    assert run(logs).states == {"skipped": 5}


def test_a_duplicate_keeps_the_facts_when_its_twin_changes(logs: Path) -> None:
    """Facts move to the first of the paths that still hold these bytes."""
    (logs / "copy.txt").write_text(accounting(1, 2))
    (logs / "drop.txt").write_text(accounting(1, 2))
    run(logs)
    (logs / "a.txt").write_text(accounting(5))
    assert run(logs).states == {"replaced": 1, "skipped": 4}
    found = opened(logs)
    assert {entry.path: entry.files["alloc"].rows for entry in found.sources() if entry.files} == {
        "logs/a.txt": 1,
        "logs/copy.txt": 2,
        "logs/sub/b.txt": 1,
    }
    assert [(entry.path, entry.of) for entry in found.duplicates()] == [("logs/drop.txt", "logs/copy.txt")]
    assert run(logs).states == {"skipped": 5}


def test_a_rotation_moves_the_facts(logs: Path) -> None:
    """When a log is renamed and begun anew, no fact is lost and none doubled."""
    run(logs)
    (logs / "a.txt").rename(logs / "a.txt.1")
    (logs / "a.txt").write_text(accounting(6))
    assert run(logs).states == {"new": 1, "replaced": 1, "skipped": 2}
    assert {entry.path: entry.files["alloc"].rows for entry in opened(logs).sources() if entry.files} == {
        "logs/a.txt": 1,
        "logs/a.txt.1": 2,
        "logs/sub/b.txt": 1,
    }


def test_a_log_that_grew_before_it_was_renamed_supersedes_what_was_read_of_it(logs: Path) -> None:
    """Under its new name, packed or not, it begins with what was read: no fact stands twice, none is lost."""
    run(logs)
    old = opened(logs).sources()[0]
    (logs / "a.txt").unlink()
    (logs / "a.txt-20240302.gz").write_bytes(gzip.compress(accounting(1, 2, 4).encode()))
    assert run(logs).states == {"grown": 1, "skipped": 2}
    found = opened(logs)
    new = found.sources()[0]
    assert (new.path, new.was, new.supersedes) == ("logs/a.txt-20240302.gz", ("logs/a.txt",), old.key)
    assert (new.relation, new.files["alloc"].rows, len(found.sources())) == ("grown", 3, 3)
    assert not lake.data_path(logs.parent / "lake", "alloc", old.key).exists()
    assert found.problems() == []
    before = tree(logs.parent / "lake")
    assert run(logs).states == {"skipped": 3}
    assert tree(logs.parent / "lake") == before


def test_a_log_that_shrank_or_only_begins_alike_supersedes_nothing(logs: Path) -> None:
    """A file must begin with all that was read, and be called after the log; what is still there stays."""
    run(logs)
    (logs / "a.txt").unlink()
    (logs / "a.txt.1").write_text(accounting(1))  # shorter
    (logs / "a.txt.2").write_text(accounting(1, 3, 2))  # other bytes behind the first job
    (logs / "other.txt").write_text(accounting(1, 2, 9))  # another name
    (logs / "sub/b.txt.1").write_text(accounting(3, 5))  # the log is still there
    assert run(logs).states == {"new": 4, "skipped": 2}
    assert len(opened(logs).sources()) == 7


def test_a_twin_that_is_still_there_takes_over(logs: Path) -> None:
    """Facts of a log that came back under another name stay with a copy of it, and a copy that is gone too ends."""
    (logs / "keep.md").write_text(accounting(1, 2))
    (logs / "sub/a.txt").write_text(accounting(1, 2))
    run(logs)
    (logs / "a.txt").unlink()
    (logs / "sub/a.txt").unlink()
    (logs / "a.txt.1").write_text(accounting(1, 2, 4))
    assert run(logs).states == {"grown": 1, "skipped": 3}
    assert [entry.path for entry in opened(logs).sources() if entry.files] == [
        "logs/a.txt.1",
        "logs/keep.md",
        "logs/sub/b.txt",
    ]
    assert opened(logs).duplicates() == []


@pytest.mark.parametrize(
    ("old", "new", "called"),
    [
        ("l/train.log", "l/train.log.1", True),
        ("l/train.log", "l/train.log.2.gz", True),
        ("l/train.log", "l/train.log-20240301.zst", True),
        ("l/train.log", "l/train-20240301.log.gz", True),
        ("l/train.log", "l/train.1.log", True),
        ("l/train.log", "l/old/train.log.gz", True),
        ("l/run/train.log", "l/train.log.1", True),
        ("l/train.log", "l/trainer.log.1", False),
        ("l/train.log", "l/train-eval.log", False),
        ("l/rank.0.log", "l/rank.1.log", False),
        ("l/job-17.log", "l/job-170.log", False),
        ("l/a/train.log", "l/b/train.log.1", False),
        ("l/train.log", "l/train.log", False),
        ("l/out", "l/out.1", True),
    ],
)
def test_a_rotation_is_called_after_its_log(old: str, new: str, called: bool) -> None:
    """Tools that rotate logs keep the name and put a number, a date or a suffix to it, in reach of its folder."""
    assert bool(moved.Missing([moved.Gone(old, 9, "d")]).of(new)) is called


def test_facts_outlive_their_log(logs: Path) -> None:
    """Logs are deleted by their owners; what was read stays."""
    run(logs)
    (logs / "a.txt").unlink()
    assert run(logs).sources == 3


def test_another_zone_reads_the_same_bytes_again(logs: Path) -> None:
    """Options that shape facts are part of a source's key."""
    run(logs)
    report = run(logs, IngestOptions(workers=1, zone="Asia/Tokyo"))
    assert report.states == {"reparsed": 3}
    entry = opened(logs).sources()[0]
    assert (entry.clock, entry.relation) == ("zone_set", "reparsed")
    assert run(logs, IngestOptions(workers=1, zone="Asia/Tokyo")).states == {"skipped": 3}


def test_damaged_facts_are_written_anew(logs: Path) -> None:
    """A data file that was lost or cut comes back with the same bytes, and the manifest stays as it is."""
    run(logs)
    before = tree(logs.parent / "lake")
    files = [path for _, path in opened(logs).files("alloc")]
    files[0].unlink()
    files[1].write_bytes(b"half")
    with pytest.raises(LakeError):
        opened(logs)
    run(logs)
    assert tree(logs.parent / "lake") == before


def test_a_damaged_manifest_line_is_made_good(logs: Path) -> None:
    """The source whose line was damaged is new again, and the damage is named."""
    run(logs)
    path = logs.parent / "lake/manifest.jsonl"
    lines = path.read_bytes().split(b"\n")
    lines[1] = lines[1].replace(b"notes", b"motes")
    path.write_bytes(b"\n".join(lines))
    report = run(logs)
    assert report.states == {"new": 1, "skipped": 2}
    assert "manifest.jsonl:2" in report.problems[0]
    assert len(opened(logs).sources()) == 3
