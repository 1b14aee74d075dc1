"""A snapshot: one file, or a folder of Parquet, that holds every relation and answers like its lake."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ettlog import manifest
from ettlog.errors import UsageError
from ettlog.facts import SHAPES
from ettlog.relations import relations
from ettlog.snapshot_read import BEHIND, FINDING, INFO, LAYOUT, SETTINGS, SNAPSHOT_TABLES, SOURCE, is_one, load

if TYPE_CHECKING:
    import polars as pl

    from ettlog.fleet import Fleet
    from ettlog.redact import Redactor

__all__ = ["is_one", "load", "snapshot"]

SUFFIXES = (".duckdb", ".ddb", ".db")
FACTS = ("event", "alloc")
STEPS = "step"
VOCABULARY = {
    "lifecycle_part": "The vocabulary: one row per part of the timeline.",
    "lifecycle_kind": "The vocabulary: one row per thing that a log line can say.",
    "lifecycle_stage": "The vocabulary: one row per stage of a job's life.",
}


class Held(NamedTuple):
    """One table of a snapshot: its rows, SQL types, and sentences."""

    name: str
    frame: pl.DataFrame
    types: dict[str, str]
    sentence: str
    columns: dict[str, str]


def snapshot(
    fleet: Fleet, path: Path | str, *, redact: bool = False, key: bytes | None = None, steps: bool = False
) -> dict[str, int]:
    """Write a snapshot, whole or not at all, and return how many rows each of its tables holds.

    `path` ends in `.duckdb`, `.ddb` or `.db` for one DuckDB file, or has no suffix for a folder of Parquet files. With
    `redact`, the names of users, hosts and paths become pseudonyms; the same `key` (at least 16 bytes; random by
    default) gives the same ones again. `steps` adds every logged step, which no answer needs.

    Raises:
        UsageError: the path has another suffix or cannot be written, or the key is too short.
    """
    path = Path(path)
    _check(path, key)
    redactor = _redactor(fleet, key or secrets.token_bytes(32), steps) if redact else None
    temp = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    _clear(temp)
    try:
        tables = _tables(fleet, redactor, steps)
        rows = _write_file(temp, tables) if path.suffix else _write_folder(temp, tables)
        _put(temp, path)
    except OSError as error:
        raise UsageError(
            "the snapshot cannot be written",
            where=str(path),
            why=error.strerror or "the system refused",
            todo="name a path in a folder you may write to, with room for it",
        ) from error
    finally:
        _clear(temp)
    return rows


def _check(path: Path, key: bytes | None) -> None:
    if path.suffix and path.suffix not in SUFFIXES:
        raise UsageError(
            f"a snapshot cannot be written as {path.suffix}",
            where=str(path),
            why=f"its form is told by the suffix: {', '.join(SUFFIXES)} for one file, none for a folder of Parquet",
            todo="name it for example fleet.duckdb",
        )
    if not path.parent.is_dir():
        raise UsageError(
            "the snapshot cannot be written",
            where=str(path),
            why=f"there is no folder {path.parent}",
            todo="make it, or name a path in a folder that is there",
        )
    if path.is_dir() and any(path.iterdir()) and not is_one(path):
        raise UsageError(
            "this folder holds something else",
            where=str(path),
            why="a snapshot replaces only an earlier snapshot",
            todo="name a new folder",
        )
    if key is not None and len(key) < 16:
        raise UsageError(
            "the key of the pseudonyms is too short",
            where="the key",
            why=f"it has {len(key)} bytes; whoever tries all keys of fewer than 16 finds the names",
            todo="make one with `head -c 32 /dev/urandom > FILE`",
        )


def _names(fleet: Fleet, steps: bool) -> list[str]:
    return [*fleet.relations(), *BEHIND, *FACTS, *((STEPS,) if steps else ()), *VOCABULARY]


def _redactor(fleet: Fleet, key: bytes, steps: bool) -> Redactor:
    from ettlog.redact import Redactor

    redactor = Redactor(key)
    for name in _names(fleet, steps):
        redactor.learn(fleet.table(name))
    return redactor


def _tables(fleet: Fleet, redactor: Redactor | None, steps: bool) -> Iterator[Held]:
    """Yield the tables one by one; each is in memory alone."""
    for name in _names(fleet, steps):
        known = relations().get(name)
        columns = known.columns if known else SHAPES[name].sentences if name in SHAPES else {}
        said = known.sentence if known else VOCABULARY.get(name, f"Facts of the lake: {name}, one row per line.")
        frame = fleet.table(name)
        if redactor is not None and name not in VOCABULARY:
            frame = redactor.frame(frame)
        yield Held(name, frame, fleet.shape(name), said, dict(columns))
    yield from _own_tables(fleet, redactor)


def _own_tables(fleet: Fleet, redactor: Redactor | None) -> Iterator[Held]:
    import polars as pl

    found = fleet.check().select(list(SNAPSHOT_TABLES[FINDING].columns))
    entries = [*fleet.lake.sources(), *fleet.lake.duplicates()] if fleet.lake else []
    if redactor is not None:
        found = redactor.frame(found)
        entries = [_redacted(entry, redactor) for entry in entries]
    lines = [(manifest.encode(entry).decode("ascii").rstrip("\n"),) for entry in entries]
    frames = {
        FINDING: found,
        SOURCE: pl.DataFrame(lines, schema={"entry": pl.String}, orient="row"),
        INFO: pl.DataFrame(_info(fleet, redactor), schema={"name": pl.String, "value": pl.String}, orient="row"),
    }
    for name, frame in frames.items():
        shape = SNAPSHOT_TABLES[name]
        yield Held(name, frame, dict.fromkeys(shape.columns, "VARCHAR"), shape.sentence, shape.columns)


def _redacted(entry: manifest.SourceEntry, redactor: Redactor) -> manifest.SourceEntry:
    from dataclasses import replace

    from ettlog.redact import RULES, TEXT

    hints = {name: (redactor.rule(RULES.get(name, TEXT)) or str)(value) for name, value in entry.hints.items()}
    return replace(
        entry,
        path=redactor.path(entry.path),
        of=redactor.path(entry.of) if entry.of else None,
        hints=hints,
        inferences=tuple(redactor.text(sentence) for sentence in entry.inferences),
        unmatched={},
    )


def _info(fleet: Fleet, redactor: Redactor | None) -> list[tuple[str, str]]:
    """Return what the snapshot says of itself, and what answers need beside the relations."""
    import ettlog
    from ettlog import registry

    settings = {key: fleet.config.get(key) for key in SETTINGS} if fleet.config else {}
    rows = [
        ("layout", str(LAYOUT)),
        ("ettlog", ettlog.__version__),
        ("redacted", "yes" if redactor else "no"),
        ("settings", json.dumps(settings, sort_keys=True)),
    ]
    text = registry.text_in_force(fleet.config, fleet.lake)
    if text is not None:
        rows += [("registry", redactor.named(text[0]) if redactor else text[0]), ("registry_kind", text[1])]
    return rows


def _write_file(path: Path, tables: Iterator[Held]) -> dict[str, int]:
    from ettlog import database

    rows: dict[str, int] = {}
    connection = database.create(path)
    try:
        for held in tables:
            database.copy_in(connection, held.name, held.types, held.frame.to_arrow(), temporary=False)
            database.comment(connection, held.name, held.sentence, held.columns)
            rows[held.name] = held.frame.height
    finally:
        connection.close()
    return rows


def _write_folder(path: Path, tables: Iterator[Held]) -> dict[str, int]:
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows: dict[str, int] = {}
    path.mkdir(mode=0o700)
    for held in tables:
        table = held.frame.to_arrow(compat_level=pl.CompatLevel.oldest())
        fields = [item.with_metadata({"meaning": held.columns.get(item.name, "")}) for item in table.schema]
        said = {"ettlog.table": held.name, "ettlog.sentence": held.sentence}
        table = table.cast(pa.schema(fields, metadata=said))
        pq.write_table(table, path / f"{held.name}.parquet", compression="zstd")
        rows[held.name] = held.frame.height
    return rows


def _put(temp: Path, path: Path) -> None:
    """Make what was written durable and give it its name; a folder's older self makes way first."""
    for file in sorted(temp.iterdir()) if temp.is_dir() else [temp]:
        _sync(file)
    if temp.is_dir() and path.is_dir():
        old = path.with_name(f".{path.name}.{os.getpid()}.old.tmp")
        path.rename(old)
        temp.rename(path)
        shutil.rmtree(old)
    else:
        temp.replace(path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _clear(temp: Path) -> None:
    with suppress(FileNotFoundError):
        if temp.is_dir() and not temp.is_symlink():
            shutil.rmtree(temp)
        else:
            temp.unlink()
    with suppress(FileNotFoundError):
        temp.with_name(temp.name + ".wal").unlink()
