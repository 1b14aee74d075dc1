"""Who may read and write a lake: modes whatever the umask, and lakes that are not trusted."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

import ettlog
from ettlog import guard
from ettlog.cli import app
from ettlog.errors import LakeError
from ettlog.ingest import IngestOptions, ingest
from ettlog.lake import Lake
from ettlog.scratch import scratch
from tests.ingesting import ALONE, make_logs, run


@contextmanager
def umask(mask: int) -> Iterator[None]:
    """Run with another umask."""
    old = os.umask(mask)
    try:
        yield
    finally:
        os.umask(old)


def modes(lake: Path) -> tuple[set[int], set[int]]:
    """Return the modes of all folders and of all files of a lake, the lake itself too."""
    items = [lake, *lake.rglob("*")]
    found = [(item.is_dir(), stat.S_IMODE(item.lstat().st_mode)) for item in items]
    return {mode for folder, mode in found if folder}, {mode for folder, mode in found if not folder}


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o177])
def test_a_lake_is_private_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    """Folders are 0700 and files 0600, also under a umask that would let everybody in or the owner out."""
    logs = make_logs(tmp_path)
    with umask(mask):
        run(logs)
    assert modes(tmp_path / "lake") == ({0o700}, {0o600})


def test_a_group_readable_lake_stays_one(tmp_path: Path) -> None:
    """--group-readable gives 0750 and 0640 to what is there and to what later ingests add, and nobody may write."""
    logs = make_logs(tmp_path)
    run(logs)
    ingest([logs], tmp_path / "lake", options=IngestOptions(workers=1, group_readable=True))
    assert modes(tmp_path / "lake") == ({0o750}, {0o640})
    (logs / "c.txt").write_text((logs / "a.txt").read_text() + "7|COMPLETED|2024-03-02T10:00:00|Unknown|Unknown\n")
    with umask(0o077):
        run(logs)
    folders, files = modes(tmp_path / "lake")
    assert (folders, files) == ({0o750}, {0o640})


@pytest.mark.parametrize(("mode", "why"), [(0o777, guard.OTHERS_WRITE), (0o1777, guard.OTHERS_WRITE)])
def test_a_lake_that_others_can_write_is_refused(tmp_path: Path, mode: int, why: str) -> None:
    """Neither an ingest nor a question uses it; once trusted, both do."""
    logs = make_logs(tmp_path)
    run(logs)
    (tmp_path / "lake").chmod(mode)
    for use in (lambda: ettlog.open(tmp_path / "lake"), lambda: run(logs), lambda: ettlog.check(tmp_path / "lake")):
        with pytest.raises(LakeError) as refused:
            use()
        assert refused.value.why == why
        assert "--trust-lake" in refused.value.todo
    end = guard.trust_any_lake()
    try:
        assert len(Lake.open(tmp_path / "lake").sources()) == 3
    finally:
        end()
    with pytest.raises(LakeError):
        Lake.open(tmp_path / "lake")


def test_a_group_that_is_not_the_users_own_may_not_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that its group can write is refused unless the group has the user's own number."""
    folder = tmp_path / "lake"
    folder.mkdir(mode=0o770)
    folder.chmod(0o770)
    real = os.stat_result(folder.stat())
    assert (guard.doubt(folder) == guard.GROUP_WRITES) == (real.st_uid != real.st_gid)
    told = list(real)
    told[stat.ST_GID] = real.st_uid + 1
    monkeypatch.setattr(Path, "stat", lambda _path, **_more: os.stat_result(told))
    assert guard.doubt(folder) == guard.GROUP_WRITES


def test_a_lake_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who does not own the folder does not use it."""
    logs = make_logs(tmp_path)
    run(logs)
    monkeypatch.setattr(os, "geteuid", lambda: (tmp_path / "lake").stat().st_uid + 1)
    with pytest.raises(LakeError) as refused:
        Lake.open(tmp_path / "lake")
    assert refused.value.why == guard.NOT_YOURS


def test_trust_lake_is_an_option_of_every_command(tmp_path: Path) -> None:
    """`ettlog --trust-lake status` answers where `ettlog status` refuses, and trusts for that call only."""
    logs = make_logs(tmp_path)
    run(logs)
    (tmp_path / "lake").chmod(0o777)
    asked = ["status", "--lake", str(tmp_path / "lake"), "--format", "csv"]
    assert isinstance(CliRunner().invoke(app, asked).exception, LakeError)
    assert CliRunner().invoke(app, ["--trust-lake", *asked]).exit_code == 0
    assert isinstance(CliRunner().invoke(app, asked).exception, LakeError)


def test_a_new_lake_needs_no_trust(tmp_path: Path) -> None:
    """A folder that is not there yet is made private, below one that everybody can write too."""
    logs = make_logs(tmp_path)
    tmp_path.chmod(0o777)
    ingest([logs], tmp_path / "lake", options=ALONE)
    assert guard.doubt(tmp_path / "lake") == ""


def test_the_folder_for_the_moment_is_private(tmp_path: Path) -> None:
    """A folder that others can write or a link is never taken; without a home there is still one."""
    shared, home = tmp_path / "shared", tmp_path / "home"
    shared.mkdir()
    shared.chmod(0o1777)
    found = scratch({"TMPDIR": str(shared), "HOME": str(home)})
    assert found == home / ".cache" / "ettlog"
    assert stat.S_IMODE(found.stat().st_mode) == 0o700
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "ettlog").symlink_to(shared)
    assert scratch({"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(home)}) == found
    nowhere = scratch({"HOME": "/proc/nowhere"})
    assert stat.S_IMODE(nowhere.stat().st_mode) == 0o700
