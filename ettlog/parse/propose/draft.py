"""From a log to the text of a format file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ettlog.errors import NoDataError, UsageError
from ettlog.parse import records
from ettlog.parse.format import FormatSet
from ettlog.parse.parsed import ScanOptions
from ettlog.parse.propose import lines
from ettlog.parse.propose.mine import mine
from ettlog.parse.propose.proposal import MOST, Proposal, propose
from ettlog.parse.propose.text import CHOOSE, write


class Draft(NamedTuple):
    """A proposed format, and what it was made of."""

    name: str
    text: str
    proposal: Proposal
    lines: int
    unknown: int
    """Lines that no format knew before."""

    @property
    def choices(self) -> int:
        """Return how many decisions are left to a person."""
        return choices(self.text)


class _Count:
    def __init__(self) -> None:
        self.lines = self.unknown = 0


def choices(text: str) -> int:
    """Return how many marks in the text of a format wait for a person."""
    return sum(CHOOSE in line for line in text.splitlines() if not line.startswith("#"))


def draft(logs: Sequence[Path], known: FormatSet, name: str, most: int = MOST) -> Draft:
    """Propose a format for the lines of logs that no format knows.

    Raises UsageError for a name that is taken or a file that a reader understands whole, NoDataError when nothing is
    left to propose, SourceRefusedError for a path that cannot be read.
    """
    if name in {one.name for one in known.formats}:
        raise UsageError(
            f"there is a format {name!r} already", where="--name", why="a format's name ends up in the facts",
            todo="choose another name",
        )  # fmt: skip
    count = _Count()
    templates = mine(_unknown(logs, known, count))
    proposal = propose(templates, known.patterns, name, most)
    if not proposal.patterns:
        why = "every line is known or blank" if not count.unknown else "no two lines have words in common"
        raise NoDataError(
            "there is nothing to propose", where=", ".join(map(str, logs)), why=why,
            todo="name a log that `ettlog ingest` shows unmatched lines of",
        )  # fmt: skip
    return Draft(name, write(proposal, name), proposal, count.lines, count.unknown)


def _unknown(logs: Sequence[Path], known: FormatSet, count: _Count) -> Iterator[bytes]:
    """Yield what the lines say that no pattern knows."""
    search = lines.Known(known.patterns)
    for log in logs:
        reader = records.reader_for(log, ScanOptions())
        if reader is not None:
            raise UsageError(
                f"{log} needs no format", where=str(log), why=f"its reader {reader.name} knows it",
                todo="name another log",
            )  # fmt: skip
        for line in lines.lines(log):
            count.lines += 1
            if line.strip() and not search.hits(line):
                count.unknown += 1
                yield lines.bodies(line)[0]


def name_for(log: Path) -> str:
    """Return a name for a log's format: its file's stem in small letters, digits and underscores."""
    stem = re.sub(r"[^a-z0-9]+", "_", log.name.partition(".")[0].lower()).strip("_")
    return stem[:32].strip("_") or "dialect"
