"""DLRover's event files: spans of trainer, agent and master as lines with a JSON body, or wholly as JSON.

Text: `[local ISO time] [pid] [id] [target] [#name] [BEGIN|END|INSTANT] {json}` (older versions without the pid). The
two ends of a span share their id. A step begins with number n and ends with n + 1: the number of its end counts.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ettlog.parse import jsonl, vocabulary
from ettlog.parse.gather import BAD_RECORD, BAD_TIME, IGNORED, MATCHED, Facts, Instant, cause_of
from ettlog.parse.jsonl import Record
from ettlog.parse.parsed import Parsed, ScanOptions

NAME = "dlrover_events"
OPEN_SPANS = 4_096
"""Most begun spans remembered; beyond that the oldest is forgotten."""

BEGIN, END, INSTANT = "BEGIN", "END", "INSTANT"
_LINE = re.compile(
    rb"\[(?P<time>\d{4}-\d\d-\d\d[T ][\d:.]{8,15}(?:Z|[+-]\d\d:\d\d)?)\] "
    rb"(?:\[(?P<pid>\d{1,10})\] )?\[(?P<id>[^\]\s]{1,64})\] \[(?P<target>[^\]]{0,128})\] "
    rb"\[(?P<name>[^\]]{1,128})\] \[(?P<type>BEGIN|END|INSTANT)\] (?P<body>\{.*)"
)
WORDS = vocabulary.load(NAME)
_QUIET = frozenset(("substep", "predict_step", "epoch", "warning"))
_NETWORK_CHECK = "network-check"
_JSON_KEYS = {"event_id", "event_time", "target", "name", "event_type"}


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first lines whether a file is an event file of DLRover."""
    record = jsonl.first_record(head)
    if record is not None:
        return record.keys() >= _JSON_KEYS
    first = next((line for line in head.split(b"\n", 16)[:16] if line.strip()), b"")
    return _LINE.match(first) is not None


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read an event file of one process; stamps are local times without a zone."""
    facts = Facts(NAME, options)
    rank = re.search(r"events_(\d{1,6})", path.name)
    return jsonl.read(path, options, facts, _Reader(facts, int(rank[1]) if rank else None).take, _record)


def _record(line: bytes) -> Record | None:
    match = _LINE.match(line)
    if match is None:
        found = jsonl.parse(line) if line.lstrip()[:1] == b"{" else None
        return found if found is not None and found.keys() >= _JSON_KEYS else None
    content = jsonl.parse(match["body"])
    if content is None:
        return None
    decode = {key: match[key].decode("utf-8", "replace") for key in ("time", "id", "target", "name", "type")}
    return {
        "event_time": decode["time"], "event_id": decode["id"], "target": decode["target"], "name": decode["name"],
        "event_type": decode["type"], "content": content,
    }  # fmt: skip


class _Reader:
    """The spans that have begun and not ended."""

    def __init__(self, facts: Facts, rank: int | None) -> None:
        self._facts, self._rank = facts, rank
        self._open: dict[tuple[str, str], int | None] = {}
        self._persists = False

    def take(self, line: int, record: Record) -> str:
        name, kind_of = jsonl.text(record, "name"), jsonl.text(record, "event_type")
        if name is None or kind_of not in (BEGIN, END, INSTANT):
            return BAD_RECORD
        at = self._facts.local(jsonl.text(record, "event_time") or "")
        if at is None:
            return BAD_TIME
        base = name.strip("#").rpartition("#")[2]
        span = (jsonl.text(record, "event_id") or "", base)
        duration = self._duration(span, kind_of, at)
        content = jsonl.object_in(record, "content")
        if base == "step":
            return self._step(line, kind_of, at, content, duration)
        if base in _QUIET:
            return IGNORED
        return self._event(line, (base, kind_of), at, content, duration_us=duration, name=_about(name, content))

    def _duration(self, span: tuple[str, str], kind_of: str, at: Instant) -> int | None:
        if kind_of == BEGIN:
            if len(self._open) >= OPEN_SPANS:
                del self._open[next(iter(self._open))]
            self._open[span] = at.us
        begin = self._open.pop(span, None) if kind_of == END else None
        return None if begin is None or at.us is None else at.us - begin

    def _step(self, line: int, kind_of: str, at: Instant, content: Record, duration: int | None) -> str:
        if kind_of != END:
            return MATCHED
        step = jsonl.whole(content, "global_step")
        if step is None:
            return BAD_RECORD
        samples = jsonl.whole(content, "consumed_train_samples")
        self._facts.step(line, "step_end", at, step, rank=self._rank, duration_us=duration, samples=samples)
        return MATCHED

    def _event(self, line: int, what: tuple[str, str], at: Instant, content: Record, **fields: Any) -> str:
        base, kind_of = what
        told = WORDS["told"]
        kind = WORDS[kind_of].get(base, told["other" if fields["duration_us"] is None else "other_span"])
        if base == "persist_ckpt":
            self._persists = True
        if what == ("save", END) and self._persists:  # the write goes on behind the loop and has a span of its own
            kind = told["save_with_a_write_behind"]
        if _NETWORK_CHECK in str(content.get("rendezvous_type")):
            kind = told["network_check"]
        fields["step"] = jsonl.whole(content, "global_step")
        fields["rank"] = self._rank
        if kind == "failure":
            fields["cause"] = cause_of(str(fields["name"]))
        self._facts.event(line, kind, f"{base}_{kind_of.lower()}", at, **fields)
        return MATCHED


def _about(name: str, content: Record) -> str:
    """Return what an event is about: the path, the reason or the error it names, else its own name."""
    for key in ("path", "reason", "err_msg", "errmsg", "error", "msg"):
        if content.get(key):
            return str(content[key])
    return name
