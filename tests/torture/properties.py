"""Every property of the tests with other examples than those of each change, by the thousand (tests/examples.py).

The examples are new in each run, so a failure prints how to have the same ones again. Files of cheap examples come
first; DEEP_MINUTES in the environment says after how many minutes no other file is begun.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.conftest import ROOT
from tests.torture import results
from tests.torture.registry import Outcome

if TYPE_CHECKING:
    from tests.torture.registry import Scope

FEW = 2
TRIED = re.compile(r"(\d+) passing(?: examples)?, \d+ failing")
"""How Hypothesis tells what one phase of one property tried."""
COMMAND = (
    "-m", "pytest", "-q", "-n", "0", "-p", "no:randomly", "--timeout", "0",
    "-m", "hypothesis", "--hypothesis-show-statistics",
)  # fmt: skip


def run(scope: Scope) -> Outcome:
    """Try the properties of every file (a sample: of few, with the examples of each change), a process a file."""
    found, told = Outcome(), list[str]()
    ends = time.monotonic() + 60 * float(os.environ.get("DEEP_MINUTES", "inf"))
    parts = results.parts(scope.kept, f"{scope.seed}", "ettlog", "tests", "fixtures")
    for name in scope.some(files(), FEW):
        kept = parts and parts / f"{Path(name).stem}.txt"
        if kept and kept.exists():
            said, failed = kept.read_text(), False
        elif time.monotonic() > ends:
            found.skipped.append(f"`{name}`: no time was left for it")
            continue
        else:
            said, failed = _tried(name, scope)
        count = sum(map(int, TRIED.findall(said)))
        found.counts["executions"] += count
        found.expect(not failed and count > 0, f"{name}: {said[-3000:]}")
        told.append(f"`{Path(name).stem}` {count:,}")
        if kept and not failed:
            kept.write_text(said)
    found.notes.append(f"examples that held, by file: {', '.join(told)}")
    return found


def files() -> list[str]:
    """Return the files that hold a property, those whose examples are dear (`few`) last; the machine of lake and logs
    is an area of its own."""
    texts = {path.relative_to(ROOT): path.read_text() for path in (ROOT / "tests").rglob("test_*.py")}
    held = [name for name, text in texts.items() if re.search(r"^@given\b", text, re.MULTILINE)]
    return [f"{name}" for name in sorted(held, key=lambda name: ("few(" in texts[name], name))]


def _tried(name: str, scope: Scope) -> tuple[str, bool]:
    """Return what the test runner says of the properties of one file, and whether one failed."""
    done = subprocess.run(
        [sys.executable, *COMMAND, f"--basetemp={scope.folder / 'pytest'}", name],
        env={**os.environ, "HYPOTHESIS_PROFILE": "deep" if scope.full else "ci"},
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr, done.returncode != 0
