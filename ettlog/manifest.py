"""The manifest of a lake: append-only lines, each a commit with a checksum, and the state they add up to."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from ettlog.errors import LakeError
from ettlog.schema import LAKE_VERSION, TABLES

NAME = "manifest.jsonl"
ADD, DUPLICATE, REMOVE = "add", "duplicate", "remove"
NEW, GROWN, REPLACED, REPARSED = "new", "grown", "replaced", "reparsed"
RELATIONS = (GROWN, REPLACED, REPARSED)

_HEX = re.compile(r"[0-9a-f]+\Z")
_CRC = b',"crc":"'
_MOST = (1 << 63) - 1
"""Largest number that a column of the relations holds."""


class DataFile(NamedTuple):
    """What a manifest line says about one Parquet file."""

    sha256: str
    bytes: int
    rows: int


@dataclass(frozen=True)
class SourceEntry:
    """One manifest line: what was read from one source, and where its facts lie.

    `files` maps a table (`event`, `step`, `alloc`) to its data file; instants are microseconds since 1970 UTC.
    `op` is `add`, `duplicate` (`of` names the path whose facts stand for this one too) or `remove`. `rules` names the
    format files and options it was read with.
    """

    op: str
    path: str
    key: str = ""
    digest: str = ""
    bytes: int = 0
    lines: Mapping[str, int] = field(default_factory=dict)
    n_lines: int = 0
    files: Mapping[str, DataFile] = field(default_factory=dict)
    formats: Mapping[str, int] = field(default_factory=dict)
    state: str = ""
    inferences: tuple[str, ...] = ()
    unmatched: Mapping[str, int] = field(default_factory=dict)
    hints: Mapping[str, str] = field(default_factory=dict)
    first_us: int | None = None
    last_us: int | None = None
    clock: str = "none"
    parser: int = 0
    rules: str = ""
    text: str = ""
    """BLAKE3 of the text of a compressed file: what its key is made of, so that it is the twin of the plain one."""
    supersedes: str | None = None
    relation: str | None = None
    of: str | None = None
    was: tuple[str, ...] = ()
    """Paths of logs that were gone, and whose bytes this one began with: their entries end with this line."""


FIELDS = (
    "op", "path", "key", "digest", "bytes", "lines", "n_lines", "files", "formats", "state", "inferences", "unmatched",
    "hints", "first_us", "last_us", "clock", "parser", "rules", "text", "supersedes", "relation", "of", "was",
)  # fmt: skip


def encode(entry: SourceEntry) -> bytes:
    """Return the line of an entry, newline included: fixed field order, sorted maps, ASCII, CRC-32 of all before it."""
    record: dict[str, Any] = {"v": LAKE_VERSION}
    for name in FIELDS:
        value = getattr(entry, name)
        if value is None or (value == "" and name != "path") or (name == "was" and not value):
            continue
        record[name] = _plain(name, value)
    body = json.dumps(record, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode("ascii")[:-1]
    return body + _CRC + b"%08x" % zlib.crc32(body) + b'"}\n'


def _plain(name: str, value: Any) -> Any:
    if name == "files":
        return {table: value[table]._asdict() for table in sorted(value)}
    if name == "unmatched":  # most frequent first: the order is part of the answer
        return dict(sorted(value.items(), key=lambda item: (-item[1], item[0])))
    if isinstance(value, Mapping):
        return {key: value[key] for key in sorted(value)}
    return list(value) if isinstance(value, tuple) else value


class DamagedError(Exception):
    """A manifest line that cannot be used; the text says why. Never leaves this package's readers."""


def decode(line: bytes) -> SourceEntry:
    """Return the entry of one line; raise DamagedError for a bad one and LakeError for one of a newer ettlog."""
    body, mark, tail = line.rstrip(b"\r\n").rpartition(_CRC)
    if not mark:
        raise DamagedError("it has no checksum")
    if tail != b"%08x" % zlib.crc32(body) + b'"}':
        raise DamagedError("its checksum does not fit")
    try:
        record = json.loads(body + b"}")
    except (ValueError, RecursionError) as error:
        raise DamagedError("it is not JSON") from error
    if not isinstance(record, dict):
        raise DamagedError("it is not an object")
    if isinstance(version := record.get("v"), int) and version > LAKE_VERSION:
        raise _too_new(version)
    return _entry(record)


