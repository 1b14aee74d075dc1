"""The shipped SQL gives the same rows everywhere: no estimate, no sum of fractions, no list in the order of chance."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

FILES = sorted((ROOT / "ettlog/sql").rglob("*.sql"))
ORDERED = r"\b(list|array_agg|string_agg|group_concat|listagg|first|last|any_value)\s*\("
"""Aggregates whose result hangs on the order of rows, unless it is told."""


def code(path: Path) -> str:
    """Return the SQL of a file without comments and strings, in lower case."""
    return re.sub(r"--[^\n]*|'[^']*'", "", path.read_text()).lower()


def arguments(text: str, start: int) -> str:
    """Return what stands between a bracket that opens just before `start` and the one that closes it."""
    depth, end = 1, start
    while depth:
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    return text[start : end - 1]


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_sums_and_orders_are_explicit(path: Path) -> None:
    """No `approx_`, no sum over fractions, and every aggregate that depends on an order names one."""
    text = code(path)
    assert "approx_" not in text
    for match in re.finditer(r"\b(sum|avg)\s*\(", text):
        assert not re.search(r"double|float|real|/", arguments(text, match.end())), match.group()
    for match in re.finditer(ORDERED, text):
        inside = arguments(text, match.end())
        window = text[match.end() + len(inside) + 1 :].lstrip().startswith("over")
        assert "order by" in inside or window, match.group()


def test_the_rules_find_what_they_forbid() -> None:
    """The brackets are followed to their end, whatever stands inside."""
    text = "sum(cast(a as double) / (b + 1)) + c"
    assert arguments(text, 4) == "cast(a as double) / (b + 1)"
    assert re.search(ORDERED, "select string_agg(name, ',')")
