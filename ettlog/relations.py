"""The relations as they are written: one `.sql` file each, with its sentences and what it needs."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

SQL_FOLDER = Path(__file__).parent / "sql"

_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_HEAD = re.compile(r"-- (\w+): (.*)")


class Relation(NamedTuple):
    """One `.sql` file: a relation, or a check that passes when it returns no row."""

    name: str
    sentence: str
    needs: tuple[str, ...]
    level: str
    """Of a check: `error` (the tool is wrong) or `warning` (the evidence is thin). Empty for a relation."""
    columns: dict[str, str]
    query: str
    todo: str = ""
    """Of a check: what to do about a finding."""


def read_relation(path: Path) -> Relation:
    """Return the relation of a `.sql` file: a sentence, what it needs, a sentence for each column, a query."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    notes = {match[1]: match[2] for line in lines[1:] if (match := _HEAD.fullmatch(line))}
    needs = tuple(part.strip() for part in notes.pop("needs", "").split(",") if part.strip())
    level, todo = notes.pop("level", ""), notes.pop("todo", "")
    return Relation(path.stem, lines[0].removeprefix("-- "), needs, level, notes, text, todo)


@lru_cache(maxsize=1)
def relations() -> dict[str, Relation]:
    """Return every relation by name; names with a leading underscore are steps between the public ones."""
    return {path.stem: read_relation(path) for path in sorted(SQL_FOLDER.glob("*.sql"))}


@lru_cache(maxsize=1)
def checks() -> dict[str, Relation]:
    """Return every check by name."""
    return {path.stem: read_relation(path) for path in sorted((SQL_FOLDER / "check").glob("*.sql"))}


def words(query: str) -> set[str]:
    """Return the words of a query, in lower case."""
    return {word.lower() for word in _WORD.findall(query)}


def named(query: str) -> list[str]:
    """Return the relations whose names occur in a query: a few too many do no harm."""
    found = words(query)
    return [name for name in relations() if name in found]


SMALL = 20_000
"""Most rows of a relation that is held as a frame once it was asked for: an answer asks for the same several times."""


class Frames(dict[str, "pl.DataFrame"]):
    """Small relations as the frames that they were asked for."""

    def of(self, name: str, make: Callable[[], pl.DataFrame]) -> pl.DataFrame:
        """Return the frame of a relation, made where it is not held; what is done to it changes no other one."""
        frame = self.get(name)
        if frame is None:
            frame = make()
            if frame.height <= SMALL:
                self[name] = frame
        return frame.clone()
