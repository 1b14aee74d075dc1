"""From the lake's facts to relations: each `sql/NAME.sql` is one, computed by DuckDB when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ettlog import clocks, database, fact_files, facts, markup, seams
from ettlog.errors import LakeError, UsageError
from ettlog.facts import SHAPES
from ettlog.keeping import Keeper
from ettlog.relations import Frames, Relation, checks, named, relations, words

if TYPE_CHECKING:
    import duckdb
    import polars as pl
    import pyarrow as pa

    from ettlog.config import Config
    from ettlog.lake import Lake


def open(  # noqa: A001 - the name of the public call
    path: Path | str, config: Config | None = None, engine: str | None = None
) -> Fleet:
    """Open a lake, or a snapshot of one, for questions; `config` is by default the one in force.

    `engine` computes the relations elsewhere (docs/engines.md), by default the one of `use_engine`. Raise LakeError
    when there is no lake, EngineError when the engine cannot be used.
    """
    from ettlog import config as settings
    from ettlog import snapshot_read
    from ettlog.lake import Lake

    chosen = engine or _engine[-1]
    if snapshot_read.is_one(Path(path)):
        if chosen:
            raise UsageError(
                "a snapshot is not computed on an engine",
                where=f"{path}, engine {chosen}",
                why="its relations are there already",
                todo="ask it without --engine, or name the lake",
            )
        return snapshot_read.load(Path(path), config)
    lake = Lake.open(path)
    config = config or settings.load(lake_copy=lake.config_path)
    memory = config.number("limits.memory") or database.MEMORY_MIB
    most = config.number("limits.spill_size") or database.SPILL_MIB
    spill = config.text("limits.spill")
    connection = database.connect(lake.path, memory_mib=memory, spill=spill, spill_mib=most)
    if chosen:
        from ettlog.engine.fleet import EngineFleet

        return EngineFleet(connection, config, lake, engine=chosen)
    return Fleet(connection, config, lake)


_engine: list[str | None] = [None]
"""The engines that fleets are opened on by default, the one in force last."""


def use_engine(name: str) -> Callable[[], None]:
    """Open fleets on this engine where none is named; return what ends that."""
    _engine.append(name)
    return lambda: _engine.remove(name)


@dataclass
class Fleet:
    """Facts and the relations over them; relations are computed when first asked for and kept."""

    connection: duckdb.DuckDBPyConnection
    config: Config | None = field(default=None, repr=False)
    lake: Lake | None = field(default=None, repr=False)
    _done: set[str] = field(default_factory=set, repr=False)
    _waiting: set[str] = field(default_factory=set, repr=False)
    """Facts of a lake that nothing has asked for yet."""
    _keeper: Keeper | None = field(default=None, repr=False)
    _damage: LakeError | None = field(default=None, repr=False)
    _frames: Frames = field(default_factory=Frames, repr=False, compare=False)
    held: set[str] = field(default_factory=set, repr=False)
    """Facts of a lake that are here before all others: they were taken from what is kept of them."""

    def __post_init__(self) -> None:
        """Make the vocabulary visible beside the facts; those of a lake are looked at when something needs them.

        A fleet that is given relations (`_done`) is a part of another one, and has all that the others rest on.
        """
        part = bool(self._done)
        words = facts.vocabulary(self.config)
        for name, rows in words.items():
            kinds = {key: "VARCHAR" if isinstance(value, str) else "BIGINT" for key, value in rows[0].items()}
            database.fill(self.connection, name, rows, kinds)
        self._done |= {*words}
        if part:
            return
        if self.lake is None or self.config is None:
            self._reconcile()
        else:
            self._waiting = {*SHAPES}
            self._keeper = Keeper.of(self.lake, self.config)

    def _reconcile(self) -> None:
        """Hold the clocks of the facts against each other; count launches over the files of a log."""
        database.fill(self.connection, "skew_fact", clocks.reconcile(self.connection, self.config))
        seams.rejoin(self.connection)
        self._waiting = set()
        self._done |= {*SHAPES}

    def _read(self) -> None:
        """Make the facts of the lake visible; those of a damaged lake never become so, whatever is asked next."""
        if self._damage is not None:
            raise self._damage
        try:
            self._view()
        except LakeError as error:
            self._damage = error
            raise

    def _view(self) -> None:
        lake, config = self.lake, self.config
        assert lake is not None
        assert config is not None
        if self._keeper is not None:
            self._keeper.hold(self)
        fact_files.see(self.connection, lake, config, self.memory_mib, self.held)
        self._reconcile()

    @property
    def memory_mib(self) -> int:
        """Return what the database of this fleet may hold in memory, in MiB."""
        return (self.config.number("limits.memory") if self.config else None) or database.MEMORY_MIB

    def _repr_html_(self) -> str:
        return markup.paragraphs(self._said())

    def _said(self) -> list[str]:
        """Return what is here and what it can be asked, a sentence each."""
        jobs = self.table("job")
        counts = {"job": jobs.height, "model": jobs["model"].n_unique(), "start": int(jobs["starts"].sum() or 0)}
        counts["file"] = self.table("source").height
        known = ", ".join(f"{number:,} {noun}{'s' * (number != 1)}" for noun, number in counts.items())
        where = str(self.lake.path) if self.lake else "tables in memory"
        asked = 'fleet.table("job"), fleet.sql("select ..."), fleet.schema()'
        return [f"{where}: {known}", f"relations: {', '.join(self.relations())}", f"ask: {asked}"]

    @classmethod
    def from_tables(
        cls,
        source: pa.Table | None = None,
        event: pa.Table | None = None,
        step: pa.Table | None = None,
        alloc: pa.Table | None = None,
        line: pa.Table | None = None,
        config: Config | None = None,
    ) -> Fleet:
        """Return a fleet over tables in memory: columns as in `schema.py` and `key`; absent columns are null."""
        connection = database.connect(None)
        given = {"event": event, "step": step, "alloc": alloc, "source_fact": source, "line_fact": line}
        for name, table in given.items():
            database.copy_in(connection, name, SHAPES[name].columns, table)
        named = "SELECT DISTINCT name, name AS job_name, CAST(NULL AS VARCHAR) AS model FROM alloc"
        connection.execute("CREATE TEMP TABLE name_fact AS " + named)
        return cls(connection, config)

    def relations(self) -> list[str]:
        """Return the names of the public relations."""
        return [name for name in relations() if not name.startswith("_")]

    def table(self, name: str) -> pl.DataFrame:
        """Return a relation or a fact table as a frame, in a stable order. Raise UsageError for an unknown name."""
        return self._frames.of(name, lambda: database.frame(self.ordered(name)))

    def ordered(self, name: str, table: str | None = None) -> duckdb.DuckDBPyRelation:
        """Return a relation or a fact table as a query of DuckDB, rows in a stable order; or a `table` of its shape."""
        columns = self.shape(name)
        return self.connection.table(table or name).order(database.ordering(columns))

    def shape(self, name: str) -> dict[str, str]:
        """Return column and SQL type of a relation or a fact table. Raise UsageError for an unknown name."""
        if name not in relations() and name not in self._done | self._waiting:
            raise UsageError(
                f"there is no relation `{name}`",
                where=name,
                why=f"the relations are {', '.join(self.relations())}",
                todo="see `ettlog schema` for their columns",
            )
        self._compute(name)
        return database.types(self.connection, name)

    def sql(self, query: str, **params: Any) -> pl.DataFrame:
        """Return the answer to one SELECT (or EXPLAIN) over the relations; `$name` in it stands for a parameter.

        Nothing outside the lake can be reached and nothing can be changed. Raise UsageError for anything else.
        """
        import duckdb

        try:
            query.encode()  # DuckDB takes no halves of letters
            query = database.with_plain_at(query)
            database.admit(self.connection, query)
            for name in (*sorted(self._waiting & words(query)), *named(query)):
                self._compute(name)
            return database.answer(self.connection.sql(query, params=params or None))
        except (duckdb.Error, ValueError) as error:
            raise UsageError(
                "the query cannot be answered",
                where=query.strip()[:200] or "(empty query)",
                why=str(error).strip().splitlines()[0],
                todo="see `ettlog schema` for relations and columns",
            ) from error

    def check(self) -> pl.DataFrame:
        """Return one row per finding of a check: check, level, subject, detail, sentence, todo; none when all pass."""
        import polars as pl

        found = [self._run_check(check) for check in checks().values()]
        return pl.concat(found).sort("level", "check", "subject", "detail")

    def schema(self, name: str | None = None) -> pl.DataFrame:
        """Return relation, column, type, sentence of all relations, or of one. Raise UsageError for an unknown one."""
        return schema(name)

    def _run_check(self, check: Relation) -> pl.DataFrame:
        import polars as pl

        self.assemble(check.needs)
        frame: pl.DataFrame = self.connection.sql(check.query).pl()
        told = {"check": check.name, "level": check.level, "sentence": check.sentence, "todo": check.todo}
        said = {key: pl.lit(text).alias(key) for key, text in told.items()}
        subject, detail = pl.col("subject").cast(pl.String), pl.col("detail").cast(pl.String)
        return frame.select(said["check"], said["level"], subject, detail, said["sentence"], said["todo"])

    def keep(self) -> None:
        """Make and keep the relations of a lake that is large enough, unless it keeps those of its facts already."""
        if self._keeper is not None:
            self._keeper.give(self, "job")

    def add(self, name: str, part: Fleet) -> None:
        """Add what a part of this fleet has of a relation to what is here of it."""
        if name not in self._done:
            database.copy_in(self.connection, name, part.shape(name), None)
            self._done.add(name)
        database.add(self.connection, name, part.shape(name), part.connection.table(name).to_arrow_table())
        self._frames.pop(name, None)

    def take(self, name: str, query: str = "") -> None:
        """Take a relation from a query over what is here; without a query, one that was put here."""
        if query:
            database.make(self.connection, name, query)
        self._done.add(name)

    def assemble(self, names: Iterable[str]) -> None:
        """Compute relations from the facts."""
        for name in names:
            self._compute(name)

    def _compute(self, name: str) -> None:
        if name in self._done:
            return
        if name in self._waiting:
            self._read()
            return
        if self._keeper is not None and self._keeper.give(self, name):
            self._done.add(name)
            return
        self.assemble(relations()[name].needs)
        if name not in self._done:  # where a need is kept, all that it was made from may have come with it
            self.take(name, relations()[name].query)


def schema(name: str | None = None) -> pl.DataFrame:
    """Return relation, column, type and sentence of all public relations, or of one, from the comments of the SQL.

    Raise UsageError for an unknown name.
    """
    import polars as pl

    empty = Fleet.from_tables()
    rows = [
        (each, column, kind, _sentences(each).get(column, ""))
        for each in ([name] if name else empty.relations())
        for column, kind in empty.shape(each).items()
    ]
    return pl.DataFrame(rows, schema=["relation", "column", "type", "sentence"], orient="row")


def _sentences(name: str) -> Mapping[str, str]:
    if name in SHAPES:
        return SHAPES[name].sentences
    return relations()[name].columns if name in relations() else {}
