"""Connections to DuckDB that can reach nothing but what they are given, and tables put into them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ettlog import scratch
from ettlog.errors import LakeError, UsageError
from ettlog.facts import SHAPES
from ettlog.sink import ident

if TYPE_CHECKING:
    import duckdb
    import polars as pl
    import pyarrow as pa

MEMORY_MIB = 1024
"""What DuckDB may hold in memory where no setting says more; beyond it goes to a private folder on disk."""
SPILL_MIB = 10 << 10
"""What that folder may hold of one connection where no setting says more; a disk that is full harms others too."""
STORAGE = "v1.0.0"
"""Oldest DuckDB that can read the database files that are written."""
FEW = 2_000
"""Most rows that are given to the database as parameters."""
_FOREIGN = re.compile("INTERVAL|UNION|VARIANT|BIGNUM|GEOMETRY|TIME_NS")
"""Types, also inside of others, that Polars does not hold."""
ATTACHED = "snapshot"
"""Name under which a database file is attached."""
ORDER = ("job", "begin_us", "at_us", "at", "k", "start", "path", "line", "step")
"""Columns that rows are ordered by before all others."""


def connect(
    folder: Path | None,
    file: Path | None = None,
    *,
    memory_mib: int = MEMORY_MIB,
    spill: str | None = None,
    spill_mib: int = SPILL_MIB,
) -> duckdb.DuckDBPyConnection:
    """Return a connection that can read below `folder` only, installs nothing and cannot be reconfigured.

    `file` is a DuckDB database whose tables are to be read, and only read, under their plain names; raise LakeError
    when it is none. It holds at most `memory_mib` in memory, and puts the rest, at most `spill_mib`, into a private
    folder below `spill`, by default the system's for temporary files; raise UsageError where none can be made there.
    """
    import duckdb

    connection = duckdb.connect(config=_config(memory_mib, spill, spill_mib))
    if file is not None:
        try:
            connection.execute("ATTACH " + quoted(str(file)) + f" AS {ident(ATTACHED)} (READ_ONLY)")
            connection.execute(f"USE {ident(ATTACHED)}")
        except duckdb.Error as error:
            raise LakeError(
                "this file cannot be read as a DuckDB database",
                where=str(file),
                why=str(error).strip().splitlines()[0],
                todo="have it written again with `ettlog snapshot`, or update ettlog and its DuckDB",
            ) from error
    settings = ["python_enable_replacements = false", "preserve_insertion_order = false", "TimeZone = 'UTC'"]
    if folder is not None:
        settings.append(f"allowed_directories = [{quoted(f'{folder.resolve()}/')}]")
    for setting in [*settings, "enable_external_access = false", "lock_configuration = true"]:
        connection.execute(f"SET {setting}")
    return connection


def create(file: Path) -> duckdb.DuckDBPyConnection:
    """Return a connection that writes a new database file which DuckDB from version `STORAGE` on can read."""
    import duckdb

    return duckdb.connect(
        str(file), config={**_config(MEMORY_MIB, None, SPILL_MIB), "storage_compatibility_version": STORAGE}
    )


def attached(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the names of the tables of the attached database file: tables only, no view that somebody wrote."""
    query = "SELECT table_name FROM duckdb_tables() WHERE database_name = ? AND schema_name = 'main'"
    return {name for (name,) in connection.execute(query, [ATTACHED]).fetchall()}


def _config(memory_mib: int, spill: str | None, spill_mib: int) -> dict[str, str | bool | int | float | list[str]]:
    return {
        "memory_limit": f"{memory_mib}MiB",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "temp_directory": str(scratch.spill(spill)),
        "max_temp_directory_size": f"{spill_mib}MiB",
    }


_statements: dict[str, duckdb.Statement] = {}


def parsed(connection: duckdb.DuckDBPyConnection, query: str) -> duckdb.Statement:
    """Return one statement, parsed once for all connections of a process: a quarter of the work of a small fleet."""
    if query not in _statements:
        _statements[query] = connection.extract_statements(query)[0]
    return _statements[query]


