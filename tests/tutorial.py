"""The tutorial on dialects: run its commands, write its files, renew its output (`python -m tests.tutorial`)."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.conftest import ROOT
from tests.readme import LEFT_OUT, matches, sessions, trimmed

PAGE = ROOT / "docs/tutorial_dialect.md"
_BLOCK = re.compile(r"```(console|toml)\n(.*?)```", re.DOTALL)


def copy_example(folder: Path) -> Path:
    """Put the logs of the tutorial into a folder as its reader has them, and return the folder."""
    shutil.copytree(ROOT / "fixtures/heron", folder / "fixtures/heron")
    return folder


def blocks(text: str) -> list[tuple[str, str]]:
    """Return kind and content of the blocks of the page, in order."""
    return _BLOCK.findall(text)


def write_file(content: str, folder: Path) -> bool:
    """Write a TOML block whose first line is a comment with its path; tell whether it has one."""
    named = re.match(r"# ([\w./-]+\.toml)\n", content)
    if named is None:
        return False
    path = folder / named[1]
    path.parent.mkdir(exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return True


def ran(command: str, folder: Path) -> str:
    """Run one command in the folder; both streams as a terminal shows them, whatever it exits with."""
    program, *args = shlex.split(command)
    if program == "mkdir":
        (folder / args[0]).mkdir()
        return ""
    assert program == "ettlog"
    env = {name: value for name, value in os.environ.items() if not name.startswith("ETTLOG_")}
    env |= {"PYTHONPATH": str(ROOT), "COLUMNS": "140"}
    whole = [sys.executable, "-m", "ettlog", *args]
    out, err = subprocess.PIPE, subprocess.STDOUT
    done = subprocess.run(whole, text=True, cwd=folder, env=env, check=False, stdout=out, stderr=err, timeout=120)
    return trimmed(done.stdout)


def rewritten(text: str, folder: Path) -> str:
    """Return the page with the output of its commands of today; sessions with left-out lines stay as they are."""

    def renewed(block: re.Match[str]) -> str:
        kind, content = block.groups()
        if kind == "toml":
            write_file(content, folder)
            return block.group()
        parts = []
        for command, output in sessions(block.group()):
            printed = ran(command, folder)
            keep = LEFT_OUT in output.splitlines() and matches(output, printed)
            shown = trimmed(output) if keep else printed
            parts.append(f"$ {command}\n" + (f"{shown}\n" if shown else ""))
        return "```console\n" + "".join(parts) + "```"

    return _BLOCK.sub(renewed, text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8"), copy_example(Path(home))), encoding="utf-8")
