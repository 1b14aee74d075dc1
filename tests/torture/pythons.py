"""D2: the same logs read by other versions of Python: every file is that of this one.

The interpreters are those that ETTLOG_PYTHONS names (paths, separated by colons), or `python3.12` and its kin on PATH;
they must have what ettlog needs. `make pythons` makes virtual environments for that.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tests.torture import circumstances
from tests.torture.registry import Outcome

if TYPE_CHECKING:
    from tests.torture.registry import Scope

NAMES = tuple(f"python3.{minor}" for minor in range(11, 20))
NAMED = "ETTLOG_PYTHONS"
ASK = """
import sys, ahocorasick_rs, blake3, click, duckdb, isal, jinja2, matplotlib, numpy, polars, pyarrow, scipy, zstandard
print(".".join(map(str, sys.version_info[:3])), duckdb.__version__, polars.__version__, pyarrow.__version__)
"""
NONE = f"no other Python that has what ettlog needs: make one by `make pythons`, or name it in {NAMED}"


def run(scope: Scope) -> Outcome:
    """Run the usual circumstances with this Python and with each of the others, and compare all that they leave."""
    found = Outcome()
    here = _version(sys.executable)
    others = {told: path for path in _paths() if (told := _version(path)) and told.split()[0] != here.split()[0]}
    if not others:
        found.skipped.append(NONE)
        return found
    usual = {name: values[0] for name, values in circumstances.AXES.items()}
    circumstances.start(scope.folder / "here", usual, scope)
    for told, path in others.items():
        folder = scope.folder / told.split()[0]
        circumstances.start(folder, usual, scope, python=path)
        found.counts["executions"] += 1
        found.failures += [
            f"CPython {told.split()[0]}: {text}"
            for text in circumstances.differences(scope.folder / "here/out", folder / "out", usual)
        ]
        files = sum(1 for path in (folder / "out").rglob("*") if path.is_file())
        found.notes.append(f"CPython {told.split()[0]} beside {here.split()[0]}: {files} files compared")
        if told.split()[1:] != here.split()[1:]:
            found.notes.append(f"they do not have the same DuckDB, Polars and Arrow: {here}; {told}")
    return found


def _paths() -> Iterator[str]:
    """Yield the interpreters to try."""
    named = os.environ.get(NAMED)
    yield from named.split(os.pathsep) if named else filter(None, map(shutil.which, NAMES))


def _version(python: str) -> str:
    """Return the versions of an interpreter and of its engines; nothing where it lacks something."""
    done = subprocess.run([python, "-c", ASK], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
