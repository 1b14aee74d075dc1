"""What changed sources touch of a fleet whose relations are kept: launches and marks of all other jobs stay.

Until records of schedulers are joined to them, logs say nothing of each other but those of one name, which a log may
change, and members of a sweep, who have the name with #2, #3 and so on behind it. So of the names that no changed
source bears, all that is made of events is what it was, and the others are made of their own sources alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettlog import database, fact_files, seams, shifts
from ettlog.lifecycle import COMPILATION
from ettlog.sink import ident

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ettlog.fleet import Fleet

GIVEN = ("source", "line_stat", "_stream", "_stepped", "_ramp", "event")
"""Of what is made anew: rows of its sources, and beside them the step lines."""
OF_LOG = ("_launch", "_again")
"""What is made of these, log by log."""
OF_START = ("mark", "_lone", COMPILATION)
"""And start by start."""
HELD = ("_placed", "_adrift")
"""And of what schedulers say of the same jobs (`_held`)."""
WAS = "was_"
"""Before the name of a table: as it was kept."""
PART = "part_"
"""Before the name of a table: as it is made anew."""

_KIN = """
CREATE TEMP TABLE kin AS
SELECT key, stream AS log, regexp_replace(name, '(#[0-9]+)+$', '') AS stem
FROM (SELECT key, stream, name FROM _stream UNION SELECT key, stream, name FROM was__stream) AS each
"""
_TOLD = (
    "SELECT * FROM {0}source",
    "SELECT * EXCLUDE (no) FROM {0}_stream",
    "SELECT key, lines FROM {0}line_stat WHERE outcome = 'torn'",
)
"""What is read of a source beside its facts, which its key decides; its number over all is only a name."""
DIFFER = """
SELECT DISTINCT {what} FROM (
  SELECT * EXCLUDE (n) FROM (SELECT *, 1 AS n FROM ({now}) UNION ALL SELECT *, -1 FROM ({was}))
  GROUP BY ALL HAVING sum(n) <> 0
)
"""
"""The jobs or sources of rows that are not as often on both sides: one pass, a fifth of EXCEPT ALL both ways."""
_MORE = """
INSERT INTO touched SELECT DISTINCT b.stem, CAST($turn AS BIGINT) FROM kin AS a JOIN kin AS b ON b.log = a.log
WHERE a.stem IN (SELECT stem FROM touched) AND b.stem NOT IN (SELECT stem FROM touched)
"""
_RAN = "SELECT DISTINCT h.job, r.* FROM {0}_ran AS r JOIN {0}_held AS h ON h.raw = r.raw"
_UNTOUCHED = "regexp_replace(f.name, '(#[0-9]+)+$', '') NOT IN (SELECT stem FROM touched)"
_ON = " AS l JOIN {0}_launch AS f ON f.stream = l.stream AND f.launch = l.launch "
_LAUNCHES = (
    " FROM (SELECT l.*, f.name FROM was_launch" + _ON.format(WAS) + "WHERE " + _UNTOUCHED
    + " UNION ALL SELECT l.*, f.name FROM part_launch" + _ON.format(PART) + ") AS each"
)  # fmt: skip
_LOGS = "SELECT f.* FROM was__launch AS f WHERE " + _UNTOUCHED + " UNION ALL SELECT * FROM part__launch"
_AGAIN = """
SELECT * FROM was__again WHERE key NOT IN (SELECT k.key FROM kin AS k JOIN touched AS t ON t.stem = k.stem)
"""
_NAMED = (
    "INSERT INTO changed SELECT job FROM part_launch UNION SELECT l.job FROM was_launch" + _ON.format(WAS)
    + "WHERE NOT (" + _UNTOUCHED + ")"
)  # fmt: skip
_BESIDE = (
    "INSERT INTO touched SELECT DISTINCT regexp_replace(f.name, '(#[0-9]+)+$', ''), 2 FROM launch" + _ON.format("")
    + "WHERE " + _UNTOUCHED + " AND l.job IN (SELECT job FROM changed)"
)  # fmt: skip
_KEYS = "SELECT DISTINCT k.key FROM kin AS k JOIN touched AS t ON t.stem = k.stem WHERE t.turn = $turn"
_CHANGED = "INSERT INTO touched SELECT DISTINCT stem, 1 FROM kin WHERE key IN "


def remake(fleet: Fleet) -> bool:
    """Make launches, marks and places of starts, of kept ones where nothing touches them; leave in `changed` the jobs
    of which anything that the step lines are read with is another. False where what is kept cannot be read.
    """
    con = fleet.connection
    fleet.assemble(["_stream", "line_stat"])
    con.execute(_KIN)
    con.execute("CREATE TEMP TABLE touched (stem VARCHAR, turn BIGINT)")
    con.execute("CREATE TEMP TABLE changed (job VARCHAR)")
    for told in _TOLD:
        differ = DIFFER.format(what="key", now=told.format(""), was=told.format(WAS))
        con.execute(_CHANGED + "(" + differ + ")")
    whole, parts = False, [_part(fleet, 1)]
    try:
        whole = _launches(fleet, parts[0])
        if whole:
            _of_jobs(fleet, parts)
    finally:
        for part in parts:
            part.connection.close()
        for name in ("kin", "touched", PART + "launch", PART + "_launch", *(() if whole else ("changed",))):
            con.execute("DROP TABLE " + ident(name))
    return whole


def _of_jobs(fleet: Fleet, parts: list[Fleet]) -> None:
    """Find the jobs of which what schedulers say is another, and make for them and those of `parts` what follows."""
    con = fleet.connection
    fleet.assemble(["_held", "_ran"])
    for told in ("SELECT * FROM {0}_held", _RAN):
        differ = DIFFER.format(what="job", now=told.format(""), was=told.format(WAS))
        con.execute("INSERT INTO changed SELECT job FROM (" + differ + ") AS each WHERE job IS NOT NULL")
    if con.execute(_BESIDE).fetchall()[0][0]:
        parts.append(_part(fleet, 2))
        con.execute("INSERT INTO changed SELECT job FROM part_launch")
    _starts(fleet, parts)


def _part(fleet: Fleet, turn: int) -> Fleet:
    """Return a fleet over the sources of the names that are touched in this turn, with its launches made."""
    lake, config, con = fleet.lake, fleet.config, fleet.connection
    assert lake is not None
    assert config is not None
    while con.execute(_MORE, {"turn": turn}).fetchall()[0][0]:
        pass
    keys = {key for (key,) in con.execute(_KEYS, {"turn": turn}).fetchall()}
    most = config.number("limits.spill_size") or database.SPILL_MIB
    spill = config.text("limits.spill")
    own = database.connect(lake.path, memory_mib=fleet.memory_mib // 2, spill=spill, spill_mib=most)
    for name in GIVEN:
        rows = con.sql("SELECT * FROM " + ident(name) + " WHERE key IN (" + _KEYS + ")", params={"turn": turn})
        database.copy_in(own, name, fleet.shape(name), rows.to_arrow_table())
    files = [file for key, file in lake.names("step").items() if key in keys]
    fact_files.view(own, "step", files, copied=False, alike=lake.alike)
    shifts.again(con, own, "step")
    seams.again(con, own, "step")
    part = type(fleet)(own, config, lake, {*GIVEN, "step"})
    part.assemble(["launch", *OF_LOG, *OF_START])
    for name in ("launch", "_launch"):
        con.execute("DROP TABLE IF EXISTS " + ident(PART + name))
        database.copy_in(con, PART + name, part.shape(name), part.connection.table(name).to_arrow_table())
    return part


def _launches(fleet: Fleet, part: Fleet) -> bool:
    """Put launches of touched names beside those that are kept, and number all starts; False where they cannot be."""
    con = fleet.connection
    gid = "dense_rank() OVER (ORDER BY name, gid) AS gid"
    columns = ", ".join(gid if column == "gid" else ident(column) for column in part.shape("launch"))
    made = {"launch": "SELECT " + columns + _LAUNCHES, "_launch": _LOGS, "_again": _AGAIN}
    whole = all(fact_files.keep(con, name, query) for name, query in made.items())
    if not whole:
        for name in made:
            con.execute("DROP TABLE IF EXISTS " + ident(name))
        return False
    con.execute(_NAMED)
    for name in made:
        fleet.take(name)
    fleet.add("_again", part)
    return True


def _starts(fleet: Fleet, parts: Iterable[Fleet]) -> None:
    """Put what is made of marks for the jobs that changed beside what is kept; what cannot be read is made later."""
    con = fleet.connection
    con.execute("CREATE TEMP TABLE part_now AS SELECT DISTINCT job, k, gid FROM launch")
    for part in parts:
        held = "SELECT * FROM _held WHERE job IN (SELECT unnest($jobs))"
        jobs = [job for (job,) in part.connection.execute("SELECT DISTINCT job FROM launch").fetchall()]
        rows = con.sql(held, params={"jobs": jobs}).to_arrow_table()
        database.copy_in(part.connection, "_held", fleet.shape("_held"), rows)
        part.take("_held")
        part.assemble(HELD)
    for name in (*OF_START, *HELD):
        query = _numbered(fleet, WAS + name) + " WHERE w.job NOT IN (SELECT job FROM changed)"
        if fact_files.keep(con, name, query):
            for part in parts:
                database.copy_in(con, PART + name, part.shape(name), part.connection.table(name).to_arrow_table())
                con.execute("INSERT INTO " + ident(name) + " " + _numbered(fleet, PART + name))
                con.execute("DROP TABLE " + ident(PART + name))
            fleet.take(name)
    con.execute("DROP TABLE part_now")


def _numbered(fleet: Fleet, table: str) -> str:
    """Return the query of a table's rows with starts as they are numbered now."""
    columns = database.types(fleet.connection, table)
    if "gid" not in columns:
        return "SELECT * FROM " + ident(table) + " AS w"
    values = ", ".join("n.gid" if column == "gid" else "w." + ident(column) for column in columns)
    return "SELECT " + values + " FROM " + ident(table) + " AS w JOIN part_now AS n ON n.job = w.job AND n.k = w.k"
