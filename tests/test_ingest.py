"""Ingest: states of files, accounting, failures, and equal bytes however the work was done."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from ettlog import tasks, workers
from ettlog.errors import UsageError
from ettlog.ingest import IngestOptions, Progress, ingest
from ettlog.lake import Lake
from ettlog.parse import scan
from ettlog.parse.blocks import Reader
from tests.ingesting import ALONE, accounting, make_logs, opened, run, tree


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Return a folder of two accounting files and one text nobody knows."""
    return make_logs(tmp_path)


def test_the_first_ingest_accounts_for_every_file_and_line(logs: Path) -> None:
    """Three new files, their lines by outcome, their records, and the file no format knows."""
    report = run(logs)
    assert report.states == {"new": 3}
    assert report.lines == {"matched": 3, "ignored": 2, "unmatched": 2}
    assert report.n_lines == sum(report.lines.values()) == 7
    assert (report.records, report.events, report.steps, report.sources) == (3, 0, 0, 3)
    assert report.formats == {"sacct": 3}
    assert report.unclaimed == ["logs/notes.md"]
    assert ("logs/a.txt", "local times of an unknown zone read as UTC") in report.inferences
    assert report.unmatched
    paths = [entry.path for entry in opened(logs).sources()]
    assert paths == ["logs/a.txt", "logs/notes.md", "logs/sub/b.txt"]
    assert all(sum(entry.lines.values()) == entry.n_lines for entry in opened(logs).sources())


def test_ingesting_again_changes_no_byte(logs: Path) -> None:
    """The second run skips all files, keeps their account and leaves every file of the lake as it is."""
    run(logs)
    before = tree(logs.parent / "lake")
    times = {item: item.stat().st_mtime_ns for item in (logs.parent / "lake").rglob("*")}
    report = run(logs)
    assert report.states == {"skipped": 3}
    assert report.unclaimed == ["logs/notes.md"]
    assert tree(logs.parent / "lake") == before
    assert {item: item.stat().st_mtime_ns for item in (logs.parent / "lake").rglob("*")} == times


def test_sources_are_only_read(logs: Path) -> None:
    """No log is changed or touched."""
    before = {item: (item.read_bytes(), item.stat().st_mtime_ns) for item in logs.rglob("*.txt")}
    run(logs)
    assert {item: (item.read_bytes(), item.stat().st_mtime_ns) for item in logs.rglob("*.txt")} == before


@pytest.mark.parametrize("count", [2, 8])
def test_workers_do_not_show_in_the_bytes(logs: Path, count: int) -> None:
    """The same logs give the same lake with one process and with several."""
    for n in range(12):
        (logs / f"more{n}.txt").write_text(accounting(*range(100 * n, 100 * n + 50)))
    run(logs)
    one = tree(logs.parent / "lake")
    other = logs.parent / "other"
    report = ingest([logs], other, options=IngestOptions(workers=count))
    assert report.states == {"new": 15}
    assert tree(other) == one


