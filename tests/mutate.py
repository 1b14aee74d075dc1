"""Changes one operator, number or call at a time and asks the narrow tests whether they notice.

`python -m tests.mutate [FILE ...] [--most N]`. The tests of a file are collected once. Each mutant is a forked process
in which the changed functions take the place of the old ones, wherever these are held; SQL is changed in the text that
is read. Only tests that reach the changed line run, those that noticed most so far first, until one fails. What shapes
the import of a module (defaults, constants) is changed in a process that imports it anew. What no test notices is
printed with its line.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import importlib.machinery
import itertools
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest

from tests.mutants import Mutant, functions, outside, python_mutants, sql_mutants

ROOT = Path(__file__).resolve().parent.parent
TESTS: dict[str, tuple[str, ...]] = {
    "ettlog/cascade.py": ("tests/test_cascade.py", "tests/test_what_if.py", "tests/test_attribute_overlap.py"),
    "ettlog/manifest.py": ("tests/test_manifest.py", "tests/test_lake.py"),
    "ettlog/durable.py": ("tests/test_durable.py", "tests/test_lake.py"),
    "ettlog/lake.py": ("tests/test_lake_writes.py", "tests/test_lake.py"),
    "ettlog/commit.py": (
        "tests/test_commit.py", "tests/test_ingest_changes.py", "tests/test_identity_cases.py", "tests/test_moved.py"
    ),
    "ettlog/moved.py": ("tests/test_moved.py", "tests/test_ingest_changes.py", "tests/test_identity_cases.py"),
    "ettlog/sql/segment.sql": (
        "tests/test_relations.py", "tests/test_partition_properties.py", "-k", "segment or ledger or priority"
    ),
}  # fmt: skip
"""What is mutated, and the narrow tests that must notice, as pytest takes them."""
WANTED_SHARE = 90
QUIET = ["-q", "-q", "-s", "-x", "-n", "0", "-p", "no:randomly"]
FEW_S = 10.0
"""CPU seconds of a mutant beside five times those of its tests; one that needs more does not end, which is noticed."""


class Hunt:
    """A plugin of pytest: in the place of the loop over the tests it runs them against each mutant of a file."""

    def __init__(self, name: str, chosen: Sequence[tuple[int, Mutant]]) -> None:
        """Begin with mutants of one file and their numbers."""
        self.name, self.chosen = name, chosen
        self.place = str(ROOT / name)
        self.left: list[Mutant] = []
        self.tests = 0
        self.caught: Counter[str] = Counter()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run all tests once to see what each reaches, then those that reach a mutant against it."""
        sound = self._sound(session.items)
        held = [item for item in session.items if item.nodeid in sound]
        self.tests = len(held)
        for number, mutant in self.chosen:
            if not self._noticed(mutant, number, held, sound):
                self.left.append(mutant)
                print(f"  {self.name}:{mutant.line}: {mutant.change}", flush=True)
        return True

    def _sound(self, items: Sequence[pytest.Item]) -> dict[str, tuple[float, set[int]]]:
        """Return CPU seconds and reached lines of each test that passes."""
        read, write = os.pipe()
        if not (child := _fork()):
            os.close(read)
            told = {}
            for item, after in _with_next(items):
                begun, lines = time.process_time(), set[int]()
                if _passes(item, after, self.place, lines):
                    told[item.nodeid] = (time.process_time() - begun, sorted(lines))
            with open(write, "w") as stream:  # noqa: PTH123  (a handle)
                json.dump(told, stream)
            os._exit(0)
        os.close(write)
        with open(read) as stream:  # noqa: PTH123  (a handle)
            found = json.load(stream)
        os.waitpid(child, 0)
        return {name: (seconds, set(lines)) for name, (seconds, lines) in found.items()}

    def _noticed(
        self, mutant: Mutant, number: int, items: Sequence[pytest.Item], sound: dict[str, tuple[float, set[int]]]
    ) -> bool:
        plan = _installed(self.place, mutant.source)
        if plan is None:
            return _noticed_anew(self.name, number)
        reaching = [item for item in items if not self.name.endswith(".py") or _reached(mutant, sound[item.nodeid][1])]
        reaching.sort(key=lambda item: (-self.caught[item.nodeid], sound[item.nodeid][0]))
        if not reaching:
            return False
        most = FEW_S + 5 * sum(sound[item.nodeid][0] for item in reaching)
        code = _tried(reaching, plan, most)
        if code:
            self.caught[reaching[min(code, len(reaching)) - 1].nodeid] += 1
        return code != 0


def _reached(mutant: Mutant, lines: set[int]) -> bool:
    """Tell whether a test ran the changed line, or one of the lines before it that begin the same statement."""
    return bool(lines & set(range(mutant.line - 3, mutant.line + 4)))


def _fork() -> int:
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
    return child


def _tried(items: Sequence[pytest.Item], install: Callable[[], None], most_s: float) -> int:
    """Return the number of the test that noticed, from 1; one beyond all of them for a process that ended by itself."""
    if not (child := _fork()):
        resource.setrlimit(resource.RLIMIT_CPU, (int(most_s), int(most_s)))
        try:
            install()
            for number, (item, after) in enumerate(_with_next(items), 1):
                if not _passes(item, after):
                    os._exit(min(number, 250))
            os._exit(0)
        except BaseException:  # noqa: BLE001 - whatever a mutant raises, it was noticed
            os._exit(251)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code if code >= 0 else 251


