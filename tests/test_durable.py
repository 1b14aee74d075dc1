"""Writing that survives a crash: in which order files are written, made durable and named, and what failures leave."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ettlog import durable
from ettlog.durable import NewFile
from ettlog.errors import LakeError


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what will be called of the system, in order: `fsync NAME`, `link NAME`, `replace NAME`, `unlink NAME`."""
    made: list[str] = []

    def watch(holder: Any, name: str, told: Callable[..., str]) -> None:
        real = getattr(holder, name)

        def watched(*words: Any, **more: Any) -> Any:
            made.append(f"{name} {told(*words)}")
            return real(*words, **more)

        monkeypatch.setattr(holder, name, watched)

    watch(os, "fsync", lambda handle: Path(f"/proc/self/fd/{handle}").readlink().name)
    watch(os, "link", lambda _old, new: new.name)
    watch(Path, "replace", lambda _old, new: new.name)
    watch(Path, "unlink", lambda path: path.name)
    return made


def temp(name: str) -> str:
    """Return the name of the temporary file of this process."""
    return f".tmp-{os.getpid()}-{name}"


def handles() -> int:
    """Return how many files this process has open."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def spoil(monkeypatch: pytest.MonkeyPatch, name: str, code: int) -> None:
    """Let a call of the system fail."""

    def failing(*_told: Any, **_more: Any) -> Any:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, name, failing)


def test_a_new_file_is_durable_before_it_has_its_name(tmp_path: Path, calls: list[str]) -> None:
    """Its bytes first, then its name, then the temporary one goes; it can be read by its owner alone."""
    durable.publish([NewFile(tmp_path, "a", b"facts")])
    assert calls == [f"fsync {temp('a')}", "link a", f"unlink {temp('a')}"]
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"facts"}
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_of_several_files_all_are_durable_before_any_has_its_name(tmp_path: Path, calls: list[str]) -> None:
    """A cut between two names leaves whole files only."""
    durable.publish([NewFile(tmp_path, name, name.encode()) for name in "abc"])
    assert sorted(calls[:3]) == [f"fsync {temp(name)}" for name in "abc"]
    assert calls[3:6] == ["link a", "link b", "link c"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c"]


def test_a_file_that_holds_its_bytes_is_left_alone_and_another_is_replaced(tmp_path: Path, calls: list[str]) -> None:
    """Nothing is written of the first; what an interrupted run left under the second name goes."""
    (tmp_path / "same").write_bytes(b"facts")
    (tmp_path / "other").write_bytes(b"wrong")
    durable.publish([NewFile(tmp_path, name, b"facts") for name in ("same", "other")])
    assert [call for call in calls if "same" in call] == []
    assert calls[:3] == [f"fsync {temp('other')}", "link other", "replace other"]
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"same": b"facts", "other": b"facts"}


def test_a_link_of_the_right_length_is_no_file_that_holds_its_bytes(tmp_path: Path) -> None:
    """A symbolic link is replaced by a file, whatever it leads to."""
    (tmp_path / "elsewhere").write_bytes(b"facts")
    (tmp_path / "a").symlink_to("elsewhere")
    durable.publish([NewFile(tmp_path, "a", b"facts")])
    assert not (tmp_path / "a").is_symlink()


@pytest.mark.parametrize("call", ["fsync", "write", "link", "fchmod"])
def test_a_failure_leaves_no_file_and_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """Neither of two files has its name, no temporary one is left, and no handle stays open."""
    before = handles()
    spoil(monkeypatch, call, errno.ENOSPC)
    with pytest.raises(LakeError, match="free some space"):
        durable.publish([NewFile(tmp_path, name, b"facts") for name in "ab"])
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []
    assert handles() == before


def test_files_of_a_folder_that_a_group_may_read_may_be_read_by_it(tmp_path: Path) -> None:
    """0640 in a folder of 0750, whatever the umask; never more."""
    tmp_path.chmod(0o757)
    durable.publish([NewFile(tmp_path, "a", b"facts")])
    durable.append(tmp_path / "lines", b"one\n")
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "lines")] == [0o640, 0o640]


def test_every_byte_is_written_however_few_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that takes two bytes at a time is given the rest again and again."""
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: real(handle, bytes(data[:2])))
    durable.append(tmp_path / "lines", b"seven b\n")
    assert (tmp_path / "lines").read_bytes() == b"seven b\n"


def test_a_new_version_is_durable_before_it_stands_for_the_old_one(tmp_path: Path, calls: list[str]) -> None:
    """Its bytes, then its name, then the names of the folder; the same bytes again are not written at all."""
    (tmp_path / "settings").write_bytes(b"old")
    assert durable.replace_file(tmp_path, "settings", b"new") is True
    mine = [call for call in calls if call.startswith(("fsync", "replace"))]
    assert mine == [f"fsync {temp('settings')}", "replace settings", f"fsync {tmp_path.name}"]
    assert durable.replace_file(tmp_path, "settings", b"new") is False
    assert [path.name for path in tmp_path.iterdir()] == ["settings"]


