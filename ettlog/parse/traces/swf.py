"""Standard Workload Format of the Parallel Workloads Archive: 18 columns of numbers, -1 for what is not known.

Times count from `UnixStartTime` of the header; without it they are seconds of a trace without a date.
"""

from __future__ import annotations

import re
from pathlib import Path

from ettlog.parse import jsonl
from ettlog.parse.gather import BAD_RECORD, DUPLICATE, EXACT, IGNORED, MATCHED, TORN, Facts
from ettlog.parse.parsed import Parsed, ScanOptions
from ettlog.parse.sacct_lines import Repeats
from ettlog.parse.traces.cells import Fields

NAME = "swf"
SECOND = 1_000_000
CANCELLED = 5
_NUMBER = rb"-?\d{1,15}(?:\.\d{1,9})?"
_FIRST = re.compile(rb"\s*+((\S)[^\n]*+)")
_RECORD = re.compile(rb"\s*" + _NUMBER + rb"(?:\s+" + _NUMBER + rb"){17}\s*\Z")
_HEAD = re.compile(rb"\s*;\s*(UnixStartTime|Installation|MaxJobs|MaxProcs|MaxNodes|Computer|Version)\s*:\s*(.{0,200})")


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first lines whether a file is in the Standard Workload Format."""
    begin = _FIRST.match(head)
    if begin is not None and begin[2] != b";":  # most logs do not begin with a comment: nothing has to be cut
        return _RECORD.match(begin[1]) is not None
    lines = [line for line in head.split(b"\n", 400)[:400] if line.strip()]
    if not lines:
        return False
    first = next((line for line in lines if not line.lstrip().startswith(b";")), None)
    if first is not None:
        return _RECORD.match(first) is not None
    return sum(_HEAD.match(line) is not None for line in lines) > 2


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read a workload. Raise SourceRefusedError like the scanner."""
    facts = Facts(NAME, options)
    return jsonl.each(path, options, facts, _Reader(facts).take)


class _Reader:
    """Remembers what the header says."""

    def __init__(self, facts: Facts) -> None:
        self._facts, self._repeats = facts, Repeats()
        self._zero, self._clock, self._cluster = 0, "relative", ""

    def take(self, line: jsonl.Line) -> str:
        text = line.text.strip()
        if not text or text.startswith(b";"):
            self._header(text)
            return IGNORED
        if not _RECORD.match(text):
            return BAD_RECORD if line.ended else TORN
        if self._repeats(text):
            return DUPLICATE
        self._facts.alloc(line.number, "job", self._clock, **self._row([float(cell) for cell in text.split()]))
        return MATCHED

    def _header(self, text: bytes) -> None:
        found = _HEAD.match(text)
        if found is None:
            return
        value = found[2].decode("utf-8", "replace").strip()
        if found[1] == b"UnixStartTime" and value.isdigit() and len(value) < 11 and int(value):
            self._zero, self._clock = int(value) * SECOND, EXACT
        elif found[1] == b"Installation":
            self._cluster = value

    def _row(self, cells: list[float]) -> Fields:
        job, submit, wait, run = (int(cells[0]), *(_time(cell) for cell in cells[1:4]))
        submit = None if submit is None else submit + self._zero
        start = None if submit is None or wait is None else submit + wait
        end = None if start is None or run is None else start + run
        if cells[10] == CANCELLED and not run:
            start, end = None, end if end is not None else start
        words = {"state": _word(cells[10]), "user": _word(cells[11]), "partition": _word(cells[14])}
        times = {"submit_us": submit, "start_us": start, "end_us": end, "elapsed_us": run}
        held = {"cpus": int(cells[4]) if cells[4] >= 0 else None}
        return {"id": str(job), "raw": str(job), "cluster": self._cluster, **times, **words, **held}


def _time(cell: float) -> int | None:
    return round(cell * SECOND) if cell >= 0 else None


def _word(cell: float) -> str | None:
    return str(int(cell)) if cell >= 0 else None
