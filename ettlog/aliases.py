"""A lake whose names of users, hosts and jobs are pseudonyms: its key, and that it has one key or none."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from ettlog.durable import FILE_MODE, make_folder, write_all
from ettlog.errors import LakeError, UsageError
from ettlog.manifest import ADD, SourceEntry, State
from ettlog.parse.pseudonyms import MARK, Pseudonyms

KEY_BYTES = 32
LEAST_BYTES = 16


def key_path(lake: Path) -> Path:
    """Return where the key of a lake lies by default: beside it, so that whoever gets the lake does not get the key."""
    return lake.with_name(lake.name + ".key")


def key_of(path: Path) -> bytes:
    """Return the key in a file, making a new one (0600) where there is none.

    Raise UsageError when it cannot be read or made, is too short, or others can read it.
    """
    make_folder(path.parent)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
    except FileExistsError:
        return _read(path)
    except OSError as error:
        raise _unusable(path, error.strerror or "it cannot be made") from error
    try:
        os.fchmod(handle, FILE_MODE)
        write_all(handle, secrets.token_bytes(KEY_BYTES))
        os.fsync(handle)
    finally:
        os.close(handle)
    return _read(path)


def _read(path: Path) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            mode, key = os.fstat(handle).st_mode, os.read(handle, 2 * KEY_BYTES)
        finally:
            os.close(handle)
    except OSError as error:
        raise _unusable(path, error.strerror or "it cannot be read") from error
    if mode & 0o077:
        raise _unusable(path, "others can read or change it")
    if len(key) < LEAST_BYTES:
        raise _unusable(path, f"it has {len(key)} bytes, fewer than {LEAST_BYTES}")
    return key


def _unusable(path: Path, why: str) -> UsageError:
    return UsageError(
        "the key of the pseudonyms cannot be used",
        where=str(path),
        why=why,
        todo="name another file with --pseudonym-key, or `chmod 600` this one; a new file is made with a new key",
    )


def refuse_engine() -> None:
    """Raise UsageError: an engine's machines would need the key."""
    raise UsageError(
        "pseudonyms are made on this machine only",
        where="--engine with --pseudonymize",
        why="the machines of an engine would have to hold the key",
        todo="leave --engine out, or give away a snapshot made with --redact",
    )


def name(path: str, key: bytes | None) -> str:
    """Return the name of a source in the lake."""
    return Pseudonyms(key).name(path) if key else path


def marks(entries: Iterable[SourceEntry]) -> set[str]:
    """Return the marks of the keys that sources were read under; empty text where names are plain."""
    return {entry.hints.get(MARK, "") for entry in entries if entry.op == ADD}


def told(entries: Iterable[SourceEntry]) -> list[str]:
    """Return the sentence that a result has to carry where names are pseudonyms; nothing where they are plain."""
    return ["names of users, hosts and jobs are pseudonyms"] if marks(entries) - {""} else []


def refuse_other(state: State, lake: Path, key: bytes | None) -> None:
    """Raise LakeError where sources of the lake were read under another key, or this one with and those without."""
    wanted = Pseudonyms(key).mark if key else ""
    other = marks(state.current.values()) - {wanted}
    if other:
        held = "plain names" if other == {""} else "pseudonyms of another key" if wanted else "pseudonyms"
        raise LakeError(
            "names and pseudonyms do not mix in one lake",
            where=str(lake),
            why=f"it holds {held}; jobs, users and hosts could not be joined",
            todo="ingest with the option and the key that the lake was made with, or name a new lake with --lake",
        )
