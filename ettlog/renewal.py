"""Kept relations renewed: of jobs that new sources do not touch, the rows stay what they were.

What the relations behind the step lines read of a job is the same where no source of its names is another
(`touched.py`), nor what schedulers say of it. Then, where settings, SQL and engine are the same too, so are their rows;
starts alone are numbered anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettlog import database, fact_files, strays, touched
from ettlog.sink import ident
from ettlog.splice import Carried
from ettlog.touched import GIVEN, HELD, OF_LOG, OF_START, WAS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ettlog.fleet import Fleet
    from ettlog.kept import Index

READ = ("launch", "_held", "_ran", "_again", *OF_START, *HELD, "_stream", "_stepped", "_ramp", "step")
"""All that the relations behind the step lines read, beside the vocabulary."""
OF_SOURCE = ("_stepped", "_ramp")
"""What is made of the step lines of one source alone."""
FACTS = ("event", "step")
"""What these read."""
EVENTS = "event"
"""The fact table that is kept beside the relations, as one file: a day later the lake has thousands to open."""
KEPT = tuple(sorted({*READ, *GIVEN, *OF_LOG, "_seam", "skew"} - {"event", "step"}))
"""What must be kept to renew."""
ONCE = (*OF_START, *HELD, "_again")
"""What of it is read once, from its file; the rest is compared."""


def begin(fleet: Fleet, earlier: Index, wanted: Iterable[str], needed: Iterable[str]) -> bool:
    """Make all that the step lines are read with, of kept rows where nothing touches them; leave in `changed` the jobs
    of which it is another. False where it cannot be.

    It cannot be where a clock is shifted, or launches are counted otherwise over the files of a log: step lines that
    did not change may then have other instants, or belong to another launch.
    """
    assert fleet.lake is not None
    read = {*KEPT, *wanted}
    if not {*needed} <= {*READ} or not read <= {*earlier.files}:
        return False
    for name in sorted(read):
        path, told = earlier.path(fleet.lake.path, name), earlier.files[name].types
        bring = fact_files.load if name in KEPT and name not in ONCE else fact_files.show
        if not bring(fleet.connection, WAS + name, path, told):
            return False
    part = _new(fleet)
    _take_events(fleet, earlier, part)
    fleet.assemble(["skew", "source", "_seam"])
    stays = _stays(fleet)
    if stays:
        _of_sources(fleet, part)
    part.connection.close()
    return stays and touched.remake(fleet)


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
        sources = con.execute("SELECT key FROM was_source").fetchall()
        gone = [key for (key,) in sources if key not in fleet.lake.state.owners]
        if gone:
            con.execute("DELETE FROM event WHERE key IN (SELECT unnest(?::VARCHAR[]))", [gone])
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


_NUMBERS = """
WITH was AS (SELECT DISTINCT gid, job, k FROM was_launch), now AS (SELECT DISTINCT gid, job, k FROM launch)
"""
_BOTH = "SELECT o.gid AS was, n.gid AS now FROM was AS o JOIN now AS n ON n.job = o.job AND n.k = o.k"
_CLEAN = "SELECT job FROM every WHERE job NOT IN (SELECT job FROM changed WHERE job IS NOT NULL)"


def carry(fleet: Fleet, earlier: Index, wanted: Iterable[str]) -> Carried | None:
    """Leave in `every` the jobs that changed, and take the rows of all others from what is kept: at once where these do
    not begin with the job, else when they are asked for. None, and nothing is taken, where that cannot be.
    """
    con, lake = fleet.connection, fleet.lake
    assert lake is not None
    types = {name: earlier.files[name].types for name in wanted}
    mixed = [name for name in wanted if "job" not in types[name]]
    found = None
    if all(fact_files.keep(con, name, _NUMBERS + "SELECT " + _renumbered(fleet, name)) for name in mixed):
        for name in mixed:
            fleet.take(name)
        files = {name: earlier.path(lake.path, name) for name in types if name not in mixed}
        jobs = con.sql(_CLEAN).to_arrow_table().column("job").combine_chunks()
        found = Carried(files, types, jobs, con.sql(_NUMBERS + _BOTH).to_arrow_table())
        con.execute("DELETE FROM every WHERE job NOT IN (SELECT job FROM changed WHERE job IS NOT NULL)")
    else:  # all jobs are made anew
        for name in mixed:
            con.execute("DROP TABLE IF EXISTS " + ident(name))
    con.execute("DROP TABLE changed")
    for name in {*wanted, *KEPT}:
        con.execute(("DROP VIEW " if name in ONCE or name not in KEPT else "DROP TABLE ") + ident(WAS + name))
    return found


def _renumbered(fleet: Fleet, name: str) -> str:
    """Return what follows SELECT for the kept rows of a relation that stay, starts numbered as they are now."""
    columns = database.types(fleet.connection, WAS + name)
    if "gid" not in columns:
        return "* FROM " + WAS + name + " WHERE job IN (" + _CLEAN + ")"
    values = ", ".join("n.gid" if column == "gid" else "w." + ident(column) for column in columns)
    now = " AS w JOIN was AS o ON o.gid = w.gid JOIN now AS n ON n.job = o.job AND n.k = o.k WHERE o.job IN ("
    return values + " FROM " + WAS + name + now + _CLEAN + ")"
