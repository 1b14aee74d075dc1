"""Arrow columns from numpy arrays and from Python values, by their buffers.

`pyarrow.array` looks for pandas when it is given Python objects, and imports it where it is installed: half a second
that no log needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ettlog.parse.template import NULL
from ettlog.schema import TABLES, arrow_schema

Ints = NDArray[np.int64]
_TYPES: dict[str, Any] = {"int64": np.int64, "int32": np.int32}


class Words:
    """Distinct words, numbered in the order in which they are first met; no word has the number -1."""

    def __init__(self) -> None:
        """Start with none."""
        self._numbers: dict[str | None, int] = {None: -1}

    def codes(self, words: Iterable[str | None]) -> Ints:
        """Return the numbers of words."""
        numbers = self._numbers
        return np.array([numbers.setdefault(word, len(numbers) - 1) for word in words], np.int64)

    @property
    def words(self) -> list[str]:
        """Return the words in the order of their numbers."""
        return [word for word in self._numbers if word is not None]


@lru_cache
def empty(table: str) -> pa.Table:
    """Return a fact table without rows."""
    schema = arrow_schema(table)
    none = np.zeros(0, np.int64)
    made = {"int64": integers(none, pa.int64()), "int32": integers(none, pa.int32()), "string": texts([])}
    made["word"] = words(none, [])
    return pa.table([made[column.type] for column in TABLES[table]], schema=schema)


def integers(values: Ints, kind: pa.DataType) -> pa.Array:
    """Return a column of integers; NULL becomes null."""
    missing = values == NULL
    if missing.all() and len(values):
        return pa.nulls(len(values), kind)
    numbers = np.where(missing, 0, values) if missing.any() else values
    return _column(kind, np.ascontiguousarray(numbers, _TYPES[str(kind)]), missing)


def whole(values: Sequence[Any]) -> Ints:
    """Return Python integers as an array; None, and what is none, becomes NULL."""
    return np.array([value if isinstance(value, int) else NULL for value in values], np.int64)


def number(value: int, kind: pa.DataType) -> pa.Scalar:
    """Return one integer, as what Arrow computes with."""
    return integers(np.array([value], np.int64), kind)[0]


def flags(values: NDArray[np.bool_]) -> pa.Array:
    """Return a column of truth values."""
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(np.packbits(values, bitorder="little"))])


def column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return a column of Python values: strings, integers, or truth values without None."""
    if pa.types.is_string(kind):
        return texts(values)
    return flags(np.array(values, bool)) if pa.types.is_boolean(kind) else integers(whole(values), kind)


def values(column: pa.Array) -> NDArray[Any]:
    """Return integers or truth values, none of which is null, as an array: the other way round it is Arrow's
    `to_numpy` that imports pandas."""
    begin, end = column.offset, column.offset + len(column)
    data = column.buffers()[1]
    if pa.types.is_boolean(column.type):
        return np.unpackbits(np.frombuffer(data, np.uint8), count=end, bitorder="little")[begin:].astype(bool)
    return np.frombuffer(data, _TYPES[str(column.type)])[begin:end]


def placed(at: Sequence[int], values: Sequence[Any], size: int) -> Ints:
    """Return an array of `size` integers: these values at these places, NULL elsewhere and for what is no integer."""
    found = np.full(size, NULL)
    found[at] = whole(values)
    return found


def codes(at: Sequence[int], found: Ints, size: int) -> Ints:
    """Return an array of `size` numbers of words: these at these places, elsewhere -1, that of no word."""
    every = np.full(size, -1)
    every[at] = found
    return every


def words(codes: NDArray[np.integer[Any]], of: Sequence[str], kept: NDArray[np.integer[Any]] | None = None) -> pa.Array:
    """Return a column of words by their numbers; a negative one is null. Only words in use, or those to be `kept`, are
    kept, in their order."""
    missing = codes < 0
    known = codes[~missing] if missing.any() else codes
    used = np.flatnonzero(np.bincount(known if kept is None else kept))
    number = np.zeros(len(of) + 1, np.int32)  # the last place stands for null
    number[used] = np.arange(len(used))
    index = number[codes]
    return pa.DictionaryArray.from_arrays(_column(pa.int32(), index, missing), texts([of[int(code)] for code in used]))


def texts(values: Sequence[str | None]) -> pa.Array:
    """Return a column of strings; None becomes null."""
    if values and all(value is None for value in values):
        return pa.nulls(len(values), pa.string())
    encoded = [b"" if value is None else value.encode() for value in values]
    ends = np.array(list(accumulate(map(len, encoded))), np.int64)
    return strings(b"".join(encoded), ends, np.array([value is None for value in values], bool))


def strings(data: bytes, ends: Ints, missing: NDArray[np.bool_]) -> pa.Array:
    """Return a column of strings that lie one behind the other in `data`, each up to its end; `missing` ones become
    null."""
    offsets = np.concatenate(([0], ends)).astype(np.int32)
    buffers = [_validity(missing), pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(ends), buffers, int(np.count_nonzero(missing)))


def _column(kind: pa.DataType, values: NDArray[Any], missing: NDArray[np.bool_]) -> pa.Array:
    buffers = [_validity(missing), pa.py_buffer(values)]
    return pa.Array.from_buffers(kind, len(values), buffers, int(np.count_nonzero(missing)))


def _validity(missing: NDArray[np.bool_]) -> pa.Buffer | None:
    return pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
