"""The lake: a folder of Parquet facts and the manifest that says which of them are true."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ettlog import durable, guard, kept, manifest, shards
from ettlog.bulk import Data
from ettlog.errors import LakeError
from ettlog.manifest import SourceEntry, State
from ettlog.schema import TABLES

CONFIG_NAME = "ettlog.toml"
REGISTRY_NAME = "optimizations.toml"
LOCK_NAME = durable.LOCK_NAME
SUFFIX = ".parquet"

_OWN = re.compile(rf"[0-9a-f]{{32}}{re.escape(SUFFIX)}\Z|{re.escape(durable.TEMP_MARK)}")
OWN = {manifest.NAME, LOCK_NAME, shards.FOLDER, shards.DONE, kept.FOLDER, *TABLES}
"""What ettlog alone writes in a lake."""
_TOP = {CONFIG_NAME, REGISTRY_NAME, *OWN}


def data_path(lake: Path, table: str, key: str) -> Path:
    """Return where the facts of a source lie; `table` and `key` were checked when the manifest was read."""
    return Path(_data_name(f"{lake}", table, key))


def _data_name(lake: str, table: str, key: str) -> str:
    """Return the same as a text: a lake has thousands of them, and a path costs ten times as much to make."""
    return f"{lake}/{table}/{key}{SUFFIX}"


@dataclass
class Lake:
    """A lake opened for reading: a snapshot of its manifest.

    `files(table)` and `sources()` are the same set of sources; a source without rows of a table has no file there.
    """

    path: Path
    state: State
    damage: list[str] = field(default_factory=list)

    @classmethod
    def open(cls, path: Path | str, verify: bool = False, strict: bool = True) -> Lake:
        """Open a lake and compare every data file's size (with `verify` its SHA-256 too) with the manifest.

        Raise LakeError when there is no lake, when it is of a newer version, or (`strict`) when a line of the manifest
        is damaged or a data file is not what it says; without `strict` these are only named in `problems()`.
        """
        lake = cls(Path(path), State())
        for _ in range(3):
            lake.state = _read_state(lake.path)
            lake.damage = [*lake.state.damaged, *_damage(lake.path, lake.state, verify)]
            # An ingest may have replaced facts between the two looks: then its newer manifest is right.
            if not lake.damage or _size(lake.path / manifest.NAME) == lake.state.size:
                break
        if lake.damage and strict:
            raise _damaged(lake)
        return lake

    def sources(self) -> list[SourceEntry]:
        """Return the current sources, in the order of their paths."""
        return self.state.sources()

    def duplicates(self) -> list[SourceEntry]:
        """Return the current paths whose bytes are those of another source (`of`), in the order of their paths."""
        return self.state.duplicates()

    def files(self, table: str) -> list[tuple[str, Path]]:
        """Return (key, path) of the data files of a table, in the order of the sources' paths."""
        return [(key, Path(name)) for key, name in self.names(table).items()]

    def names(self, table: str) -> dict[str, str]:
        """Return key -> path, as a text, of the data files of a table, in the order of the sources' paths."""
        lake = f"{self.path}"
        return {e.key: _data_name(lake, table, e.key) for e in self.sources() if table in e.files}

    @cached_property
    def alike(self) -> bool:
        """Tell whether all data files were written by one version of the parsers, and so have the same columns."""
        return len({entry.parser for entry in self.state.sources()}) <= 1

    @property
    def config_path(self) -> Path | None:
        """Return the configuration that was in the ingested folder, or None."""
        return found if (found := self.path / CONFIG_NAME).is_file() else None

    @property
    def registry_text(self) -> tuple[str, str] | None:
        """Return text and form of a registry that is carried without a file; None for a lake, which holds the file."""
        return None

    @property
    def registry_path(self) -> Path | None:
        """Return the registry of optimizations that was in the ingested folder, or None."""
        return found if (found := self.path / REGISTRY_NAME).is_file() else None

    def problems(self) -> list[str]:
        """Return what is wrong with the lake, a sentence each: damage, leftovers of an interrupted ingest."""
        torn = self.state.problems[self.state.left_out :]
        left = [f"{one.relative_to(self.path)}: listed nowhere; the next ingest removes it" for one in self.leftovers()]
        return [*torn, *self.damage, *kept.problems(self.path), *left]

    def leftovers(self) -> list[Path]:
        """Return the files that no manifest line stands for: they are never read."""
        return list(_leftovers(self.path, self.state))


def _read_state(path: Path) -> State:
    guard.refuse_doubtful(path)
    if not path.is_dir():
        raise LakeError(
            "there is no lake here",
            where=str(path),
            why="the folder does not exist",
            todo="make one with `ettlog ingest LOGS`, or name another with --lake",
        )
    if not (path / manifest.NAME).is_file() and (path / shards.FOLDER).is_dir():
        raise LakeError(
            "the shards of this lake are not merged yet",
            where=str(path),
            why=f"it holds {len(shards.found(path)):,} shard(s) and no {manifest.NAME}",
            todo=f"run `ettlog merge --lake {path}` when all shards have ended",
        )
    if not (path / manifest.NAME).is_file():
        raise LakeError(
            "this folder is not a lake",
            where=str(path),
            why=f"it holds no {manifest.NAME}",
            todo="make a lake with `ettlog ingest LOGS`, or name another folder with --lake",
        )
    try:
        return manifest.read(path / manifest.NAME)
    except OSError as error:
        raise durable.failed("cannot read the manifest", path / manifest.NAME, error) from error


