"""What a mutant is and how it is made: one operator, number, condition or call of a source changed at a time."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple

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


_TYPES = (ast.BinOp, ast.BoolOp, ast.AugAssign, ast.Compare, ast.Constant, ast.If, ast.Expr)


class Mutant(NamedTuple):
    """One change: its line, what was done, and the whole source after it (of Python as a tree with the old lines)."""

    line: int
    change: str
    source: str | ast.Module


def python_mutants(source: str) -> Iterator[Mutant]:
    """Yield every mutant of a Python source: operators swapped, numbers and truths changed, conditions denied, calls
    whose result nobody takes dropped.
    """
    tree = ast.parse(source)
    for place, node in enumerate(ast.walk(tree)):
        if not isinstance(node, _TYPES) or _is_left_alone(node):
            continue
        changed = copy.deepcopy(tree)
        twin = next(one for number, one in enumerate(ast.walk(changed)) if number == place)
        change = _changed(twin)
        if change:
            line = next((one.lineno for one in ast.walk(twin) if hasattr(one, "lineno")), 0)
            yield Mutant(line, change, ast.fix_missing_locations(changed))


def _is_left_alone(node: ast.AST) -> bool:
    """Tell whether a change could not be seen by anybody who runs the code."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


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
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        dropped = ast.unparse(node.value.func)
        node.value = ast.copy_location(ast.Constant(None), node.value)
        return f"{dropped}(...) -> dropped"
    return ""


def sql_mutants(source: str) -> Iterator[Mutant]:
    """Yield every mutant of a relation: its comments stay as they are."""
    for pattern, new in _SQL:
        for match in re.finditer(pattern, source):
            begin = source.rfind("\n", 0, match.start()) + 1
            if "--" not in source[begin : match.start()]:
                changed = source[: match.start()] + new + source[match.end() :]
                yield Mutant(source.count("\n", 0, begin) + 1, f"{match[0].strip()} -> {new.strip()}", changed)


def functions(code: CodeType) -> dict[tuple[str, int], CodeType]:
    """Return the code of all functions of a module, by their name and line."""
    found: dict[tuple[str, int], CodeType] = {}
    for one in code.co_consts:
        if isinstance(one, CodeType):
            found |= {(one.co_qualname, one.co_firstlineno): one, **functions(one)}
    return found


def outside(code: CodeType) -> tuple[object, ...]:
    """Return what a module does when it is imported: all of its code but the bodies of functions."""
    kept = [one for one in code.co_consts if _is_class(one) or not isinstance(one, CodeType)]
    consts = tuple(outside(one) if isinstance(one, CodeType) else one for one in kept)
    return code.co_code, code.co_names, *consts


def _is_class(item: object) -> bool:
    """Tell the body of a class, which has no locals of its own, from a function's."""
    return isinstance(item, CodeType) and not item.co_flags & 2  # CO_NEWLOCALS
