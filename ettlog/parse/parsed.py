"""What the scanner is asked for and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

ALL, NONE = "all", "none"


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds that keep any input cheap; all in bytes."""

    line: int = 1 << 16
    """Patterns see this much of a line; the rest is counted, not matched."""
    block: int = 1 << 21
    """Text read at once."""
    output: int = 1 << 40
    """Decompressed text of one source."""
    record: int = 1 << 24
    """Longest JSON record."""
    depth: int = 64
    """Objects and lists inside each other in one JSON record (a number, not bytes)."""
    keys: int = 10_000
    """Keys of one JSON record (a number, not bytes)."""
    states: int = 512
    """Carriage-return states of one line that are tried (a number, not bytes); the last ones win."""


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """How to read a source: which steps, which zone, which year; the two `sacct_` ones are for the accounting
    reader."""

    steps: str = ALL
    """`all`, or `none`: step lines are not looked for and count as unmatched."""
    zone: str | None = None
    """IANA name of the zone of stamps without one."""
    year_hint: int | None = None
    sacct_fields: tuple[str, ...] | None = None
    sacct_delimiter: str | None = None
    limits: Limits = Limits()


@dataclass(slots=True)
class Parsed:
    """All that one source holds; tables have the columns of schema.py and are sorted by line."""

    events: Any
    """A table, or an `event_table.EventTable` where its rows are too many for memory."""
    steps: Any
    """A table, or a `step_table.StepTable` where its rows are too many for memory."""
    allocs: Any
    """A table, or a `spool.Spool` where its rows are too many for memory."""
    lines: dict[str, int]
    """Outcome of lifecycle.OUTCOMES -> lines; adds up to `n_lines`."""
    n_lines: int
    """Newlines, and one more where the last line has none."""
    n_bytes: int
    """Bytes of the file as stored."""
    digest: str
    """BLAKE3 of those bytes, hex."""
    text: str = ""
    """BLAKE3 of the text where the file is compressed, hex; of the stored bytes where that text is torn."""
    formats: dict[str, int] = field(default_factory=dict)
    """Format -> lines matched."""
    state: str = "whole"
    """`whole`, `torn`, `refused`, `empty` or `binary`."""
    inferences: list[str] = field(default_factory=list)
    unmatched: dict[str, int] = field(default_factory=dict)
    """Shape -> how many of the unmatched lines that were looked at have it, the most frequent first."""
    sampled: Callable[[], list[str]] = list
    """Returns `samples`."""
    first_us: int | None = None
    last_us: int | None = None
    clock: str = "none"
    hints: dict[str, str] = field(default_factory=dict)
    """Identity found in the text: `allocation`, `node`, ..."""

    @property
    def samples(self) -> list[str]:
        """Return a redacted line of each of the first shapes that nothing matched, made when it is asked for."""
        return self.sampled()
