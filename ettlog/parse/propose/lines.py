"""The lines of a log, one at a time, and the patterns that know them; for looking at a log, not for ingesting one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from ahocorasick_rs import BytesAhoCorasick, MatchKind

from ettlog.parse.blocks import open_source
from ettlog.parse.envelope import peel, split_states
from ettlog.parse.format import Pattern

MAX_BYTES = 256 << 20
"""Text of one log that is looked at."""
MAX_LINE = 1 << 12
"""Bytes of a line that are looked at."""
MAX_STATES = 64
_CHUNK = 1 << 18


def lines(path: Path, most: int = MAX_BYTES) -> Iterator[bytes]:
    """Yield the lines of a log, plain or compressed, without their ends; at most `most` bytes of text are read.

    Raises SourceRefusedError when the path is no regular file that may be read.
    """
    with open_source(path) as source:
        rest = b""
        while most > 0:
            data = source.read_all(min(_CHUNK, most))
            if not data:
                break
            most -= len(data)
            *whole, rest = (rest + data).split(b"\n")
            yield from whole
            rest = rest[: _CHUNK * 4]  # of an endless line the beginning is enough
        if rest:
            yield rest


def bodies(line: bytes) -> list[bytes]:
    """Return what a line says without its prefixes: one text for each state that carriage returns made."""
    return [peel(state).body for state in islice(reversed(split_states(line[:MAX_LINE])), MAX_STATES)]


class Known:
    """Tells which patterns know a line."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        """Gather the anchors of the patterns for one search."""
        self._by_anchor: dict[bytes, list[int]] = {}
        for index, pattern in enumerate(patterns):
            self._by_anchor.setdefault(pattern.anchor, []).append(index)
        self._anchors = list(self._by_anchor)
        self._search = BytesAhoCorasick(self._anchors, matchkind=MatchKind.Standard) if self._anchors else None
        self._patterns = patterns

    def hits(self, line: bytes) -> list[int]:
        """Return the patterns (by index) that match a state of a line, in their order."""
        if self._search is None:
            return []
        found: set[int] = set()
        for body in bodies(line):
            anchors = {hit[0] for hit in self._search.find_matches_as_indexes(body, overlapping=True)}
            wanted = {index for anchor in anchors for index in self._by_anchor[self._anchors[anchor]]} - found
            found.update(index for index in wanted if self._patterns[index].regex.search(body))
        return sorted(found)
