"""Kept relations renewed: of jobs that new sources do not touch, the rows behind the step lines stay what they were.

What the relations behind the step lines read of a job is compared with what they read before, row by row. Where it is
the same, and so are settings, SQL and engine, their rows are the same; starts alone are numbered anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettlog import database, fact_files, strays
from ettlog.lifecycle import COMPILATION
from ettlog.sink import ident

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ettlog.fleet import Fleet
    from ettlog.kept import Index

OF_JOB = ("launch", "mark", "_placed", "_held", "_lone", "_adrift", COMPILATION)
"""What they read that has a column `job`; one relation bears the name of a component."""
READ = (*OF_JOB, "_stream", "_again", "_stepped", "_ramp", "_ran", "step")
"""All that they read, beside the vocabulary."""
OF_SOURCE = ("_stepped", "_ramp")
"""What is made of the step lines of one source alone."""
FACTS = ("event", "step")
"""What these read."""
EVENTS = "event"
"""The fact table that is kept beside the relations, as one file: a day later the lake has thousands to open."""
KEPT = tuple(sorted({*READ, *OF_SOURCE, "_seam", "source", "skew"} - {"step"}))
"""What must be kept to renew."""
WAS = "was_"
"""Before the name of a table: as it was kept."""


def begin(fleet: Fleet, earlier: Index, wanted: Iterable[str], needed: Iterable[str]) -> bool:
    """Load what is compared, and take the ends of step lines of sources that are still there; False where it cannot be.

    It cannot be where a clock is shifted, or launches are counted otherwise over the files of a log: step lines that
    did not change may then have other instants, or belong to another launch.
    """
    assert fleet.lake is not None
    read = {*KEPT, *wanted}
    if not {*needed} <= {*READ} or not read <= {*earlier.files}:
        return False
    for name in sorted(read):
        path, told = earlier.path(fleet.lake.path, name), earlier.files[name].types
        types = {column: kind for column, kind in told.items() if name != "mark" or column not in _OF_EVENT}
        # what is compared is read several times, the rest once
        bring = fact_files.load if name in KEPT else fact_files.show
        if not bring(fleet.connection, WAS + name, path, types):
            return False
    part = _new(fleet)
    _take_events(fleet, earlier, part)
    fleet.assemble(["skew", "source", "_seam"])
    stays = _stays(fleet)
    if stays:
        _of_sources(fleet, part)
    part.connection.close()
    return stays


def _stays(fleet: Fleet) -> bool:
    """Tell whether no clock is shifted, and launches are counted over the files of a log as they were."""
    shifts = "SELECT shift_us, verdict FROM skew UNION ALL SELECT shift_us, verdict FROM was_skew"
    found = fleet.connection.execute(shifts).fetchall()
    if any(shift is not None or verdict.endswith(strays.VERDICT) for shift, verdict in found):
        return False
    pairs = (("_seam", WAS + "_seam"), (WAS + "_seam", "_seam"))
    differ = ("FROM " + ident(one) + " EXCEPT ALL FROM " + ident(other) for one, other in pairs)
    return not any(fleet.connection.execute(query).fetchall() for query in differ)


def _new(fleet: Fleet) -> Fleet:
    """Return a fleet over the lines of new sources: a source's key is the hash of its content."""
    assert fleet.lake is not None
    before = {key for (key,) in fleet.connection.execute("SELECT key FROM was_source").fetchall()}
    con = database.connect(fleet.lake.path)
    for table in FACTS:
        files = [file for key, file in fleet.lake.names(table).items() if key not in before]
        fact_files.view(con, table, files, copied=False, alike=fleet.lake.alike)
    return type(fleet)(con, fleet.config, fleet.lake, {*FACTS})


def _take_events(fleet: Fleet, earlier: Index, part: Fleet) -> None:
    """Have the events of sources that are still there from the file that is kept of them, those of others from `part`.

    They are what the files of the lake say, clocks and launches as each alone tells them. Where they are too many to be
    held, nothing is done, and those files are opened.
    """
    assert fleet.lake is not None
    file = earlier.files.get(EVENTS)
    if file is None or not fact_files.fits(EVENTS, file.rows, fleet.memory_mib):
        return
    con = fleet.connection
    if fact_files.load(con, EVENTS, earlier.path(fleet.lake.path, EVENTS), file.types):
        gone = "DELETE FROM event WHERE key NOT IN (SELECT unnest(?::VARCHAR[]))"
        con.execute(gone, [[*fleet.lake.state.owners]])
        database.add(con, EVENTS, file.types, part.connection.table(EVENTS).to_arrow_table())
        fleet.held.add(EVENTS)