def _too_new(version: int) -> LakeError:
    return LakeError(
        "this lake was written by a newer ettlog",
        where=NAME,
        why=f"its layout has version {version}, this ettlog knows versions up to {LAKE_VERSION}",
        todo="update ettlog, or ingest the logs into another lake with --lake",
    )


def _entry(record: dict[str, Any]) -> SourceEntry:
    values = {name: record[name] for name in FIELDS if name in record}
    try:
        values["files"] = {table: _data_file(table, item) for table, item in values.get("files", {}).items()}
        values["inferences"] = tuple(str(text) for text in values.get("inferences", ()))
        values["was"] = tuple(str(path) for path in values.get("was", ()))
        entry = SourceEntry(**values)
    except (TypeError, KeyError, AttributeError) as error:
        raise DamagedError("its fields are not those of a manifest line") from error
    _check(entry)
    return entry


def _data_file(table: str, item: Any) -> DataFile:
    if table not in TABLES:
        raise DamagedError(f"it names the unknown table {table[:40]!r}")
    file = DataFile(item["sha256"], item["bytes"], item["rows"])
    if not (isinstance(file.sha256, str) and len(file.sha256) == 64 and _HEX.match(file.sha256)):
        raise DamagedError("it holds a checksum that is none")
    if not all(_count(number) for number in file[1:]):
        raise DamagedError("it holds a size that is none")
    return file


def _check(entry: SourceEntry) -> None:
    """Refuse what could lead out of the lake: a key names files, a path is shown and joined with the log folder."""
    if entry.op not in (ADD, DUPLICATE, REMOVE):
        raise DamagedError("it holds an unknown operation")
    if not safe_path(entry.path):
        raise DamagedError("its path is absolute or leads out of its folder")
    if entry.op != REMOVE and not (isinstance(entry.key, str) and len(entry.key) == 32 and _HEX.match(entry.key)):
        raise DamagedError("its key is not 32 hexadecimal digits")
    maps = (entry.lines, entry.formats, entry.unmatched, entry.hints)
    if not all(isinstance(one, dict) for one in maps):
        raise DamagedError("it holds a table that is none")
    counts = (entry.bytes, entry.n_lines, entry.parser, *(n for one in maps[:3] for n in one.values()))
    if not all(map(_count, counts)):
        raise DamagedError("it holds a count that is none")
    if not all(us is None or (type(us) is int and abs(us) <= _MOST) for us in (entry.first_us, entry.last_us)):
        raise DamagedError("it holds an instant that is none")
    texts = (entry.digest, entry.state, entry.clock, entry.rules, entry.text, *entry.hints.values())
    optional = (entry.supersedes, entry.relation, entry.of)
    if not all(isinstance(text, str) for text in (*texts, *(one for one in optional if one is not None))):
        raise DamagedError("it holds a text that is none")


def _count(number: object) -> bool:
    return type(number) is int and 0 <= number <= _MOST


def safe_path(path: object) -> bool:
    """Tell whether a source path is relative, plain and stays inside its folder."""
    whole = isinstance(path, str) and path != "" and "\0" not in path and not path.startswith("/")
    return whole and ".." not in str(path).split("/")


