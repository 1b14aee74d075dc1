"""Relations over many step lines, made portion by portion of the jobs: their memory does not grow with the fleet.

Nothing that rests on step lines says anything of a job that another job could change: the relations before them bring
the jobs together and number their starts. So the rows of the portions are those of the whole, whatever the portions.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ettlog import database, fact_files, facts, renewal, seams, shifts, splice
from ettlog.relations import relations
from ettlog.sink import ident

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from duckdb import DuckDBPyConnection

    from ettlog.fleet import Fleet
    from ettlog.kept import Index
    from ettlog.splice import Carried

LINES = "_walk"
"""The relation that reads every step line."""
BYTES_PER_LINE = 700
"""What DuckDB holds of a step line while it makes the relations that have a row for each."""
FEWEST, MOST = 250_000, 2_000_000
"""Step lines of a portion: fewer do not repay its statements, of more the sorts leave the cache."""


@lru_cache(maxsize=1)
def behind() -> frozenset[str]:
    """Return the relations that rest on step lines, line by line."""
    every = relations()
    found = {LINES}
    while more := {name for name, each in every.items() if found & {*each.needs}} - found:
        found |= more
    return frozenset(found)


@lru_cache(maxsize=1)
def inputs() -> tuple[str, ...]:
    """Return what these need of all else: relations, facts and vocabulary."""
    needs = {need for name in behind() for need in relations()[name].needs}
    return tuple(sorted(needs - behind()))


def lines(memory_mib: int) -> int:
    """Return how many step lines a portion holds where the database may hold so much memory: it gets half of it."""
    return min(max((memory_mib << 19) // BYTES_PER_LINE, FEWEST), MOST)


def assemble(
    fleet: Fleet, names: Iterable[str], most: int | None = None, earlier: Index | None = None
) -> Carried | None:
    """Compute relations: those behind the step lines in portions of at most `most` lines, or of one job.

    Of jobs that are what they were in `earlier`, kept relations of other sources, the rows are taken from there: of
    those relations that are returned, only the other rows are there yet.
    """
    names = tuple(names)
    most = most or lines(fleet.memory_mib)
    if _few(fleet, most) and earlier is None:
        fleet.assemble(names)
        return None
    wanted = [name for name in names if name in behind()]
    needed = _needed(fleet)
    known = earlier if earlier and renewal.begin(fleet, earlier, wanted, needed) else None
    fleet.assemble([*(name for name in names if name not in behind()), *needed, "_launch", "_held"])
    fleet.connection.execute(_EVERY)
    carried = renewal.carry(fleet, known, wanted) if known else None
    later = [*carried.files] if carried else []
    if carried:
        splice.begin(fleet.connection, carried)
    here = [name for name in wanted if name not in later]
    for part in _parts(fleet, most, needed):
        part.assemble(wanted)
        for name in here:
            fleet.add(name, part)
        for name in later:
            rows = part.connection.table(name).to_arrow_table()
            database.add(fleet.connection, splice.NEW + name, part.shape(name), rows)
    fleet.assemble(here)  # where nothing changed, or no job is there
    return carried


def parts(fleet: Fleet, most: int | None = None) -> Iterator[Fleet]:
    """Yield fleets over portions of the jobs, each with what lies behind their step lines, and closed behind its turn.

    The fleet itself is yielded where its step lines are few, or an engine holds them.
    """
    most = most or lines(fleet.memory_mib)
    if fleet.lake is None or getattr(fleet, "engine", None) or _few(fleet, most):
        yield fleet
        return
    needed = _needed(fleet)
    fleet.assemble([*needed, "_launch", "_held"])
    fleet.connection.execute(_EVERY)
    yield from _parts(fleet, most, needed)


_EVERY = "CREATE TEMP TABLE every AS SELECT job FROM launch UNION SELECT job FROM _held"


def _few(fleet: Fleet, most: int) -> bool:
    listed = fleet.lake.state.listed() if fleet.lake else ()
    return fleet.lake is not None and sum(file.rows for name, _, file in listed if name == "step") <= most


def _needed(fleet: Fleet) -> list[str]:
    vocabulary = facts.vocabulary(fleet.config)
    return [name for name in inputs() if name not in vocabulary]


def _parts(fleet: Fleet, most: int, needed: Iterable[str]) -> Iterator[Fleet]:
    """Yield a fleet for each portion of the jobs in `every`, and drop that table at the end."""
    files = fleet.lake.names("step") if fleet.lake else {}
    # of one database, each with tables of its own: a database of its own would be given its memory page by page again
    base = _database(fleet)
    try:
        for number in _deal(fleet, most):
            part = _part(fleet, base.cursor(), number, needed, files)
            try:
                yield part
            finally:
                part.connection.close()
    finally:  # whoever breaks off may ask again
        base.close()
        fleet.connection.execute("DROP TABLE IF EXISTS portion; DROP TABLE IF EXISTS every")


_DEAL = """
CREATE TEMP TABLE portion AS
WITH size AS (
  SELECT l.job, sum(f.step_lines) AS lines
  FROM launch AS l JOIN _launch AS f ON f.stream = l.stream AND f.launch = l.launch GROUP BY l.job
)
SELECT e.job,
  CAST((sum(coalesce(s.lines, 0) + 1) OVER (ORDER BY e.job ROWS UNBOUNDED PRECEDING) - 1) // $most AS BIGINT) AS number
FROM every AS e LEFT JOIN size AS s ON s.job = e.job
"""


_MINE = "(SELECT job FROM portion WHERE number = $number)"
_KEYS = " FROM _stream AS s JOIN launch AS l ON l.stream = s.stream WHERE l.job IN " + _MINE


def _deal(fleet: Fleet, most: int) -> list[int]:
    """Deal the jobs, in the order of their names, to portions, and return the numbers of those."""
    fleet.connection.execute(_DEAL, {"most": most})
    rows = fleet.connection.execute("SELECT DISTINCT number FROM portion ORDER BY number").fetchall()
    return [number for (number,) in rows]


def _database(fleet: Fleet) -> DuckDBPyConnection:
    place = fleet.lake.path if fleet.lake else None
    spill = fleet.config.text("limits.spill") if fleet.config else None
    most = (fleet.config.number("limits.spill_size") if fleet.config else None) or database.SPILL_MIB
    return database.connect(place, memory_mib=fleet.memory_mib // 2, spill=spill, spill_mib=most)


def _part(fleet: Fleet, con: DuckDBPyConnection, number: int, needed: Iterable[str], files: Mapping[str, str]) -> Fleet:
    """Return a fleet over the jobs of one portion, with all that relations behind step lines need, in `con`.

    `files` are those of the step lines of all sources, by key.
    """
    for name in needed:
        if name == "step" and fleet.lake:
            keys = fleet.connection.execute("SELECT DISTINCT key" + _KEYS, {"number": number}).fetchall()
            mine = [files[key] for (key,) in sorted(keys) if key in files]
            fact_files.view(con, name, mine, copied=False, alike=fleet.lake.alike)  # they are read once
            shifts.again(fleet.connection, con, name)
            seams.again(fleet.connection, con, name)
            continue
        shape = fleet.shape(name)
        where = "WHERE job IN " + _MINE if "job" in shape else "WHERE key IN (SELECT key" + _KEYS + ")"
        query = "SELECT * FROM " + ident(name) + (where if "job" in shape or name == "step" else "")
        params = {"number": number} if "$number" in query else None
        database.copy_in(con, name, shape, fleet.connection.sql(query, params=params).to_arrow_table())
    return type(fleet)(con, fleet.config, fleet.lake, {*needed})
