"""Relations that are kept in the lake: Parquet files beside the facts, and an index that says what they were made of.

They are a copy of what the facts say, never a source: an index that does not fit the facts, the settings and the SQL
in force is left alone, and so is one whose files are not what it says.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from ettlog import durable, kept_write, manifest
from ettlog.errors import LakeError
from ettlog.kept_write import KeptFile, Writing

if TYPE_CHECKING:
    from ettlog.config import Config
    from ettlog.lake import Lake

FOLDER = "relations"
INDEX = "index.json"
VERSION = 2
"""Version of the index; another one is left alone and replaced."""
KEEP_ROWS = 5_000
"""Facts of fewer rows are assembled in about the time that reading kept relations takes: nothing is kept of them."""
RENEW_LINES = 1_000_000
"""Of a lake with more step lines only the jobs that a change touches are assembled anew."""
ANSWERS = ("attribute.", "ett.", "slo", "limits.", "formats.", "sacct.delimiter", "sacct.fields")
"""Settings that shape answers, or the facts themselves (whose keys hold them), and no relation."""

_OWN = re.compile(rf"[a-z_]+-[0-9a-f]{{16}}[.]parquet\Z|{re.escape(durable.TEMP_MARK)}")
_NAME = re.compile(r"[a-z_]+\Z")
_TYPE = re.compile(r"[A-Z]+(\(\d+,\d+\))?")
_CRC = b',"crc":"'


@dataclass(frozen=True)
class Index:
    """The relations that a lake keeps, the digest of all that they were made of, and that of all but the sources."""

    digest: str
    files: Mapping[str, KeptFile] = field(default_factory=dict)
    base: str = ""

    def path(self, lake: Path, name: str) -> Path:
        """Return where a relation lies; its name holds the beginning of its hash."""
        return lake / FOLDER / f"{name}-{self.files[name].sha256[:16]}.parquet"


def read(lake: Path) -> Index | None:
    """Return the index of the kept relations; None where there is none, or none that can be used."""
    try:
        data = (lake / FOLDER / INDEX).read_bytes()
    except OSError:
        return None
    body, mark, tail = data.rpartition(_CRC)
    if not mark or tail != b'%08x"}\n' % zlib.crc32(body):
        return None
    try:
        record = json.loads(body + b"}")
        files = {str(name): KeptFile(*item) for name, item in record["files"].items()}
        fits = record["v"] == VERSION and all(_NAME.match(name) and _sound(file) for name, file in files.items())
        return Index(str(record["digest"]), files, str(record["base"])) if fits else None
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return None


def _sound(file: KeptFile) -> bool:
    """Tell whether an entry holds nothing that leads out of the folder or into a query: a checksum proves no author."""
    hashed = re.fullmatch("[0-9a-f]{64}", file.sha256) is not None
    return hashed and isinstance(file.bytes, int) and all(_TYPE.fullmatch(kind) for kind in file.types.values())


def _encode(index: Index) -> bytes:
    files = {name: list(index.files[name]) for name in sorted(index.files)}
    record = {"v": VERSION, "digest": index.digest, "base": index.base, "files": files}
    body = json.dumps(record, separators=(",", ":"), ensure_ascii=True).encode("ascii")[:-1]
    return body + _CRC + b'%08x"}\n' % zlib.crc32(body)


def current(lake: Path, digest: str) -> Index | None:
    """Return the index where it is of this digest and its files have the lengths it says."""
    index = read(lake)
    if index is None or index.digest != digest or list(_damage(lake, index)):
        return None
    return index


def earlier(lake: Path, base: str) -> Index | None:
    """Return the index where its relations were made of other sources only, and its files are whole."""
    index = read(lake)
    if index is None or index.base != base or list(_damage(lake, index, verify=True)):
        return None
    return index


def _damage(lake: Path, index: Index, verify: bool = False) -> Iterator[str]:
    for name, file in index.files.items():
        path = index.path(lake, name)
        try:
            whole = path.lstat().st_size == file.bytes and not path.is_symlink()
            whole = whole and (not verify or _sha256(path) == file.sha256)
        except OSError:
            whole = False
        if not whole:
            yield f"{FOLDER}/{path.name}: is not what the index says; it is not used, and will be made anew"


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def problems(lake: Path) -> list[str]:
    """Return what is wrong with the kept relations, a sentence each, every file read and compared with its hash."""
    folder, index = lake / FOLDER, read(lake)
    found = [] if index is None else list(_damage(lake, index, verify=True))
    if index is None and (folder / INDEX).exists():
        found.append(f"{FOLDER}/{INDEX}: cannot be used, and will be made anew")
    return found


def leftovers(lake: Path) -> list[Path]:
    """Return the files of kept relations that no index lists: what an interrupted write left."""
    folder, index = lake / FOLDER, read(lake)
    if not folder.is_dir() or folder.is_symlink():
        return []
    listed = set() if index is None else {index.path(lake, name) for name in index.files}
    return sorted(item for item in folder.iterdir() if _OWN.match(item.name) and item not in listed)


def digest(lake: Lake, base: str) -> str:
    """Return the digest of all that shapes the relations: the sources, and all else by its digest."""
    found = hashlib.sha256(f"{base}\n".encode())
    for entry in lake.sources():
        found.update(repr(_shaping(entry)).encode())
    return found.hexdigest()


_shaping = attrgetter(*(name for name in manifest.FIELDS if name not in ("supersedes", "relation", "was")))
"""What the manifest says of a source, without what it was before: nothing is made of that."""


def base(config: Config, engine: str) -> str:
    """Return the digest of what shapes the relations beside the sources: settings, ettlog itself, and the engine."""
    found = hashlib.sha256(f"{VERSION} {engine} {code()}\n".encode())
    for key, value in sorted(shaping(config).items()):
        found.update(f"{key}={value!r}\n".encode())
    return found.hexdigest()


def shaping(config: Config) -> dict[str, object]:
    """Return the settings that shape relations, with their values in force."""
    return {item.key: item.value for item in config.effective() if not item.key.startswith(ANSWERS)}


@lru_cache(maxsize=1)
def code() -> str:
    """Return the digest of what makes relations of facts: the SQL, and every module beside and below it."""
    root = Path(__file__).parent
    found = hashlib.sha256()
    for path in sorted([*root.glob("*.py"), *root.glob("sql/**/*.sql"), *root.glob("parse/*.py")]):
        found.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


def write(lake: Lake, digest: str, relations: Iterator[Writing], base: str = "") -> Index | None:
    """Keep relations in a lake: their files first, then the index that lists them; older ones go.

    Return None, and write nothing that is read, where the lake cannot be written, is being written by another, or has
    changed since it was opened.
    """
    folder = lake.path / FOLDER
    try:
        with durable.locked(lake.path / durable.LOCK_NAME, 0):
            if (lake.path / manifest.NAME).stat().st_size != lake.state.size:
                return None
            durable.make_folder(folder)
            index = Index(digest, kept_write.put(folder, relations), base)
            durable.sync_folder(folder)
            durable.replace_file(folder, INDEX, _encode(index))
            for item in leftovers(lake.path):
                item.unlink(missing_ok=True)
            return index
    except (LakeError, OSError):
        return None
