"""The log of Kueue's controller: JSON lines of zap, other programs' plain lines between them.

Its events say what the controller decided. They are marks: a workload that is told to be evicted or stopped may run on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ettlog.parse import jsonl
from ettlog.parse.gather import BAD_RECORD, BAD_TIME, DUPLICATE, IGNORED, MATCHED, TORN, Facts
from ettlog.parse.jsonl import Record
from ettlog.parse.k8s_object import micros, part, word
from ettlog.parse.parsed import Parsed, ScanOptions

NAME = "kueue_log"
SAME_US = 1_000_000
"""Events of one object with one reason and text this close together are one happening."""
_LINE = re.compile(rb'\{"level":"[^"]{1,20}","ts":"[^"]{10,40}",(?:"logger":"[^"]{1,60}",)?"caller":"[^"]{1,200}"')
_WORKLOAD = re.compile(r"(?:pytorchjob|mpijob|tfjob|trainjob|jobset|rayjob|raycluster|job|pod)-(.+)-[0-9a-f]{5}\Z")
_MARKS = (b"workload", b"Workload", b"kueue")


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first JSON line whether a file is the log of Kueue's controller."""
    first = next((line for line in head.split(b"\n", 64)[:64] if line.startswith(b"{")), b"")
    return _LINE.match(first) is not None and any(mark in head for mark in _MARKS)


def job_of(workload: str) -> str:
    """Return the job of a workload by its name: kind in front, five hex digits behind."""
    match = _WORKLOAD.match(workload[:300])
    return match[1] if match else workload


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read the log. Raise SourceRefusedError like the scanner."""
    facts = Facts(NAME, options)
    return jsonl.each(path, options, facts, _Reader(facts).take)


class _Reader:
    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._told: dict[tuple[str | None, ...], int] = {}

    def take(self, line: jsonl.Line) -> str:
        if not line.text.startswith(b"{"):
            return IGNORED
        record = jsonl.parse(line.text)
        if record is None:
            return BAD_RECORD if line.ended else TORN
        at = micros(record.get("ts"))
        if at is None:
            return BAD_TIME
        return (
            self._event(line.number, record, at)
            if record.get("logger") == "events"
            else self._other(line.number, record, at)
        )

    def _event(self, line: int, record: Record, at: int) -> str:
        about = part(record, "object")
        key = (word(about, "uid"), word(record, "reason"), word(record, "msg"))
        before = self._told.get(key)
        if len(self._told) > 100_000:
            self._told.clear()
        self._told[key] = at
        if before is not None and 0 <= at - before <= SAME_US:
            return DUPLICATE
        self._mark(line, about, at, word(record, "reason"), word(record, "msg"), word(about, "kind"))
        return MATCHED

    def _other(self, line: int, record: Record, at: int) -> str:
        about = part(record, "workload") or part(record, "PyTorchJob") or part(record, "object")
        kind = "Workload" if "workload" in record else word(record, "controllerKind")
        self._mark(line, about, at, word(record, "status"), word(record, "msg"), kind)
        return MATCHED

    def _mark(
        self, line: int, about: Mapping[str, object], at: int, state: str | None, reason: str | None, kind: str | None
    ) -> None:
        name = word(about, "name")
        row: dict[str, Any] = {
            "id": job_of(name) if name else None,
            "task": name,
            "raw": word(about, "uid"),
            "name": kind,
        }
        row |= {"state": state, "reason": reason, "partition": word(about, "namespace")}
        self._facts.alloc(line, "mark", **row, start_us=at, end_us=at)
