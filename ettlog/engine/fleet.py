"""A fleet whose relations are computed on an engine, and come here, as Arrow, only where an answer reads them."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ettlog import database, seams, shifts
from ettlog.engine import session as sessions
from ettlog.engine import shipping
from ettlog.engine.dialect import to_spark, with_columns
from ettlog.engine.errors import answering, quiet
from ettlog.facts import SHAPES
from ettlog.fleet import Fleet
from ettlog.relations import relations
from ettlog.schema import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

SPARK = {"VARCHAR": "string", "BIGINT": "bigint", "INTEGER": "int", "BOOLEAN": "boolean", "DOUBLE": "double"}


@dataclass
class EngineFleet(Fleet):
    """A fleet over a lake whose facts are read, and whose relations are computed, by Spark or Sail.

    Answers and queries are made here, by the same code, from the relations that they name.
    """

    engine: str = ""
    _session: Any = field(default=None, repr=False)
    _there: set[str] = field(default_factory=set, repr=False)

    def __post_init__(self) -> None:
        """Open the session; it ends with the fleet, or with the process."""
        super().__post_init__()
        self._read()
        self._keeper = None
        assert self.lake is not None
        self._session = sessions.connect(self.engine, beside=self.lake.path)
        self.close = weakref.finalize(self, self._session.close)

    def _compute(self, name: str) -> None:
        """Bring a relation here, in the types that DuckDB gives it."""
        if name in self._done:
            return
        with quiet(), answering(self.engine, f"the engine could not compute `{name}`"):
            self._make(name)
            rows: pa.Table = self._session.spark.table(name).toArrow()
        database.copy_in(self.connection, name, types(name), rows)
        self._done.add(name)

    def _make(self, name: str) -> None:
        """Have a table on the engine: a relation by its SQL, a fact table from the lake, any other from here."""
        if name in self._there:
            return
        if name in relations():
            for need in relations()[name].needs:
                self._make(need)
            self._keep(name, self._session.spark.sql(to_spark(relations()[name].query)))
        elif name in TABLES:
            self._make_facts(name)
        else:
            self._send(name)
        self._there.add(name)

    def _keep(self, name: str, frame: Any) -> None:
        """Write a table to the scratch folder and have it read from there: nothing is computed twice."""
        place = str(self._session.scratch / name)
        frame.write.parquet(place)
        self._session.spark.read.schema(frame.schema).parquet(place).createOrReplaceTempView(name)

    def _make_facts(self, name: str) -> None:
        assert self.lake is not None
        files = [{"key": key, "path": str(path.resolve())} for key, path in self.lake.files(name)]
        views = [view for table, view in self._changes(name) if self._has(table)]
        rows = self._facts(name, files)
        for view in views:
            below = next(word for word in view.split() if word.startswith(f"{name}_"))
            self._keep(below, rows)
            query = view.partition(" AS ")[2]
            rows = self._session.spark.sql(to_spark(with_columns(query, list(SHAPES[name].columns))))
        self._keep(name, rows)

    def _changes(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield what stands between the files and a fact table, in its order: a small table, and the view over both."""
        for table, views in (("shift_fact", shifts.VIEWS), (seams.TABLE, seams.VIEWS)):
            if name in views:
                yield table, views[name]

    def _facts(self, name: str, files: list[dict[str, str]]) -> Any:
        """Return the frame of a fact table: each data file read by whichever executor has its row."""
        import pyarrow as pa

        spark, ddl = self._session.spark, _ddl(SHAPES[name].columns)
        if not files:
            return spark.createDataFrame([], ddl)
        rows = spark.createDataFrame(pa.Table.from_pylist(files)).repartition(self._session.parts(len(files)))
        return rows.mapInArrow(shipping.task("read_facts", (name,), self._session.sent()), ddl)

    def _has(self, table: str) -> bool:
        """Tell whether a small table got rows when the fleet was opened, and have it on the engine if so."""
        named = self.connection.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = ?", [table]).fetchall()
        found = bool(named) and len(self.connection.table(table)) > 0
        if found:
            self._make(table)
        return found

    def _send(self, name: str) -> None:
        """Copy a small table from here to the engine."""
        table = self.connection.table(name)
        columns = dict(zip(table.columns, map(str, table.types), strict=True))
        rows, spark = table.to_arrow_table(), self._session.spark
        frame = spark.createDataFrame(rows) if rows.num_rows else spark.createDataFrame([], _ddl(columns))
        frame.createOrReplaceTempView(name)


def _ddl(columns: dict[str, str]) -> str:
    return ", ".join(f"`{name}` {SPARK[kind]}" for name, kind in columns.items())


@lru_cache(maxsize=1)
def _empty() -> Fleet:
    return Fleet.from_tables()


@lru_cache(maxsize=256)
def types(name: str) -> dict[str, str]:
    """Return column and SQL type of a relation as DuckDB has it; raise UsageError for an unknown name."""
    return _empty().shape(name)
