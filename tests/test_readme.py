"""The sessions of the README, run as they stand."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

README = (ROOT / "README.md").read_text()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that holds the example fleet as the README's reader has it, with a lake read from it."""
    home = tmp_path_factory.mktemp("readme")
    shutil.copytree(ROOT / "fixtures/fleet", home / "fixtures/fleet")
    return home


def sessions() -> list[tuple[str, str]]:
    """Return the commands of the console sessions, in order, with the output that follows each."""
    blocks = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    pairs = []
    for block in blocks:
        for entry in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = entry.partition("\n")
            pairs.append((command, output))
    return pairs


def ran(command: str, folder: Path) -> str:
    """Run one `ettlog` command in the folder; both streams as a terminal shows them, ends of lines trimmed."""
    program, *args = shlex.split(command)
    assert program == "ettlog"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "ettlog", *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env=env,
        check=True,
    )
    return trimmed(done.stdout)


def trimmed(text: str) -> str:
    """Return text without blanks at the ends of its lines and of itself."""
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def test_console_session_shows_what_the_commands_print(folder: Path) -> None:
    """Each command of the README prints, today, what the README shows below it; `...` stands for left-out lines."""
    found = sessions()
    assert [shlex.split(command)[1] for command, _ in found][:3] == ["ingest", "ett", "attribute"]
    for command, shown in found:
        printed = ran(command, folder)
        pattern = re.escape(trimmed(shown)).replace(re.escape("\n..."), r"(?:\n.*)*?")
        assert re.fullmatch(pattern, printed), f"{command}\n{printed}"


def test_library_session_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python session of the README gives what it shows."""
    if not (folder / "ettlog.lake").exists():
        ran(sessions()[0][0], folder)
    monkeypatch.chdir(folder)
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for block in blocks:
        test = doctest.DocTestParser().get_doctest(block, {}, "README.md", "README.md", 0)
        assert test.examples
        result = doctest.DocTestRunner(optionflags=flags).run(test)
        assert result.failed == 0


def test_readme_names_the_ways_to_install() -> None:
    """pip, pipx, uv and the two make targets are named."""
    for command in ("pip install .", "pipx install .", "uv tool install .", "make demo", "make test"):
        assert command in README
