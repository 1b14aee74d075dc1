"""Proposed rollouts as the text of an optimizations.toml, each with what speaks for it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from ettlog import sink

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

HEAD = """\
# Proposed by `ettlog rollouts` from the logs; nobody has confirmed any of it. Read each proposal, name who did what,
# take out what is no optimization, and save the rest as optimizations.toml beside the logs.
"""


def toml(frame: pl.DataFrame) -> str:
    """Return proposals (the columns of `rollouts.PROPOSAL`) as a registry that `ettlog.registry` reads."""
    blocks = [_block(rows) for rows in _by_name(frame)]
    return "\n".join([HEAD, *blocks]) if blocks else HEAD + "# There is nothing to propose.\n"


def _by_name(frame: pl.DataFrame) -> Iterator[list[dict[str, Any]]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in frame.iter_rows(named=True):
        groups.setdefault(row["name"], []).append(row)
    yield from groups.values()


def _block(rows: list[dict[str, Any]]) -> str:
    first = rows[0]
    lines = [
        f"# {first['found_by']}",
        "[[optimization]]",
        f"name = {_text(first['name'])}",
        f"owner = {_text(first['owner'])}",
        f"parts = [{', '.join(_text(part) for part in first['parts'])}]",
        "rollouts = [",
        *(f"  {_rollout(row)}  # {_why(row)}" for row in rows),
        "]",
    ]
    return "\n".join(lines) + "\n"


def _rollout(row: dict[str, Any]) -> str:
    platform = f"platform = {_text(_plain(row['platform']))}, " if row["platform"] else ""
    return f"{{ model = {_text(_plain(row['model']))}, {platform}since = {row['since']:%Y-%m-%dT%H:%M:%SZ} }},"


def _why(row: dict[str, Any]) -> str:
    if row["unit"] == "s per start":
        change = f"{row['before']:,.1f} -> {row['after']:,.1f} s per start"
    else:
        change = f"{100 * row['before']:.0f} -> {100 * row['after']:.0f} % of starts"
    counts = f"{row['starts_before']} starts before, {row['starts_after']} after"
    seen = f"; first at {sink.display(row['evidence'])}" if row["evidence"] else ""
    return f"{change}; {counts}{seen}"


def _plain(name: str) -> str:
    """Return a name as the glob that means it and nothing else."""
    return re.sub(r"([*?\[])", r"[\1]", name)


def _text(value: str) -> str:
    """Return a TOML basic string: JSON's escapes are TOML's."""
    return json.dumps(value, ensure_ascii=True).replace("\x7f", "\\u007f")