def test_a_new_version_that_cannot_be_made_durable_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old bytes, no temporary file, an error in four parts."""
    (tmp_path / "settings").write_bytes(b"old")
    before = handles()
    spoil(monkeypatch, "fsync", errno.EIO)
    with pytest.raises(LakeError, match="cannot write a file of the lake"):
        durable.replace_file(tmp_path, "settings", b"new")
    monkeypatch.undo()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"settings": b"old"}
    assert handles() == before


def test_lines_are_durable_and_so_is_the_name_of_a_new_file(tmp_path: Path, calls: list[str]) -> None:
    """The file, and once its folder; no handle stays open."""
    before = handles()
    durable.append(tmp_path / "lines", b"one\n")
    assert handles() == before
    durable.append(tmp_path / "lines", b"two\n")
    assert calls == ["fsync lines", f"fsync {tmp_path.name}", "fsync lines"]
    assert (tmp_path / "lines").read_bytes() == b"one\ntwo\n"


def test_lines_that_cannot_be_made_durable_are_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file has its old length again, and its handle is closed."""
    durable.append(tmp_path / "lines", b"one\n")
    before = handles()
    spoil(monkeypatch, "fsync", errno.EIO)
    with pytest.raises(LakeError, match="cannot append to the manifest"):
        durable.append(tmp_path / "lines", b"two\n")
    monkeypatch.undo()
    assert (tmp_path / "lines").read_bytes() == b"one\n"
    assert handles() == before


def test_what_is_cut_off_stays_cut_off(tmp_path: Path, calls: list[str]) -> None:
    """The file is shorter, and that is durable; its handle is closed."""
    (tmp_path / "lines").write_bytes(b"one\ntw")
    before = handles()
    durable.truncate(tmp_path / "lines", 4)
    assert (tmp_path / "lines").read_bytes() == b"one\n"
    assert calls == ["fsync lines"]
    assert handles() == before


def test_folders_are_private_and_each_new_name_is_durable(tmp_path: Path, calls: list[str]) -> None:
    """Parents first, 0700 whatever the umask; a folder that is there is left as it is."""
    durable.make_folder(tmp_path / "a/b")
    assert calls == [f"fsync {tmp_path.name}", "fsync a"]
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "a", tmp_path / "a/b")] == [0o700, 0o700]
    durable.make_folder(tmp_path / "a/b")
    assert len(calls) == 2


def test_a_folder_is_as_readable_for_the_group_as_the_one_it_is_made_like(tmp_path: Path) -> None:
    """0750 like a folder of 0755 and 0757; writing and others are never let in."""
    tmp_path.chmod(0o777)
    durable.make_folder(tmp_path / "a", like=tmp_path)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o750
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(LakeError, match="cannot create the folder"):
        durable.make_folder(tmp_path / "file")


def test_a_lock_is_waited_for_and_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second holder looks again twenty times a second, and is told after its patience, not before; once the first
    has gone, the lock is had at once."""
    path, naps, real = tmp_path / "lock", list[float](), time.sleep

    def nap(seconds: float) -> None:
        naps.append(seconds)
        real(seconds)

    monkeypatch.setattr(time, "sleep", nap)
    with durable.locked(path, 0):
        begun = time.monotonic()
        with pytest.raises(LakeError, match="another ingest is writing"), durable.locked(path, 0.3):
            pass
        assert time.monotonic() - begun >= 0.3
    assert set(naps) == {0.05}
    with durable.locked(path, 0):
        assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("code", "todo"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EDQUOT, "free some of your quota"),
        (errno.EROFS, "on a writable disk"),
        (errno.EACCES, "make the folder writable"),
        (errno.EPERM, "make the folder writable"),
        (errno.EIO, "check the disk"),
    ],
)
def test_an_error_of_the_system_says_what_to_do(tmp_path: Path, code: int, todo: str) -> None:
    """Four parts: what, where, the system's words, and what helps against this error."""
    told = durable.failed("cannot write", tmp_path, OSError(code, os.strerror(code)))
    assert (told.what, told.where, told.why) == ("cannot write", str(tmp_path), os.strerror(code))
    assert told.todo.startswith(todo) or todo in told.todo


def test_an_error_without_a_number_has_a_name_and_the_usual_help(tmp_path: Path) -> None:
    """An error that the system did not number is called by its kind."""
    told = durable.failed("cannot write", tmp_path, OSError())
    assert told.why == "OSError"
    assert told.todo.startswith("check the disk")
