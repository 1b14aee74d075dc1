"""Finding the logs: order, names, and what is left out with a reason."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import pytest

from ettlog import discover
from ettlog.errors import UsageError
from tests.ingesting import make_logs, run


def make(root: Path, *names: str) -> Path:
    """Make files under a folder and return it."""
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    return root


def test_files_come_sorted_by_a_name_that_begins_with_the_root(tmp_path: Path) -> None:
    """Names are relative to the root, begin with its own name and are in one order wherever the disk keeps them."""
    root = make(tmp_path / "logs", "b.log", "a/2.log", "a/10.log", "a.log")
    found = discover.discover([root], tmp_path / "lake")
    assert [file.name for file in found.files] == ["logs/a.log", "logs/a/10.log", "logs/a/2.log", "logs/b.log"]
    assert found.files[0].bytes == len("a.log")


def test_a_label_stands_for_the_root(tmp_path: Path) -> None:
    """`--as` names the root whatever it is called on this machine."""
    root = make(tmp_path / "x17", "a.log")
    assert [file.name for file in discover.discover([root], tmp_path / "lake", "west").files] == ["west/a.log"]


def test_a_single_file_has_the_name_its_folder_would_give_it(tmp_path: Path) -> None:
    """Ingesting a folder and ingesting one of its files meet in one source."""
    root = make(tmp_path / "logs", "a.log")
    one = discover.discover([root / "a.log"], tmp_path / "lake").files
    assert one == discover.discover([root], tmp_path / "lake").files


def test_the_same_file_given_twice_is_one_source(tmp_path: Path) -> None:
    """A folder and a file in it may be given together."""
    root = make(tmp_path / "logs", "a.log")
    assert len(discover.discover([root, root / "a.log"], tmp_path / "lake").files) == 1


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    """Two roots of one name would overwrite each other's sources: the error says to label them."""
    one, two = make(tmp_path / "a/logs", "x.log"), make(tmp_path / "b/logs", "x.log")
    with pytest.raises(UsageError) as caught:
        discover.discover([one, two], tmp_path / "lake")
    assert "--as" in caught.value.todo


def test_a_missing_root_is_an_error(tmp_path: Path) -> None:
    """A root that is not there stops before anything is read."""
    with pytest.raises(UsageError, match="cannot read the logs given"):
        discover.discover([tmp_path / "none"], tmp_path / "lake")


def test_links_hidden_and_special_files_are_left_out_with_a_reason(tmp_path: Path) -> None:
    """Nothing but regular files is taken, and a pipe does not make it wait."""
    root = make(tmp_path / "logs", "a.log", ".hidden", ".git/config", "sub/b.log")
    (root / "link.log").symlink_to(root / "a.log")
    (root / "loop").symlink_to(root)
    (root / "dangling").symlink_to(tmp_path / "none")
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "sock"))
        found = discover.discover([root], tmp_path / "lake")
    assert [file.name for file in found.files] == ["logs/a.log", "logs/sub/b.log"]
    assert {skipped.name: skipped.why for skipped in found.skipped} == {
        "logs/.git": "hidden",
        "logs/.hidden": "hidden",
        "logs/dangling": "symbolic link",
        "logs/link.log": "symbolic link",
        "logs/loop": "symbolic link",
        "logs/pipe": "not a regular file: pipe",
        "logs/sock": "not a regular file: socket",
    }


def test_the_lake_inside_the_logs_is_not_read(tmp_path: Path) -> None:
    """A lake that lies in the root, spelled in any way, is left out."""
    root = make(tmp_path / "logs", "a.log", "my.lake/event/x.parquet", "sub/b.log")
    found = discover.discover([root], root / "sub" / ".." / "my.lake")
    assert [file.name for file in found.files] == ["logs/a.log", "logs/sub/b.log"]
    assert found.skipped == [discover.Skipped("logs/my.lake", "the lake itself")]


def test_other_lakes_are_no_logs(tmp_path: Path) -> None:
    """A lake among the logs is left out with the way to join it, one that is given as logs is refused; a log of its
    manifest's name is a log."""
    logs = make_logs(tmp_path)
    run(logs)
    shutil.copytree(tmp_path / "lake", logs / "old.lake")
    (logs / "sub/manifest.jsonl").write_text('{"version": 1}\n')
    found = discover.discover([logs], tmp_path / "lake")
    assert ("logs/old.lake", "a lake: `ettlog merge` joins lakes") in found.skipped
    assert "logs/sub/manifest.jsonl" in {file.name for file in found.files}
    with pytest.raises(UsageError, match="is a lake, and no logs"):
        discover.discover([tmp_path / "lake"], tmp_path / "other")


@pytest.mark.parametrize(("depth", "files"), [(1, 1), (2, 2), (3, 3), (4, 3)])
def test_depth_is_limited(tmp_path: Path, depth: int, files: int) -> None:
    """Folders deeper than the limit are named and not looked into."""
    root = make(tmp_path / "logs", "1.log", "a/2.log", "a/b/3.log")
    found = discover.discover([root], tmp_path / "lake", depth=depth)
    assert len(found.files) == files
    assert len(found.skipped) == (0 if depth >= 3 else 1)


def test_own_files_are_settings_and_no_logs(tmp_path: Path) -> None:
    """Configuration and registry directly in the root are recognised; deeper ones are ordinary files."""
    root = make(tmp_path / "logs", "ettlog.toml", "optimizations.toml", "sub/ettlog.toml")
    assert discover.own_files([root]) == {name: root / name for name in discover.OWN_FILES}
    assert [file.name for file in discover.discover([root], tmp_path / "lake").files] == ["logs/sub/ettlog.toml"]


def test_a_name_that_is_not_utf8_is_spelled_out(tmp_path: Path) -> None:
    """A source's name is always valid text."""
    root = tmp_path / "logs"
    root.mkdir()
    with open(os.fsencode(root) + b"/caf\xe9.log", "wb"):  # noqa: PTH123  (a Path cannot be made of these bytes)
        pass
    assert [file.name for file in discover.discover([root], tmp_path / "lake").files] == ["logs/caf\\xe9.log"]


def test_a_folder_that_does_not_answer_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody says whether there are settings beside the logs, none are guessed: the error names the file."""

    def refuse(self: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "is_file", refuse)
    with pytest.raises(UsageError) as caught:
        discover.own_files([tmp_path])
    assert caught.value.where == str(tmp_path / "ettlog.toml")
    assert caught.value.why == "Permission denied"
