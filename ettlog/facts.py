"""What a lake holds, as tables for the relations: sources with their identity, line counts, names, the vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ettlog import lifecycle
from ettlog.schema import TABLES
from ettlog.settings import KEYS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ettlog.config import Config
    from ettlog.lake import Lake

    Rows = list[dict[str, Any]]

_SQL = {"int64": "BIGINT", "int32": "INTEGER", "string": "VARCHAR", "word": "VARCHAR"}


class Shape(NamedTuple):
    """A table of facts: its columns with their SQL types, and a sentence for each."""

    columns: dict[str, str]
    sentences: dict[str, str]


def _shape(rows: Iterable[tuple[str, str, str]]) -> Shape:
    rows = list(rows)
    return Shape({name: kind for name, kind, _ in rows}, {name: text for name, _, text in rows})


_KEY = ("key", "VARCHAR", "content key of the source")

SHAPES: dict[str, Shape] = {
    name: _shape([_KEY, *((column.name, _SQL[column.type], column.meaning) for column in columns)])
    for name, columns in TABLES.items()
} | {
    "source_fact": _shape(
        [
            _KEY,
            ("path", "VARCHAR", "path of the file below the folder that was ingested"),
            ("stream", "VARCHAR", "name that all parts and all ranks of one log share"),
            ("part", "BIGINT", "number of the part, 0 where the file is whole"),
            ("cluster", "VARCHAR", "cluster"),
            ("job_name", "VARCHAR", "name of the job"),
            ("model", "VARCHAR", "model the job trains"),
            ("platform", "VARCHAR", "platform"),
            ("allocation", "VARCHAR", "scheduler id of the allocation"),
            ("start", "BIGINT", "number of the start, where the path says it"),
            ("rank", "BIGINT", "rank, where the path says it"),
            ("node", "VARCHAR", "node, where the path or the lines say it"),
            ("job_by", "VARCHAR", "what the job's name rests on (lifecycle.JOIN_RULES)"),
            ("allocation_by", "VARCHAR", "what the allocation rests on (lifecycle.JOIN_RULES)"),
            ("state", "VARCHAR", "how much of the file could be read"),
            ("clock", "VARCHAR", "how most instants were had"),
            ("n_lines", "BIGINT", "lines"),
            ("n_bytes", "BIGINT", "bytes as stored"),
            ("first_us", "BIGINT", "first instant of any dated line"),
            ("last_us", "BIGINT", "last instant of any dated line"),
            ("formats", "VARCHAR", "formats that claimed lines, with their counts"),
        ]
    ),
    "line_fact": _shape(
        [
            _KEY,
            ("path", "VARCHAR", "path of the file"),
            ("outcome", "VARCHAR", "what became of the lines"),
            ("lines", "BIGINT", "number of lines"),
        ]
    ),
    "skew_fact": _shape(
        [
            ("path", "VARCHAR", "path of the file whose clock is judged"),
            (
                "against",
                "VARCHAR",
                "file, or number of files, it is held against; null where the configuration decides",
            ),
            ("clock", "VARCHAR", "how most of its instants were had"),
            ("pairs", "BIGINT", "pairs of a log and the record of its allocation"),
            ("low_us", "BIGINT", "least shift that puts the lines into their allocations; null without an end"),
            ("high_us", "BIGINT", "greatest such shift"),
            ("shift_us", "BIGINT", "shift that is applied, of a zone with clock changes the first; null where none is"),
            ("verdict", "VARCHAR", "what was found, and what was done"),
        ]
    ),
    "seam_fact": _shape(
        [
            _KEY,
            ("begin_line", "BIGINT", "first line of a stretch whose launch is numbered over all files of its log"),
            ("end_line", "BIGINT", "line behind it"),
            ("launch", "BIGINT", "launch of the file; 0 goes on with the last one of the file before"),
        ]
    ),
    "name_fact": _shape(
        [
            ("name", "VARCHAR", "job name as the scheduler has it"),
            ("job_name", "VARCHAR", "logical job by the configured rules"),
            ("model", "VARCHAR", "model by the configured rules"),
        ]
    ),
}
"""The tables that relations are computed from, beside the vocabulary."""


def source_rows(lake: Lake, config: Config) -> Rows:
    """Return one row per current source: what it is (see `identity.resolve`) and what the manifest says of it."""
    from ettlog.parse import identity, naming, records

    rows, readers = [], {reader.name for reader in records.READERS}
    for entry in lake.sources():
        who = identity.resolve(entry.path, entry.hints, config)._asdict()
        how = who.pop("how")
        by = {"job_by": how.get("job_name"), "allocation_by": how.get("allocation")}
        formats = ", ".join(f"{name} {count}" for name, count in sorted(entry.formats.items()))
        # what a reader knew by its head is a record in the form of a table, and quotes nothing
        quotes = naming.is_document(entry.path) and not readers & entry.formats.keys()
        state = "document" if quotes else entry.state
        told = {"state": state, "clock": entry.clock, "first_us": entry.first_us, "last_us": entry.last_us}
        sized = {"n_lines": entry.n_lines, "n_bytes": entry.bytes, "formats": formats}
        rows.append({"key": entry.key, "path": entry.path} | who | by | told | sized)
    return rows


def authorities(lake: Lake, config: Config) -> dict[str, dict[str, int]]:
    """Return field of a source's identity -> authority it was taken from -> number of sources."""
    from ettlog.parse import identity

    found: dict[str, dict[str, int]] = {}
    for entry in lake.sources():
        for name, authority in identity.resolve(entry.path, entry.hints, config).how.items():
            by = found.setdefault(name, {})
            by[authority] = by.get(authority, 0) + 1
    return found


def line_rows(lake: Lake) -> Rows:
    """Return one row per current source and outcome of its lines."""
    return [
        {"key": entry.key, "path": entry.path, "outcome": outcome, "lines": count}
        for entry in lake.sources()
        for outcome, count in entry.lines.items()
    ]


def name_rows(names: Iterable[str], config: Config) -> Rows:
    """Return what the configured rules make of the scheduler's job names."""
    from ettlog.parse import identity

    rows = []
    for name in names:
        job, model = identity.logical(name, config)
        rows.append({"name": name, "job_name": job, "model": model})
    return rows


def vocabulary(config: Config | None) -> dict[str, Rows]:
    """Return the rows of `lifecycle.py` as tables, `bit` ordering the parts by priority; and how to join."""
    ranked = sorted(lifecycle.PARTS, key=lambda part: (part.priority, part.part))
    bits = {part.part: 1 << place for place, part in enumerate(ranked)}
    owners = {p.part: config.owner_of(p.part) if config else p.owner for p in lifecycle.PARTS}
    joins = [key for key in KEYS if key.name.startswith("joins.")]
    switches = {key.name: config.get(key.name) if config else key.default for key in joins}
    return {
        "setting": [{"name": name, "value": str(value).lower()} for name, value in switches.items()],
        "lifecycle_part": [p._asdict() | {"bit": bits[p.part], "owner": owners[p.part]} for p in lifecycle.PARTS],
        "lifecycle_kind": [kind._asdict() for kind in lifecycle.KINDS],
        "lifecycle_stage": [stage._asdict() for stage in lifecycle.STAGES],
        "lifecycle_recovery": [
            {"phase": row.phase, "part": part, "place": place}
            for place, row in enumerate(lifecycle.RECOVERY_PHASES)
            for part in row.parts or ("",)
        ],
    }
