"""Small tables and sentences as HTML, for notebooks: every text is escaped, nothing is loaded, and no style leaks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from ettlog import sink

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_CELL = "padding:2px 10px 2px 0;white-space:nowrap;text-align:"


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[bool]) -> str:
    """Return rows of texts as an HTML table; columns of which `right` is true are set to the right."""
    sides = [f"{_CELL}{'right' if one else 'left'}" for one in right]
    head = _row("th", titles, sides)
    body = "".join(_row("td", row, sides) for row in rows)
    return f'<table style="font-variant-numeric:tabular-nums"><thead>{head}</thead><tbody>{body}</tbody></table>'


def paragraphs(lines: Iterable[str]) -> str:
    """Return sentences as HTML paragraphs."""
    return "".join(f'<p style="margin:2px 0">{_said(line)}</p>' for line in lines)


def _row(tag: str, cells: Sequence[str], sides: Sequence[str]) -> str:
    pairs = zip(cells, sides, strict=True)
    return "<tr>" + "".join(f'<{tag} style="{side}">{_said(cell)}</{tag}>' for cell, side in pairs) + "</tr>"


def _said(text: str) -> str:
    return escape(sink.display(text))
