"""Long tables of short texts, laid out as rich does it, in a hundredth of the time: a fleet has thousands of files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MANY = 200
"""Rows beyond which the time of rich, a millisecond each, is felt."""


def fits(rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether a table is long, and no cell of it holds what takes more than one line or moves the cursor."""
    return len(rows) > MANY and all(cell.isprintable() for row in rows for cell in row)


def lines(titles: Sequence[str], right: Sequence[bool], rows: Sequence[Sequence[str]], gap: int) -> Iterator[str]:
    """Yield the line of titles and a line for each row; columns of which `right` is true are set to the right.

    Widths are those of a terminal, where some characters take two places and some none.
    """
    from rich.cells import cell_len

    sized = [[len(cell) if cell.isascii() else cell_len(cell) for cell in row] for row in (titles, *rows)]
    widths = [max(column) for column in zip(*sized, strict=True)]
    for row, sizes in zip((titles, *rows), sized, strict=True):
        cells = zip(row, sizes, widths, right, strict=True)
        padded = (" " * (width - size) + cell if to else cell + " " * (width - size) for cell, size, width, to in cells)
        yield (" " * gap).join(padded).rstrip()
