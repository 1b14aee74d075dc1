"""The code in docs/*.md: every block is of a known language, and is run, read or checked (`python -m tests.docs_code`).

console: each `$ ettlog ...` is run, in order, in one folder per page, and prints what stands below (`...`: any lines).
python: a session with `>>>` is a doctest; other blocks are run over the lake of the tiny fixture.
toml and sql are read and answered; text is no code; blocks without a language are output, or commands of `ettlog`.
"""

from __future__ import annotations

import contextlib
import doctest
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from click.testing import CliRunner

from ettlog.cli import app
from tests.conftest import ROOT
from tests.hostile.run import opened_once
from tests.readme import LEFT_OUT, Session, matches, sessions, trimmed

DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md"))
LANGUAGES = {"console", "python", "toml", "sql", "yaml", "text", "", "{toctree}"}
OWN = {"exports.md": "tests/test_exports_page.py", "tutorial_dialect.md": "tests/tutorial.py"}
"""Pages whose sessions need files of their own, and the module that runs them."""
_BLOCK = re.compile(r"^```([^\n`]*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def blocks(path: Path) -> list[tuple[str, str]]:
    """Return language and content of each fenced block of a page, in order."""
    return _BLOCK.findall(path.read_text())


def typed(text: str) -> list[str]:
    """Return the commands in a block without a language: its lines, if all of them are commands."""
    lines = [line.partition("  #")[0].strip() for line in text.splitlines() if line.strip()]
    commands = [part.strip() for line in lines for part in line.split(";")]
    return commands if commands and all(line.startswith("ettlog ") for line in commands) else []


def ran(command: str) -> str:
    """Run one `ettlog` command in this process and folder; both streams as a terminal shows them."""
    program, *args = shlex.split(command)
    assert program == "ettlog", command
    result = CliRunner().invoke(app, args, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return trimmed(result.output)


@contextlib.contextmanager
def example(folder: Path) -> Iterator[None]:
    """Work in a folder that holds the fixtures that pages speak of."""
    for name in ("published", "tiny"):
        shutil.copytree(ROOT / "fixtures" / name / "logs", folder / "fixtures" / name / "logs")
    shutil.copy(ROOT / "fixtures/published/pairs.toml", folder / "fixtures/published")
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def rewritten(path: Path, folder: Path) -> str:
    """Return a page with the output of its sessions of today; outputs with left-out lines that still match stay."""
    with example(folder), opened_once():

        def renewed(block: re.Match[str]) -> str:
            parts = []
            for command, output in sessions(block.group()):
                printed = ran(command)
                keep = LEFT_OUT in output.splitlines() and matches(output, printed)
                shown = trimmed(output) if keep else printed
                parts.append(f"$ {command}\n{shown}\n" if shown else f"$ {command}\n")
            return "```console\n" + "".join(parts) + "```"

        return re.sub(r"```console\n.*?```", renewed, path.read_text(), flags=re.DOTALL)


def session(text: str) -> dict[int, str]:
    """Run a Python session; return what differs from what it shows, by line."""
    runner = Session()
    runner.run(doctest.DocTestParser().get_doctest(text, {}, "page", None, 0))
    return runner.printed


if __name__ == "__main__":
    for page in PAGES:
        if page.name not in OWN and any(language == "console" for language, _ in blocks(page)):
            with tempfile.TemporaryDirectory() as home:
                page.write_text(rewritten(page, Path(home)))
