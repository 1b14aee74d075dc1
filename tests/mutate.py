"""Changes one operator or constant at a time and asks the narrow tests whether they notice: `python -m tests.mutate`.

Each mutant runs in a forked process: the functions of a module are made anew from the changed source, SQL is changed in
the text of its relation. What no test notices is printed with its line.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import os
import random
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
TESTS: dict[str, tuple[str, ...]] = {
    "ettlog/cascade.py": ("tests/test_cascade.py",),
    "ettlog/commit.py": ("tests/test_ingest_changes.py", "tests/test_ingest.py", "tests/test_identity_cases.py"),
    "ettlog/moved.py": ("tests/test_ingest_changes.py",),
    "ettlog/lake.py": ("tests/test_lake.py", "tests/test_ingest.py", "tests/test_ingest_changes.py"),
    "ettlog/manifest.py": ("tests/test_manifest.py", "tests/test_lake.py"),
    "ettlog/sql/segment.sql": ("tests/test_relations.py", "tests/test_tiny.py", "tests/test_partition_properties.py"),
}
"""What is mutated, and the narrow tests that must notice."""
LOADED = ("hypothesis.stateful", "polars", "pyarrow.compute", "pyarrow.parquet", "duckdb", "numpy", "blake3", "click")
"""Libraries that are imported once, before any mutant is made: none of them imports ettlog."""
_SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_SQL = (
    (r"<(?![=>])", "<="), (r"<=", "<"), (r"(?<![<-])>(?!=)", ">="), (r">=", ">"),
    (r"(?<![<>!])=(?![=>])", "<>"), (r" \+ ", " - "),
    (r" - ", " + "), (r"\bAND\b", "OR"), (r"\bOR\b", "AND"), (r"\bmin\(", "max("), (r"\bmax\(", "min("),
    (r"\bIS NULL", "IS NOT NULL"),
    (r"\bIS NOT NULL", "IS NULL"), (r"\b0\b", "1"), (r"\b1\b", "2"), (r"\bDESC\b", "ASC"), (r"\bLEFT JOIN\b", "JOIN"),
)  # fmt: skip


class Mutant(NamedTuple):
    """One change: its line, what was done, and the whole source after it."""

    line: int
    change: str
    source: str


def python_mutants(source: str) -> Iterator[Mutant]:
    """Yield every mutant of a Python source: operators swapped, numbers and truths changed, conditions denied."""
    tree = ast.parse(source)
    count = sum(1 for _ in ast.walk(tree))
    for place in range(count):
        changed = copy.deepcopy(tree)
        node = next(node for number, node in enumerate(ast.walk(changed)) if number == place)
        change = _changed(node)
        if change:
            line = next((one.lineno for one in ast.walk(node) if hasattr(one, "lineno")), 0)
            yield Mutant(line, change, ast.unparse(ast.fix_missing_locations(changed)))


def _changed(node: ast.AST) -> str:
    """Change a node in place and say how; nothing for a node that is left alone."""
    if isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)) and type(node.op) in _SWAPS:
        old = type(node.op)
        node.op = _SWAPS[old]()  # type: ignore[assignment]
        return f"{old.__name__} -> {type(node.op).__name__}"
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPS:
        old_op = type(node.ops[0])
        node.ops[0] = _SWAPS[old_op]()  # type: ignore[call-overload]
        return f"{old_op.__name__} -> {type(node.ops[0]).__name__}"
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        old_value = node.value
        new = not old_value if isinstance(old_value, bool) else old_value + 1
        node.value = new
        return f"{old_value} -> {new}"
    if isinstance(node, ast.If):
        node.test = ast.UnaryOp(ast.Not(), node.test)
        return "if -> if not"
    return ""


def sql_mutants(source: str) -> Iterator[Mutant]:
    """Yield every mutant of a relation: its comments stay as they are."""
    for pattern, new in _SQL:
        for match in re.finditer(pattern, source):
            begin = source.rfind("\n", 0, match.start()) + 1
            if "--" not in source[begin : match.start()]:
                changed = source[: match.start()] + new + source[match.end() :]
                yield Mutant(source.count("\n", 0, begin) + 1, f"{match[0].strip()} -> {new.strip()}", changed)


def survives(name: str, mutant: Mutant, seconds: int) -> bool:
    """Tell whether the tests of a file pass although it was changed; a mutant that hangs is noticed."""
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        try:
            _install(name, mutant.source)
            os._exit(pytest.main(["-q", "-x", "-n", "0", "-p", "no:randomly", *TESTS[name]]))
        except BaseException:  # noqa: BLE001 - whatever a mutant raises, it was noticed
            os._exit(1)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, code = os.waitpid(child, os.WNOHANG)
        if done:
            return code == 0
        time.sleep(0.02)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return False


def _install(name: str, source: str) -> None:
    """Put a changed source in the place of the one that was loaded."""
    if name.endswith(".sql"):
        read = Path.read_text
        place = ROOT / name
        Path.read_text = lambda self, *a, **k: source if self == place else read(self, *a, **k)  # type: ignore[method-assign]
        return
    module = importlib.import_module(name.removesuffix(".py").replace("/", "."))
    exec(compile(source, str(ROOT / name), "exec"), vars(module))


def main() -> int:
    """Mutate the files asked for, at most `--most` mutants each; return 1 where fewer than nine of ten are noticed."""
    told = argparse.ArgumentParser(prog="python -m tests.mutate", description=__doc__)
    told.add_argument("files", nargs="*", default=list(TESTS))
    told.add_argument("--most", type=int, default=10**6)
    told.add_argument("--seconds", type=int, default=600, help="longest time of one mutant")
    asked = told.parse_args()
    for library in LOADED:
        importlib.import_module(library)
    good = True
    for name in asked.files:
        source = (ROOT / name).read_text()
        found = list(sql_mutants(source) if name.endswith(".sql") else python_mutants(source))
        chosen = random.Random(1).sample(found, min(asked.most, len(found)))
        left = [one for one in chosen if survives(name, one, asked.seconds)]
        for one in sorted(left):
            print(f"  {name}:{one.line}: {one.change}")
        share = 100 * (len(chosen) - len(left)) / max(1, len(chosen))
        print(f"{name}: {len(chosen)} of {len(found)} mutants, {share:.0f} % noticed", flush=True)
        good = good and share >= 90
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
