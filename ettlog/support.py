"""What to send along with a report of a defect: counts and versions, and no text of any log, path or name."""

from __future__ import annotations

import functools
import platform
import sys
from collections import Counter
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ettlog.fleet import Fleet
    from ettlog.manifest import SourceEntry

LIBRARIES = (
    "duckdb", "pyarrow", "polars", "numpy", "scipy", "matplotlib", "click", "rich", "jinja2", "hyperscan", "zstandard",
)  # fmt: skip
OWN = "(formats of your own)"
"""What stands for the names of formats that do not come with ettlog."""


def support_bundle(path: Path | str) -> dict[str, Any]:
    """Return versions and counts about the lake at `path`, ready for JSON; no text that a log or a user wrote.

    Keys: `versions`, `machine`, `lake` (files, bytes, rows, lines by outcome, sources by state, clock and relation,
    lines by format), `relations` (rows), `findings` (by check), `settings` (names of those that are set, and by what).

    Raises:
        LakeError: there is no lake, it is damaged, or a newer ettlog made it.
    """
    from ettlog import fleet

    opened = fleet.open(path)
    return {
        "versions": versions(),
        "machine": _machine(),
        "lake": _lake(opened),
        "relations": {name: opened.table(name).height for name in opened.relations()},
        "findings": _findings(opened),
        "settings": {item.key: item.origin for item in opened.config.effective() if item.origin != "default"}
        if opened.config
        else {},
    }


def versions() -> dict[str, str]:
    """Return the versions of ettlog, Python and the libraries that read and compute; `-` for one that is not there."""
    import ettlog

    found = {"ettlog": ettlog.__version__, "python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "-"
    return found


def _machine() -> dict[str, Any]:
    from ettlog.confine import confinement

    told = {"system": platform.system(), "release": platform.release(), "processor": platform.machine()}
    return {**told, "byte order": sys.byteorder, "workers": confinement()}


def _lake(opened: Fleet) -> dict[str, Any]:
    entries = opened.lake.sources() if opened.lake else []
    copies = opened.lake.duplicates() if opened.lake else []
    lines: Counter[str] = Counter()
    formats: Counter[str] = Counter()
    for entry in entries:
        lines.update(entry.lines)
        formats.update(_named(entry))
    files = [file for entry in entries for file in entry.files.items()]
    return {
        "sources": len(entries),
        "duplicates": len(copies),
        "stored bytes": sum(entry.bytes for entry in entries),
        "lines": dict(sorted(lines.items())),
        "lines by format": dict(sorted(formats.items())),
        "state": _counts(entry.state for entry in entries),
        "clock": _counts(entry.clock for entry in entries),
        "relation": _counts(entry.relation or "new" for entry in entries),
        "rows": _sums((table, file.rows) for table, file in files),
        "bytes": _sums((table, file.bytes) for table, file in files),
    }


def _named(entry: SourceEntry) -> Counter[str]:
    """Return the lines of a source by format; the names of formats that a user wrote are texts of theirs."""
    known = _own_formats()
    found: Counter[str] = Counter()
    for name, count in entry.formats.items():
        found[name if name in known else OWN] += count
    return found


@functools.lru_cache(1)
def _own_formats() -> frozenset[str]:
    """Return the names of the formats and readers that come with ettlog."""
    from ettlog.parse import format as formats_of
    from ettlog.parse import records

    formats = formats_of.load_all(()).formats
    return frozenset({one.name for one in formats} | {reader.name for reader in records.READERS})


def _counts(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))


def _sums(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for name, number in pairs:
        found[name] += number
    return dict(sorted(found.items()))


def _findings(opened: Fleet) -> dict[str, int]:
    return dict(sorted(Counter(opened.check()["check"].to_list()).items()))
