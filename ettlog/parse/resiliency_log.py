"""The event log of Google Cloud's resiliency tools: starts and ends of node processes, saved and loaded checkpoints.

One JSON object a line, plain or as exported from Cloud Logging: `timestamp` (ISO, local, no zone), `event_type`, and
`node_rank` or `step`. No step is logged: the step of a saved checkpoint is what proves progress, so each save gives a
step row too, told apart by its pattern.
"""

from __future__ import annotations

from pathlib import Path

from ettlog.parse import jsonl, vocabulary
from ettlog.parse.gather import BAD_RECORD, BAD_TIME, MATCHED, UNMATCHED, Facts, Instant
from ettlog.parse.jsonl import Record
from ettlog.parse.parsed import Parsed, ScanOptions

NAME = "resiliency_log"
WORDS = vocabulary.load(NAME)
_WITH_STEP = ("checkpoint_loaded", "checkpoint_saved")


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first record whether a file is such an event log."""
    first = jsonl.first_record(head)
    record = {} if first is None else jsonl.unwrap(first)
    return record.get("event_type") in WORDS["event"] and "timestamp" in record


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read an event log; a loaded checkpoint also gives the step the trainer continues from."""
    facts = Facts(NAME, options)
    return jsonl.read(path, options, facts, _Reader(facts).take, jsonl.parse)


class _Reader:
    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def take(self, line: int, record: Record) -> str:
        record = jsonl.unwrap(record)
        what = jsonl.text(record, "event_type")
        kind = WORDS["event"].get(what or "")
        if what is None or kind is None:
            return UNMATCHED if what else BAD_RECORD
        at = self._facts.local(jsonl.text(record, "timestamp") or "")
        if at is None:
            return BAD_TIME
        job = jsonl.text(record, "job_name")
        if job:
            self._facts.hints.setdefault("job", job)
        return self._add(line, kind, what, at, record)

    def _add(self, line: int, kind: str, what: str, at: Instant, record: Record) -> str:
        step, node = jsonl.whole(record, "step"), jsonl.whole(record, "node_rank")
        if what in _WITH_STEP and step is None:
            return BAD_RECORD
        self._facts.event(line, kind, what, at, step=step, node=None if node is None else str(node))
        if what == "checkpoint_loaded":
            self._facts.event(line, WORDS["told"]["loaded_step"], what, at, step=step)
        elif what == "checkpoint_saved" and step is not None:
            self._facts.step(line, what, at, step)
        return MATCHED
