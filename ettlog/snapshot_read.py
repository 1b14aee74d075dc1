"""Reading a snapshot: the relations are there already, so a fleet is opened over them and computes nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ettlog import database, manifest
from ettlog.config import LAKE, Config
from ettlog.errors import LakeError, UsageError
from ettlog.fleet import Fleet
from ettlog.lake import Lake
from ettlog.manifest import State
from ettlog.relations import relations
from ettlog.settings import KEY_BY_NAME

if TYPE_CHECKING:
    import duckdb
    import polars as pl

LAYOUT = 1
"""Version of what a snapshot holds."""
MAGIC = b"DUCK"
MAGIC_AT = 8
INFO, SOURCE, FINDING = "snapshot_info", "snapshot_source", "snapshot_finding"
CORE = {"job", "start", "segment", "source"}
"""Relations without which a snapshot answers nothing."""
BEHIND = ("_adrift", "_phase", "_piece", "_placed", "_rate", "_save", "_steady")
"""Steps between the public relations that answers read beside them."""
SETTINGS = ("owners", "attribute.basis", "ett.basis", "ett.evaluation", "slo")
"""Settings that shape answers and not relations: a snapshot keeps those in force."""


class OwnTable(NamedTuple):
    """A table that only snapshots have."""

    sentence: str
    columns: dict[str, str]


SNAPSHOT_TABLES = {
    INFO: OwnTable(
        "What the snapshot says of itself.",
        {"name": "layout, ettlog (version), redacted, settings (JSON), registry (text)", "value": "the value as text"},
    ),
    SOURCE: OwnTable("The manifest's line of each file that was read.", {"entry": "the line, JSON with a checksum"}),
    FINDING: OwnTable(
        "What `ettlog check` found in the lake.",
        {
            "check": "name of the check",
            "level": "error or warning",
            "subject": "what it is about",
            "detail": "what was found",
            "sentence": "what is checked",
            "todo": "what to do about it",
        },
    ),
}


def is_one(path: Path) -> bool:
    """Tell whether a path is a snapshot: a DuckDB file, or a folder that holds the table `snapshot_info`."""
    if path.is_dir():
        return (path / f"{INFO}.parquet").is_file()
    try:
        with path.open("rb") as stream:
            return stream.read(MAGIC_AT + len(MAGIC))[MAGIC_AT:] == MAGIC
    except OSError:
        return False


def load(path: Path, config: Config | None = None) -> SnapshotFleet:
    """Open a snapshot for questions; settings come from the reader's `ettlog.toml`, else from the snapshot.

    Raise LakeError when it is none, is damaged, or was written by another ettlog than this one can read.
    """
    connection = database.connect(path) if path.is_dir() else database.connect(None, path)
    held = database.views(connection, path) if path.is_dir() else database.attached(connection)
    if INFO not in held:
        raise _unreadable(path, f"it holds no table {INFO}")
    info = dict(connection.table(INFO).fetchall())
    _check_layout(path, info)
    held = _usable(connection, path, held)
    lake = SnapshotLake(path, _state(connection, held), info=info)
    return SnapshotFleet(connection, config or _config(info), lake, held)


@dataclass
class SnapshotLake(Lake):
    """The manifest that a snapshot carries; there are no data files behind it."""

    info: dict[str, str] = field(default_factory=dict)

    @property
    def registry_path(self) -> Path | None:
        """Return the snapshot itself where it carries a registry of optimizations."""
        return self.path if "registry" in self.info else None

    @property
    def registry_text(self) -> tuple[str, str] | None:
        """Return the registry that was in force when the snapshot was written, and its form."""
        found = self.info.get("registry")
        return None if found is None else (found, self.info.get("registry_kind", "toml"))

    @property
    def config_path(self) -> Path | None:
        """Return None: a snapshot keeps settings, not the file they came from."""
        return None

    def problems(self) -> list[str]:
        """Return what is wrong with the manifest."""
        return list(self.state.problems)


@dataclass
class SnapshotFleet(Fleet):
    """A fleet whose relations are read, not computed."""

    def __post_init__(self) -> None:
        """Leave the vocabulary as the snapshot has it."""

    def check(self) -> pl.DataFrame:
        """Return what the checks found when the snapshot was written, in the form of `Fleet.check`."""
        frame = self.table(FINDING).select(list(SNAPSHOT_TABLES[FINDING].columns))
        return frame.sort("level", "check", "subject", "detail")

    def _compute(self, name: str) -> None:
        if name not in self._done:
            raise UsageError(
                f"this snapshot does not hold `{name}`",
                where=name,
                why="it holds what answers read, as the ettlog that wrote it had it; logged steps stay in the lake",
                todo="ask the lake, or have it written again with `ettlog snapshot`, with --steps for logged steps",
            )


def _check_layout(path: Path, info: dict[str, str]) -> None:
    layout = info.get("layout", "")
    if not layout.isdigit() or int(layout) > LAYOUT:
        raise _unreadable(path, f"its layout is {layout or 'not told'}, this ettlog knows layouts up to {LAYOUT}")


def _usable(connection: duckdb.DuckDBPyConnection, path: Path, held: set[str]) -> set[str]:
    """Return the tables that this ettlog can use: those of an older one may lack relations or columns of today."""
    lacking: dict[str, str] = {}
    for name, relation in relations().items():
        if name not in held:
            lacking[name] = "is not in it"
        elif absent := relation.columns.keys() - set(connection.table(name).columns):
            lacking[name] = f"has no column {min(absent)}"
    for name in sorted(CORE & lacking.keys()):
        raise _unreadable(path, f"the relation {name} {lacking[name]}")
    return held - lacking.keys()


def _state(connection: duckdb.DuckDBPyConnection, held: set[str]) -> State:
    state = State()
    for (line,) in connection.table(SOURCE).fetchall() if SOURCE in held else []:
        try:
            state.apply(manifest.decode(line.encode()))
        except manifest.DamagedError as error:
            state.problems.append(f"{SOURCE}: a line is left out: {error}")
    return state


def _config(info: dict[str, str]) -> Config:
    from ettlog import config as settings

    own = settings.load()
    given = json.loads(info.get("settings", "{}"))
    kept = {key: KEY_BY_NAME[key].check(value)[0] for key, value in given.items() if key in SETTINGS and value}
    return Config({**kept, **own.values}, {**dict.fromkeys(kept, LAKE), **own.origins})


def _unreadable(path: Path, why: str) -> LakeError:
    return LakeError(
        "this snapshot cannot be read",
        where=str(path),
        why=why,
        todo="have it written again with `ettlog snapshot` by the ettlog that reads it",
    )