def _damaged(lake: Lake) -> LakeError:
    line = f"{lake.state.left_out} line(s) of this lake's manifest are damaged: answers would lack what they list"
    return LakeError(
        line if lake.state.left_out else f"{len(lake.damage)} data file(s) of this lake are not what its manifest says",
        where=f"{lake.path}: {lake.damage[0]}",
        why="the disk or another program changed them after they were written",
        todo="run `ettlog ingest` on the same logs again: it reads and writes these anew",
    )


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.lstat().st_size
    return -1


def _damage(lake: Path, state: State, verify: bool) -> Iterator[str]:
    folder = f"{lake}"
    for table, key, file in state.listed():
        path = _data_name(folder, table, key)
        try:
            seen = os.lstat(path)
        except OSError:
            yield f"{table}/{key}{SUFFIX}: missing"
            continue
        if stat.S_ISLNK(seen.st_mode) or seen.st_size != file.bytes:
            yield f"{table}/{key}{SUFFIX}: {seen.st_size} bytes where the manifest says {file.bytes}"
        elif verify and _sha256(Path(path)) != file.sha256:
            yield f"{table}/{key}{SUFFIX}: its SHA-256 is not the manifest's"


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""


def _leftovers(lake: Path, state: State) -> Iterator[Path]:
    """Find what only an interrupted ingest can have left: other files in the folder are nobody's to remove."""
    listed = {(table, f"{key}{SUFFIX}") for table, key, _ in state.listed()}
    yield from sorted(lake.glob(f"{durable.TEMP_MARK}*"))
    for table in TABLES:
        folder = lake / table
        if folder.is_dir() and not folder.is_symlink():
            own = (item for item in folder.iterdir() if _OWN.match(item.name))
            yield from sorted(item for item in own if (table, item.name) not in listed)
    yield from kept.leftovers(lake)


@dataclass
class Writer:
    """The one process that may change a lake; made by `writer()`."""

    path: Path
    state: State
    _pending: list[SourceEntry] = field(default_factory=list)
    _files: dict[tuple[str, str], Data] = field(default_factory=dict)

    def broken(self, entry: SourceEntry) -> bool:
        """Tell whether a data file of this entry is missing or holds other bytes than the manifest says."""
        return any(_sha256(data_path(self.path, t, entry.key)) != file.sha256 for t, file in entry.files.items())

    def publish(self, key: str, tables: Mapping[str, Data]) -> None:
        """Take the data files of a source; `flush` writes them before the entries that list them."""
        self._files |= {(table, key): data for table, data in tables.items()}

    def add(self, entry: SourceEntry) -> None:
        """Take an entry into the state; `flush` makes it durable."""
        self._pending.append(entry)
        self.state.apply(entry)

    def flush(self) -> None:
        """Write what was taken since the last flush: data files, their names, then the entries, in order."""
        files = [durable.NewFile(self.path / t, f"{key}{SUFFIX}", data) for (t, key), data in self._files.items()]
        if files:
            durable.publish(files)
        for folder in sorted({file.folder for file in files}):
            durable.sync_folder(folder)
        if self._pending:
            durable.append(self.path / manifest.NAME, b"".join(map(manifest.encode, self._pending)))
        self._files.clear()
        self._pending.clear()

    def keep_copy(self, name: str, data: bytes) -> bool:
        """Keep a copy of the configuration or the registry in the lake; return False when it is there already."""
        return durable.replace_file(self.path, name, data)

    def sweep(self) -> int:
        """Remove temporary files and facts that no manifest line stands for; return how many."""
        left = list(_leftovers(self.path, self.state))
        try:
            for item in left:
                item.unlink(missing_ok=True)
            for folder in sorted({item.parent for item in left}):
                durable.sync_folder(folder)
        except OSError as error:
            raise durable.failed("cannot remove a leftover of an earlier ingest", left[0], error) from error
        return len(left)


@contextlib.contextmanager
def writer(path: Path, patience_s: float = 60.0) -> Iterator[Writer]:
    """Open a lake for writing, making it if need be: lock it, heal the end of its manifest, remove leftovers.

    Raise LakeError when it cannot be written, is of a newer version, or stays locked for `patience_s` seconds.
    """
    make(path)
    with durable.locked(path / LOCK_NAME, patience_s):
        for table in TABLES:
            durable.make_folder(path / table, like=path)
        found = Writer(path, _heal(path / manifest.NAME))
        found.sweep()
        yield found
        found.sweep()


def make(path: Path) -> None:
    """Make the folder of a lake; raise LakeError for a folder of somebody else's files, which is never made one."""
    guard.refuse_doubtful(path)
    durable.make_folder(path)
    if (path / manifest.NAME).exists():
        return
    foreign = sorted(i.name for i in path.iterdir() if i.name not in _TOP and not i.name.startswith(durable.TEMP_MARK))
    if foreign:
        raise LakeError(
            "this folder is not a lake and not empty",
            where=str(path),
            why=f"it holds {foreign[0]!r} and no {manifest.NAME}",
            todo="name a new folder with --lake",
        )


def _heal(path: Path) -> State:
    """Read the manifest for writing: end its last whole line, cut off a torn one (it was never acknowledged).

    Where lines in its middle are damaged, it is written anew without them: their sources are new again.
    """
    try:
        state = manifest.read(path)
        if state.left_out:
            durable.replace_file(path.parent, path.name, manifest.sound_lines(path))
            return state
    except OSError as error:
        raise durable.failed("cannot read the manifest", path, error) from error
    if state.unended:
        durable.append(path, b"\n")
    elif state.size > state.whole_bytes:
        durable.truncate(path, state.whole_bytes)
    if not path.exists():
        durable.append(path, b"")
    return state
