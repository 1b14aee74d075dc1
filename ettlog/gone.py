"""Paths that are gone from the disk: what another path still holds is listed under that one alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ettlog import manifest
from ettlog.commit import standing
from ettlog.discover import plain
from ettlog.lake import Writer
from ettlog.manifest import SourceEntry


def settle(writer: Writer, roots: Sequence[Path], label: str | None) -> None:
    """Let a path that is there stand for facts whose path is gone, and drop gone paths that hold nothing of their own.

    So a rotated log, `app.log` that became `app.log.1` and then `app.log.1.gz`, ends under the name it has, as if it
    had been read only now. Facts that no other path holds stay under the name their log had. `roots` and `label` are
    those of the ingest: of paths below other roots nothing is known.
    """
    state, folders = writer.state, _folders(roots, label)
    there = [twin for twin in state.duplicates() if twin.key in state.owners and not _gone(twin.path, folders)]
    for twin in there:
        owner = state.current[state.owners[twin.key]]
        if _gone(owner.path, folders):
            writer.add(standing(owner, twin))
    # Removed last, and by name: wherever a crash ends this, the next ingest goes on with the same lines.
    for path in sorted(state.current.keys() - state.owners.values()):
        if _gone(path, folders):
            writer.add(SourceEntry(manifest.REMOVE, path))
    writer.flush()


def _folders(roots: Sequence[Path], label: str | None) -> dict[str, Path]:
    """Return the roots that are folders, by the name their sources begin with."""
    bases = [Path(os.path.abspath(root)) for root in roots]  # noqa: PTH100  (as in discover.py)
    return {plain(label or base.name or "root"): base for base in bases if base.is_dir()}


def _gone(path: str, folders: dict[str, Path]) -> bool:
    """Tell whether a source is known to be gone: its folder was given and holds no such name any more."""
    name, _, rest = path.partition("/")
    return name in folders and "\\x" not in rest and not os.path.lexists(folders[name] / rest)
