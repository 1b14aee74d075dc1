"""What workers are told to read, and what they answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ettlog.bulk import Data

if TYPE_CHECKING:
    from ettlog.moved import Gone
    from ettlog.parse.parsed import ScanOptions

SAME, PARSED, REJECTED = "same", "parsed", "rejected"
CHANGED = "changed"
LOST = ("the process that read it", "it needs more memory")
"""How the reasons begin that tell of a process that could not go on, and not of a file."""


class Known(NamedTuple):
    """What the lake knows of a path: stored length, BLAKE3 and key of its facts."""

    bytes: int
    digest: str
    key: str
    text: str = ""
    """BLAKE3 of the text, of a compressed source."""
    sound: bool = True
    """The files of its facts are whole: they need not be made anew."""


@dataclass(frozen=True)
class Task:
    """One source to read."""

    name: str
    path: Path
    options: ScanOptions
    known: Known | None = None
    record_zone: str | None = None
    """Zone of the local times of self-describing records, where it is not the one of `options`."""
    pseudonyms: bytes | None = None
    """Key of the pseudonyms that stand for names of users, hosts and jobs; without one names stay."""
    gone: tuple[Gone, ...] = ()
    """Logs that are gone, of which this one may be the rotation."""
    hands: int = 1
    """Processes that may read it together."""


@dataclass
class Answer:
    """What reading one source gave; `state` is `same` (nothing to do), `parsed` or `rejected` (with its reason)."""

    name: str
    state: str
    reason: str = ""
    key: str = ""
    relation: str | None = None
    was: tuple[str, ...] = ()
    """Names of logs that are gone, and whose bytes this one begins with."""
    facts: dict[str, Any] = field(default_factory=dict)
    """The fields of a manifest line that come from the source itself."""
    rows: dict[str, int] = field(default_factory=dict)
    tables: dict[str, Data] = field(default_factory=dict)
    """Table -> Parquet file."""

    @property
    def weight(self) -> int:
        """Return about how many bytes this answer holds in memory."""
        return sum(len(data) for data in self.tables.values() if isinstance(data, bytes))
