"""Launches across the files of one log: a rotation may cut between the lines that open one launch, or behind them.

Every file is read alone, so a file that begins with a worker's line counts a launch there, though the launcher's line
ended the file before. Here the lines that open and end launches are put one behind the other, file by file, and
numbered again by the same rules as inside one file. Nothing is read again: the numbers stand between the lake's files
and the relations, as shifts of clocks do.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ettlog.parse.launches import Mark, number
from ettlog.sink import ident

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import duckdb

T = TypeVar("T")
PART = 1 << 40
"""Lines of the next file of a log are counted from here on."""
TABLE = "seam_fact"
BELOW = "_part"
"""Behind the name of a fact table below the launches that are numbered over the whole log."""
_VIEW = " AS SELECT r.* REPLACE (CAST(coalesce(f.launch, r.launch) AS INTEGER) AS launch) FROM "
_ON = " AS r LEFT JOIN seam_fact AS f ON f.key = r.key AND r.line >= f.begin_line AND r.line < f.end_line"
VIEWS = {
    "event": "CREATE TEMP VIEW event" + _VIEW + "event_part" + _ON,
    "step": "CREATE TEMP VIEW step" + _VIEW + "step_part" + _ON,
}
"""The fact tables with launches that are numbered over the whole log."""

_FACT = "CREATE TEMP TABLE seam_fact (key VARCHAR, begin_line BIGINT, end_line BIGINT, launch BIGINT)"
_PARTS = """
CREATE OR REPLACE TEMP TABLE seam_part AS
SELECT log, key, row_number() OVER (PARTITION BY log ORDER BY part, path) AS part_no
FROM (
  SELECT key, path, coalesce(part, 0) AS part, stream || ' ' || coalesce(CAST(rank AS VARCHAR), '')
    || CASE WHEN node IS NOT NULL AND count(*) OVER (PARTITION BY stream, rank, part) > 1
      THEN ' on ' || node ELSE '' END AS log
  FROM source_fact WHERE stream IS NOT NULL
) AS named
QUALIFY count(*) OVER (PARTITION BY log) > 1
"""
_MARKS = """
WITH said AS (
  SELECT p.log, p.part_no, e.key, e.line, k.opens, k.end_state <> '' AS ends, e.format, e.pattern, e.rank, e.node
  FROM seam_part AS p JOIN event AS e ON e.key = p.key JOIN lifecycle_kind AS k ON k.kind = e.kind
  WHERE k.opens > 0 OR k.end_state <> ''
)
SELECT log, part_no, key, line, opens, ends, format, pattern, rank, node FROM said
WHERE log IN (SELECT log FROM said WHERE part_no > 1 AND opens > 0)
ORDER BY log, part_no, line
"""
_STEPS = """
SELECT p.log, p.part_no, min(s.line) FROM seam_part AS p JOIN step AS s ON s.key = p.key
WHERE p.log IN (
  SELECT p.log FROM seam_part AS p JOIN event AS e ON e.key = p.key JOIN lifecycle_kind AS k ON k.kind = e.kind
  WHERE p.part_no > 1 AND k.opens > 0
)
GROUP BY p.log, p.part_no, s.launch
"""


class Piece(NamedTuple):
    """Lines [begin_line, end_line) of a file, and the launch of the file that they belong to; 0 goes on with the last
    launch of the file before."""

    key: str
    begin_line: int
    end_line: int
    launch: int


class _Log(NamedTuple):
    """One log: its files by number, its marks, the first line of steps of every launch; lines are counted through."""

    keys: dict[int, str]
    marks: list[Mark]
    steps: list[int]


def rejoin(con: duckdb.DuckDBPyConnection) -> list[Piece]:
    """Number the launches of logs in several files anew, behind the connection; return what changed.

    The fact tables `event` and `step` are replaced by views where anything changed. Must see `source_fact` and the
    vocabulary.
    """
    pieces = [piece for log in _logs(con) for piece in _changed(log)]
    con.execute(_FACT)
    if pieces:
        con.executemany("INSERT INTO seam_fact VALUES (?, ?, ?, ?)", [list(piece) for piece in pieces])
        for name in VIEWS:
            _replace(con, name)
    return pieces


def again(whole: duckdb.DuckDBPyConnection, con: duckdb.DuckDBPyConnection, table: str) -> None:
    """Put the view that numbers launches as in another database in the place of one fact table."""
    if whole.execute("SELECT 1 FROM seam_fact LIMIT 1").fetchall():
        con.execute(_FACT)
        con.from_arrow(whole.table("seam_fact").to_arrow_table()).insert_into("seam_fact")
        _replace(con, table)


def _replace(con: duckdb.DuckDBPyConnection, name: str) -> None:
    found = con.execute("SELECT table_type FROM information_schema.tables WHERE table_name = ?", [name]).fetchall()
    kind = "VIEW" if found[0][0] == "VIEW" else "TABLE"
    con.execute(f"ALTER {kind} {ident(name)} RENAME TO {ident(name + BELOW)}")
    con.execute(VIEWS[name])


def _logs(con: duckdb.DuckDBPyConnection) -> list[_Log]:
    """Return the logs in several files of which a later one holds a line that opens a launch."""
    con.execute(_PARTS)
    logs: dict[str, _Log] = {}
    for log, part, key, line, opens, ends, *writer in con.execute(_MARKS).fetchall():
        one = logs.setdefault(log, _Log({}, [], []))
        one.keys[part] = key
        one.marks.append(Mark(part * PART + line, opens, ends, tuple(writer)))
    for log, part, line in con.execute(_STEPS).fetchall() if logs else []:
        logs[log].steps.append(part * PART + line)
    con.execute("DROP TABLE seam_part")
    return list(logs.values())


def _changed(log: _Log) -> Iterator[Piece]:
    """Yield the launches of the files in which they begin elsewhere than the file alone tells."""
    log.steps.sort()
    whole = _by_part(number(log.marks, log.steps), int)
    marks, steps = _by_part(log.marks, lambda mark: mark.line), _by_part(log.steps, int)
    for part, key in log.keys.items():
        begins = whole[part]
        if begins != number(marks[part], steps[part]):
            edges = [0, *(begin - part * PART for begin in begins), PART]
            yield from (Piece(key, low, high, at) for at, (low, high) in enumerate(pairwise(edges)))


def _by_part(items: Iterable[T], line: Callable[[T], int]) -> defaultdict[int, list[T]]:
    """Return what stands on the lines of each file, in its order."""
    found = defaultdict[int, list[T]](list)
    for item in items:
        found[line(item) // PART].append(item)
    return found
