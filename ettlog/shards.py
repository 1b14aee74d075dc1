"""Shards: which of N processes or hosts reads a file, where its facts wait for `merge`, and whether all have ended."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ettlog import durable
from ettlog.errors import LakeError, UsageError

FOLDER = "shard"
"""Name of the folder inside a lake in which each shard has a lake of its own."""
DONE = "done"
"""Name of the file that a shard's lake holds while its last ingest has ended."""
MOST = 100_000

_TOLD = re.compile(r"\s*(\d{1,6})\s*/\s*(\d{1,6})\s*\Z")
_NAME = re.compile(r"(\d{1,6})-of-(\d{1,6})\Z")


class Shard(NamedTuple):
    """One of `of` equal shares of the files, counted from 1."""

    number: int
    of: int

    def __str__(self) -> str:
        """Return it as it is given: `3/16`."""
        return f"{self.number}/{self.of}"

    def holds(self, name: str) -> bool:
        """Tell whether a file is of this shard: its name in the lake alone decides, on every host and every day."""
        digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).digest()
        return int.from_bytes(digest[:8], "big") % self.of == self.number - 1

    def lake(self, lake: Path) -> Path:
        """Return the lake of this shard alone, inside the lake that it is for."""
        return lake / FOLDER / f"{self.number}-of-{self.of}"


def parse(text: str) -> Shard:
    """Return the shard that `i/N` names, i from 1 to N; raise UsageError for anything else."""
    match = _TOLD.match(text)
    shard = Shard(int(match[1]), int(match[2])) if match else Shard(0, 0)
    if not 1 <= shard.number <= shard.of <= MOST:
        raise UsageError(
            "this is no shard",
            where=f"--shard {text}",
            why=f"it takes i/N, with i counted from 1 to N, and N at most {MOST:,}",
            todo="give the last of sixteen shards as 16/16; number a Slurm array from 1: --array=1-16",
        )
    return shard


def begin(folder: Path) -> None:
    """Note that the lake of a shard is being written: until `end` it is not merged."""
    try:
        (folder / DONE).unlink(missing_ok=True)
        durable.sync_folder(folder)
    except OSError as error:
        raise durable.failed("cannot begin a shard", folder / DONE, error) from error


def end(folder: Path, shard: Shard, rejected: Sequence[tuple[str, str]], gone: Iterable[str] = ()) -> None:
    """Note that every file of a shard was looked at, which of them (name, reason) could not be read, and which logs
    that it holds are there no more.
    """
    told = json.dumps({"shard": str(shard), "rejected": rejected, "gone": sorted(gone)})
    durable.replace_file(folder, DONE, f"{told}\n".encode())


def rejected(folder: Path) -> list[tuple[str, str]]:
    """Return name and reason of the files that the last ingest of a shard could not read; none for another lake."""
    try:
        told = json.loads((folder / DONE).read_bytes())
        return [(str(name), str(why)) for name, why in told["rejected"]]
    except (OSError, ValueError, TypeError, KeyError):
        return []


def gone(folder: Path) -> frozenset[str] | None:
    """Return the names of the logs that a shard holds and its last ingest did not find; None for another lake."""
    try:
        return frozenset(map(str, json.loads((folder / DONE).read_bytes())["gone"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def found(lake: Path) -> list[Shard]:
    """Return the shards that have a lake inside this one, in their order."""
    folder = lake / FOLDER
    names = (_NAME.match(item.name) for item in folder.iterdir()) if folder.is_dir() else iter(())
    return sorted(Shard(int(match[1]), int(match[2])) for match in names if match)


def complete(lake: Path) -> list[Path]:
    """Return the lakes of all shards inside a lake; none where it was never made in shards.

    Raise LakeError where a shard is missing or has not ended, or where shards of two different numbers lie there.
    """
    shards = found(lake)
    counts = sorted({shard.of for shard in shards})
    if len(counts) > 1:
        raise LakeError(
            "shards of different numbers lie in one lake",
            where=str(lake / FOLDER),
            why=f"there are shards of {' and of '.join(map(str, counts))}, which hold the same files",
            todo="remove those that are not meant, then merge again",
        )
    missing = [Shard(number, count) for count in counts for number in range(1, count + 1)]
    _refuse_unfinished(lake, [one for one in missing if not (one.lake(lake) / DONE).is_file()], len(missing))
    return [shard.lake(lake) for shard in shards]


def _refuse_unfinished(lake: Path, missing: Sequence[Shard], count: int) -> None:
    if not missing:
        return
    states = ("is missing" if not one.lake(lake).is_dir() else "has not ended" for one in missing)
    told = ", ".join(f"{one} {state}" for one, state in list(zip(missing, states, strict=True))[:5])
    rest = f", and {len(missing) - 5:,} more" if len(missing) > 5 else ""
    raise LakeError(
        f"{len(missing):,} of {count:,} shards are not there to be merged",
        where=str(lake / FOLDER),
        why=told + rest,
        todo=f"run `ettlog ingest` with --shard {missing[0]} and the same logs (again), then merge",
    )