def _with_next(items: Sequence[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    """Yield each test and the one after it, with which it may share fixtures."""
    return itertools.zip_longest(items, items[1:])


def _passes(item: pytest.Item, after: pytest.Item | None, place: str = "", lines: set[int] | None = None) -> bool:
    """Run one test by itself, with its fixtures; keep the lines of a file that it reaches."""
    from _pytest.runner import runtestprotocol

    if lines is not None:
        sys.settrace(_tracer(place, lines))
    try:
        reports = runtestprotocol(item, log=False, nextitem=after)
    finally:
        sys.settrace(None)
    return not any(report.failed for report in reports)


def _tracer(place: str, lines: set[int]) -> Callable[[FrameType, str, Any], Any]:
    def line(frame: FrameType, *_event: object) -> Any:
        lines.add(frame.f_lineno)
        return line

    def call(frame: FrameType, *_event: object) -> Any:
        return line(frame) if frame.f_code.co_filename == place else None

    return call


def _installed(place: str, tree: ast.Module | str) -> Callable[[], None] | None:
    """Return what puts a change in the place of what is loaded; None where it shapes the import of a module."""
    if isinstance(tree, str):
        return lambda: _read_as(place, tree)
    old, new = (compile(one, place, "exec") for one in (Path(place).read_text(), tree))
    if outside(old) != outside(new):
        return None
    changed = {key: code for key, code in functions(new).items() if code != functions(old).get(key)}
    return lambda: _swap(place, changed)


def _swap(place: str, changed: dict[tuple[str, int], CodeType]) -> None:
    for held in gc.get_objects():
        if isinstance(held, FunctionType) and held.__code__.co_filename == place:
            key = (held.__code__.co_qualname, held.__code__.co_firstlineno)
            held.__code__ = changed.get(key, held.__code__)


def _read_as(place: str, source: str) -> None:
    """Let a relation be read with another text, also where all were read before."""
    from ettlog import relations

    read, path = Path.read_text, Path(place)
    Path.read_text = lambda self, *a, **k: source if str(self) == place else read(self, *a, **k)  # type: ignore[method-assign]
    relations.relations()[path.stem] = relations.read_relation(path)


def _noticed_anew(name: str, number: int) -> bool:
    """Import the changed module in a fresh process, and run all tests of it."""
    command = [sys.executable, "-m", "tests.mutate", name, "--inside", str(number)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode != 0


def _inside(name: str, number: int) -> int:
    """Run the tests of a file while the import system reads mutant `number` of it."""
    place, read = str(ROOT / name), importlib.machinery.SourceFileLoader.get_code
    mutant = _mutants(name)[number]
    assert isinstance(mutant.source, ast.Module)
    code = compile(mutant.source, place, "exec")

    def get_code(self: importlib.machinery.SourceFileLoader, fullname: str) -> CodeType | None:
        return code if self.path == place else read(self, fullname)

    loader: Any = importlib.machinery.SourceFileLoader
    loader.get_code = get_code
    return int(pytest.main([*QUIET, *TESTS[name]]))


def _mutants(name: str) -> list[Mutant]:
    source = (ROOT / name).read_text()
    return list(sql_mutants(source) if name.endswith(".sql") else python_mutants(source))


def _share(name: str, most: int) -> Iterator[float]:
    """Hunt the mutants of one file and yield how many in a hundred are noticed."""
    found = list(enumerate(_mutants(name)))
    chosen = random.Random(1).sample(found, most) if most < len(found) else found
    hunt, begun = Hunt(name, chosen), sum(os.times()[:4])
    with tempfile.TemporaryDirectory(prefix="ettlog-mutate-") as folder:
        pytest.main([*QUIET, f"--basetemp={folder}/base", *TESTS[name]], plugins=[hunt])
    assert hunt.tests, f"no test of {name} passes without any change"
    killed = len(chosen) - len(hunt.left)
    share = 100 * killed / max(1, len(chosen))
    spent = sum(os.times()[:4]) - begun
    many = f"{killed} of {len(chosen)} mutants noticed ({len(found)} in all)"
    print(f"{name}: {many}, {share:.0f} %, {spent:.0f} CPU s", flush=True)
    yield share


def main() -> int:
    """Mutate the files asked for, at most `--most` mutants each; return 1 where fewer than nine of ten are noticed."""
    told = argparse.ArgumentParser(prog="python -m tests.mutate", description=__doc__)
    told.add_argument("files", nargs="*", default=list(TESTS))
    told.add_argument("--most", type=int, default=10**6)
    told.add_argument("--inside", type=int, help=argparse.SUPPRESS)
    asked = told.parse_args()
    if asked.inside is not None:
        return _inside(asked.files[0], asked.inside)
    shares = [share for name in asked.files for share in _share(name, asked.most)]
    return int(min(shares) < WANTED_SHARE)


if __name__ == "__main__":
    sys.exit(main())
