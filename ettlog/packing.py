"""Packs the facts of one source into Parquet: the same rows give the same bytes."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

from ettlog.bulk import Bulk, Data, pieces
from ettlog.manifest import DataFile
from ettlog.schema import LAKE_VERSION, PARSER_VERSION, arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

    from ettlog.parse.spool import Spool
    from ettlog.parse.step_table import StepTable

BIG_ROWS = 4096
"""Tables of at least this many rows are compressed; below it the headers would weigh more than the gain."""
ROW_GROUP = 1 << 17
LARGE_ROWS = 1 << 20
"""Tables of more rows are packed into a temporary file: a row takes four bytes or so."""
FEW = ("launch", "rank", "target", "skipped")
"""Numbers of steps that take few values: a dictionary holds them."""


def packed(table: str, rows: pa.Table | Spool | StepTable) -> Data:
    """Return the Parquet file of a fact table, on disk where its rows are many; raise OSError where that is full."""
    if rows.num_rows <= LARGE_ROWS:
        return parquet(table, rows)
    found = Bulk()
    _write(found.file, table, rows)
    return found


def parquet(table: str, rows: pa.Table | Spool | StepTable) -> bytes:
    """Return the Parquet file of a fact table as bytes that depend on the rows alone: no clock, no path, no host."""
    sink = io.BytesIO()  # its bytes are handed on without a copy
    _write(sink, table, rows)
    return sink.getvalue()


def _write(sink: IO[bytes], table: str, rows: pa.Table | Spool | StepTable) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = arrow_schema(table).with_metadata(
        {"ettlog.table": table, "ettlog.lake_version": str(LAKE_VERSION), "ettlog.parser_version": str(PARSER_VERSION)}
    )
    with pq.ParquetWriter(sink, schema, write_page_checksum=True, **_layout(table, schema, rows.num_rows)) as file:
        for group in _row_groups(rows if isinstance(rows, pa.Table) else rows.batches(), schema):
            file.write_table(group, ROW_GROUP)


def _row_groups(rows: pa.Table | Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield the rows a group at a time, each in one piece: how they came in batches must not show in the bytes."""
    import pyarrow as pa

    waiting = _Waiting(schema)
    for batch in [rows] if isinstance(rows, pa.Table) else rows:
        more = batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])
        waiting.add(more if more.schema.equals(schema) else more.select(schema.names).cast(schema))
        while waiting.rows > ROW_GROUP:
            yield waiting.first(ROW_GROUP)
    yield waiting.first(waiting.rows)


class _Waiting:
    """Rows that are too few for a group; one is made of them column by column, so that no row is held twice."""

    def __init__(self, schema: pa.Schema) -> None:
        self.rows = 0
        self._schema = schema
        self._parts: list[list[pa.Array]] = [[] for _ in schema]

    def add(self, more: pa.Table) -> None:
        self.rows += more.num_rows
        for parts, column in zip(self._parts, more.columns, strict=True):
            parts += column.chunks

    def first(self, rows: int) -> pa.Table:
        """Take so many rows away and return them, each column in one piece."""
        import pyarrow as pa

        made = []
        for index, item in enumerate(self._schema):
            column = pa.chunked_array(self._parts[index], item.type)
            self._parts[index] = column.slice(rows).chunks
            made.append(column.slice(0, rows).unify_dictionaries().combine_chunks())
        self.rows -= rows
        return pa.table(made, schema=self._schema)


def _layout(table: str, schema: pa.Schema, rows: int) -> dict[str, object]:
    """Choose encodings: words by dictionary, integers by difference, other strings by shared beginnings.

    Steps, the many rows, are written in the cheapest way that is nearly as small: what differences and dictionaries
    leave is packed by Snappy, and only instants and numbers have statistics.
    """
    import pyarrow as pa

    words = [item.name for item in schema if pa.types.is_dictionary(item.type)]
    if rows < BIG_ROWS:
        return {"compression": "none", "write_statistics": False, "use_dictionary": words}
    words += FEW if table == "step" else ()
    rest = {item.name: item.type for item in schema if item.name not in words}
    encoding = {
        name: "DELTA_BINARY_PACKED" if pa.types.is_integer(kind) else "DELTA_BYTE_ARRAY" for name, kind in rest.items()
    }
    layout: dict[str, object] = {"use_dictionary": words, "column_encoding": encoding}
    if table == "step":
        return layout | {"compression": "snappy", "write_statistics": ["ts", "step"]}
    return layout | {"compression": "zstd", "compression_level": 1}


def describe(data: Data, rows: int) -> DataFile:
    """Return what the manifest keeps of a data file."""
    digest = hashlib.sha256()
    for piece in pieces(data):
        digest.update(piece)
    return DataFile(digest.hexdigest(), len(data), rows)
