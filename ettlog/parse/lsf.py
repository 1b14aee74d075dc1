"""LSF's `lsb.acct`: a record per job that ended, blanks between fields, texts in quotes.

`""` inside a text is a quote; a text may hold line ends. Two counts of hosts shift everything behind them, so
fields are read in order. Times are seconds since 1970; 0 is no time. A job that never started has no execution host.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ettlog.parse import jsonl
from ettlog.parse.attempts import Attempts
from ettlog.parse.blocks import open_source
from ettlog.parse.gather import BAD_RECORD, BAD_TIME, DUPLICATE, IGNORED, LONG, MATCHED, TORN, Facts, exact
from ettlog.parse.k8s_object import Fields
from ettlog.parse.parsed import Parsed, ScanOptions

NAME = "lsf"
SECOND = 1_000_000
MAX_RECORD, MAX_LINES, MAX_HOSTS = 1 << 20, 4096, 1 << 20
FINISH, RESIZE = "JOB_FINISH", "JOB_RESIZE"
STATES = {32: "EXIT", 64: "DONE"}
_BEGIN = re.compile(rb'\s*"[A-Z_]{4,40}" "\d{1,3}[\d.]{0,12}" \d{9,11} ')
_SNIFF = re.compile(rb'\s*"(?:JOB_(?:FINISH|RESIZE)|EVENT_ADRSV_FINISH)" "\d{1,3}[\d.]{0,12}" \d{9,11} \d')
_FIELD = re.compile(r'(?<!\s)\s*+(?:"((?:[^"]|"")*)"|([^\s"]+))')
_INDEX = re.compile(r"\[[\d,:%-]{1,256}\]\s*\Z")
_GPUS = re.compile(r"\bngpus(?:_\w{1,32})?=(\d{1,4})\b")
_MANY = re.compile(r"(\d{1,6})\*")


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first record whether a file is LSF accounting."""
    return any(_SNIFF.match(line) for line in head.split(b"\n", 20)[:20] if line.strip()[:1] != b"#")


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read the records. Raise SourceRefusedError like the scanner."""
    reader = _Reader(Facts(NAME, options))
    with open_source(path, budget=options.limits.output) as source:
        for line in jsonl.lines(source, MAX_RECORD):
            reader.line(line)
        reader.close(BAD_RECORD)
        return reader.facts.parsed(source)


class _Reader:
    """Joins the lines of a record until its quotes close."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self._attempts = facts, Attempts()
        self._begin, self._lines, self._size, self._ended = 0, list[bytes](), 0, True
        self._quotes = 0

    def line(self, line: jsonl.Line) -> None:
        """Take one line. A line that begins a record ends one whose quotes never closed."""
        begins = _BEGIN.match(line.text) is not None
        if self._lines and (begins or line.long or self._size > MAX_RECORD or len(self._lines) >= MAX_LINES):
            self.close(BAD_RECORD)
        if line.long:
            self.facts.count(LONG)
            return
        if not self._lines and not begins:
            blank = not line.text.strip() or line.text.lstrip()[:1] == b"#"
            self.facts.count(IGNORED if blank else BAD_RECORD if line.ended else TORN)
            return
        if not self._lines:
            self._begin, self._size = line.number, 0
        self._lines.append(line.text)
        self._size, self._ended = self._size + len(line.text), line.ended
        self._quotes += line.text.count(b'"')
        if self._quotes % 2 == 0:
            text = b"\n".join(self._lines).decode("utf-8", "replace")
            self.close(self._take(text) if self._ended or len(text) > 1 else TORN)

    def close(self, outcome: str) -> None:
        """Count the lines that are open."""
        if self._lines:
            self.facts.count(outcome if self._ended or outcome != BAD_RECORD else TORN, lines=len(self._lines))
        self._lines, self._size, self._quotes = [], 0, 0

    def _take(self, text: str) -> str:
        kind = text.split('"', 2)[1]
        if kind not in (FINISH, RESIZE):
            return IGNORED
        job = finished(text)
        if job is None:
            return BAD_RECORD
        if (job.start and job.end < job.start) or not job.submit:
            return BAD_TIME
        if kind == RESIZE:
            self.facts.alloc(self._begin, "mark", id=job.name, raw=job.raw, state=kind, start_us=_us(job.end))
            return MATCHED
        if self._attempts.again(job.raw, job.element, job.submit, job.start):
            return DUPLICATE
        self.facts.alloc(self._begin, "job", **_row(job))
        return MATCHED