def test_time_place_and_umask_do_not_show_in_the_bytes(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another zone of the machine, working folder, umask and file time give the same lake."""
    run(logs)
    one = tree(logs.parent / "lake")
    moved = logs.parent / "else where" / "date=2024" / "logs"
    moved.parent.mkdir(parents=True)
    logs.rename(moved)
    os.utime(moved / "a.txt", (0, 0))
    monkeypatch.setenv("TZ", "Etc/GMT+12")
    time.tzset()
    monkeypatch.chdir(moved.parent)
    before = os.umask(0o077)
    try:
        run(moved)
    finally:
        os.umask(before)
        monkeypatch.undo()
        time.tzset()
    assert tree(moved.parent / "lake") == one


def test_a_file_that_cannot_be_read_is_rejected_and_the_rest_goes_on(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One unreadable file costs one file; the next ingest tries it again."""
    real = os.open

    def closed(path: str, *args: int, **more: int) -> int:
        if str(path).endswith("a.txt"):
            raise PermissionError(13, "Permission denied")
        return real(path, *args, **more)

    monkeypatch.setattr(os, "open", closed)
    report = run(logs)
    monkeypatch.undo()
    assert report.states == {"new": 2, "rejected": 1}
    assert [(file.name, file.why) for file in report.rejected] == [("logs/a.txt", "Permission denied")]
    assert run(logs).states == {"new": 1, "skipped": 2}


def test_a_file_that_becomes_something_else_is_rejected(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that was a file when it was found and is a link, a pipe or gone when it is read is not followed."""
    for n, change in enumerate((lambda p: p.symlink_to("/etc/passwd"), os.mkfifo, lambda _: None)):
        path = logs / f"turn{n}.txt"
        path.write_text("x")
        real = workers.run

        def turned(
            *args: object, path: Path = path, change: object = change, real: object = real, **more: object
        ) -> object:
            path.unlink()
            change(path)  # type: ignore[operator]
            return real(*args, **more)  # type: ignore[operator]

        monkeypatch.setattr(workers, "run", turned)
        assert [file.name for file in run(logs).rejected] == [f"logs/{path.name}"]
        monkeypatch.setattr(workers, "run", real)
        path.unlink(missing_ok=True)


def test_a_reader_that_raises_costs_its_own_file(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect in a reader sets one file aside, and the reason says where it happened."""

    def broken(source: Reader, *_args: object) -> None:
        raise KeyError(source.n_bytes)

    monkeypatch.setattr(scan, "scan_open", broken)
    report = run(logs)
    assert report.states == {"new": 2, "rejected": 1}
    assert report.rejected[0].name == "logs/notes.md"
    assert "a defect of ettlog (KeyError at test_ingest.py:" in report.rejected[0].why
    monkeypatch.undo()
    assert run(logs).states == {"new": 1, "skipped": 2}


def test_a_worker_that_dies_costs_its_own_file(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file it was reading is set aside with the reason, and all others are read."""
    for n in range(6):
        (logs / f"more{n}.txt").write_text(accounting(100 + n))
    (logs / "killer.txt").write_text(accounting(5))
    monkeypatch.setattr(workers, "serve", partial(serve_until, "killer.txt", die))
    report = run(logs, IngestOptions(workers=2))
    assert report.states == {"new": 9, "rejected": 1}
    assert report.rejected[0].name == "logs/killer.txt"
    assert "SIGKILL" in report.rejected[0].why
    monkeypatch.undo()
    assert run(logs).states == {"new": 1, "skipped": 9}


def test_workers_end_with_the_process_they_were_forked_from(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where that one is killed the files at hand are set aside, others read all the rest, and nothing is lost."""
    for n in range(6):
        (logs / f"more{n}.txt").write_text(accounting(100 + n))
    (logs / "orphan.txt").write_text(accounting(5))
    monkeypatch.setattr(workers, "serve", partial(serve_until, "orphan.txt", kill_parent))
    report = run(logs, IngestOptions(workers=2))
    assert sum(report.states.values()) == 10
    assert 1 <= report.states["rejected"] <= 2
    told = {file.name: file.why for file in report.rejected}
    assert "died (nobody saw how)" in told["logs/orphan.txt"]
    monkeypatch.undo()
    assert run(logs).states == {"new": len(told), "skipped": 10 - len(told)}


def serve_until(name: str, last: Callable[[], object], *told: object) -> None:
    """Serve like a worker, and do a last thing over one file."""
    real = workers.read

    def read(task: tasks.Task, formats: object) -> tasks.Answer:
        if task.name.endswith(name):
            last()
        return real(task, formats)  # type: ignore[arg-type]

    workers.read = read
    workers.serve(*told)  # type: ignore[arg-type]


def die() -> None:
    """Be killed by the kernel."""
    os.kill(os.getpid(), signal.SIGKILL)


def kill_parent() -> None:
    """Kill the process that this one was forked from, and wait for nothing."""
    os.kill(os.getppid(), signal.SIGKILL)
    signal.pause()


def test_where_no_worker_comes_up_this_process_reads(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program whose processes cannot be spawned still gets its lake."""
    monkeypatch.setattr(workers, "serve", die_at_once)
    assert run(logs, IngestOptions(workers=2)).states == {"new": 3}


def die_at_once(pipe: object, format_dirs: object, roots: object, parent: int) -> None:  # noqa: ARG001
    """End before the first word."""
    os._exit(3)


def test_settings_beside_the_logs_are_copied_and_used(logs: Path) -> None:
    """The configuration in the root sets the zone, is no log, and lies in the lake afterwards."""
    text = '[clock]\nzone = "Asia/Tokyo"\n[sacct]\nzone = "UTC"\n'
    (logs / "ettlog.toml").write_text(text)
    (logs / "optimizations.toml").write_text("# none\n")
    report = run(logs)
    assert report.copies == ["ettlog.toml", "optimizations.toml"]
    assert report.states == {"new": 3}
    found = opened(logs)
    assert found.config_path is not None
    assert found.config_path.read_text() == text
    assert found.registry_path is not None
    assert found.sources()[0].first_us == 1_709_287_200_000_000  # 2024-03-01T10:00:00 UTC, not Tokyo
    (logs / "ettlog.toml").unlink()
    assert run(logs).states == {"skipped": 3}


def test_wrong_settings_stop_before_anything_is_written(logs: Path) -> None:
    """A mistake in the configuration is an error of usage, and no lake is made."""
    (logs / "ettlog.toml").write_text("[clock]\nzone = 5\n")
    with pytest.raises(UsageError):
        run(logs)
    assert not (logs.parent / "lake").exists()


def test_two_roots_meet_in_one_lake(logs: Path) -> None:
    """Several roots keep their names, and a lake may be fed root by root with the same result."""
    other = logs.parent / "more"
    other.mkdir()
    (other / "c.txt").write_text(accounting(8))
    one, two = logs.parent / "one", logs.parent / "two"
    assert ingest([logs, other], one, options=ALONE).states == {"new": 4}
    ingest([logs], two, options=ALONE)
    ingest([other], two, options=ALONE)
    assert tree(one) == tree(two)


def test_progress_is_told_file_by_file(logs: Path) -> None:
    """Counts only rise and end at their totals."""
    seen: list[Progress] = []
    ingest([logs], logs.parent / "lake", options=ALONE, progress=seen.append)
    assert [step.files for step in seen] == [1, 2, 3]
    assert (seen[-1].bytes, seen[-1].files_total) == (seen[-1].bytes_total, 3)


def test_an_empty_folder_makes_an_empty_lake(tmp_path: Path) -> None:
    """Nothing to read is no error of ingest."""
    (tmp_path / "logs").mkdir()
    report = run(tmp_path / "logs")
    assert (report.states, report.sources) == ({}, 0)
    assert opened(tmp_path / "logs").sources() == []


@pytest.mark.shared
def test_every_shared_set_is_ingested(shared: Path, real_lake: Path) -> None:
    """No real file stops an ingest, every line has one outcome, and unknown dialects are listed as such."""
    report = json.loads((real_lake.parent / "report.json").read_text())
    files = sum(1 for item in (shared / "data").rglob("*") if item.is_file())
    assert report["files"] == files
    assert not report["rejected"]
    assert sum(report["lines"].values()) == report["n_lines"]
    found = Lake.open(real_lake, verify=True)
    assert all(sum(entry.lines.values()) == entry.n_lines for entry in found.sources())
    assert "scheduler/facts.README.md" in report["unclaimed"]
    assert report["formats"]["sacct"] > 1000
