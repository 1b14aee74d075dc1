"""Writes a simulated fleet straight into a lake, without logs: millions of steps, to measure what comes after reading.

The facts are those of the same logs, as far as their lines are samples of formats; a dialect's own text is
left out, so one that dates all its lines (`titan`) is the one to use.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ettlog import lake, manifest, packing
from ettlog.schema import PARSER_VERSION, TABLES, arrow_schema
from ettlog.simulate.slurm import STATES
from ettlog.simulate.story import FAILED, STEP, Moment, story
from ettlog.simulate.template import pattern, template
from ettlog.simulate.write import allocation_id, config, log_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from ettlog.simulate.dialect import Dialect
    from ettlog.simulate.plan import Job, Start
    from ettlog.simulate.run import Simulated

BATCH = 200
"""Sources written between two commits."""
NEVER = 1 << 60
DATED, CARRIED = "zone_set", "carried"


class Saying(NamedTuple):
    """What a pattern makes of a line."""

    format: str
    pattern: str
    kind: str
    fields: frozenset[str]
    cause: str | None
    code: int | None


@cache
def saying(key: str) -> Saying:
    """Return what a line named FORMAT.PATTERN says."""
    name = re.split("[:~@]", key)[0]
    found, (file, _, own) = pattern(name), name.partition(".")
    told = found.get("constants", {})
    fields = frozenset(template(key.partition("@")[0]).fields)
    return Saying(file, own, found.get("kind", ""), fields, told.get("cause"), told.get("code"))


def write_lake(fleet: Simulated, folder: str | Path) -> dict[str, int]:
    """Write a lake of the fleet; return its rows by table. The folder must not hold a lake. Raises LakeError."""
    rows = dict.fromkeys(TABLES, 0)
    with lake.writer(Path(folder)) as writer:
        writer.keep_copy(lake.CONFIG_NAME, config(fleet).encode())
        writer.keep_copy(lake.REGISTRY_NAME, fleet.registry.encode())
        for number, (name, tables) in enumerate(_sources(fleet)):
            _put(writer, name, tables)
            for table, data in tables.items():
                rows[table] += data.num_rows
            if number % BATCH == BATCH - 1:
                writer.flush()
        writer.flush()
    return rows


def _sources(fleet: Simulated) -> Iterator[tuple[str, dict[str, pa.Table]]]:
    """Yield name and tables of every source: a log an allocation, an accounting dump a cluster."""
    records: dict[str, list[dict[str, Any]]] = {}
    for job in fleet.plans:
        model = fleet.models[job.model]
        held: dict[int, list[Start]] = {}
        for one in job.starts:
            held.setdefault(one.allocation, []).append(one)
        for starts in held.values():
            yield "logs/" + log_name(fleet, job, starts[0], 0), _log(starts, model.dialect)
            records.setdefault(model.cluster, []).extend(
                _record(job, one, model.cluster) for one in starts if one.releases
            )
    for cluster, rows in records.items():
        made = [{"line": line, **row} for line, row in enumerate(rows, 2)]
        yield f"logs/sacct-{cluster}.txt", {"alloc": _table("alloc", made)}


def _put(writer: lake.Writer, name: str, tables: dict[str, pa.Table]) -> None:
    from blake3 import blake3

    digest = str(blake3(name.encode()).hexdigest())
    key, lines = digest[:32], sum(rows.num_rows for rows in tables.values())
    data = {table: packing.parquet(table, rows) for table, rows in tables.items() if rows.num_rows}
    dated = [rows["ts"] for rows in tables.values() if "ts" in rows.column_names and rows.num_rows]
    edges = [int(column[at].as_py()) for column in dated for at in (0, -1)]
    writer.publish(key, data)
    writer.add(
        manifest.SourceEntry(
            manifest.ADD, name, key, digest, lines * 100, {"matched": lines}, lines,
            {table: packing.describe(packed, tables[table].num_rows) for table, packed in data.items()},
            {"simulated": lines}, "whole", first_us=min(edges, default=None), last_us=max(edges, default=None),
            clock=DATED, parser=PARSER_VERSION,
        )
    )  # fmt: skip


def _table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    """Return rows as a fact table; columns that no row has are null."""
    import pyarrow as pa

    schema = arrow_schema(name)
    return pa.table([pa.array([row.get(item.name) for row in rows]).cast(item.type) for item in schema], schema)


def _log(starts: list[Start], dialect: Dialect) -> dict[str, pa.Table]:
    """Return events and steps of one log, in order of time; a step line stands before what else is told then."""
    events = [row for launch, one in enumerate(starts, 1) for row in _events(one, dialect, launch)]
    stamps = np.concatenate([_instants(one) for one in starts])
    told = np.array([row["ts"] for row in events], dtype=np.int64)
    order = np.lexsort((np.r_[np.ones(len(told)), np.zeros(len(stamps))], np.r_[told, stamps]))
    line = np.empty(len(order), dtype=np.int64)
    line[order] = np.arange(1, len(order) + 1)
    numbered = [row | {"line": at} for row, at in zip(events, line[: len(told)].tolist(), strict=True)]
    columns = {
        "line": line[len(told) :], "ts": stamps,
        "launch": np.repeat(np.arange(1, len(starts) + 1), [one.steps for one in starts]),
        "step": np.concatenate([np.arange(one.resumed + 1, one.last + 1) for one in starts]) + dialect.offset,
    }  # fmt: skip
    return {
        "event": _table("event", sorted(numbered, key=lambda row: int(row["line"]))),
        "step": _steps(columns, dialect),
    }


def _instants(one: Start) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the instant at which each step of a start ends."""
    steps = np.arange(one.resumed + 1, one.last + 1, dtype=np.int64)
    held = np.concatenate([[0], np.cumsum([held.us for held in one.interrupts])]).astype(np.int64)
    before = np.searchsorted([held.step for held in one.interrupts], steps, "left")
    return one.loop_us + one.excess + (steps - one.resumed) * one.step_us + held[before]


