"""What runs on executors: sources are read, and facts of a lake, a batch of rows of paths at a time."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ettlog.engine.wire import ANSWERS, answer_rows, task_of
from ettlog.facts import SHAPES
from ettlog.scratch import scratch

if TYPE_CHECKING:
    import pyarrow as pa

    from ettlog.parse.format import FormatSet

ROWS = 1 << 16
"""Rows of a fact table that are handed over at once."""
ARROW = {"VARCHAR": "string", "BIGINT": "int64", "INTEGER": "int32"}


def read_sources(batches: Iterator[pa.RecordBatch], formats: str) -> Iterator[pa.RecordBatch]:
    """Read the source of each row (`no`, `task`) and yield its answer in rows of `wire.ANSWERS`."""
    import pyarrow as pa

    from ettlog import workers

    known = load_formats(formats)
    for batch in batches:
        for row in batch.to_pylist():
            answer = workers.read(task_of(row["task"]), known)
            for piece in answer_rows(row["no"], answer):
                yield pa.RecordBatch.from_pylist([piece], schema=ANSWERS.arrow())


@lru_cache(maxsize=2)
def load_formats(texts: str) -> FormatSet:
    """Return ettlog's formats and those sent along: JSON, a list of folders, each a map from file name to text."""
    from ettlog.parse import format as formats_of

    folders: list[Mapping[str, str]] = json.loads(texts)
    with tempfile.TemporaryDirectory(prefix="formats-", dir=scratch()) as root:
        for number, files in enumerate(folders):
            folder = Path(root) / str(number)
            folder.mkdir()
            for name, text in files.items():
                (folder / name).write_text(text, encoding="utf-8", newline="")
        return formats_of.load_all([Path(root) / str(number) for number in range(len(folders))])


def read_facts(batches: Iterator[pa.RecordBatch], table: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a fact table out of the data file of each row (`key`, `path`), with the key beside them."""
    for batch in batches:
        for row in batch.to_pylist():
            yield from fact_batches(table, row["key"], row["path"])


def fact_batches(table: str, key: str, file: Any) -> Iterator[pa.RecordBatch]:
    """Yield a data file's rows as the columns of `SHAPES`: words as plain strings, absent columns null."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as opened:
        for batch in opened.iter_batches(ROWS):
            columns = [pa.repeat(pa.scalar(key), batch.num_rows)]
            columns += [_column(batch, name, kind) for name, kind in SHAPES[table].columns.items() if name != "key"]
            yield pa.RecordBatch.from_arrays(columns, schema=fact_schema(table))


def fact_schema(table: str) -> pa.Schema:
    """Return the Arrow schema of a fact table as relations read it."""
    import pyarrow as pa

    return pa.schema([(name, pa.type_for_alias(ARROW[kind])) for name, kind in SHAPES[table].columns.items()])


def _column(batch: pa.RecordBatch, name: str, kind: str) -> pa.Array:
    import pyarrow as pa

    wanted = pa.type_for_alias(ARROW[kind])
    if name not in batch.schema.names:
        return pa.nulls(batch.num_rows, wanted)
    return batch.column(name).cast(wanted)
