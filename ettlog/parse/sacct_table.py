"""`sacct` as people print it: columns of fixed widths over a row of dashes, values that are too long cut with a `+`."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from ettlog.parse.sacct_lines import KNOWN, Layout

DELIMITER = b"\x1f"
STATES = (
    b"BOOT_FAIL", b"CANCELLED", b"COMPLETED", b"COMPLETING", b"DEADLINE", b"FAILED", b"NODE_FAIL", b"OUT_OF_MEMORY",
    b"PENDING", b"PREEMPTED", b"REQUEUED", b"RESIZING", b"REVOKED", b"RUNNING", b"SUSPENDED", b"TIMEOUT",
)  # fmt: skip
"""States that a narrow column cuts."""
_DASHES = re.compile(rb"-+(?: +-+)*\s*\Z")


class Table(NamedTuple):
    """Where the columns of a table stand, and the layout of its lines once they are cut."""

    layout: Layout
    spans: tuple[tuple[int, int], ...]

    def cut(self, lines: list[bytes]) -> list[bytes]:
        """Return lines with a delimiter between their values; the row of dashes becomes a blank line."""
        return [self._line(line) for line in lines]

    def _line(self, line: bytes) -> bytes:
        if not line.strip() or _DASHES.match(line):
            return b""
        cells = [line[begin:end].strip() for begin, end in self.spans]
        return DELIMITER.join(map(_value, self.layout.fields, cells))


def find(head: bytes) -> Table | None:
    """Return the table that a file begins with, within its first ten lines, or None."""
    lines = [line.rstrip(b"\r") for line in head.split(b"\n", 11)[:11]]
    for names, dashes in pairwise(lines):
        if not _DASHES.match(dashes) or b"jobid" not in names.lower():
            continue
        spans = tuple(found.span() for found in re.finditer(rb"-+", dashes))
        fields = tuple(names[begin:end].strip().decode("ascii", "replace").lower() for begin, end in spans)
        if "jobid" in fields and sum(name in KNOWN for name in fields) >= 0.6 * len(fields):
            header = DELIMITER.join(names[begin:end].strip() for begin, end in spans)
            return Table(Layout(fields, DELIMITER, False, header), spans)
    return None


def _value(field: str, cell: bytes) -> bytes:
    """Return a value as it was before it was cut, where that is known; resources that were cut say nothing."""
    if not cell.endswith(b"+"):
        return cell
    if field == "state":
        whole = [state for state in STATES if state.startswith(cell[:-1])]
        return whole[0] if len(whole) == 1 else cell[:-1]
    if field in ("jobid", "jobidraw"):
        return cell[:-1]
    return b"" if "tres" in field or "gres" in field else cell
