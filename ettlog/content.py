"""What the bytes of a source are known by: their digest, what they begin with, and the key of their facts."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ettlog.schema import PARSER_VERSION

if TYPE_CHECKING:
    from ettlog.parse.parsed import ScanOptions

CHUNK = 1 << 20
"""Bytes read at once."""


def key_of(digest: str, fingerprint: str, options: ScanOptions) -> str:
    """Return the name of a source's facts: 32 hex digits of BLAKE3 over all they depend on."""
    from blake3 import blake3

    told = json.dumps([PARSER_VERSION, fingerprint, _options(options), digest], sort_keys=True, default=repr)
    return str(blake3(told.encode()).hexdigest()[:32])


@lru_cache(maxsize=64)
def rules_of(fingerprint: str, options: ScanOptions) -> str:
    """Return a name of how a source was read, but for its zone and year: format files, and options; 12 digits each.

    Sources of one lake may have different zones; where the rest differs, one ingest cannot have made the lake.
    """
    from blake3 import blake3

    told = {name: value for name, value in _options(options).items() if name not in ("zone", "year_hint")}
    return f"{fingerprint[:12]}.{blake3(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]}"


@lru_cache(maxsize=64)
def _options(options: ScanOptions) -> dict[str, Any]:
    """Return what of the options shapes the facts; how much is read at once does not. Most sources share theirs: to
    take them apart again took a ninth of the time of a short log."""
    told = asdict(options)
    told["limits"].pop("block", None)
    return told


def digest_of(path: Path, size: int, digest: str) -> tuple[str, bool]:
    """Return the BLAKE3 of a file as stored and whether its first `size` bytes have the digest given."""
    from blake3 import blake3

    whole, begins = blake3(), False
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        left, done = os.fstat(handle).st_size, 0
        while left > 0:
            # Stop exactly at the old length once: there the two hashes can be compared.
            data = os.read(handle, min(CHUNK, left, size - done if done < size else CHUNK))
            if not data:
                break
            whole.update(data)
            done += len(data)
            left -= len(data)
            begins = begins or (done == size and whole.hexdigest() == digest)
    finally:
        os.close(handle)
    return whole.hexdigest(), begins


def stamp(path: Path) -> tuple[int, int, int]:
    """Return inode, length and time of the last change of a file."""
    info = path.stat()
    return info.st_ino, info.st_size, info.st_mtime_ns


def stood(path: Path, before: tuple[int, int, int], size: int, digest: str) -> bool:
    """Tell whether a file stood still while `size` bytes of it with this digest were read, or only grew.

    A file that is gone by now was read whole when all of its bytes were read: they are those it had when it was opened.
    """
    try:
        if stamp(path) == before:
            return True
        return not size or digest_of(path, size, digest)[1]
    except OSError:
        return size == before[1]
