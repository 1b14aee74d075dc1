"""Steps and undated lines of one block in few bytes: readers of ranges hold hundreds of these, and send them."""

from __future__ import annotations

from typing import NamedTuple

from ettlog.parse.chunks import Columns, Narrow, narrow, widened
from ettlog.parse.facts import Steps, Undated


class Folded(NamedTuple):
    """Steps or undated lines of one block in few bytes: hundreds of these are held, and sent."""

    rows: int
    columns: tuple[Narrow, ...]
    steps: bool
    """They are steps, not undated lines."""

    def unfolded(self) -> Steps | Undated:
        """Return them as they came."""
        columns = [widened(column, self.rows) for column in self.columns]
        if not self.steps:
            return Undated(*columns)
        line, ts, clock, pattern, *values = columns
        return Steps(line, ts, clock, pattern, tuple(values))


def folded(found: Steps | Undated) -> Folded:
    """Return steps or undated lines of one block in few bytes."""
    columns: Columns = (*found[:-1], *found.values) if isinstance(found, Steps) else found
    return Folded(len(found.line), tuple(map(narrow, columns)), isinstance(found, Steps))
