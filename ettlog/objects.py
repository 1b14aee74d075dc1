"""Logs in object stores (`s3://`, `gs://`, `abfs://`, `hdfs://`): found by listing, brought here whole or not at all.

An address is held as a `Path` wherever a file may stand: `s3:/bucket/key` is what `Path` makes of `s3://bucket/key`.
Credentials, region and endpoint come from the environment (AWS_ACCESS_KEY_ID, AWS_REGION, AWS_ENDPOINT_URL, ...).
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from ettlog.errors import UsageError
from ettlog.scratch import scratch

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

SCHEME = re.compile(r"(s3|gs|gcs|abfss?|hdfs):/+(?=[^/])")
CHUNK = 8 << 20
"""Bytes that are brought at once."""
TIMEOUT_S = 30
"""Seconds without an answer of the store after which a request is given up."""
WORD = re.compile(r"[^\s'\"]+(?:(?<=[=:])\s+[^\s'\"]+|\s+[=:]\s*[^\s'\"]+)?")
"""A word of what a library says, with the value behind it that it names."""
SECRETS = ("key", "token", "secret", "signature", "credential")
"""What the name of a secret holds."""


class Object(NamedTuple):
    """One object of a listing: its key below what was listed, and its stored bytes."""

    below: str
    path: Path
    bytes: int


def is_one(path: Path) -> bool:
    """Tell whether a path is an address in an object store."""
    return SCHEME.match(str(path)) is not None


def listing(root: Path) -> tuple[str, list[Object]]:
    """Return the name that stands for a root and the objects below it; a root that is an object is the only one.

    Raise UsageError when there is nothing, or the store does not answer.
    """
    from pyarrow import fs

    scheme = _scheme(root)
    with _told(root, "cannot read the logs given"):
        store, base = _store(root)
        kind = store.get_file_info(base).type
        if kind == fs.FileType.File:
            found, base = [store.get_file_info(base)], str(PurePosixPath(base).parent)
        else:
            found = store.get_file_info(fs.FileSelector(base, recursive=True, allow_not_found=True))
    files = [info for info in found if info.type == fs.FileType.File]
    if not files:
        raise UsageError(
            "cannot read the logs given", where=_shown(root), why="no object has a name that begins so",
            todo="give a bucket and prefix that exist and may be listed",
        )  # fmt: skip
    below = [str(PurePosixPath(info.path).relative_to(base)) for info in files]
    pairs = zip(below, files, strict=True)
    return PurePosixPath(base).name, [Object(key, Path(f"{scheme}:/{info.path}"), info.size) for key, info in pairs]


@contextlib.contextmanager
def fetched(path: Path) -> Iterator[Path]:
    """Yield a local copy of an object under its own name, all of it; it is removed at the end of the block.

    Raise UsageError when it cannot be read, is cut short, or changes meanwhile: half an object is never read.
    """
    with tempfile.TemporaryDirectory(prefix="object-", dir=scratch()) as folder:
        local = Path(folder) / PurePosixPath(path).name
        with _told(path, "an object cannot be read"):
            store, key = _store(path)
            before = store.get_file_info(key)
            _copy(store, key, before, local)
            after = store.get_file_info(key)
            if (after.size, after.mtime) != (before.size, before.mtime):
                raise OSError("it changed while it was read")
        yield local


def _copy(store: FileSystem, key: str, info: FileInfo, local: Path) -> None:
    """Bring as many bytes as the store said there are, a chunk at a time."""
    if info.size is None:
        raise FileNotFoundError("there is no such object")
    left = info.size
    with store.open_input_stream(key, compression=None) as stream, local.open("xb") as copy:
        while left > 0 and (data := stream.read(min(CHUNK, left))):
            copy.write(data)
            left -= len(data)
    if left:
        raise OSError(f"it ends {left:,} bytes early")


def _scheme(path: Path) -> str:
    found = SCHEME.match(str(path))
    assert found is not None
    return found[1]


def _store(path: Path) -> tuple[FileSystem, str]:
    """Return the file system of an address, and the bucket with the key in it."""
    from pyarrow import fs

    scheme, key = _scheme(path), SCHEME.sub("", str(path), count=1)
    if "@" in key.partition("/")[0] and scheme != "abfs" and scheme != "abfss":
        raise UsageError(
            "an address must hold no credentials", where=f"{scheme}://...@", why="they would end in logs and lakes",
            todo="give them by the environment, as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        )  # fmt: skip
    if scheme != "s3":
        store, base = fs.FileSystem.from_uri(f"{scheme}://{key}")
        return store, str(base)
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if region is None:
        region = "us-east-1" if endpoint else fs.resolve_s3_region(key.partition("/")[0])
    times = {"connect_timeout": TIMEOUT_S, "request_timeout": TIMEOUT_S}
    return fs.S3FileSystem(region=region, endpoint_override=endpoint, **times), key.rstrip("/")


def _shown(path: Path) -> str:
    """Return an address for people, without what looks like credentials."""
    return re.sub(r"//[^/@]*@", "//...@", SCHEME.sub(r"\1://", str(path), count=1))


def hushed(said: str) -> str:
    """Return what a library says, without the words that name a secret and its value."""
    return WORD.sub(_hushed, said)


def _hushed(word: re.Match[str]) -> str:
    low = word[0].lower()
    end = max(low.rfind("="), low.rfind(":"))
    return "..." if any(0 <= low.find(name) < end for name in SECRETS) else word[0]


@contextlib.contextmanager
def _told(path: Path, what: str) -> Iterator[None]:
    """Make a UsageError in four parts, without credentials, of what a store's library raises."""
    import pyarrow as pa

    try:
        yield
    except (OSError, pa.ArrowException, ValueError) as error:
        said = hushed(str(error).strip().partition("\n")[0])[:300]
        raise UsageError(
            what, where=_shown(path), why=said or type(error).__name__,
            todo="see that it exists and that the environment holds credentials, region and endpoint for it",
        ) from None  # fmt: skip