def quoted(text: str) -> str:
    """Return a text as one SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def comment(con: duckdb.DuckDBPyConnection, table: str, sentence: str, columns: Mapping[str, str]) -> None:
    """Write the sentences of a table and its columns into the database."""
    con.execute(f"COMMENT ON TABLE {ident(table)} IS " + quoted(sentence))
    for column, text in columns.items():
        con.execute(f"COMMENT ON COLUMN {ident(table)}.{ident(column)} IS " + quoted(text))


def fill(
    con: duckdb.DuckDBPyConnection, name: str, rows: list[dict[str, Any]], columns: Mapping[str, str] | None = None
) -> None:
    """Copy rows into the database; `columns` are the table's, by default those of the fact table of this name."""
    shape = columns or SHAPES[name].columns
    if len(rows) > FEW:
        import polars as pl

        kinds = {"BIGINT": pl.Int64, "VARCHAR": pl.String}
        values = {column: [row.get(column) for row in rows] for column in shape}
        # pyarrow imports pandas for lists, half a second where that is installed
        frame = pl.DataFrame(values, {column: kinds[kind] for column, kind in shape.items()})
        copy_in(con, name, shape, frame.to_arrow())
        return
    copy_in(con, name, shape, None)
    if rows:
        lists = ", ".join(f"unnest(?::{kind}[])" for kind in shape.values())
        con.execute(
            "INSERT INTO " + ident(name) + " SELECT " + lists, [[row.get(key) for row in rows] for key in shape]
        )


def copy_in(
    con: duckdb.DuckDBPyConnection,
    name: str,
    columns: Mapping[str, str],
    table: pa.Table | None,
    *,
    temporary: bool = True,
) -> None:
    """Copy a table in memory into the database, with exactly the named columns and types; absent ones are null."""
    shape = ", ".join(f"{ident(column)} {kind}" for column, kind in columns.items())
    con.execute(("CREATE TEMP TABLE " if temporary else "CREATE TABLE ") + f"{ident(name)} ({shape})")
    if table is not None:
        add(con, name, columns, table)


def add(con: duckdb.DuckDBPyConnection, name: str, columns: Mapping[str, str], table: pa.Table) -> None:
    """Copy a table in memory to the end of one in the database, which has these columns; absent ones are null."""
    if not table.num_rows:
        return
    present = set(table.column_names)
    values = [f"{ident(column) if column in present else 'NULL'}::{kind}" for column, kind in columns.items()]
    con.from_arrow(table).project(", ".join(values)).insert_into(name)


def ordering(columns: Iterable[str]) -> str:
    """Return what rows with these columns are ordered by, as a text for SQL."""
    columns = [*columns]
    first = [column for column in ORDER if column in columns]
    return ", ".join(ident(column) for column in [*first, *(c for c in columns if c not in first)])


def types(con: duckdb.DuckDBPyConnection, name: str) -> dict[str, str]:
    """Return the columns of a table with their SQL types."""
    shape = con.table(name)
    return dict(zip(shape.columns, map(str, shape.types), strict=True))


def engine() -> str:
    """Return name and version of the engine: another one may order or round in another way."""
    import duckdb

    return f"duckdb {duckdb.__version__}"


def views(connection: duckdb.DuckDBPyConnection, folder: Path) -> set[str]:
    """Make a view over each Parquet file of a folder, and return their names; raise LakeError for a damaged file."""
    import duckdb

    held = set()
    for file in sorted(folder.glob("*.parquet")):
        try:
            connection.read_parquet(str(file.resolve())).create_view(file.stem)
        except duckdb.Error as error:
            raise LakeError(
                "this file cannot be read as Parquet",
                where=str(file),
                why=str(error).strip().splitlines()[0],
                todo="have the snapshot written again with `ettlog snapshot`",
            ) from error
        held.add(file.stem)
    return held


