"""LSF's `lsb.events`: what happened to each job, a record a line, from which its accounting is made.

An attempt runs from JOB_START to the JOB_STATUS that ends it, or sends the job back to its queue; a suspension lies
between two of them. A job that ended is in `lsb.acct` too. Fields are read in order: counts of hosts and what a
release leaves out shift those behind.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ettlog.parse import jsonl
from ettlog.parse.attempts import Waiting
from ettlog.parse.gather import BAD_RECORD, BAD_TIME, IGNORED, MATCHED, TORN, Facts, Instant, exact
from ettlog.parse.parsed import Parsed, ScanOptions

NAME = "lsf_events"
MAX_RECORD: Final = 1 << 20
NEW, START, STATUS, REQUEUE = "JOB_NEW", "JOB_START", "JOB_STATUS", "JOB_REQUEUE"
WAITS, RUNS, STOPPED, EXIT, DONE = (1, 2), 4, (8, 16), 32, 64
TERM = {
    1: "TERM_PREEMPT", 2: "TERM_WINDOW", 3: "TERM_LOAD", 5: "TERM_RUNLIMIT", 6: "TERM_DEADLINE", 8: "TERM_FORCE_OWNER",
    9: "TERM_FORCE_ADMIN", 10: "TERM_REQUEUE_OWNER", 11: "TERM_REQUEUE_ADMIN", 12: "TERM_CPULIMIT", 13: "TERM_CHKPNT",
    14: "TERM_OWNER", 15: "TERM_ADMIN", 16: "TERM_MEMLIMIT", 17: "TERM_EXTERNAL_SIGNAL", 19: "TERM_ZOMBIE",
    20: "TERM_SWAP", 23: "TERM_BUCKET_KILL", 34: "TERM_RC",
}  # fmt: skip
"""Why a job was ended, as LSF's commands print it."""
_RUSAGE: Final = 19
_RECORD = re.compile(rb'"[A-Z_0-9]{3,40}" "\d{1,3}[\d.]{0,12}" \d{9,11}(?: |\Z)')
_SNIFF = re.compile(
    rb'(?:\A|\n)"(?:JOB_NEW|JOB_START|JOB_STATUS|JOB_EXECUTE|JOB_START_ACCEPT)" "\d{1,3}[\d.]{0,12}" \d{9,11} \d'
)
_FIELD = re.compile(r'(?<!\s)\s*+(?:"((?:[^"]|"")*+)"|([^\s"]++))')
_MANY = re.compile(r"\d{1,6}\*")


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first records whether a file is LSF's log of events."""
    return _SNIFF.search(head) is not None


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read the records. Raise SourceRefusedError like the scanner."""
    reader = _Reader(Facts(NAME, options))
    return jsonl.each(path, options, reader.facts, reader.line, reader.close, MAX_RECORD)


@dataclass(slots=True)
class _Job:
    """What is known of a job, or of one element of an array."""

    line: int
    id: str
    submit: int | None = None
    start: int | None = None
    user: str | None = None
    queue: str | None = None
    hosts: tuple[str, ...] = ()
    since: int | None = None
    suspended: int = 0
    restarts: int = 0
    over: bool = False


class _Fields:
    """The fields of a record in order: texts stand in quotes, numbers do not."""

    def __init__(self, text: str) -> None:
        self._all = [(found[1] is not None, found[1] or found[2] or "") for found in _FIELD.finditer(text)]
        self._at = 0

    def number(self) -> int | None:
        """Return the next field where it is a whole number; it is left where it is a text."""
        word = self._all[self._at] if self._at < len(self._all) else (True, "")
        if word[0]:
            return None
        self._at += 1
        digits = word[1].removeprefix("-")
        return int(word[1]) if digits.isascii() and digits.isdigit() and len(digits) < 19 else -1

    def text(self) -> str | None:
        """Return the next field where it is a text; it is left where it is a number."""
        word = self._all[self._at] if self._at < len(self._all) else (False, "")
        if not word[0]:
            return None
        self._at += 1
        return word[1].replace('""', '"')

    def numbers(self) -> list[int]:
        """Return all numbers up to the next text."""
        found: list[int] = []
        while (number := self.number()) is not None:
            found.append(number)
        return found


class _Reader:
    """Follows the jobs through the records."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._jobs: Waiting[_Job] = Waiting()

    def line(self, line: jsonl.Line) -> str:
        """Take one line and return its outcome."""
        if not line.text.strip() or line.text[:1] == b"#":
            return IGNORED
        if _RECORD.match(line.text) is None:
            return BAD_RECORD if line.ended else TORN
        fields = _Fields(line.text.decode("utf-8", "replace"))
        kind, _version = fields.text(), fields.text()
        moment, raw = _moment(fields.number()), fields.number()
        if kind not in (NEW, START, STATUS, REQUEUE):
            return IGNORED
        if moment is None or moment.us is None:
            return BAD_TIME
        if raw is None or raw <= 0:
            return BAD_RECORD if line.ended else TORN
        self.facts.saw(moment)
        at = moment.us
        if kind == NEW:
            return self._new(line.number, str(raw), fields, at)
        if kind == START:
            return self._start(line.number, str(raw), fields, at)
        if kind == REQUEUE:
            index = fields.number()
            return self._again(line.number, self._job(line.number, str(raw), index or 0), at, "TERM_REQUEUE_OWNER")
        return self._status(line.number, str(raw), fields, at)

    def _job(self, number: int, raw: str, index: int) -> _Job:
        name = f"{raw}[{index}]" if index > 0 else raw
        job = self._jobs.get(name)
        if job is None:
            array = self._jobs.get(raw)
            job = _Job(number, name)
            if array is not None:
                job.submit, job.user, job.queue = array.submit, array.user, array.queue
                array.over = True  # its elements tell the rest
        self._keep(job)
        return job

    def _keep(self, job: _Job) -> None:
        given_up = self._jobs.heard(job.id, job)
        if given_up is not None:
            self._open(given_up)

    def _new(self, number: int, raw: str, fields: _Fields, at: int) -> str:
        told = fields.numbers()  # user, options, processors, submission, ...
        job = _Job(number, raw, user=fields.text())
        told_us = _moment(told[3]) if len(told) > 3 else None
        job.submit = told_us.us if told_us else at
        fields.numbers()  # limits
        fields.text()
        fields.numbers()  # the model of a host and its factor, the mask
        job.queue = fields.text()
        self._keep(job)
        return MATCHED

    def _start(self, number: int, raw: str, fields: _Fields, at: int) -> str:
        told = fields.numbers()  # status, process, group, factor, hosts
        hosts = [fields.text() or "" for _ in range(max(0, min(told[-1], 1 << 16)))] if len(told) > 4 else []
        fields.text(), fields.text()
        flags = fields.numbers()
        index = (fields.numbers() or [0])[0] if fields.text() is not None else (flags[1] if len(flags) > 1 else 0)
        job = self._job(number, raw, index)
        if job.start is None:
            names = dict.fromkeys(_MANY.sub("", host, count=1) for host in hosts if host)
            job.line, job.start, job.hosts, job.over, job.suspended = number, at, tuple(names), False, 0
        return MATCHED

    def _status(self, number: int, raw: str, fields: _Fields, at: int) -> str:
        told = fields.numbers()  # status, reasons, processor time, end, usage or none, usage, exit status, element, why
        if len(told) < 6:
            return BAD_RECORD
        status, end, rest = told[0], _moment(told[4]), told[6 + (_RUSAGE if told[5] == 1 else 0) :]
        code, index, why = (*rest[:3], *(0,) * (3 - len(rest[:3])))
        job = self._job(number, raw, index)
        if job.since is not None and status not in STOPPED:
            job.suspended, job.since = job.suspended + max(at - job.since, 0), None
        if status in STOPPED and job.start is not None:
            job.since = job.since or at
        elif status in WAITS and job.start is not None:
            return self._again(number, job, at, TERM.get(why))
        elif status in (EXIT, DONE) and not job.over:
            self._write(
                job, "DONE" if status == DONE else "EXIT", end.us if end else at, TERM.get(why), code if rest else None
            )
            job.start, job.over = None, True
        return MATCHED

    def _again(self, number: int, job: _Job, at: int, why: str | None) -> str:
        if job.start is not None:
            self._write(job, "REQUEUED", at, why, None)
            job.line, job.submit, job.start, job.restarts, job.over = number, at, None, job.restarts + 1, False
        return MATCHED

    def _write(self, job: _Job, state: str, end: int | None, why: str | None, code: int | None) -> None:
        known = end if end is None or job.start is None or end >= job.start else None
        wait = code if code is not None and 0 <= code < 1 << 16 else None
        self.facts.alloc(
            job.line, "job", id=job.id, raw=job.id, user=job.user, partition=job.queue, state=state, reason=why,
            submit_us=job.submit, start_us=job.start, end_us=known, suspended_us=job.suspended, restarts=job.restarts,
            nodes=len(job.hosts) or None if job.start is not None else None,
            node=job.hosts[0] if job.start is not None and len(job.hosts) == 1 else None,
            exit_code=None if wait is None else wait >> 8, exit_signal=None if wait is None else wait & 127,
        )  # fmt: skip

    def _open(self, job: _Job) -> None:
        if not job.over:
            self._write(job, "PEND" if job.start is None else "RUN", None, None, None)

    def close(self) -> None:
        """Write down what is open at the end of the log."""
        while self._jobs:
            self._open(self._jobs.popitem(last=False)[1])


def _moment(seconds: int | None) -> Instant | None:
    return exact(seconds * jsonl.SECOND) if seconds is not None and 0 < seconds < 1 << 40 else None
