"""The sessions of the README: read them, run them, and write their output anew (`python -m tests.readme`)."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.conftest import ROOT

README = ROOT / "README.md"
LEFT_OUT = "..."


def copy_example(folder: Path) -> Path:
    """Put the example fleet into a folder as the README's reader has it, and return the folder."""
    shutil.copytree(ROOT / "fixtures/fleet", folder / "fixtures/fleet")
    return folder


def sessions(text: str) -> list[tuple[str, str]]:
    """Return the commands of the console sessions, in order, with the output that follows each."""
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    entries = [entry for block in blocks for entry in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    return [(command, output) for command, _, output in (entry.partition("\n") for entry in entries)]


def ran(command: str, folder: Path) -> str:
    """Run one `ettlog` command in the folder; both streams as a terminal shows them, blanks at line ends removed."""
    program, *args = shlex.split(command)
    assert program == "ettlog"
    env = {name: value for name, value in os.environ.items() if not name.startswith("ETTLOG_")}
    env["PYTHONPATH"] = str(ROOT)
    whole = [sys.executable, "-m", "ettlog", *args]
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run(whole, text=True, cwd=folder, env=env, check=False, **both)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stdout
    return trimmed(done.stdout)


def trimmed(text: str) -> str:
    """Return text without blanks at the ends of its lines, and without blank lines at its own ends."""
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def matches(shown: str, printed: str) -> bool:
    """Tell whether an output is what the README shows; a line `...` stands for any lines."""
    pattern = re.escape(trimmed(shown)).replace(re.escape(f"\n{LEFT_OUT}"), r"(?:\n.*)*?")
    return re.fullmatch(pattern, printed) is not None


def rewritten(text: str, folder: Path) -> str:
    """Return the README with the output of its commands of today; sessions with left-out lines stay as they are."""

    def renewed(block: re.Match[str]) -> str:
        parts = []
        for command, output in sessions(block.group()):
            printed = ran(command, folder)
            keep = LEFT_OUT in output.splitlines() and matches(output, printed)
            parts.append(f"$ {command}\n{trimmed(output) if keep else printed}\n")
        return "```console\n" + "".join(parts) + "```"

    return re.sub(r"```console\n.*?```", renewed, text, flags=re.DOTALL)


class Session(doctest.DocTestRunner):
    """Runs a Python session and keeps what each line prints."""

    def __init__(self) -> None:
        """Begin with nothing printed."""
        super().__init__(optionflags=doctest.NORMALIZE_WHITESPACE)
        self.printed: dict[int, str] = {}

    def report_failure(self, _out: object, _test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        """Keep what came instead of what was wanted."""
        self.printed[example.lineno] = got


def python_session(text: str) -> doctest.DocTest:
    """Return the Python session of the README."""
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return doctest.DocTestParser().get_doctest(block, {}, README.name, README.name, 0)


def rewritten_python(text: str) -> str:
    """Return the README with what its Python session gives today; run in a folder that holds the lake."""
    session, runner = python_session(text), Session()
    runner.run(session)
    lines = [f">>> {item.source}{runner.printed.get(item.lineno, item.want)}" for item in session.examples]
    return re.sub(r"```python\n.*?```", lambda _: "```python\n" + "".join(lines) + "```", text, flags=re.DOTALL)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        shown = rewritten(README.read_text(), copy_example(Path(home)))
        os.chdir(home)
        README.write_text(rewritten_python(shown))
