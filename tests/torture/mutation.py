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
    found, name = Outcome(), FILES[scope.folder.name]
    command = [sys.executable, "-m", "tests.mutate", name]
    done = subprocess.run(
        command if scope.full else [*command, "--most", str(FEW)], cwd=ROOT, check=False, capture_output=True, text=True
    )
    told = re.search(r"(\d+) of (\d+) mutants noticed", done.stdout)
    if told is None:
        found.failures.append(f"{name}: {done.stdout[-500:]}{done.stderr[-500:]}")
        return found
    noticed, tried = map(int, told.groups())
    found.counts["mutants"] += tried
    share = 100 * noticed / tried
    found.expect(share >= mutate.WANTED_SHARE or not scope.full, f"{name}: only {share:.0f} % are noticed")
    left = [line.strip().removeprefix(f"{name}:") for line in done.stdout.splitlines() if line.startswith(f"  {name}:")]
    rest = f"; not noticed: {', '.join(f'line {text}' for text in left)}" if left else ""
    found.notes.append(f"{noticed} of {tried} mutants of `{name}` are noticed ({share:.0f} %){rest}")
    return found
