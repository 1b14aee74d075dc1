"""Scheduler accounting as `sacct -P` and `-p` write it, with a header or with the fields told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ettlog.parse import blocks, columns, sacct_csv, sacct_table
from ettlog.parse.parsed import Parsed, ScanOptions
from ettlog.parse.sacct_lines import MAX_RECORD, Joiner, Layout, Record, Repeats, find_layout
from ettlog.parse.sacct_rows import ASSUMED, Rows

NAME = "sacct"
BLOCK = 1 << 22
"""Text read at once, in bytes."""
HEAD = 1 << 16


def sniff(head: bytes, options: ScanOptions) -> bool:
    """Tell by its first bytes whether a file is scheduler accounting that this reader knows."""
    known = find_layout(head, options.sacct_fields, options.sacct_delimiter)
    return known is not None or sacct_table.find(head) is not None or sacct_csv.find(head) is not None


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read a file of scheduler accounting into rows of the `alloc` table, sorted by line.

    Every line has one outcome: `matched`, `duplicate` (byte for byte an earlier record), `bad_record` (short, torn or
    broken), `bad_time`, `long`, `torn`, or `ignored` (the header, blank lines). Local times are of `options.zone`.
    Raise SourceRefusedError when the path is no readable regular file.
    """
    with blocks.open_source(path, budget=options.limits.output) as source:
        lines = _Lines(source)
        head = lines.head()
        table = sacct_table.find(head) or sacct_csv.find(head)
        layout = table.layout if table else find_layout(head, options.sacct_fields, options.sacct_delimiter)
        rows = Rows(layout or Layout(("jobid",), b"|", False, b""), options.zone)
        joiner, repeats = Joiner(rows.layout), Repeats()
        for block in lines:
            rows.add(list(_fresh(joiner.feed(table.cut(block) if table else block), repeats, rows)))
        joiner.close(lines.ended and not source.torn)
        return _parsed(source, lines, joiner, rows)


def _fresh(records: Iterator[Record], repeats: Repeats, rows: Rows) -> Iterator[Record]:
    for record in records:
        if repeats(record.text):
            rows.lines["duplicate"] += record.lines
        else:
            yield record


class _Lines:
    """Cuts a source into lists of lines without their ends; what is longer than a record can be is dropped."""

    def __init__(self, source: blocks.Reader) -> None:
        self._source, self._room = source, memoryview(bytearray(BLOCK))
        self._first = b""
        self.ended = True
        """The last line ends with a newline."""
        self.long = 0
        """Lines that were too long to be a record; they are fed as blank ones, to keep the count."""

    def head(self) -> bytes:
        """Return the first bytes; they are read once and cut with the rest."""
        got = self._source.readinto(self._room[:HEAD])
        self._first = bytes(self._room[:got])
        return self._first

    def __iter__(self) -> Iterator[list[bytes]]:
        rest, dropping = self._first, False
        while True:
            got = self._source.readinto(self._room)
            data = rest + bytes(self._room[:got])
            *lines, rest = data.split(b"\n")
            if lines:
                if dropping:
                    lines[0], dropping = b"", False
                yield [line.removesuffix(b"\r") for line in lines]
            if len(rest) > MAX_RECORD:
                self.long += not dropping
                rest, dropping = b"", True
            if not got:
                break
        self.ended = not (rest or dropping)
        if not self.ended:
            yield [rest.removesuffix(b"\r")]


def _parsed(source: blocks.Reader, lines: _Lines, joiner: Joiner, rows: Rows) -> Parsed:
    counts = rows.lines + joiner.lost
    counts["long"] += lines.long
    counts["ignored"] -= lines.long
    torn = bool(source.torn or counts["torn"])
    inferences = [ASSUMED] if rows.clocks["zone_assumed"] else []
    missing = rows.restarts.note()
    inferences += [missing] if missing else []
    return Parsed(
        events=columns.empty("event"),
        steps=columns.empty("step"),
        allocs=rows.table(),
        lines={outcome: count for outcome, count in sorted(counts.items()) if count},
        n_lines=joiner.number,
        n_bytes=source.n_bytes,
        digest=source.digest(),
        text=source.text_digest(),
        formats={NAME: counts["matched"]} if counts["matched"] else {},
        state="torn" if torn else "whole",
        inferences=inferences,
        first_us=rows.first_us,
        last_us=rows.last_us,
        clock=max(rows.clocks, key=lambda name: (rows.clocks[name], name)) if rows.clocks else "none",
    )