@dataclass
class State:
    """What a manifest adds up to: the current entry of every path, and what was wrong with its lines."""

    current: dict[str, SourceEntry] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    """Key of current facts -> the path they are listed under."""
    copies: dict[str, set[str]] = field(default_factory=dict)
    """Key of facts -> the paths of the duplicates that they stand for."""
    problems: list[str] = field(default_factory=list)
    whole_bytes: int = 0
    """Length of the manifest up to the end of its last whole line."""
    size: int = 0
    """Length of the manifest in bytes."""
    unended: bool = False
    """The last line is whole but for its newline."""
    left_out: int = 0
    """Lines that have an end and cannot be used."""

    @property
    def damaged(self) -> list[str]:
        """Return what is wrong with these lines: no crash leaves one, and what it lists is lost to every answer."""
        return self.problems[: self.left_out]

    def apply(self, entry: SourceEntry) -> None:
        """Take one entry into the state; a later entry of a path stands for the earlier ones."""
        for path in (entry.path, *entry.was):
            self.forget(path)
        if entry.op != REMOVE:
            self.current[entry.path] = entry
        if entry.op == ADD:
            self.owners[entry.key] = entry.path
        elif entry.op == DUPLICATE:
            self.copies.setdefault(entry.key, set()).add(entry.path)

    def forget(self, path: str) -> None:
        """Take the entry of a path, if there is one, out of the current ones."""
        old = self.current.pop(path, None)
        if old is not None and old.op == DUPLICATE:
            self.copies[old.key].discard(path)
        elif old is not None and self.owners.get(old.key) == path:
            del self.owners[old.key]

    def sources(self) -> list[SourceEntry]:
        """Return the entries whose facts are current, in the order of their paths."""
        return [self.current[path] for path in sorted(self.owners.values())]

    def duplicates(self, key: str | None = None) -> list[SourceEntry]:
        """Return what other facts, or those of one key, stand for, by path; `of` names where they are listed now."""
        paths = sorted(itertools.chain(*self.copies.values()) if key is None else self.copies.get(key, ()))
        return [replace(e, of=self.owners.get(e.key, e.of)) for e in map(self.current.__getitem__, paths)]

    def listed(self) -> Iterable[tuple[str, str, DataFile]]:
        """Yield (table, key, data file) of all facts that are current."""
        for key, path in self.owners.items():
            for table, file in self.current[path].files.items():
                yield table, key, file


def read(path: Path) -> State:
    """Read a manifest into its state; bad lines are left out and named in `problems`, a torn last line too."""
    state = State()
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return state
    *lines, tail = data.split(b"\n")
    state.size, state.whole_bytes = len(data), len(data) - len(tail)
    for number, line in enumerate(lines, 1):
        _take(state, number, line)
    state.left_out = len(state.problems)
    if tail:
        before = len(state.problems)
        _take(state, len(lines) + 1, tail)
        state.unended = len(state.problems) == before
        if not state.unended:
            state.problems[-1] = f"{NAME}:{len(lines) + 1}: the last line is torn; the next ingest heals it"
    _forget_orphans(state)
    return state


def _forget_orphans(state: State) -> None:
    """Take out the duplicates of facts that no line lists any more, for it was damaged: their logs are new again."""
    lost = [entry.path for entry in state.current.values() if entry.op == DUPLICATE and entry.key not in state.owners]
    for path in lost:
        state.forget(path)
        state.problems.append(f"{path}: no line lists the facts that it shares; ingest its log again")


def chains(path: Path) -> dict[tuple[str, str], tuple[str, str]]:
    """Return what a manifest tells of changes: path and key of facts -> the key they superseded, and the relation."""
    told = ((entry.path, entry.key, entry.supersedes, entry.relation) for _, entry in _sound(path))
    return {(name, key): (was, how) for name, key, was, how in told if was is not None and how is not None}


def _take(state: State, number: int, line: bytes) -> None:
    if not line.strip():
        return
    try:
        state.apply(decode(line))
    except DamagedError as error:
        state.problems.append(f"{NAME}:{number}: this line is left out: {error}")


def sound_lines(path: Path) -> bytes:
    """Return the lines of a manifest that can be used, each as it stands there, in their order."""
    return b"".join(line.rstrip(b"\r\n") + b"\n" for line, _ in _sound(path))


def _sound(path: Path) -> Iterator[tuple[bytes, SourceEntry]]:
    for line in path.read_bytes().splitlines(keepends=True):
        with contextlib.suppress(DamagedError):
            yield line, decode(line)