class Job(NamedTuple):
    """The fields of one record that are used; times in seconds since 1970, 0 for none."""

    raw: str
    element: int
    end: int
    slots: int
    submit: int
    begin: int
    start: int
    user: str
    queue: str
    needs: str
    hosts: dict[str, int]
    status: int
    title: str
    exit: int | None

    @property
    def name(self) -> str:
        """Return the id with the index of an array's element."""
        return f"{self.raw}[{self.element}]" if self.element else self.raw


class _Fields:
    """The fields of a record in order; `bad` when one is missing or of the wrong kind."""

    def __init__(self, text: str) -> None:
        self._all: Iterator[re.Match[str]] = _FIELD.finditer(text)
        self.bad = False

    def _next(self) -> re.Match[str] | None:
        found = next(self._all, None)
        self.bad = self.bad or found is None
        return found

    def text(self) -> str:
        """Return the next field, which must be quoted."""
        found = self._next()
        self.bad = self.bad or found is None or found[1] is None
        return found[1].replace('""', '"') if found is not None and found[1] is not None else ""

    def number(self) -> int:
        """Return the next field, which must be a whole number."""
        found = self._next()
        word = found[2] if found is not None else None
        self.bad = self.bad or word is None or not word.lstrip("-").isascii() or not word.lstrip("-").isdigit()
        return 0 if self.bad or word is None or len(word) > 18 else int(word)

    def skip(self, count: int) -> None:
        """Pass fields of any kind."""
        for _ in range(count):
            self._next()

    def hosts(self) -> list[str]:
        """Return as many quoted fields as the next field says."""
        count = self.number()
        self.bad = self.bad or not 0 <= count <= MAX_HOSTS
        return [self.text() for _ in range(0 if self.bad else count) if not self.bad]


def finished(text: str) -> Job | None:
    """Return what the record of an ended job says; None where a field is missing or of the wrong kind."""
    take = _Fields(text)
    take.skip(2)
    end, raw, _user, _options, slots = (take.number() for _ in range(5))
    submit, begin, _term, start = (take.number() for _ in range(4))
    user, queue, needs, _depend, _before, _host, _cwd, _in, _out, _err, _file = (take.text() for _ in range(11))
    take.hosts()
    hosts: dict[str, int] = {}
    for host in take.hosts():
        many = _MANY.match(host)
        name = host[many.end() :] if many else host
        hosts[name] = hosts.get(name, 0) + (int(many[1]) if many else 1)
    status = take.number()
    take.skip(1)
    title = take.text()
    if take.bad:
        return None
    take.skip(1 + 19 + 2)
    code = take.number()
    unsure = take.bad
    take.skip(3)
    index = take.number()
    return Job(
        str(raw),
        0 if take.bad or not _INDEX.search(title) else index,
        end, slots, submit, begin, start, user, queue, needs, hosts, status, title,
        None if unsure else code,
    )  # fmt: skip


def _row(job: Job) -> Fields:
    started = job.start > 0
    slots = sum(job.hosts.values()) if max(job.hosts.values(), default=1) > 1 else job.slots
    needs = _GPUS.search(job.needs)
    code = None if job.exit is None or job.exit < 0 else job.exit
    return {
        "id": job.name,
        "raw": job.name,
        "name": job.title,
        "user": job.user,
        "partition": job.queue,
        "state": STATES.get(job.status, str(job.status)),
        "submit_us": _us(job.submit),
        "eligible_us": _us(job.begin),
        "start_us": _us(job.start),
        "end_us": _us(job.end),
        "nodes": len(job.hosts) or None,
        "node": next(iter(job.hosts)) if len(job.hosts) == 1 else None,
        "cpus": slots,
        # what is asked of one host is asked of each; where hosts are not known, neither is the sum
        "gpus_requested": int(needs[1]) * len(job.hosts) if needs and started and job.hosts else None,
        "exit_code": None if code is None or not started else code >> 8,
        "exit_signal": None if code is None or not started else code & 127,
    }


def _us(seconds: int) -> int | None:
    found = exact(seconds * SECOND) if seconds > 0 else None
    return found.us if found else None
