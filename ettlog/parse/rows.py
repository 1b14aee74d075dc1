"""Rows of one fact table as readers of records add them, packed into columns every few thousand rows."""

from __future__ import annotations

from array import array
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ettlog.parse.spool import Spool
from ettlog.schema import TABLES, arrow_schema

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

_BATCH = 1 << 15
_BOUNDS = {"int64": (1 << 63) - 1, "int32": (1 << 31) - 1}


class Table:
    """Rows of one fact table, kept as columns and packed every few thousand rows."""

    def __init__(self, name: str) -> None:
        """Start without rows."""
        self._schema = arrow_schema(name)
        self._kinds = {column.name: column.type for column in TABLES[name]}
        self._cells: dict[str, tuple[array[int], list[Any]]] = {name: (array("q"), []) for name in self._kinds}
        """Column -> the rows of the batch that have a value, and these values: most columns of most rows have none."""
        self._size = 0
        self._spool = Spool(self._schema)
        self.lines = array("q")

    def add(self, row: dict[str, Any]) -> None:
        """Take one row; columns it lacks are null, numbers beyond a column's width too."""
        self.lines.append(row["line"])
        number, cells = self._size, self._cells
        for name, value in row.items():
            if value is not None and name in cells:
                at, values = cells[name]
                at.append(number)
                values.append(value)
        self._size += 1
        if self._size >= _BATCH:
            self._pack()

    def _pack(self) -> None:
        import pyarrow as pa

        size, self._size = self._size, 0
        packed = [self._packed(field, size) for field in self._schema]
        self._spool.add(pa.RecordBatch.from_arrays(packed, schema=self._schema))

    def _packed(self, field: pa.Field, size: int) -> pa.Array:
        """Return a column of the batch, and begin it anew."""
        from ettlog.parse import columns

        at, values = self._cells[field.name]
        if not values:
            return _nulls(field.type, size)
        self._cells[field.name] = (array("q"), [])
        kind = self._kinds[field.name]
        if kind == "word":
            known = columns.Words()
            return columns.words(columns.codes(at, known.codes(values), size), known.words)
        if kind == "string":
            texts: list[str | None] = [None] * size
            for number, value in zip(at, values, strict=True):
                texts[number] = value
            return columns.texts(texts)
        bound = _BOUNDS[kind]
        values = [value if -bound <= value <= bound else None for value in values]
        return columns.integers(columns.placed(at, values, size), field.type)

    def extend(self, numbers: dict[str, Ints], words: dict[str, str]) -> None:
        """Take many rows as columns: whole numbers that fit their columns, and words that are alike in all rows."""
        import numpy as np
        import pyarrow as pa

        from ettlog.parse import columns

        if self._size:
            self._pack()
        size = len(numbers["line"])
        self.lines.frombytes(np.ascontiguousarray(numbers["line"], np.int64).tobytes())
        made = {name: columns.integers(values, self._schema.field(name).type) for name, values in numbers.items()}
        same = np.zeros(size, np.int64)
        made |= {name: columns.words(same, [word]) for name, word in words.items()}
        every = [made[field.name] if field.name in made else _nulls(field.type, size) for field in self._schema]
        self._spool.add(pa.RecordBatch.from_arrays(every, schema=self._schema))

    def table(self, begins: list[int]) -> pa.Table | Spool:
        """Return all rows sorted by line, with the launch each belongs to; `begins` holds the first lines of
        launches. Rows that came sorted and have no launch may stay in their spool.
        """
        import numpy as np
        import pyarrow as pa

        from ettlog.parse import columns

        self._pack()
        lines = np.frombuffer(self.lines, np.int64) if self.lines else np.empty(0, np.int64)
        at = self._schema.get_field_index("launch")
        mixed = bool(np.any(np.diff(lines) < 0))
        if at < 0 and not mixed:
            return self._spool.table()
        table = pa.Table.from_batches(list(self._spool.batches()), self._schema).unify_dictionaries()
        if at >= 0:
            numbers = np.searchsorted(np.array(begins, np.int64), lines, side="right")
            table = table.set_column(at, self._schema.field(at), columns.integers(numbers, self._schema.field(at).type))
        order = columns.integers(np.argsort(lines, kind="stable"), pa.int64())
        return table.take(order) if mixed else table


@lru_cache(maxsize=32)
def _nulls(kind: pa.DataType, count: int) -> pa.Array:
    """Return a column without a value; batches share it, for most columns of most sources are empty."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        from ettlog.parse import columns

        return pa.DictionaryArray.from_arrays(pa.nulls(count, kind.index_type), columns.texts([]))
    return pa.nulls(count, kind)
