"""Kept relations renewed: of jobs that new sources do not touch, the rows behind the step lines stay what they were.

What the relations behind the step lines read of a job is compared with what they read before, row by row. Where it is
the same, and so are settings, SQL and engine, their rows are the same; starts alone are numbered anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettlog import database
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
        path, types = earlier.path(fleet.lake.path, name), earlier.files[name].types
        if not database.load(fleet.connection, WAS + name, path, types):
            return False
    fleet.assemble(["skew", "source", "_seam"])
    shifts = "SELECT shift_us FROM skew UNION ALL SELECT shift_us FROM was_skew"
    if any(shift is not None for (shift,) in fleet.connection.execute(shifts).fetchall()):
        return False
    for one, other in (("_seam", WAS + "_seam"), (WAS + "_seam", "_seam")):
        if fleet.connection.execute("FROM " + ident(one) + " EXCEPT ALL FROM " + ident(other)).fetchall():
            return False
    _of_sources(fleet)
    return True


def _of_sources(fleet: Fleet) -> None:
    """Make `OF_SOURCE` of what they were and the lines of new sources: a source's key is the hash of its content."""
    assert fleet.lake is not None
    before = {key for (key,) in fleet.connection.execute("SELECT key FROM was_source").fetchall()}
    con = database.connect(fleet.lake.path)
    for table in FACTS:
        files = [file for key, file in fleet.lake.files(table) if key not in before]
        database.view(con, table, files, copied=False, alike=fleet.lake.alike)
    part = type(fleet)(con, fleet.config, fleet.lake, {*FACTS})
    part.assemble(OF_SOURCE)
    for name in OF_SOURCE:
        fleet.add(name, part)
    con.close()
    for name in OF_SOURCE:
        kept = " FROM " + WAS + name + " WHERE key IN (SELECT key FROM source)"
        fleet.connection.execute("INSERT INTO " + ident(name) + " SELECT *" + kept)


_FED = """
SELECT DISTINCT l.job, s.key, s.path, s.stream, s.part_no, s.launches_before, s.name
FROM was__stream AS s JOIN was_launch AS l ON l.stream = s.stream
"""
_AGAIN = """
SELECT DISTINCT l.job, a.*
FROM was__again AS a JOIN was__stream AS s ON s.key = a.key JOIN was_launch AS l ON l.stream = s.stream
"""
_RAN = "SELECT DISTINCT h.job, r.* FROM was__ran AS r JOIN was__held AS h ON h.raw = r.raw"
_NUMBERS = """
WITH was AS (SELECT DISTINCT gid, job, k FROM was_launch), now AS (SELECT DISTINCT gid, job, k FROM launch)
"""
_CLEAN = "(SELECT job FROM every WHERE job NOT IN (SELECT job FROM changed WHERE job IS NOT NULL))"


def carry(fleet: Fleet, wanted: Iterable[str]) -> None:
    """Take the rows of jobs that did not change from what is kept, and leave in `every` the jobs that did."""
    con = fleet.connection
    con.execute("CREATE TEMP TABLE changed (job VARCHAR)")
    told = ["SELECT " + _columns(fleet, name) + " FROM " + WAS + name for name in OF_JOB]
    for was in (*told, _FED, _AGAIN, _RAN):
        now = was.replace(WAS, "")
        con.execute("INSERT INTO changed SELECT job FROM (" + was + " EXCEPT ALL " + now + ")")
        con.execute("INSERT INTO changed SELECT job FROM (" + now + " EXCEPT ALL " + was + ")")
    for name in wanted:
        fleet.take(name, _NUMBERS + "SELECT " + _renumbered(fleet, name))
    con.execute("DELETE FROM every WHERE job NOT IN (SELECT job FROM changed WHERE job IS NOT NULL)")
    for name in ("changed", *(WAS + name for name in {*KEPT, *wanted})):
        con.execute("DROP TABLE " + ident(name))


def _columns(fleet: Fleet, name: str) -> str:
    """Return the columns of a table without the number of the start over all jobs."""
    return ", ".join(ident(column) for column in fleet.shape(name) if column != "gid")


def _renumbered(fleet: Fleet, name: str) -> str:
    """Return what follows SELECT for the kept rows of a relation that stay, starts numbered as they are now."""
    columns = database.types(fleet.connection, WAS + name)
    if "gid" not in columns:
        return "* FROM " + WAS + name + " WHERE job IN " + _CLEAN
    values = ", ".join("n.gid" if column == "gid" else "w." + ident(column) for column in columns)
    now = " AS w JOIN was AS o ON o.gid = w.gid JOIN now AS n ON n.job = o.job AND n.k = o.k WHERE o.job IN "
    return values + " FROM " + WAS + name + now + _CLEAN
