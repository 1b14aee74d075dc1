"""The sessions of docs/exports.md, run as they stand."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

import pytest

from ettlog.cli import COMMANDS
from ettlog.cli.export import FILES, METRICS, TRACES
from ettlog.export.metrics import NAMES
from tests.conftest import ROOT
from tests.readme import matches, sessions, trimmed
from tests.test_cli import run

PAGE = ROOT / "docs/exports.md"


def rewritten(folder: Path) -> str:
    """Return the page with what its commands print today, run in a folder that holds the fixture."""
    shutil.copytree(ROOT / "fixtures/tiny/logs", folder / "fixtures/tiny/logs")
    text = PAGE.read_text()
    for command, shown in sessions(text):
        program, *args = shlex.split(command)
        assert program == "ettlog"
        assert args[0] in COMMANDS
        result = run(*args)
        assert result.exit_code == 0, result.output
        printed = trimmed(result.output)
        if not matches(shown, printed):
            text = text.replace(f"$ {command}\n{shown}", f"$ {command}\n{printed}\n" if printed else f"$ {command}\n")
    return text


def test_sessions_print_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command prints, today, what stands below it; `python -m tests.test_exports_page` writes the page anew."""
    monkeypatch.chdir(tmp_path)
    assert len(sessions(PAGE.read_text())) > 8
    assert rewritten(tmp_path) == PAGE.read_text()


def test_page_names_every_form_and_metric() -> None:
    """Each form of the export and each metric stands on the page."""
    text = PAGE.read_text()
    assert all(name in text for name in (*TRACES, *METRICS, *FILES, *NAMES))


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as home:
        os.chdir(home)
        PAGE.write_text(rewritten(Path(home)))
