"""The log of SkyPilot's controller of managed jobs: when a cluster was there, was lost, and came back.

An attempt runs from the launch of its cluster to the line that tells of its loss or of the job's end; a loss is seen by
the next look at the cluster, some seconds late. Stamps have no year. Whether a cluster was preempted or failed is told
of spot jobs of older releases only. GPUs are those of the instances that were chosen last.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ettlog.parse import jsonl, undated
from ettlog.parse.gather import BAD_TIME, IGNORED, MATCHED, TORN, UNMATCHED, Facts, Instant
from ettlog.parse.parsed import Parsed, ScanOptions

NAME: Final = "skypilot"
MAX_LINE: Final = 1 << 16
MOST: Final = 10_000
"""Attempts of one job that wait for its id."""
_LINE = re.compile(
    r"(?:\((?P<name>[^()\s,]{1,64}),? (?:rank=\d{1,6}, )?pid=\d{1,9}\) )?"
    r"[DIWEF] (?P<month>0[1-9]|1[0-2])-(?P<day>\d\d) (?P<time>\d\d:\d\d:\d\d(?:\.\d{3})?) [a-z_]{2,40}\.py:\d{1,5}\] "
    r"(?P<text>.*)\Z",
    re.S,
)
_SNIFF = re.compile(
    rb"(?:\A|\n)(?:\([^()\n]{1,90}pid=\d{1,9}\) )?[DIWEF] \d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{3})? [a-z_]{2,40}"
    rb"\.py:\d{1,5}\] (?:=== Checking the job status|Starting job loop for \d|(?:Managed job|Spot) cluster launched\.)"
)
LAUNCHED, READY, END, AGAIN, NOTE, NAMED, LOOK = "launched", "ready", "end", "again", "note", "named", "look"
_SAYS: tuple[tuple[str, str, re.Pattern[str]], ...] = tuple(
    (does, state, re.compile(pattern))
    for does, state, pattern in (
        (NAMED, "", r"Starting job loop for (?P<id>\d{1,9})\b"),
        (END, "SUCCEEDED", r"Managed job (?P<id>\d{1,9}) \(task: \d{1,6}\) SUCCEEDED"),
        (END, "SUCCEEDED", r"Job succeeded\.|Task \d{1,6} succeeded!"),
        (LAUNCHED, "", r"(?:Spot|Managed job) cluster launched\."),
        (READY, "", r"Job started\.|==== Recovered\. ===="),
        (END, "RECOVERING", r"Cluster is preempted or failed\b"),
        (END, "PREEMPTED", r"(?:The c|C)luster is [Pp]reempted\b"),
        (END, "FAILED", r"Task \d{1,6} failed with status: |The user job failed \(|User program crashed \("),
        (END, "CANCELLED", r"Cancelling the job|Job cancelled\."),
        (AGAIN, "RECOVERING", r"=== Recovering\.\.\. ==="),
        (LOOK, "", r"=== Checking the job status|Job status: |={34}\Z|Started monitoring\."),
        (NOTE, "launch_failed", r"Failed to launch a cluster with error|Failure happened before provisioning"),
    )
)
_NODES = re.compile(r"Considered resources \((\d{1,6}) nodes?\)")
_CHOSEN, _TICK = re.compile(r"\s([A-Z][\w.-]{1,40}):(\d{1,4})\s"), "\N{HEAVY CHECK MARK}"
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_COLOUR = re.compile(r"\x1b\[[\d;]{0,16}m")


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by a line of its loop whether a file is the log of a controller."""
    return _SNIFF.search(head) is not None


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read the log. Raise SourceRefusedError like the scanner."""
    reader = _Reader(undated.facts_of(NAME, options))
    return jsonl.each(path, options, reader.facts, reader.line, reader.finish, MAX_LINE)


@dataclass(slots=True)
class _Job:
    """One managed job: its rows wait for its id, which may be told last."""

    submit: Instant
    id: str | None = None
    name: str | None = None
    line: int = 0
    start: Instant | None = None
    ready: Instant | None = None
    gpus: int | None = None
    restarts: int = 0
    over: bool = False
    rows: list[tuple[int, str, str, dict[str, Any]]] = field(default_factory=list)


class _Reader:
    """Follows one job after the other."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._job: _Job | None = None
        self._nodes, self._gpus = 1, dict[str, int]()

    def line(self, line: jsonl.Line) -> str:
        """Take one line and return its outcome."""
        text = _COLOUR.sub("", line.text.decode("utf-8", "replace")).rstrip()
        found = _LINE.match(text)
        if found is None:
            return IGNORED if not text else UNMATCHED if line.ended else TORN
        said = found["text"]
        nodes, chosen = _NODES.search(said), _CHOSEN.search(said) if _TICK in said else None
        if nodes:
            self._nodes, self._gpus = int(nodes[1]), {}
            return MATCHED
        if chosen:
            self._gpus = {"each": int(chosen[2])}
            return MATCHED
        for does, state, pattern in _SAYS:
            told = pattern.match(said)
            if told:
                day = f"{_MONTHS[int(found['month']) - 1]} {found['day']}"
                at = undated.instant(self.facts, f"{day} {found['time']}")
                if at is None:
                    return BAD_TIME
                self.facts.saw(at)
                self._happens(line.number, at, found, does, state, told.groupdict().get("id"))
                return MATCHED
        return UNMATCHED

    def _happens(self, number: int, at: Instant, found: re.Match[str], does: str, state: str, name: str | None) -> None:
        job = self._job
        if job is None or (name is not None and job.id not in (None, name)):
            self.finish()
            self._job = job = _Job(at)
        job.id, job.name = name or job.id, found["name"] or job.name
        if does == LAUNCHED and job.start is None:
            job.line, job.start, job.ready, job.over = number, at, None, False
            job.gpus = self._gpus["each"] * self._nodes if self._gpus else None
        elif does == READY:
            job.ready = job.ready or at
        elif does in (END, AGAIN):
            self._end(job, number, at, state, found["text"])
            if does == AGAIN:
                job.submit, job.restarts, job.over, job.line = at, job.restarts + 1, False, number
        elif does == NOTE:
            self._add(job, number, "mark", at, {"state": state, "reason": found["text"], "start_us": at.us})
        job.line = job.line or number

    def _end(self, job: _Job, number: int, at: Instant, state: str, text: str) -> None:
        if job.over or (job.start is None and state == "RECOVERING"):
            return  # several lines tell of one end
        begin = job.start or job.submit
        known = at.us is not None and begin.us is not None and at.us >= begin.us  # a year may have ended in between
        self._add(job, number, "mark", at, {"state": state, "reason": text, "start_us": at.us})
        told = {"state": state, "reason": text, "end_us": at.us if known else None}
        self._add(job, job.line, "job", begin, {**self._row(job), **told})
        job.submit, job.start, job.ready, job.over = at, None, None, True

    def _row(self, job: _Job) -> dict[str, Any]:
        return {
            "submit_us": job.submit.us,
            "start_us": job.start.us if job.start else None,
            "ready_us": job.ready.us if job.ready else None,
            "gpus": job.gpus if job.start else None,
            "restarts": job.restarts,
        }

    def _add(self, job: _Job, line: int, record: str, at: Instant, row: dict[str, Any]) -> None:
        job.rows.append((line, record, at.clock, row))
        if len(job.rows) > MOST:
            self._write(job)

    def _write(self, job: _Job) -> None:
        name = job.id or job.name
        for line, record, clock, row in job.rows:
            self.facts.alloc(line, record, clock, id=name, raw=name, name=job.name, **row)
        job.rows.clear()

    def finish(self) -> None:
        """Make rows of the job whose log ended."""
        if (job := self._job) is not None:
            if not job.over:
                state = "PENDING" if job.start is None else "RUNNING"
                self._add(job, job.line, "job", job.start or job.submit, {**self._row(job), "state": state})
            self._write(job)
        self._job = None
