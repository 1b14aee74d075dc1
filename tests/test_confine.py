"""What a worker can no longer do once it has given up what it does not need."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from ettlog import confine, workers
from ettlog.ingest import IngestOptions, ingest
from tests.conftest import ROOT
from tests.ingesting import make_logs, run, tree

CHILD = """
import os, resource, socket, sys, tempfile
from pathlib import Path
import pyarrow.parquet
from ettlog import confine
logs, scratch, outside = map(Path, sys.argv[1:])
print("told", *confine.confine([logs], scratch), sep="|")
def tries(name, act):
    try:
        act()
        print(name, "done", sep="|")
    except (OSError, MemoryError) as error:
        print(name, type(error).__name__, sep="|")
tries("read log", lambda: (logs / "a.txt").read_bytes())
tries("read other", lambda: (outside / "secret").read_bytes())
tries("write log", lambda: (logs / "a.txt").write_bytes(b""))
tries("make file", lambda: (outside / "new").write_bytes(b""))
tries("make folder", lambda: (scratch / "folder").mkdir())
tries("scratch", lambda: tempfile.TemporaryFile(dir=scratch).write(b"x"))
tries("connect", lambda: socket.create_connection(("127.0.0.1", 9), 1))
tries("run", lambda: os.execv("/bin/true", ["true"]))
tries("memory", lambda: bytearray(8 << 30))
tries("zone", lambda: __import__("zoneinfo").ZoneInfo("Europe/Berlin"))
print("core", resource.getrlimit(resource.RLIMIT_CORE)[0], sep="|")
print("files", resource.getrlimit(resource.RLIMIT_NOFILE)[0], sep="|")
told = dict(line.split(":", 1) for line in open("/proc/self/status"))
print("privileges", told["NoNewPrivs"].strip(), sep="|")
"""

LIMITED = {"read log": "done", "scratch": "done", "zone": "done", "memory": "MemoryError", "core": "0", "files": "256"}
FENCED = dict.fromkeys(("read other", "write log", "make file", "make folder", "run"), "PermissionError")


def test_a_confined_process_reads_logs_and_little_else(tmp_path: Path) -> None:
    """Logs, libraries and temporary files work; other files, programs, memory and, with Landlock, networks do not."""
    logs = make_logs(tmp_path)
    (tmp_path / "scratch").mkdir()
    (tmp_path / "secret").write_text("x")
    asked = [sys.executable, "-c", CHILD, str(logs), str(tmp_path / "scratch"), str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(asked, capture_output=True, text=True, check=True, env=env)
    lines = [line.split("|") for line in done.stdout.splitlines()]
    said = {name: rest[0] for name, *rest in lines if name != "told"}
    version = confine.landlock()
    expected = LIMITED | {"privileges": "1"}
    if version:
        expected |= FENCED | {"connect": "PermissionError" if version >= 4 else "ConnectionRefusedError"}
    assert {name: said[name] for name in expected} == expected
    assert lines[0][1:] == (confine.confinement() if version else confine.confinement()[:-1])


def test_a_confined_worker_gives_the_bytes_of_an_ingest_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked for, another process reads all there is to read, however little, and the lake is the same to the byte."""
    logs = make_logs(tmp_path)
    run(logs)
    monkeypatch.setattr(workers, "read", None)  # this process reads nothing; the other one imports the module anew
    ingest([logs], tmp_path / "other", options=IngestOptions(workers=1, confine=confine.ALWAYS))
    assert tree(tmp_path / "lake") == tree(tmp_path / "other")


@pytest.mark.parametrize(
    ("when", "strange", "confined"),
    [("always", False, True), ("auto", True, True), ("auto", False, None), ("never", True, False)],
)
def test_logs_of_others_are_read_confined_unless_that_is_forbidden(
    when: str, strange: bool, confined: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default strangers' logs are read by a confined process, own ones where there are several workers anyway."""
    monkeypatch.setattr(confine, "strange", lambda _paths: strange)
    reader = import_module("ettlog.ingest")._reader(when, [])
    assert reader.keywords == {"confined": confined}


def test_a_log_is_strange_when_another_user_owns_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file of somebody else's among own ones is enough; a file that is gone is nobody's."""
    own, gone = tmp_path / "own.log", tmp_path / "gone.log"
    own.touch()
    assert not confine.strange([own, gone])
    monkeypatch.setattr(os, "geteuid", lambda: own.stat().st_uid + 1)
    assert confine.strange([gone, own])


def test_where_no_process_can_be_made_nothing_is_read_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What must be confined is rejected with the way out, and not read by the process that may do everything."""
    monkeypatch.setattr(workers._Pool, "_hire", lambda _pool, _count: None)
    report = run(make_logs(tmp_path), IngestOptions(workers=1, confine=confine.ALWAYS))
    assert report.states == {"rejected": 3}
    assert "--confine never" in report.rejected[0].why


def test_a_worker_without_a_fence_is_given_no_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    """`never` is kept by the workers of a large ingest too."""
    monkeypatch.setattr(workers._Pool, "_hire", lambda _pool, _count: None)
    assert workers._Pool([], [], 1, fenced=False)._roots is None
    assert workers._Pool([], [], 1, fenced=True)._roots == ()


def test_folders_that_workers_read_are_few(tmp_path: Path) -> None:
    """Up to 64 folders are named one by one; beyond, the one that holds them all stands for them."""
    few = [tmp_path / str(number) / "x.log" for number in range(64)]
    assert confine.roots(few) == tuple(sorted(path.parent for path in few))
    assert confine.roots([*few, tmp_path / "y" / "x.log"]) == (tmp_path,)


def test_a_kernel_without_landlock_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the kernel has none, the limits stay and the user is told what workers can do."""
    monkeypatch.setattr(confine, "landlock", lambda: 0)
    assert confine.confinement()[-1].startswith("no Landlock in this kernel")
    assert len(confine.confinement()) == 5
