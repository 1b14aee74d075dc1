"""Logs, or a lake, as a table for Spark users: `spark.read.format("ettlog").load("logs/")` (docs/engines.md)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from ettlog.errors import UsageError
from ettlog.scratch import scratch

if TYPE_CHECKING:
    import pyarrow as pa

    from ettlog.discover import LogFile

FACTS = ("event", "step", "alloc")
SOURCE = "source"
OPTIONS = ("path", "table", "steps", "zone", "label")
SPARK = {
    "VARCHAR": "string", "BIGINT": "bigint", "INTEGER": "int", "BOOLEAN": "boolean", "DOUBLE": "double",
    "HUGEINT": "decimal(38,0)", "TIMESTAMP": "timestamp_ntz",
}  # fmt: skip
"""SQL type of a relation's column -> the type that Spark has for it."""


class EttlogSource(DataSource):
    """The data source `ettlog`: register it with `spark.dataSource.register(EttlogSource)`.

    Options: `table` (`event`, `step`, `alloc`, `source`, or a relation; default `event`), `steps` (`all` or `none`),
    `zone` (IANA zone of stamps that name none), `label` (name that stands for the folder). `load` takes a lake, a
    folder of logs, a file or a glob.
    """

    @classmethod
    def name(cls) -> str:
        """Return the name for `format`."""
        return "ettlog"

    def schema(self) -> str:
        """Return the columns of the chosen table; raise UsageError for a table or an option that is none."""
        return ", ".join(f"`{name}` {SPARK[kind]}" for name, kind in columns(self._asked().table).items())

    def reader(self, schema: Any) -> DataSourceReader:  # noqa: ARG002 - the columns are those of `schema`
        """Return what reads the chosen table."""
        return EttlogReader(self._asked())

    def _asked(self) -> Asked:
        given = {key.lower(): value for key, value in self.options.items()}
        if "path" not in given or (strange := sorted(given.keys() - set(OPTIONS))):
            raise UsageError(
                "this cannot be loaded",
                where='spark.read.format("ettlog")',
                why=f"there is no option {strange[0]}" if "path" in given else "no path is named",
                todo=f'.option("table", ...).load("logs/"); options are {", ".join(OPTIONS)}',
            )
        return Asked(**given)


class Asked(NamedTuple):
    """What is to be read: a path and the options of `EttlogSource`."""

    path: str
    table: str = "event"
    steps: str = "all"
    zone: str | None = None
    label: str | None = None


class Part(InputPartition):
    """One log file, or (without one) the whole of what was asked."""

    def __init__(self, file: LogFile | None) -> None:
        """Keep the file."""
        super().__init__(file)


class EttlogReader(DataSourceReader):
    """Reads fact tables a file at a time, wherever Spark has room; a relation, which needs all files, in one task."""

    def __init__(self, asked: Asked) -> None:
        """Keep what is asked."""
        self.asked = asked

    def partitions(self) -> Sequence[InputPartition]:
        """Return one part for each log; one alone for a relation, or a lake."""
        if self.asked.table not in FACTS or _is_lake(self.asked.path):
            return [Part(None)]
        return [Part(file) for file in _found(self.asked)] or [Part(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a part as Arrow."""
        if partition.value is not None:
            yield from _read_log(self.asked, partition.value)
        else:
            yield from _read_all(self.asked)


@lru_cache(maxsize=64)
def columns(table: str) -> dict[str, str]:
    """Return column and SQL type of a fact table (its log in front) or a relation; raise UsageError for neither."""
    from ettlog.facts import SHAPES
    from ettlog.fleet import Fleet

    if table in FACTS:
        return {"path": "VARCHAR", **{name: kind for name, kind in SHAPES[table].columns.items() if name != "key"}}
    return Fleet.from_tables().shape(table)


def schema(table: str) -> pa.Schema:
    """Return the Arrow schema of a table: `columns` in Arrow's types."""
    import pyarrow as pa

    kinds = {"VARCHAR": pa.string(), "BIGINT": pa.int64(), "INTEGER": pa.int32(), "BOOLEAN": pa.bool_()}
    kinds |= {"DOUBLE": pa.float64(), "HUGEINT": pa.decimal128(38, 0), "TIMESTAMP": pa.timestamp("us")}
    return pa.schema([(name, kinds[kind]) for name, kind in columns(table).items()])


def _is_lake(path: str) -> bool:
    from ettlog import manifest

    return (Path(path) / manifest.NAME).is_file()


def _found(asked: Asked) -> list[LogFile]:
    """Return the logs of a folder, a file or a glob, named as an ingest would name them."""
    import glob

    from ettlog import discover

    roots = [Path(asked.path)] if Path(asked.path).exists() else [Path(one) for one in sorted(glob.glob(asked.path))]  # noqa: PTH207
    if not roots:
        raise UsageError("nothing is there", where=asked.path, why="no file fits", todo="name logs, or a lake")
    return discover.discover(roots, Path(asked.path) / "ettlog.lake", asked.label).files


def _read_log(asked: Asked, file: LogFile) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    from ettlog import bulk, config, tasks, workers
    from ettlog.engine import remote
    from ettlog.ingest import IngestOptions, scan_options

    options = scan_options(file.name, config.load(), IngestOptions(steps=asked.steps, zone=asked.zone))
    answer = workers.read(tasks.Task(file.name, file.path, options), remote.load_formats("[]"))
    if answer.state == tasks.REJECTED:
        raise UsageError("a log cannot be read", where=file.name, why=answer.reason, todo="leave it out, or mend it")
    if data := answer.tables.get(asked.table):
        for batch in remote.fact_batches(asked.table, file.name, pa.BufferReader(bulk.whole(data))):
            yield pa.RecordBatch.from_arrays(batch.columns, schema=schema(asked.table))


def _read_all(asked: Asked) -> Iterator[pa.RecordBatch]:
    """Yield a table of a lake, or of a lake made for this of all logs."""
    from ettlog import fleet
    from ettlog.ingest import IngestOptions, ingest

    with tempfile.TemporaryDirectory(prefix="source-", dir=scratch()) as folder:
        lake = Path(asked.path)
        if not _is_lake(asked.path):
            lake = Path(folder) / "lake"
            options = IngestOptions(workers=1, steps=asked.steps, zone=asked.zone, label=asked.label)
            roots = sorted({file.path for file in _found(asked)}) if not Path(asked.path).is_dir() else [asked.path]
            ingest(roots, lake, options=options)
        opened = fleet.open(lake)
        frame = opened.table(asked.table)
        if asked.table in FACTS:
            named = opened.table(SOURCE).select("key", "path")
            frame = frame.join(named, on="key", maintain_order="left")
        wanted = schema(asked.table)
        yield from frame.select(wanted.names).to_arrow().cast(wanted).to_batches()
