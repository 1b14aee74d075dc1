"""What each module of ettlog imports, read from its source."""

from __future__ import annotations

import ast
import functools
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Import(NamedTuple):
    """One import: what module imports which, on which line, and whether it runs when the module is imported."""

    importer: str
    imported: str
    line: int
    at_once: bool


def modules(root: Path) -> dict[str, Path]:
    """Return every module of the package, by its dotted name."""
    found = {}
    for path in sorted((root / "ettlog").rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@functools.cache
def imports(root: Path) -> tuple[Import, ...]:
    """Return every import of every module, those for type checkers left out; each module is read once a process."""
    known = modules(root)
    return tuple(
        Import(name, target, node.lineno, at_once)
        for name, path in known.items()
        for node, at_once in _nodes(ast.parse(path.read_text(encoding="utf-8")), at_once=True)
        for target in _targets(node, known)
    )


def _nodes(node: ast.AST, *, at_once: bool) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child, at_once
        inside = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        yield from _nodes(child, at_once=at_once and not inside)


def _targets(node: ast.Import | ast.ImportFrom, known: dict[str, Path]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    base = node.module or ""
    for alias in node.names:
        whole = f"{base}.{alias.name}"
        yield whole if whole in known else base