def _of_sources(fleet: Fleet, part: Fleet) -> None:
    """Make `OF_SOURCE` of what they were and the lines of new sources."""
    part.assemble(OF_SOURCE)
    for name in OF_SOURCE:
        fleet.add(name, part)
    for name in OF_SOURCE:
        kept = " FROM " + WAS + name + " WHERE key IN (SELECT key FROM source)"
        fleet.connection.execute("INSERT INTO " + ident(name) + " SELECT *" + kept)


_FED = """
SELECT DISTINCT l.job, s.key, s.path, s.stream, s.part_no, s.launches_before, s.name
FROM was__stream AS s JOIN was_launch AS l ON l.stream = s.stream
"""
_OF_KEY = ("path", "stream", "part_no")
"""Columns that follow from the key of a source: `_FED` compares them once for each source, not for each event."""
_OF_EVENT = ("rank", "node", "step", "target", "duration_us", "world", "code", "cause", "name")
"""Columns of `mark` that are those of its event: with key and line these follow from the content of the source."""
_AGAIN = """
SELECT DISTINCT l.job, a.*
FROM was__again AS a JOIN was__stream AS s ON s.key = a.key JOIN was_launch AS l ON l.stream = s.stream
"""
_RAN = "SELECT DISTINCT h.job, r.* FROM was__ran AS r JOIN was__held AS h ON h.raw = r.raw"
_NUMBERS = """
WITH was AS (SELECT DISTINCT gid, job, k FROM was_launch), now AS (SELECT DISTINCT gid, job, k FROM launch)
"""
_DIFFER = """
INSERT INTO changed SELECT DISTINCT job FROM (
  SELECT * EXCLUDE (n) FROM (SELECT *, 1 AS n FROM ({now}) UNION ALL SELECT *, -1 FROM ({was}))
  GROUP BY ALL HAVING sum(n) <> 0
)
"""
"""The jobs of rows that are not as often on both sides: one pass, a fifth of the time of EXCEPT ALL both ways."""
_CLEAN = "(SELECT job FROM every WHERE job NOT IN (SELECT job FROM changed WHERE job IS NOT NULL))"


def carry(fleet: Fleet, wanted: Iterable[str]) -> None:
    """Take the rows of jobs that did not change from what is kept, and leave in `every` the jobs that did."""
    con = fleet.connection
    con.execute("CREATE TEMP TABLE changed (job VARCHAR)")
    told = ["SELECT " + _columns(fleet, name) + " FROM " + WAS + name for name in OF_JOB]
    for was in (*told, _FED, _AGAIN, _RAN):
        now = was.replace(WAS, "")
        con.execute(_DIFFER.format(now=now, was=was))
    if all(fact_files.keep(con, name, _NUMBERS + "SELECT " + _renumbered(fleet, name)) for name in wanted):
        for name in wanted:
            fleet.take(name)
        con.execute("DELETE FROM every WHERE job NOT IN (SELECT job FROM changed WHERE job IS NOT NULL)")
    else:  # all jobs are made anew
        for name in wanted:
            con.execute("DROP TABLE IF EXISTS " + ident(name))
    for name in ("changed", *(WAS + name for name in KEPT)):
        con.execute("DROP TABLE " + ident(name))
    for name in {*wanted} - {*KEPT}:
        con.execute("DROP VIEW " + ident(WAS + name))


def _columns(fleet: Fleet, name: str) -> str:
    """Return the columns of a table but for the number of the start over all jobs, and what a source alone decides."""
    told = (*_OF_KEY, *_OF_EVENT) if name == "mark" else _OF_KEY if "key" in fleet.shape(name) else ()
    return ", ".join(ident(column) for column in fleet.shape(name) if column not in ("gid", *told))


def _renumbered(fleet: Fleet, name: str) -> str:
    """Return what follows SELECT for the kept rows of a relation that stay, starts numbered as they are now."""
    columns = database.types(fleet.connection, WAS + name)
    if "gid" not in columns:
        return "* FROM " + WAS + name + " WHERE job IN " + _CLEAN
    values = ", ".join("n.gid" if column == "gid" else "w." + ident(column) for column in columns)
    now = " AS w JOIN was AS o ON o.gid = w.gid JOIN now AS n ON n.job = o.job AND n.k = o.k WHERE o.job IN "
    return values + " FROM " + WAS + name + now + _CLEAN
