"""Accounting as CSV with quotes, as spreadsheets and data frames write it again: `sacct` itself quotes nothing."""

from __future__ import annotations

import csv
from typing import NamedTuple

from ettlog.parse.sacct_lines import Layout, of_names

DELIMITER = b"\x1f"


class Quoted(NamedTuple):
    """The layout of the lines of a CSV once their quotes are taken away."""

    layout: Layout

    def cut(self, lines: list[bytes]) -> list[bytes]:
        """Return lines with another delimiter between their values; what is no CSV stays as it is."""
        return [_cut(line) for line in lines]


def find(head: bytes) -> Quoted | None:
    """Return the layout of a file that is sacct's by its first ten lines and has quotes, or None."""
    if b'"' not in head or b"," not in head:
        return None
    for line in head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 11)[:10]:
        names = _cells(line.rstrip(b"\r"))
        if names is not None and (layout := of_names(names, DELIMITER, DELIMITER.join(names))) is not None:
            return Quoted(layout)
    return None


def _cut(line: bytes) -> bytes:
    cells = _cells(line.removeprefix(b"\xef\xbb\xbf"))
    return line if cells is None else DELIMITER.join(cells)


def _cells(line: bytes) -> list[bytes] | None:
    """Return the values of a line, without the blanks around them; None where a quote is not closed."""
    if b'"' not in line:
        return [cell.strip() for cell in line.split(b",")]
    text = line.decode("utf-8", "surrogateescape")
    try:
        (cells,) = csv.reader([text], strict=True)
    except (csv.Error, ValueError):
        return None
    return [cell.strip().encode("utf-8", "surrogateescape") for cell in cells]
