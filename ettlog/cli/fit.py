"""Make a table fit a terminal: fold titles, shorten long texts, leave out the least telling columns and say which."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from ettlog.tables import numeric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ettlog.tables import Shown

    Rows = list[list[str]]

GAP = 2
"""Blanks between two columns."""
LEAST, LEAST_PATH = 14, 26
"""Characters that a text, and a path or `path:line`, keeps at least."""
WHOLE = ("stamp", "day")
"""Kinds of text that are not cut."""
PROSE = 3
"""Blanks from which on a text is prose."""
SPARE = (
    "gpus", "allocated", "inferred", "clock", "cluster", "pattern", "format", "ett_formula", "residual", "platform",
    "unknown_share", "shutdown_share", "preemptions", "stage", "executions", "shrunk", "planned", "open", "first_at",
    "named", "component", "note", "resumed_from", "allocation", "new_steps", "scheduling_share", "compilation_share",
    "mttf_low_hours", "mttf_high_hours", "starts", "jobs", "end_at", "kind", "failures", "owner", "launched_at",
    "matched", "ignored", "saved_work_gpu_hours", "saved_wall_gpu_hours", "method",
)  # fmt: skip
"""Columns that leave a narrow terminal before all others, in this order; then those on the right go."""
LAST = ("ett", "trend", "end_state", "points", "saved_gpu_hours", "evidence", "unmatched", "lost", "detail", "worth")
"""Columns that stay while others can go."""


def fitted(columns: Sequence[Shown], rows: Rows, width: int) -> tuple[list[Shown], Rows, list[str]]:
    """Return columns and rows that need at most `width` characters, and the titles of columns that were left out.

    Numbers are never cut; prose is folded, another text loses its middle, a path its beginning. The first column stays.
    """
    kept = list(range(len(columns)))
    while len(kept) > 1 and not _fits([_least(columns[at], _cells(rows, at)) for at in kept], width):
        kept.remove(_next_out(columns, kept))
    chosen = [columns[at] for at in kept]
    cells = [_cells(rows, at) for at in kept]
    widths = _narrowed(chosen, cells, width)
    titles = _level([folded(item.title, size) for item, size in zip(chosen, widths, strict=True)])
    shown = [item._replace(title=title) for item, title in zip(chosen, titles, strict=True)]
    cut = [[shortened(cell, size) for cell in column] for column, size in zip(cells, widths, strict=True)]
    left = [item.title for at, item in enumerate(columns) if at not in kept]
    return shown, [list(row) for row in zip(*cut, strict=True)], left


def folded(title: str, width: int) -> str:
    """Return a title on as many lines as it needs in `width` characters; words are not broken."""
    return "\n".join(textwrap.wrap(title, max(width, 1), break_long_words=False, break_on_hyphens=False)) or title


def shortened(text: str, width: int) -> str:
    """Return a text in `width` characters: prose on several lines; `…` stands for the beginning of a path without its
    remark, or for the middle of a name.
    """
    if len(text) <= width:
        return text
    if _path(text):
        text = text.partition(" (")[0]
        return text if len(text) <= width else "…" + text[len(text) - width + 1 :]
    if text.count(" ") >= PROSE:
        return folded(text, width)
    head = (width - 1) // 2
    return text[:head] + "…" + text[len(text) - (width - 1 - head) :]


def wrapped(line: str, width: int) -> str:
    """Return a sentence on lines of at most `width` characters, those after the first set in by two."""
    return textwrap.fill(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _path(text: str) -> bool:
    return "/" in text.partition(" ")[0]


def _level(titles: Sequence[str]) -> list[str]:
    """Return titles of several lines with blank lines above the shorter ones, so that all end on one line."""
    most = max((title.count("\n") for title in titles), default=0)
    return ["\n" * (most - title.count("\n")) + title for title in titles]


def _cells(rows: Rows, at: int) -> list[str]:
    return [row[at] for row in rows]


def _fits(widths: Sequence[int], width: int) -> bool:
    return sum(widths) + GAP * (len(widths) - 1) <= width


def _natural(cells: Sequence[str]) -> int:
    return max(map(len, cells), default=0)


def _title(item: Shown) -> int:
    return max(map(len, item.title.split()), default=0)


def _least(item: Shown, cells: Sequence[str]) -> int:
    """Return the least width of a column: that of its numbers, or what a text keeps."""
    floor = LEAST_PATH if any(map(_path, cells)) else LEAST
    whole = numeric(item.kind) or item.kind in WHOLE or item.column == "trend"
    kept = _natural(cells) if whole else min(_natural(cells), floor)
    return max(kept, _title(item))


def _next_out(columns: Sequence[Shown], kept: Sequence[int]) -> int:
    named = [at for name in SPARE for at in kept[1:] if columns[at].column == name]
    others = [at for at in reversed(kept[1:]) if columns[at].column not in LAST]
    return [*named, *others, kept[-1]][0]


def _narrowed(columns: Sequence[Shown], cells: Sequence[Sequence[str]], width: int) -> list[int]:
    """Return the width of each column: first titles fold, then the widest text gives until the table fits."""
    natural = [_natural(column) for column in cells]
    whole = [max(size, len(item.title)) for size, item in zip(natural, columns, strict=True)]
    if _fits(whole, width):
        return whole
    sizes = [max(size, _title(item)) for size, item in zip(natural, columns, strict=True)]
    least = [_least(item, column) for item, column in zip(columns, cells, strict=True)]
    while not _fits(sizes, width):
        room = [size - low for size, low in zip(sizes, least, strict=True)]
        if max(room) <= 0:
            break
        widest = max((at for at in range(len(sizes)) if room[at] > 0), key=lambda at: sizes[at])
        sizes[widest] -= 1
    return sizes
