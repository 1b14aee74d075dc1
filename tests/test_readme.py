"""The sessions of the README, run as they stand."""

from __future__ import annotations

import shlex
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT
from tests.readme import README, Session, copy_example, matches, python_session, ran, sessions

if TYPE_CHECKING:
    from pathlib import Path

TEXT = README.read_text()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which the example fleet lies as the README's reader has it."""
    return copy_example(tmp_path_factory.mktemp("readme"))


@pytest.mark.slow
def test_sessions_print_what_the_readme_shows(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command prints, today, what stands below it; then the Python session gives what it shows."""
    found = sessions(TEXT)
    assert [shlex.split(command)[1] for command, _ in found][:3] == ["ingest", "ett", "attribute"]
    for command, shown in found:
        printed = ran(command, folder)
        assert matches(shown, printed), f"{command}\n{printed}\n`make docs` writes the README anew"
    monkeypatch.chdir(folder)
    session, runner = python_session(TEXT), Session()
    assert len(session.examples) > 5
    assert runner.run(session).failed == 0, runner.printed


def test_left_out_lines_match_any_lines() -> None:
    """`...` on a line of its own stands for lines, or none; everything else must be there."""
    assert matches("a\n...\nb\n", "a\nx\ny\nb")
    assert matches("a\n...\nb\n", "a\nb")
    assert not matches("a\n...\nb\n", "a\nx\nc")
    assert not matches("a\nb\n", "a\nx\nb")


@pytest.mark.parametrize("command", ["pip install .", "pipx install .", "uv tool install .", "make demo", "make test"])
def test_readme_names_the_ways_to_install(command: str) -> None:
    """Every way to install is named, and so are the two make targets."""
    assert command in TEXT


def test_demo_goes_from_nothing_to_a_report() -> None:
    """`make demo` makes the environment, installs, ingests the example, answers, and ends with a page to look at."""
    done = subprocess.run(["make", "-n", "demo", "VENV=new.venv"], capture_output=True, text=True, cwd=ROOT, check=True)
    order = ["-m venv new.venv", "pip install", "ettlog ingest fixtures/fleet/logs", "ettlog ett", "ettlog attribute"]
    places = [done.stdout.index(word) for word in [*order, "ettlog report"]]
    assert places == sorted(places)
    assert "report.html" in TEXT
