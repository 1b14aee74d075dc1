"""A source as a lake holds it: its manifest line and its facts, whoever opened the lake."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from ettlog import manifest
from ettlog.bulk import Data
from ettlog.errors import LakeError
from ettlog.lake import Lake, data_path
from ettlog.manifest import SourceEntry


class Held(NamedTuple):
    """A source, and the lake that holds it."""

    lake: Lake
    entry: SourceEntry


def full(held: Held) -> Held:
    """Return the entry with the facts of a source: for a duplicate, that of its twin."""
    state = held.lake.state
    if held.entry.op == manifest.ADD or held.entry.key not in state.owners:
        return held
    return Held(held.lake, state.current[state.owners[held.entry.key]])


def tables(held: Held) -> dict[str, Data]:
    """Read the data files of a source; raise LakeError where one is not what its lake says."""
    found: dict[str, Data] = {}
    for table, file in sorted(held.entry.files.items()):
        path = data_path(held.lake.path, table, held.entry.key)
        data = path.read_bytes() if path.is_file() else None
        if data is None or hashlib.sha256(data).hexdigest() != file.sha256:
            raise LakeError(
                "a data file of a lake to be merged is not what its manifest says",
                where=str(path),
                why="an ingest replaced it meanwhile" if data is None else "its SHA-256 is another",
                todo="run the ingest that made this lake again, then the merge: it goes on where it stopped",
            )
        found[table] = data
    return found
