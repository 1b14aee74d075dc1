"""The data files of a lake as tables of the database: copied where they are few, seen through a view where not.

And those of the relations that it keeps.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ettlog import database, facts, seams, shifts
from ettlog.errors import LakeError
from ettlog.facts import SHAPES
from ettlog.schema import TABLES
from ettlog.sink import ident

if TYPE_CHECKING:
    import duckdb

    from ettlog.config import Config
    from ettlog.lake import Lake

COPIED = 500_000
"""Most rows of facts that are always copied into memory, some hundred bytes each."""
BYTES_PER_EVENT = 300
"""What DuckDB holds of an event."""


def see(con: duckdb.DuckDBPyConnection, lake: Lake, config: Config, memory_mib: int, held: Collection[str]) -> None:
    """Make the fact tables of a lake, but for those that are held already, and what its manifest and settings tell.

    Raise LakeError for data files that are none.
    """
    for name in TABLES:
        if name not in held:
            rows = sum(file.rows for table, _, file in lake.state.listed() if table == name)
            copied = fits(name, rows, memory_mib)
            view(con, name, lake.names(name).values(), copied=copied, alike=lake.alike)
    database.fill(con, "source_fact", facts.source_rows(lake, config))
    database.fill(con, "line_fact", facts.line_rows(lake))
    named = con.execute("SELECT DISTINCT name FROM alloc WHERE name IS NOT NULL ORDER BY name").fetchall()
    database.fill(con, "name_fact", facts.name_rows((name for (name,) in named), config))


def as_read(con: duckdb.DuckDBPyConnection, name: str) -> str:
    """Return what holds a fact table as its files tell it, below the views that shift clocks and number launches."""
    tables = {table for (table,) in con.execute("SELECT table_name FROM information_schema.tables").fetchall()}
    return next(table for table in (name + shifts.READ, name + seams.BELOW, name) if table in tables)


def _parquet(con: duckdb.DuckDBPyConnection, paths: list[str], *, alike: bool) -> duckdb.DuckDBPyRelation:
    import duckdb

    try:
        return con.read_parquet(paths, filename=True, hive_partitioning=False, union_by_name=not alike)
    except duckdb.Error as error:
        raise _unreadable(paths, error) from error


def _unreadable(paths: list[str], error: Exception) -> LakeError:
    return LakeError(
        "data files of this lake cannot be read as Parquet",
        where=str(Path(paths[0]).parent),
        why=str(error).strip().splitlines()[0],
        todo="run `ettlog check --lake LAKE`; ingest the logs into a new lake where it was made by somebody else",
    )


def _resolved(files: Iterable[str]) -> Iterator[str]:
    """Yield the paths of files in folders as the system knows these; a lake that is opened holds no links for files."""
    folders: dict[str, str] = {}
    for file in files:
        folder, name = os.path.split(file)
        if folder not in folders:
            folders[folder] = os.path.realpath(folder)
        yield f"{folders[folder]}/{name}"


def fits(name: str, rows: int, memory_mib: int) -> bool:
    """Tell whether the rows of a fact table are copied: nearly every relation reads the events, few the step lines."""
    most = max(COPIED, (memory_mib << 18) // BYTES_PER_EVENT) if name == "event" else COPIED
    return rows <= most


def view(con: duckdb.DuckDBPyConnection, name: str, files: Iterable[str], *, copied: bool, alike: bool = False) -> None:
    """Make the view over the data files of a fact table, or a copy of them; a file's name is its key, a column that it
    lacks is null.

    A view opens all its files each time that a question names it, and twice where their columns may differ: those of
    files that are `alike` are told by the first one.
    """
    import duckdb

    paths = list(_resolved(files))
    columns = SHAPES[name].columns
    if not paths:
        database.copy_in(con, name, columns, None)
        return
    read = _parquet(con, paths[:1] if alike and not copied else paths, alike=alike)
    present = set(read.columns)
    casts = [
        f"{ident(column) if column in present else 'NULL'}::{kind} AS {ident(column)}"
        for column, kind in columns.items()
        if column != "key"
    ]
    told = ", ".join(["parse_filename(filename, true) AS key", *casts])
    try:
        if not copied:
            # as text: each step of a query that is built by calls looks at all files again
            options = ", filename = true, hive_partitioning = false, union_by_name = " + str(not alike).lower() + ")"
            listed = "[" + ", ".join(map(database.quoted, paths)) + "]"
            con.execute(
                "CREATE TEMP VIEW " + ident(name) + " AS SELECT " + told + " FROM read_parquet(" + listed + options
            )
            return
        facts = read.project(told)
        database.copy_in(con, name, {column: columns[column] for column in facts.columns}, None)
        facts.insert_into(name)
    except duckdb.Error as error:
        raise _unreadable(paths, error) from error


def load(con: duckdb.DuckDBPyConnection, name: str, file: Path, types: Mapping[str, str]) -> bool:
    """Copy a relation from a Parquet file into the database, with these columns and types; False where it cannot be."""
    made = show(con, "kept", file, types) and keep(con, name, "FROM kept")
    con.execute("DROP VIEW IF EXISTS kept")
    return made


def show(con: duckdb.DuckDBPyConnection, name: str, file: Path, types: Mapping[str, str]) -> bool:
    """Make a view over a Parquet file, with these columns and types; False where it cannot be."""
    import duckdb

    columns = ", ".join(f"{ident(column)}::{kind} AS {ident(column)}" for column, kind in types.items())
    try:
        con.read_parquet(str(file.resolve()), hive_partitioning=False).project(columns).create_view(name)
    except duckdb.Error:
        return False
    return True


def keep(con: duckdb.DuckDBPyConnection, name: str, query: str) -> bool:
    """Make a table of a query over what was kept; False where that cannot be read."""
    import duckdb

    try:
        con.execute("CREATE TEMP TABLE " + ident(name) + " AS " + query)
    except duckdb.Error:
        return False
    return True
