"""What a page is made of, and how it becomes one HTML text that asks for nothing from outside."""

from __future__ import annotations

import base64
import hashlib
import shlex
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from ettlog import sink
from ettlog.tables import human, numeric

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from ettlog.tables import Shown

LOOK = "look"
"""Column that holds a command."""
MOST_ROWS = 1000
"""Rows of a table that a page shows; the note below it names the command that gives all."""


class Cell(NamedTuple):
    """One cell: its text, what it is sorted by, whether it is a number, and whether it is a command."""

    text: str
    key: str
    number: bool
    code: bool


class Share(NamedTuple):
    """One piece of a bar of shares: name, colour, percent of the whole."""

    name: str
    colour: str
    percent: float


@dataclass(frozen=True)
class Table:
    """A frame as a table that can be sorted, and filtered where it is long; `folded` shows it on demand."""

    caption: str
    frame: pl.DataFrame
    shown: Sequence[Shown]
    folded: bool = False
    kind: str = "table"

    def columns(self) -> list[Shown]:
        """Return the columns that the frame has and that say anything."""
        frame = self.frame
        there = [item for item in self.shown if item.column in frame.columns]
        return [item for item in there if frame.is_empty() or frame[item.column].null_count() < frame.height]

    def rows(self) -> list[list[Cell]]:
        """Return the cells of the first `MOST_ROWS` rows."""
        columns = self.columns()
        lines = self.frame.head(MOST_ROWS).select([item.column for item in columns]).iter_rows()
        return [[_cell(value, item) for value, item in zip(line, columns, strict=True)] for line in lines]

    def hidden(self) -> int:
        """Return how many rows are not shown."""
        return max(0, self.frame.height - MOST_ROWS)


@dataclass(frozen=True)
class Picture:
    """A picture as SVG text made by `plot.svg`, with its caption; `folded` shows it on demand."""

    caption: str
    svg: str
    legend: bool = False
    folded: bool = False
    kind: str = "picture"


@dataclass(frozen=True)
class Bar:
    """One bar of shares that add up to 100 percent."""

    caption: str
    shares: Sequence[Share]
    kind: str = "bar"


@dataclass(frozen=True)
class Tiles:
    """Single numbers, each with a label and a remark."""

    tiles: Sequence[tuple[str, str, str]]
    kind: str = "tiles"


@dataclass(frozen=True)
class Notes:
    """Sentences; `level` is `note`, or `missing` for what is not there and what would make it possible."""

    lines: Sequence[str]
    level: str = "note"
    kind: str = "notes"


Block = Table | Picture | Bar | Tiles | Notes


@dataclass(frozen=True)
class Section:
    """One part of the page: a title, its blocks, the command that gives the same, and how it is counted."""

    ident: str
    title: str
    blocks: Sequence[Block]
    command: str = ""
    counted: Sequence[str] = field(default=())


@dataclass(frozen=True)
class Page:
    """The whole page."""

    title: str
    lines: Sequence[str]
    sections: Sequence[Section]
    legend: Sequence[tuple[str, str]] = field(default=())
    """Component and colour."""


def render(page: Page) -> str:
    """Return a page as HTML; all text is escaped, and its policy allows no script but the page's own."""
    import jinja2

    env = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    env.filters["said"] = sink.display
    env.tests["number"] = numeric
    script = _file("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    text: str = env.from_string(_file("page.html")).render(
        page=page, style=_file("page.css"), script=script, digest=digest
    )
    return text


@cache
def _file(name: str) -> str:
    return (files("ettlog.report") / name).read_text(encoding="utf-8").rstrip("\n")


def looked(frame: pl.DataFrame, row: str) -> pl.DataFrame:
    """Return a frame with the column `look`: the command that explains what the column `row` names."""
    import polars as pl

    said = [None if name is None else shlex.join(["ettlog", "explain", name]) for name in frame[row]]
    return frame.with_columns(pl.Series(LOOK, said, dtype=pl.String))


def _cell(value: object, item: Shown) -> Cell:
    number = numeric(item.kind)
    key = "" if not number or value is None else f"{float(value):.9g}"  # type: ignore[arg-type]
    return Cell(human(value, item.kind), key, number, item.column == LOOK and value is not None)
