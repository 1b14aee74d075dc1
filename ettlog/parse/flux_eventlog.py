"""Flux's eventlogs: what happened to a job, an event a line, as `flux job eventlog` prints them, as text or as JSON.

Hardware is held from `alloc` to `free`, prolog, epilog and housekeeping included. An exception of severity 0 ends a
job, others do not. No event names the job: the command that printed the log may, else it goes by its submission.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ettlog.parse import jsonl
from ettlog.parse.gather import BAD_RECORD, BAD_TIME, IGNORED, MATCHED, TORN, Facts, exact
from ettlog.parse.parsed import Parsed, ScanOptions
from ettlog.parse.record_limits import within

NAME = "flux_eventlog"
MAX_LINE, LIMITS = 1 << 16, (32, 4096)
"""Bytes of a line, and how deep and how wide an event may be."""
_TEXT = re.compile(rb"(\d{9,11}\.\d{1,9}) ([a-z][a-z0-9._-]{0,63}+)(?: (.*))?\Z")
_SNIFF = re.compile(
    rb'(?:\A|\n)(?:\d{9,11}\.\d{1,9} submit (?:userid|urgency)=\d|\{"timestamp": ?\d{9,11}(?:\.\d{1,9})?, ?"name": ?'
    rb'"submit", ?"context": ?\{[^\n]{0,200}"urgency")'
)
_KEY, _WORD = re.compile(r"([A-Za-z][\w.-]{0,63}+)="), re.compile(r"\S*+ ?")
_JSON = json.JSONDecoder()
_ASKED = re.compile(rb"flux job eventlog (?:-\S{1,64} ){0,4}([^\s-]\S{1,63}+)\s*\Z")
_SETS = re.compile(r"rank(\d{1,9}|\[[\d,-]{1,4096}\])/([^\s/]{1,4096}?)(?=,?\s*rank|\Z)")
_GPUS = re.compile(r"gpu(\d{1,6}|\[[\d,-]{1,512}\])")
MAX_WORDS = 256
"""Values of one event that may be no JSON; behind so many, none is taken for JSON."""
EXCEPTIONS = {"cancel": "CANCELLED", "timeout": "TIMEOUT", "timelimit": "TIMEOUT", "node-failure": "NODE_FAIL"}
"""What the type of a fatal exception makes of a job; others fail it."""
_MOST = 1 << 20


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by an event of submission whether a file holds the events of Flux's jobs."""
    return _SNIFF.search(head) is not None


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read the events. Raise SourceRefusedError like the scanner."""
    facts = Facts(NAME, options)
    reader = _Reader(facts)
    return jsonl.each(path, options, facts, reader.line, reader.finish, MAX_LINE)


def _record(text: bytes) -> Mapping[str, Any] | None:
    """Return an event as the object that JSON makes of it; None for what is none."""
    if text.lstrip()[:1] == b"{":
        return jsonl.parse(text)
    found = _TEXT.match(text.rstrip())
    if found is None:
        return None
    return {
        "timestamp": float(found[1]),
        "name": found[2].decode(),
        "context": _context((found[3] or b"").decode("utf-8", "replace")),
    }


def _context(text: str) -> dict[str, Any]:
    """Return what `key=value` pairs tell; a value is JSON, or a word."""
    context, at, left = dict[str, Any](), 0, MAX_WORDS
    while at < len(text):
        key = _KEY.match(text, at)
        at = key.end() if key else at
        try:
            value, end = _JSON.raw_decode(text, at) if key and left else (None, 0)
        except (ValueError, RecursionError):
            value, end, left = None, 0, left - 1
        word = _WORD.match(text, max(at, end))
        if key:
            context[key[1]] = value if end else word[0].strip() if word else ""
        at = max(word.end() if word else 0, at + 1)
    return context


class _Reader:
    """Follows one job after the other through the events."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._asked: str | None = None
        self._line, self._job = 0, dict[str, Any]()

    def line(self, line: jsonl.Line) -> str:
        """Take one line and return its outcome."""
        if found := _ASKED.search(line.text):
            self.finish()
            self._asked = found[1].decode("utf-8", "replace")
        if found or not line.text.strip():
            return IGNORED
        record = _record(line.text) if within(line.text, *LIMITS) else None
        return (BAD_RECORD if line.ended else TORN) if record is None else self._take(line.number, record)

    def _take(self, line: int, record: Mapping[str, Any]) -> str:
        name, context = record.get("name"), record.get("context")
        at = exact(jsonl.micros(record, "timestamp"))
        if not isinstance(name, str):
            return BAD_RECORD
        if at is None or at.us is None:
            return BAD_TIME
        if name == "submit":
            if self._job:
                self.finish()
            self._line, self._job = line, {"submit_us": at.us}
        elif self._job:
            self._happened(name, at.us, context if isinstance(context, dict) else {})
        return MATCHED if self._job else IGNORED

    def _happened(self, name: str, at: int, context: Mapping[str, Any]) -> None:
        job = self._job
        if name == "priority":
            job.setdefault("eligible_us", at)
        elif name == "alloc":
            job["start_us"] = at
            summary = jsonl.text(jsonl.object_in(jsonl.object_in(context, "annotations"), "sched"), "resource_summary")
            job["nodes"], job["gpus"] = held(summary or "")
        elif name == "start":
            job["ready_us"] = at
        elif name == "finish":
            job["status"] = jsonl.whole(context, "status")
        elif name == "exception":
            kind, fatal = jsonl.text(context, "type") or "", context.get("severity") == 0
            if fatal:
                job.setdefault("fatal", kind)
            note = jsonl.text(context, "note")
            job.setdefault("reason", f"{kind}: {note}" if note else kind)
            self._facts.alloc(
                self._line, "mark", raw=self._raw(), id=self._asked, state=f"exception {kind}", reason=note, start_us=at
            )
        # what follows the release of all ranks may not be in the log yet: it is the end until then
        elif (
            name == "free"
            or (name == "clean" and "end_us" not in job)
            or (name == "release" and context.get("final") is True)
        ):
            job["end_us"] = at
            job["over"] = True

    def _raw(self) -> str:
        """Return what the job goes by: its id, or its submission as it was printed."""
        seconds, rest = divmod(self._job["submit_us"], jsonl.SECOND)
        return self._asked or f"{seconds}.{rest:06d}"

    def finish(self) -> None:
        """Make a row of the job whose events ended."""
        job, status = self._job, self._job.get("status")
        if job:
            fatal, code = job.get("fatal"), status if isinstance(status, int) and 0 <= status < 1 << 16 else None
            state = "CLEANUP" if code is not None or fatal else "RUNNING" if "start_us" in job else "PENDING"
            if fatal is not None and ("over" in job or "start_us" not in job):
                state = EXCEPTIONS.get(fatal, "FAILED")
            elif "over" in job and code is not None:
                state = "FAILED" if code else "COMPLETED"
            times: dict[str, Any] = {
                key: job.get(key) for key in ("submit_us", "eligible_us", "start_us", "ready_us", "end_us")
            }
            if times["start_us"] and times["end_us"] and times["end_us"] < times["start_us"]:
                times["end_us"] = None
            self._facts.alloc(
                self._line, "job", raw=self._raw(), id=self._asked, state=state, reason=job.get("reason"),
                nodes=job.get("nodes"), gpus=job.get("gpus"), **times,
                exit_code=None if code is None or code & 127 else code >> 8,
                exit_signal=None if code is None else code & 127 or None,
            )  # fmt: skip
        self._job, self._asked = {}, None


def held(summary: str) -> tuple[int | None, int | None]:
    """Return the nodes and GPUs of a scheduler's summary such as `rank[0-1]/core[0-47],gpu[0-3]`; None where none."""
    sets = [(_size(ranks), sum(_size(ids) for ids in _GPUS.findall(rest))) for ranks, rest in _SETS.findall(summary)]
    if not sets:
        return None, None
    return min(sum(ranks for ranks, _ in sets), _MOST), min(sum(ranks * gpus for ranks, gpus in sets), _MOST)


def _size(ids: str) -> int:
    """Return how many numbers `3` or `[0-3,7]` stands for."""
    size = 0
    for part in ids.strip("[]").split(","):
        low, _, high = part.partition("-")
        size += max(int(high) - int(low) + 1, 0) if low and high.isdigit() else bool(low)
    return size