def make(con: duckdb.DuckDBPyConnection, name: str, query: str) -> None:
    """Make a table of a query; raise LakeError where neither memory nor the folder for the rest can hold it, or a
    number in the facts is too large to compute with."""
    import duckdb

    try:
        con.execute(parsed(con, "CREATE TEMP TABLE " + ident(name) + " AS " + query))
    except (duckdb.OutOfMemoryException, MemoryError) as error:
        raise LakeError(
            "what is made of the facts does not fit into memory",
            where=f"relation {name}",
            why=(str(error).strip().splitlines() or ["the system gives no more memory"])[0],
            todo="allow more with --memory-limit SIZE or limits.spill_size, or name a larger disk with --spill FOLDER",
        ) from error
    except (duckdb.OutOfRangeException, duckdb.ConversionException) as error:
        raise LakeError(
            "a number in the facts is too large to compute with",
            where=f"relation {name}",
            why=str(error).strip().splitlines()[0],
            todo="find its log in the tables event, step and alloc with `ettlog sql`, and ingest without it",
        ) from error


READING = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
"""Nodes of a parsed query that change nothing."""
RUNNING = {"query", "json_execute_serialized_sql", "copy_database", "write_log"}
"""Functions that run a text, which may be anything, or write."""


def admit(con: duckdb.DuckDBPyConnection, query: str) -> None:
    """Refuse what is not exactly one SELECT, or the plain EXPLAIN of one, with a UsageError.

    A SELECT may hold INSERT, UPDATE, DELETE or COPY in its WITH, and call what runs a text: of the parsed query every
    node must be one that reads.
    """
    import duckdb

    bare = re.sub(r"\A\s*explain\s+(?!analyze\b)", "", query, flags=re.IGNORECASE)
    parsed = con.extract_statements(bare)
    reads = len(parsed) == 1 and parsed[0].type == duckdb.StatementType.SELECT
    if reads:
        tree = con.execute("SELECT CAST(json_serialize_sql(CAST($1 AS VARCHAR)) AS VARCHAR)", [bare]).fetchall()[0][0]
        # a quote inside of a text is escaped there, so that no text looks like a node
        nodes = set(re.findall(r'"type":"(\w+_NODE)"', tree))
        called = {name.lower() for name in re.findall(r'"function_name":"(\w+)"', tree)}
        reads = bool(nodes) and nodes <= READING and not called & RUNNING
    if not reads:
        raise UsageError(
            "only one SELECT is answered",
            where=query.strip()[:200] or "(empty query)",
            why="a question may read the relations and change nothing",
            todo="write one SELECT, or EXPLAIN in front of it",
        )


def frame(found: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    """Return the rows of a table as a frame, by Arrow's C interface: `found.pl()` imports pyarrow, which takes a while.

    For queries that compute nothing: what fails while rows are handed over is an error of Polars, not one of DuckDB.
    """
    import polars as pl

    return pl.DataFrame(found)


def answer(found: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    """Return the rows of a query as a frame; columns of types that Polars does not hold, such as spans of time, as
    texts."""
    kinds = [str(kind) for kind in found.types]
    if any(map(_FOREIGN.search, kinds)):
        told = zip(found.columns, kinds, strict=True)
        found = found.project(
            ", ".join(
                (f"CAST(#{place} AS VARCHAR)" if _FOREIGN.search(kind) else f"#{place}") + f" AS {ident(name)}"
                for place, (name, kind) in enumerate(told, 1)
            )
        )
    frame: pl.DataFrame = found.pl()
    return frame


def with_plain_at(query: str) -> str:
    """Quote the column name `at` where it stands alone: DuckDB 2 reserves the word (AT TIME ZONE, AT VERSION)."""
    import duckdb

    tokens = duckdb.tokenize(query)
    starts = [start for start, _ in tokens] + [len(query)]
    words = [query[start:end].strip().lower() for start, end in itertools.pairwise(starts)]
    for place in reversed(range(len(words))):
        after = words[place + 1] if place + 1 < len(words) else ""
        before = words[place - 1] if place else ""
        if words[place] == "at" and after not in ("time", "(") and before != ".":
            query = f'{query[: starts[place]]}"at"{query[starts[place] + 2 :]}'
    return query
