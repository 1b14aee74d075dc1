"""Rows of jobs that were made anew, put among those that are kept where they belong: kept files are in order already.

What is only carried over so goes from one file into the next, and into the database when something asks for it.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from ettlog import database
from ettlog.errors import LakeError
from ettlog.sink import ident

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import duckdb
    import pyarrow as pa

    from ettlog.fleet import Fleet

NEW = "new_"
"""Before the name of a relation: the table of the rows that were made anew."""


class Carried(NamedTuple):
    """Relations whose kept rows were not looked at yet: their files, and which rows of these stay."""

    files: Mapping[str, Path]
    types: Mapping[str, Mapping[str, str]]
    jobs: pa.Array
    """The jobs whose rows stay."""
    numbers: pa.Table
    """Their starts: the number over all jobs as it was kept (`was`), and as it is now (`now`)."""


def begin(con: duckdb.DuckDBPyConnection, carried: Carried) -> None:
    """Make the tables of rows that are made anew."""
    for name in carried.files:
        database.copy_in(con, NEW + name, carried.types[name], None)


def rows(con: duckdb.DuckDBPyConnection, carried: Carried, name: str) -> pa.Table:
    """Return all rows of a relation in their order; raise LakeError where the kept ones cannot be read."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    new = con.table(NEW + name).order(database.ordering(carried.types[name])).to_arrow_table()
    try:
        old = pq.ParquetFile(carried.files[name]).read().cast(new.schema)
        old.validate(full=True)
    except (OSError, pa.ArrowException) as error:
        raise LakeError(
            "a kept relation cannot be read",
            where=str(carried.files[name]),
            why=str(error).strip().splitlines()[0],
            todo="nothing: it is made anew",
        ) from error
    old = old.filter(pc.is_in(old.column("job"), value_set=carried.jobs))
    place = new.schema.get_field_index("gid")
    if place >= 0:
        was = carried.numbers.column("was").combine_chunks()
        numbers = carried.numbers.column("now").take(pc.index_in(old.column("gid"), value_set=was))
        old = old.set_column(place, new.schema.field(place), numbers)
    return _among(old, new)


def _among(old: pa.Table, new: pa.Table) -> pa.Table:
    """Return rows of two tables that are in order, and have no job in common, in the order of the jobs."""
    import pyarrow as pa

    jobs = pa.chunked_array(old.column("job").chunks, pa.string()).combine_chunks()
    parts, done, at = [], 0, 0
    for job, group in groupby(new.column("job").to_pylist()):
        place = len(jobs) if job is None else bisect_left(jobs, job, lo=done, key=lambda found: str(found.as_py()))
        count = sum(1 for _ in group)
        parts += [old.slice(done, place - done), new.slice(at, count)]
        done, at = place, at + count
    return pa.concat_tables([*parts, old.slice(done)]).combine_chunks()


def settle(fleet: Fleet, carried: Carried) -> list[str]:
    """Put the relations into the fleet's database; return those whose kept rows cannot be read."""
    lost = []
    for name in carried.files:
        try:
            whole = rows(fleet.connection, carried, name)
        except LakeError:
            lost.append(name)
            continue
        database.copy_in(fleet.connection, name, carried.types[name], whole)
        fleet.take(name)
    end(fleet.connection, carried)
    return lost


def end(con: duckdb.DuckDBPyConnection, carried: Carried) -> None:
    """Drop the tables of `begin`."""
    for name in carried.files:
        con.execute("DROP TABLE " + ident(NEW + name))
