"""TORCH_TRACE files: a record line (glog prefix and one JSON object), then its payload on lines that begin with a
TAB.

`has_payload` is the MD5 of the payload, the leading TABs removed and the lines joined by newlines: a payload that
does not match is damaged, its record is a `bad_record` and nothing in it is believed. What the records say of
compiles is `torch_compile.py`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ettlog.parse import jsonl, torch_compile
from ettlog.parse.blocks import open_source
from ettlog.parse.gather import BAD_RECORD, BAD_TIME, IGNORED, LONG, MATCHED, TORN, UNMATCHED, Facts
from ettlog.parse.jsonl import Line, Record
from ettlog.parse.parsed import Parsed, ScanOptions
from ettlog.parse.stamp import Stamp
from ettlog.parse.stamp import parse as parse_stamp

NAME = "torch_trace"
MAX_LINE = 1 << 24
"""Longest line read whole, in bytes; the MD5 of a payload with a longer one cannot be checked."""
MAX_PAYLOAD = 1 << 22
"""Longest payload that is looked into, in bytes."""

_PREFIX = re.compile(rb"([VIWEC]\d{4} \d\d:\d\d:\d\d\.\d{6}) +\d{1,20} [^ \]]{1,200}:\d{1,7}\] ?(?=\{)")
_FILE_RANK = re.compile(r"rank_(\d{1,7})(?:\D|$)")


@dataclass(slots=True)
class TraceRecord:
    """One record and its payload."""

    line: int
    stamp: Stamp | None
    record: Record
    expected: str
    """MD5 that the payload should have, in hex; empty when the record has none."""
    wanted: bool
    """Its payload is looked into."""
    payload: list[bytes] = field(default_factory=list)
    size: int = 0
    lines: int = 0
    unchecked: bool = False
    md5: object = field(default_factory=lambda: hashlib.md5(usedforsecurity=False))

    def add(self, line: Line) -> None:
        """Take one line of payload."""
        text = line.text[1:]
        self.md5.update(b"\n" + text if self.lines else text)  # type: ignore[attr-defined]
        self.lines += 1
        self.size += len(text)
        self.unchecked |= line.long
        if self.wanted and self.size <= MAX_PAYLOAD:
            self.payload.append(text)

    @property
    def damaged(self) -> bool:
        """Tell whether the payload is not the one that was written."""
        return bool(self.expected) and not self.unchecked and self.md5.hexdigest() != self.expected  # type: ignore[attr-defined]

    @property
    def text(self) -> bytes:
        """Return the payload, empty where it is longer than is looked into."""
        return b"\n".join(self.payload) if self.size <= MAX_PAYLOAD else b""


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first line whether a file is a structured trace of the compiler."""
    first = next((line for line in head.split(b"\n", 16)[:16] if line.strip()), b"")
    match = _PREFIX.match(first)
    if match is None:
        return False
    record = jsonl.parse(first[match.end() :])
    return record is not None and torch_compile.kind_of(record) != ""


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read a trace of one process: compiles, recompiles, cache evidence; the zone and the year come from its epoch
    values.
    """
    facts = Facts(NAME, options)
    rank = _FILE_RANK.search(path.name)
    trace = Trace(facts, int(rank[1]) if rank else None)
    with open_source(path, budget=options.limits.output) as source:
        trace.feed(jsonl.lines(source, MAX_LINE))
        return facts.parsed(source)


class Trace:
    """Cuts lines into records, checks their payloads and hands them on."""

    def __init__(self, facts: Facts, file_rank: int | None) -> None:
        """Start before the first record; `file_rank` stands where a record names none."""
        self._facts = facts
        self._compiles = torch_compile.Compiles(facts, file_rank)
        self._open: TraceRecord | None = None
        self.ok = self.damaged = 0
        """Payloads whose MD5 matched, and those whose did not."""
        self.records = self.outside = 0
        """Records that were read, and lines that are neither a record nor a payload."""

    def feed(self, lines: Iterable[Line]) -> None:
        """Take all lines of a file."""
        for line in lines:
            if line.text.startswith(b"\t") and self._open is not None:
                self._open.add(line)
                continue
            match = None if line.long else _PREFIX.match(line.text)
            if match is None:
                self._close()
                self.outside += 1
                outcome = LONG if line.long else UNMATCHED if line.text.strip() else IGNORED
                self._facts.count(outcome, line.text)
            else:
                self._close()
                self._begin(line, match)
        self._close()
        if self.ok or self.damaged:
            self._facts.note(f"payloads checked by their MD5: {self.ok} whole, {self.damaged} damaged")
        self._compiles.finish()

    def _begin(self, line: Line, match: re.Match[bytes]) -> None:
        record = jsonl.parse(line.text[match.end() :])
        stamp = parse_stamp(match[1])
        if record is None or stamp is None:
            outcome = BAD_TIME if record is not None else BAD_RECORD if line.ended else TORN
            self._facts.count(outcome, line.text)
            return
        self.records += 1
        expected = record.get("has_payload")
        self._open = TraceRecord(
            line.number, stamp, record, expected if isinstance(expected, str) else "", torch_compile.wants(record)
        )

    def _close(self) -> None:
        one, self._open = self._open, None
        if one is None:
            return
        if one.damaged:
            self.damaged += 1
            self._facts.count(BAD_RECORD)
            self._facts.count(IGNORED, lines=one.lines)
            return
        self.ok += bool(one.expected and not one.unchecked)
        outcome = self._compiles.take(one.line, one.stamp, one.record, one.text)
        self._facts.count(outcome, torch_compile.kind_of(one.record).encode())
        self._facts.count(MATCHED if outcome == MATCHED else IGNORED, lines=one.lines)