def _steps(columns: dict[str, Any], dialect: Dialect) -> pa.Table:
    import pyarrow as pa

    told, schema, rows = saying(dialect.lines[STEP][0]), arrow_schema("step"), len(columns["line"])
    words = {"clock": DATED, "format": told.format, "pattern": told.pattern}
    made = []
    for item in schema:
        if item.name in columns:
            made.append(pa.array(columns[item.name]).cast(item.type))
        elif item.name in words:
            made.append(
                pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([words[item.name]]))
            )
        else:
            made.append(pa.nulls(rows, item.type))
    return pa.table(made, schema)


def _events(one: Start, dialect: Dialect, launch: int) -> Iterator[dict[str, Any]]:
    """Yield the events of a start; steps are made elsewhere, all at once."""
    for moment in story(one, dialect, every=NEVER):
        keys = dialect.lines.get(moment.what, ())
        if moment.what == FAILED:
            keys = (*dialect.failures.get(one.cause, ()), *keys)
        for key in keys:
            if key[0] != "=" and saying(key).kind:
                yield _event(key, moment, one, dialect) | {"launch": launch}


def _event(key: str, moment: Moment, one: Start, dialect: Dialect) -> dict[str, Any]:
    told, late = saying(key), key.endswith("@stop")
    row: dict[str, Any] = {
        "ts": one.stop_us if late else moment.us, "clock": DATED if "stamp" in told.fields else CARRIED,
        "kind": told.kind, "format": told.format, "pattern": told.pattern, "cause": told.cause, "code": told.code,
    }  # fmt: skip
    if {"step", "step_next"} & told.fields:
        row["step"] = moment.step + dialect.offset
    if {"duration_s", "duration_ms"} & told.fields:
        row["duration_us"] = moment.took_us
    if {"world", "world_product"} & told.fields:
        row["world"] = one.gpus
    if "code" in told.fields:
        row["code"] = -9
    return row


def _record(job: Job, one: Start, cluster: str) -> dict[str, Any]:
    number = allocation_id(job, one.allocation)
    return {
        "record": "job", "cluster": cluster, "id": number, "raw": number, "name": job.name,
        "state": STATES[one.end].partition(" ")[0], "submit_us": one.submit_us, "eligible_us": one.submit_us,
        "start_us": one.granted_us, "end_us": one.done_us, "clock": DATED, "gpus": one.gpus,
        "elapsed_us": one.done_us - one.granted_us, "nodes": max(1, one.gpus // 8),
    }  # fmt: skip
