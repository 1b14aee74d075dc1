"""Tasks and answers as rows, so that they cross to executors and back: JSON, and Parquet bytes in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ettlog import bulk
from ettlog.moved import Gone
from ettlog.tasks import Answer, Known, Task

if TYPE_CHECKING:
    import pyarrow as pa

PIECE = 4 << 20
"""Bytes of a data file that travel in one row: no message of an engine may grow with a file."""


class Rows(NamedTuple):
    """Columns of rows that cross: name -> type, in words that Arrow and Spark share."""

    columns: dict[str, str]

    def arrow(self) -> pa.Schema:
        """Return them as an Arrow schema."""
        import pyarrow as pa

        return pa.schema([(name, pa.type_for_alias(kind)) for name, kind in self.columns.items()])

    def ddl(self) -> str:
        """Return them as Spark writes a schema."""
        spark = {"int64": "bigint", "int32": "int"}
        return ", ".join(f"`{name}` {spark.get(kind, kind)}" for name, kind in self.columns.items())


TASKS = Rows({"no": "int64", "task": "string"})
ANSWERS = Rows({"no": "int64", "place": "int32", "table": "string", "head": "string", "data": "binary"})
"""One row with the head of an answer, then rows with the pieces of its tables, numbered by `place` from 0."""


def task_text(task: Task, path: str) -> str:
    """Return a task as JSON, its source at `path`."""
    told = asdict(replace(task, path=Path()))
    return json.dumps(told | {"path": path}, default=str)


def task_of(text: str) -> Task:
    """Return the task of `task_text`."""
    from ettlog.parse.parsed import Limits, ScanOptions

    told: dict[str, Any] = json.loads(text)
    options = told.pop("options")
    options["limits"] = Limits(**options["limits"])
    fields = options["sacct_fields"]
    options["sacct_fields"] = tuple(fields) if fields is not None else None
    known = told.pop("known")
    gone = tuple(Gone(*one) for one in told.pop("gone"))
    return Task(
        path=Path(told.pop("path")),
        options=ScanOptions(**options),
        known=Known(*known) if known else None,
        gone=gone,
        **told,
    )


def answer_rows(no: int, answer: Answer) -> Iterator[dict[str, Any]]:
    """Yield an answer as rows of `ANSWERS`."""
    head = {name: value for name, value in vars(answer).items() if name != "tables"}
    yield {"no": no, "place": 0, "table": None, "head": json.dumps(head), "data": None}
    place = 1
    for table, data in answer.tables.items():
        for piece in bulk.pieces(data, PIECE):
            yield {"no": no, "place": place, "table": table, "head": None, "data": piece}
            place += 1


def answers_of(rows: pa.Table) -> Iterator[Answer]:
    """Yield the answers of rows in the order of their numbers, whatever the order the rows came in."""
    heads: dict[int, Answer] = {}
    for row in rows.sort_by([("no", "ascending"), ("place", "ascending")]).to_pylist():
        if row["head"] is not None:
            told = json.loads(row["head"])
            told["was"] = tuple(told["was"])
            if "inferences" in told["facts"]:
                told["facts"]["inferences"] = tuple(told["facts"]["inferences"])
            heads[row["no"]] = Answer(**told)
        else:
            tables = heads[row["no"]].tables
            tables[row["table"]] = bulk.whole(tables.get(row["table"], b"")) + row["data"]
    yield from heads.values()
