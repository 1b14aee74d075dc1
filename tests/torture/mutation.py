"""One operator, number, condition or call of a file changed at a time: the narrow tests of the file notice.

Which file it is, the name of the area says.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import PurePath
from typing import TYPE_CHECKING

from tests import mutate
from tests.conftest import ROOT
from tests.torture.registry import Outcome

if TYPE_CHECKING:
    from tests.torture.registry import Scope

FEW = 3
FILES = {f"M-{PurePath(name).stem}": name for name in mutate.TESTS}


def run(scope: Scope) -> Outcome:
    """Change one file in every way (a sample: in few), and hold the share that is noticed against the least."""
    name = FILES[scope.folder.name]
    command = [sys.executable, "-m", "tests.mutate", name]
    done = subprocess.run(
        command if scope.full else [*command, "--most", str(FEW)], cwd=ROOT, check=False, capture_output=True, text=True
    )
    return outcome(name, done.stdout, done.stderr, scope.full)


def outcome(name: str, said: str, complained: str, full: bool) -> Outcome:
    """Return what a run of `tests.mutate` says."""
    found, told = Outcome(), re.search(r"(\d+) of (\d+) mutants noticed", said)
    if told is None:
        found.failures.append(f"{name}: {said[-500:]}{complained[-500:]}")
        return found
    noticed, tried = map(int, told.groups())
    found.counts["mutants"] += tried
    share = 100 * noticed / tried
    found.expect(share >= mutate.WANTED_SHARE or not full, f"{name}: only {share:.0f} % are noticed")
    left = [line.strip().removeprefix(f"{name}:") for line in said.splitlines() if line.startswith(f"  {name}:")]
    rest = f"; not noticed: {', '.join(f'line {text}' for text in left)}" if left else ""
    found.notes.append(f"{noticed} of {tried} mutants of `{name}` are noticed ({share:.0f} %){rest}")
    return found
