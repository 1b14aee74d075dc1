"""Stamps that are years from all others of their log: a clock was reset, or a digit is wrong, and no job lasts so long.

They are no instants then: such a line has that of its neighbours, as one without a stamp has.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from ettlog.shifts import FIRST, HOUR, LAST, Shift

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    import duckdb

FAR = 5 * 365 * 24 * HOUR
"""No log is silent for so long and goes on."""
VERDICT = "not believed"
"""What ends the sentence about a log with such stamps."""


class Stray(NamedTuple):
    """A log of which some stamps are far from all others."""

    key: str
    path: str
    clock: str | None
    low_us: int
    """From here its stamps are believed."""
    high_us: int
    """And up to here."""
    said: str

    def shifts(self) -> list[Shift]:
        """Return what takes their instants from all other lines."""
        edges = ((FIRST, self.low_us), (self.high_us, LAST))
        return [Shift(self.key, begin, end, None, assumed=False) for begin, end in edges]

    def only(self, shifts: Iterable[Shift]) -> Iterator[Shift]:
        """Yield shifts, those of this log for the stamps that are believed."""
        for one in shifts:
            if one.key != self.key:
                yield one
            elif one.begin_us < self.high_us and one.end_us > self.low_us:
                edges = max(one.begin_us, self.low_us), min(one.end_us, self.high_us)
                yield one._replace(begin_us=edges[0], end_us=edges[1])


_LONG = "SELECT key, path, clock FROM source_fact WHERE last_us - first_us > $far ORDER BY path"
_TIMES = """
WITH stamp AS (
  SELECT key, ts FROM event WHERE list_contains($keys, key) AND ts IS NOT NULL AND clock NOT IN ('carried', 'none')
  UNION ALL
  SELECT key, ts FROM step WHERE list_contains($keys, key) AND ts IS NOT NULL AND clock NOT IN ('carried', 'none')
),
far AS (
  SELECT key, ts, CASE WHEN ts - lag(ts) OVER (PARTITION BY key ORDER BY ts) > $far THEN 1 ELSE 0 END AS far FROM stamp
),
part AS (SELECT key, ts, sum(far) OVER (PARTITION BY key ORDER BY ts ROWS UNBOUNDED PRECEDING) AS no FROM far)
SELECT key, min(ts), max(ts), count(*) FROM part GROUP BY key, no ORDER BY key, no
"""
_KNOWN = """
UPDATE source_fact SET
  first_us = CASE WHEN first_us >= $low THEN first_us ELSE $first END,
  last_us = CASE WHEN last_us < $high THEN last_us ELSE $last END
WHERE key = $key
"""


def find(con: duckdb.DuckDBPyConnection, records: Collection[str]) -> list[Stray]:
    """Return the logs with such stamps, by path; `source_fact` gets first and last instant of the others.

    Of stretches that lie years apart the one with most stamps is believed, and of equal ones the later, for a clock
    that lost its time goes back. `records` are the keys of records, whose instants are a scheduler's.
    """
    rows = con.execute(_LONG, {"far": FAR}).fetchall()
    logs = {key: (path, clock) for key, path, clock in rows if key not in records}
    if not logs:
        return []
    found = []
    for key, group in groupby(con.execute(_TIMES, {"keys": [*logs], "far": FAR}).fetchall(), key=lambda row: row[0]):
        parts = [(count, first, last) for _, first, last, count in group]
        if len(parts) > 1:
            count, first, last = max(parts)
            low, high = first - FAR, last + FAR
            con.execute(_KNOWN, {"key": key, "low": low, "high": high, "first": first, "last": last})
            lost = sum(part[0] for part in parts) - count
            said = f"{lost:,} of {lost + count:,} stamps lie years from all others, and are {VERDICT}"
            found.append(Stray(key, *logs[key], low, high, said))
    return sorted(found, key=lambda stray: stray.path)
