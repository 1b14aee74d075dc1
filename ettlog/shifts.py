"""Shifts of instants: of zones with their changes of clocks, and how they stand between the lake and the relations."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

from ettlog.sink import ident

if TYPE_CHECKING:
    import duckdb

SECOND = 1_000_000
HOUR = 3600 * SECOND
READ = "_read"
"""Behind the name of a fact table below its shifts."""
FIRST, LAST = -(1 << 62), 1 << 62
"""Instants before and behind all others."""


class Shift(NamedTuple):
    """What is added to instants of a source in [begin, end); of all clocks, or of assumed zones only, that is of stamps
    without a zone, whether or not they lack the year too. Shifted by None they are no instants."""

    key: str
    begin_us: int
    end_us: int
    shift_us: int | None
    assumed: bool


def at(zone: str, local: datetime) -> int:
    """Return the offset from UTC of a local time, in microseconds."""
    offset = local.replace(tzinfo=_zone(zone)).utcoffset()
    return round((offset or timedelta()).total_seconds()) * SECOND


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def of_zone(key: str, zone: str, first_us: int | None, last_us: int | None) -> Iterator[Shift]:
    """Yield the shifts that make UTC of local times of a zone, one for each stretch between changes of its clocks."""
    day = 24 * HOUR
    begin, end = (first_us or 0) - 2 * day, (last_us or 0) + 2 * day
    edge, at = FIRST, begin
    offset = _at_utc(zone, at)
    while at < end:
        after = _at_utc(zone, at + day)
        if after != offset:
            change = _change(zone, at, at + day)
            # of an hour that comes twice the first reading is taken
            yield Shift(key, edge, change + max(offset, after), -offset, assumed=True)
            edge, offset = change + max(offset, after), after
        at += day
    yield Shift(key, edge, LAST, -offset, assumed=True)


def _at_utc(zone: str, us: int) -> int:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)
    offset = moment.astimezone(_zone(zone)).utcoffset()
    return round((offset or timedelta()).total_seconds()) * SECOND


def _change(zone: str, low: int, high: int) -> int:
    """Return the instant between two others from which the later offset holds, to the second."""
    before = _at_utc(zone, low)
    while high - low > SECOND:
        middle = low + (high - low) // (2 * SECOND) * SECOND
        low, high = (middle, high) if _at_utc(zone, middle) == before else (low, middle)
    return high


_TABLE = """
CREATE TEMP TABLE shift_fact (key VARCHAR, begin_us BIGINT, end_us BIGINT, shift_us BIGINT, assumed BOOLEAN)
"""
_CLOCK = (
    "CASE WHEN f.key IS NOT NULL AND f.shift_us IS NULL THEN 'none' "
    "WHEN f.assumed AND r.clock = 'zone_assumed' THEN 'zone_inferred' ELSE r.clock END AS clock"
)
_ON = """
ON f.key = r.key AND {at} >= f.begin_us AND {at} < f.end_us
  AND (NOT f.assumed OR coalesce(r.clock, 'zone_assumed') IN ('zone_assumed', 'carried', 'date_inferred'))
"""
_LINES = "SELECT r.* REPLACE (CASE WHEN f.key IS NULL THEN r.ts ELSE r.ts + f.shift_us END AS ts, " + _CLOCK + ") FROM "
_ALLOC = (
    """
CREATE TEMP VIEW alloc AS SELECT r.* REPLACE (r.submit_us + coalesce(f.shift_us, 0) AS submit_us,
  r.eligible_us + coalesce(f.shift_us, 0) AS eligible_us, r.start_us + coalesce(f.shift_us, 0) AS start_us,
  r.ready_us + coalesce(f.shift_us, 0) AS ready_us, r.end_us + coalesce(f.shift_us, 0) AS end_us, """
    + _CLOCK
    + ") FROM alloc_read AS r LEFT JOIN shift_fact AS f "
    + _ON.replace("{at}", "coalesce(r.submit_us, r.start_us, r.eligible_us, r.end_us, 0)")
)
_SOURCE = (
    """
CREATE TEMP VIEW source_fact AS SELECT r.* REPLACE (r.first_us + coalesce(f.shift_us, 0) AS first_us,
  r.last_us + coalesce(f.shift_us, 0) AS last_us, """
    + _CLOCK
    + ") FROM source_fact_read AS r LEFT JOIN shift_fact AS f "
    + _ON.replace("{at}", "coalesce(r.first_us, 0)")
)
_EVENT = (
    "CREATE TEMP VIEW event AS " + _LINES + "event_read AS r LEFT JOIN shift_fact AS f " + _ON.replace("{at}", "r.ts")
)
_STEP = "CREATE TEMP VIEW step AS " + _LINES + "step_read AS r LEFT JOIN shift_fact AS f " + _ON.replace("{at}", "r.ts")
VIEWS = {"event": _EVENT, "step": _STEP, "alloc": _ALLOC, "source_fact": _SOURCE}
"""The fact tables with the shifts added to their instants; their clocks say that a zone was inferred."""


def apply(con: duckdb.DuckDBPyConnection, shifts: list[Shift]) -> None:
    """Put views that add the shifts in the place of the fact tables."""
    con.execute(_TABLE)
    con.executemany("INSERT INTO shift_fact VALUES (?, ?, ?, ?, ?)", [list(shift) for shift in shifts])
    for table in VIEWS:
        _replace(con, table)


def _replace(con: duckdb.DuckDBPyConnection, table: str) -> None:
    kind = con.execute("SELECT table_type FROM information_schema.tables WHERE table_name = ?", [table]).fetchall()
    con.execute(f"ALTER {'VIEW' if kind[0][0] == 'VIEW' else 'TABLE'} {ident(table)} RENAME TO {ident(table + READ)}")
    con.execute(VIEWS[table])


def again(whole: duckdb.DuckDBPyConnection, con: duckdb.DuckDBPyConnection, table: str) -> None:
    """Put the view that adds the shifts of another database in the place of one fact table."""
    if not whole.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'shift_fact'").fetchall():
        return
    con.execute(_TABLE)
    con.from_arrow(whole.table("shift_fact").to_arrow_table()).insert_into("shift_fact")
    _replace(con, table)
