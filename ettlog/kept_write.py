"""Writes the files of kept relations: while one thread makes bytes of some rows, the database orders the next ones."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ettlog import durable

if TYPE_CHECKING:
    import pyarrow as pa

ROW_GROUP = 1 << 16
BATCH_BYTES = 8 << 20
"""Bytes of files that wait for being made durable together."""
WAITING = 2
"""Row groups that wait for the thread that makes bytes of them: more would only take memory."""


class KeptFile(NamedTuple):
    """What the index says of one relation: hash, length and rows of its file, and the SQL type of each column."""

    sha256: str
    bytes: int
    rows: int
    types: Mapping[str, str]


class Writing(NamedTuple):
    """A relation that is to be kept: its name, SQL types, and a call that gives its rows in their order."""

    name: str
    types: Mapping[str, str]
    rows: Callable[[int], pa.RecordBatchReader]


def put(folder: Path, relations: Iterator[Writing]) -> dict[str, KeptFile]:
    """Write a file for each relation, and return what the index has to say of them; raise LakeError, OSError."""
    made: dict[str, Future[KeptFile]] = {}
    waiting: deque[Future[Any]] = deque()
    batch = _Batch(folder)
    with ThreadPoolExecutor(1) as pool:
        for each in relations:
            with each.rows(ROW_GROUP) as reader:
                file = _File(reader.schema)
                for rows in _row_groups(reader):
                    waiting.append(pool.submit(file.add, rows))
                    while len(waiting) > WAITING:
                        waiting.popleft().result()
            made[each.name] = pool.submit(batch.add, each, file)
            waiting.append(made[each.name])
        found = {name: future.result() for name, future in made.items()}
    batch.publish()
    return found


def _row_groups(reader: pa.RecordBatchReader) -> Iterator[pa.Table]:
    """Yield the rows of a relation in tables of `ROW_GROUP` rows, whatever batches they come in; the last one is less,
    or empty.
    """
    import pyarrow as pa

    left = pa.Table.from_batches([], reader.schema)  # an empty table of a schema imports pandas
    for batch in reader:
        left = pa.concat_tables([left, pa.Table.from_batches([batch])])
        while left.num_rows > ROW_GROUP:
            yield left.slice(0, ROW_GROUP)
            left = left.slice(ROW_GROUP)
    yield left


class _File:
    """A relation as Parquet bytes, which depend on its rows alone."""

    def __init__(self, schema: pa.Schema) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._sink, self.rows = pa.BufferOutputStream(), 0
        whole = [column.name for column in schema if pa.types.is_integer(column.type)]
        texts = [column.name for column in schema if pa.types.is_string(column.type)]
        # read whole and by one engine: quick to write goes before small, and nothing asks what a row group holds
        self._writer = pq.ParquetWriter(
            self._sink, schema, compression="lz4", use_dictionary=texts, write_statistics=False,
            column_encoding=dict.fromkeys(whole, "DELTA_BINARY_PACKED"),
        )  # fmt: skip

    def add(self, rows: pa.Table) -> None:
        self.rows += rows.num_rows
        self._writer.write_table(rows.combine_chunks())

    def whole(self) -> bytes:
        self._writer.close()
        data: bytes = self._sink.getvalue().to_pybytes()
        return data


class _Batch:
    """Whole files that wait to be published together: a disk makes many durable in the time of one."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._files = folder, list[durable.NewFile]()

    def add(self, each: Writing, file: _File) -> KeptFile:
        data = file.whole()
        sha256 = hashlib.sha256(data).hexdigest()
        self._files.append(durable.NewFile(self._folder, f"{each.name}-{sha256[:16]}.parquet", data))
        if sum(len(new.data) for new in self._files) > BATCH_BYTES:
            self.publish()
        return KeptFile(sha256, len(data), file.rows, dict(each.types))

    def publish(self) -> None:
        if self._files:
            durable.publish(self._files)
        self._files.clear()
