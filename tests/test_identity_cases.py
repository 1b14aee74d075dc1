"""Twenty-one things that may happen to a log between two ingests, and what the second one says of each file."""

from __future__ import annotations

import gzip
import os
import shutil
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq
import pytest
import zstandard

import ettlog
from ettlog.ingest import IngestOptions
from ettlog.lake import Lake
from tests.ingesting import accounting, tree

OLD = accounting(1, 2)
"""What `a.log` holds at the first ingest: two jobs."""
MORE = accounting(3).split("\n", 1)[1]
ALIKE = accounting(*range(100_000, 101_000))
"""More than 64 KiB with which a hundred files begin."""


class Case(NamedTuple):
    """What is done to the folder that holds `a.log`, how many files are in which state then, and jobs in the lake."""

    change: Callable[[Path], object]
    verdict: str
    jobs: int
    paths: str = ""
    """Names of the sources that hold facts afterwards, where the change moves them."""


def append(logs: Path) -> None:
    """Let the log grow by a job."""
    with (logs / "a.log").open("a") as stream:
        stream.write(MORE)


def rename_rotation(logs: Path) -> None:
    """Rename the log and begin it anew."""
    (logs / "a.log").rename(logs / "a.log.1")
    (logs / "a.log").write_text(accounting(9))


def copytruncate(logs: Path) -> None:
    """Copy the log, then truncate and go on writing."""
    shutil.copy(logs / "a.log", logs / "a.log.1")
    inode = (logs / "a.log").stat().st_ino
    with (logs / "a.log").open("w") as stream:
        stream.write(accounting(9))
    assert (logs / "a.log").stat().st_ino == inode


def packed(logs: Path) -> None:
    """Rotate the log, and pack it."""
    rename_rotation(logs)
    (logs / "a.log.1.gz").write_bytes(gzip.compress(OLD.encode()))
    (logs / "a.log.1").unlink()


def packed_zstd(logs: Path) -> None:
    """Pack the log and leave it where it is."""
    (logs / "a.log.zst").write_bytes(zstandard.compress(OLD.encode()))


def concatenated(logs: Path) -> None:
    """Put two rotations into one file; the parts are gone."""
    (logs / "all.log").write_text(OLD + MORE)
    (logs / "a.log").unlink()


def alike(logs: Path) -> None:
    """Write a hundred files that begin alike for more than 64 KiB."""
    for number in range(100):
        (logs / f"{number}.log").write_text(ALIKE + accounting(200_000 + number).split("\n", 1)[1])


def grown_and_packed(logs: Path) -> None:
    """Let the log grow by a job, and pack it under a new name before anybody reads it again."""
    (logs / "a.log.1.gz").write_bytes(gzip.compress((OLD + MORE).encode()))
    (logs / "a.log").unlink()


def inode_reused(logs: Path) -> None:
    """Let another file take the inode of the log."""
    inode = (logs / "a.log").stat().st_ino
    (logs / "a.log").rename(logs / "b.log")
    (logs / "b.log").write_text(accounting(7))
    assert (logs / "b.log").stat().st_ino == inode


def rewritten_longer(logs: Path) -> None:
    """Truncate the log and write more than it held."""
    (logs / "a.log").write_text(accounting(5, 6, 7))


def same_size_and_time(logs: Path) -> None:
    """Change bytes, and put length and time back."""
    before = (logs / "a.log").stat()
    (logs / "a.log").write_text(accounting(8, 2))
    os.utime(logs / "a.log", ns=(before.st_atime_ns, before.st_mtime_ns))
    after = (logs / "a.log").stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def tail_overlap(logs: Path) -> None:
    """Keep what `tail -n 2` gave beside the log: its last job, under its header."""
    (logs / "tail.log").write_text(accounting(2))


def other_forms(logs: Path) -> None:
    """Write two names that are one when normalised, with other bytes."""
    (logs / unicodedata.normalize("NFC", "ü.log")).write_text(accounting(31))
    (logs / unicodedata.normalize("NFD", "ü.log")).write_text(accounting(32))


def line_completed(logs: Path) -> None:
    """Complete the last line, in the middle of which the log ended (see `half`)."""
    (logs / "a.log").write_text(OLD)


