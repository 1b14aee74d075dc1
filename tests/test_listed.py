"""Lists of files in place of folders: how they are separated, what the files are called, and what is not taken."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ettlog import listed
from ettlog.errors import UsageError
from ettlog.ingest import ingest
from tests.conftest import ROOT
from tests.ingesting import ALONE, make_logs, tree


def told(monkeypatch: pytest.MonkeyPatch, data: bytes) -> list[Path]:
    """Return the files that a text on stdin names."""
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    return listed.read("-")


def test_newlines_or_nuls_separate_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """One NUL makes NUL the separator, and newlines parts of names; empty names are none; bytes are kept."""
    assert told(monkeypatch, b"a b\n\nc\n") == [Path("a b"), Path("c")]
    assert told(monkeypatch, b"a\nb\0c\0") == [Path("a\nb"), Path("c")]
    assert os.fsencode(told(monkeypatch, b"x\xff\n")[0]) == b"x\xff"
    assert told(monkeypatch, b"") == []


def test_a_list_that_is_too_long_or_cannot_be_read_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Both are errors of usage with something to do."""
    monkeypatch.setattr(listed, "MOST_BYTES", 3)
    with pytest.raises(UsageError, match="too long"):
        told(monkeypatch, b"abcd")
    with pytest.raises(UsageError, match="cannot read the list") as caught:
        listed.read(tmp_path / "nowhere")
    assert caught.value.why == "No such file or directory"


def test_the_list_of_a_folder_makes_the_lake_of_the_folder(tmp_path: Path) -> None:
    """Listed under their root, files have the names that a look through the root gives, whatever their order."""
    logs = make_logs(tmp_path)
    ingest([logs], tmp_path / "one", options=ALONE)
    listing = "\n".join(str(logs / name) for name in ("sub/b.txt", "notes.md", "a.txt", "a.txt"))
    command = [sys.executable, "-m", "ettlog", "ingest", "--workers", "1", "-q"]
    for name, words, data in (("lake", [str(logs), "-"], listing), ("other", [str(logs), "--files-from", "list"], "")):
        (tmp_path / "list").write_text(listing)
        subprocess.run(
            [*command, *words, "--lake", name],
            input=data, text=True, check=True, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert tree(tmp_path / name) == tree(tmp_path / "one")


def test_without_a_root_a_file_stands_for_itself_in_its_folder(tmp_path: Path) -> None:
    """The name is that of a single file given as LOGS; a label stands for its folder."""
    logs = make_logs(tmp_path)
    files = [logs / "a.txt", logs / "sub/b.txt"]
    assert [file.name for file in listed.find(files, []).files] == ["logs/a.txt", "sub/b.txt"]
    assert [file.name for file in listed.find(files, [], "east").files] == ["east/a.txt", "east/b.txt"]
    assert [file.name for file in listed.find(files, [logs], "east").files] == ["east/a.txt", "east/sub/b.txt"]


def test_what_is_gone_or_no_file_is_reported(tmp_path: Path) -> None:
    """A file that is gone, a folder, a link, a pipe and the tool's own settings are named with the reason."""
    logs = make_logs(tmp_path)
    (logs / "link").symlink_to(logs / "a.txt")
    os.mkfifo(logs / "pipe")
    (logs / "ettlog.toml").write_text("")
    names = ("gone", "sub", "link", "pipe", "ettlog.toml", "a.txt")
    found = listed.find([logs / name for name in names], [logs])
    assert [file.name for file in found.files] == ["logs/a.txt"]
    assert {item.name: item.why for item in found.skipped} == {
        "logs/gone": "listed, and cannot be looked at: No such file or directory",
        "logs/sub": "a folder: only files are taken from a list",
        "logs/link": "symbolic link",
        "logs/pipe": "not a regular file: pipe",
        "logs/ettlog.toml": "a file of ettlog's own",
    }


def test_a_file_outside_of_the_folders_and_two_of_one_name_are_refused(tmp_path: Path) -> None:
    """No file gets a name that its folder would not give it, and none replaces another."""
    logs = make_logs(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/b.txt").write_text("x")
    with pytest.raises(UsageError, match="none of the folders") as caught:
        listed.find([tmp_path / "sub/b.txt"], [logs])
    assert caught.value.where == str(tmp_path / "sub/b.txt")
    with pytest.raises(UsageError, match="two files would get one name"):
        listed.find([tmp_path / "sub/b.txt", logs / "sub/b.txt"], [])