def other_cluster(logs: Path) -> None:
    """Write a file of the same name in the folder of another cluster."""
    (logs / "west").mkdir()
    (logs / "west/a.log").write_text(accounting(70))


CASES = {
    "append": Case(append, "1 grown", 3),
    "rename rotation": Case(rename_rotation, "1 new, 1 replaced", 3, "a.log a.log.1"),
    "copytruncate": Case(copytruncate, "1 new, 1 replaced", 3, "a.log a.log.1"),
    "rotated and gz of the same text": Case(packed, "1 new, 1 replaced", 3, "a.log a.log.1.gz"),
    "zst of the same text": Case(packed_zstd, "1 skipped, 1 duplicate", 2, "a.log"),
    "grown, then packed": Case(grown_and_packed, "1 grown", 3, "a.log.1.gz"),
    "concatenation of two rotations": Case(concatenated, "1 new", 3, "a.log all.log"),
    "100 files with equal first 64 KiB": Case(alike, "100 new, 1 skipped", 1102),
    "inode reused": Case(inode_reused, "1 new", 3, "a.log b.log"),
    "truncated and rewritten longer": Case(rewritten_longer, "1 replaced", 3),
    "same size and mtime, other bytes": Case(same_size_and_time, "1 replaced", 2),
    "hard link": Case(lambda logs: (logs / "b.log").hardlink_to(logs / "a.log"), "1 skipped, 1 duplicate", 2, "a.log"),
    "symlink": Case(lambda logs: (logs / "b.log").symlink_to("a.log"), "1 skipped", 2, "a.log"),
    "same file by two paths": Case(
        lambda logs: shutil.copy(logs / "a.log", logs / "b.log"), "1 skipped, 1 duplicate", 2
    ),
    "prefix copy": Case(lambda logs: (logs / "b.log").write_text(accounting(1)), "1 new, 1 skipped", 2, "a.log b.log"),
    "tail -n overlap": Case(tail_overlap, "1 new, 1 skipped", 2, "a.log tail.log"),
    "case-only difference": Case(lambda logs: (logs / "A.log").write_text(accounting(4)), "1 new, 1 skipped", 3),
    "NFC and NFD names": Case(other_forms, "2 new, 1 skipped", 4),
    "partial last line completed later": Case(line_completed, "1 grown", 2),
    "BOM added": Case(lambda logs: (logs / "a.log").write_text("\ufeff" + OLD), "1 replaced", 2),
    "another cluster, same name": Case(other_cluster, "1 new, 1 skipped", 3, "a.log west/a.log"),
}
"""Where one job's record stands in two files, the lake holds two records of it, and one job. Files are taken in the
order of their names: of a rotation, `a.log` is replaced before `a.log.1` is seen, which is new with the same facts."""


def ingest(folder: Path) -> str:
    """Ingest the logs of a folder, and return how many files are in which state."""
    report = ettlog.ingest([folder / "logs"], folder / "lake", options=IngestOptions(workers=1))
    return ", ".join(f"{count} {state}" for state, count in report.states.items())


@pytest.mark.parametrize("name", CASES)
def test_the_second_ingest_says_what_became_of_the_log(name: str, tmp_path: Path) -> None:
    """Each file gets its verdict by the bytes it holds, every job is there once, and a third ingest changes nothing."""
    case = CASES[name]
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.log").write_text(OLD[:-20] if case.change is line_completed else OLD)
    assert ingest(tmp_path) == "1 new"
    case.change(logs)
    assert ingest(tmp_path) == case.verdict
    lake = Lake.open(tmp_path / "lake", verify=True)
    assert lake.problems() == []
    if case.paths:
        assert [entry.path for entry in lake.sources()] == [f"logs/{path}" for path in case.paths.split()]
    assert jobs(tmp_path / "lake") == case.jobs
    before = tree(tmp_path / "lake")
    ingest(tmp_path)
    assert tree(tmp_path / "lake") == before


def jobs(lake: Path) -> int:
    """Count the jobs of the lake by their ids in the data files, read without ettlog."""
    tables = [pq.read_table(path, columns=["raw"]) for path in (lake / "alloc").glob("*.parquet")]
    return len({job for table in tables for job in table["raw"].to_pylist()})


def test_there_are_twenty_one_cases() -> None:
    """The list is whole."""
    assert len(CASES) == 21
