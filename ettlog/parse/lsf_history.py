"""`bhist -l`, `bacct -l` and `bjobs -l` of LSF: what happened to each job, an entry per happening, as people print it.

A value is cut anywhere at the width of the page and goes on behind blanks. Stamps have a weekday and no year. An
attempt runs from the entry that gives hosts to the one that ends it, or sends the job back to its queue. GPUs are asked
for, host by host.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ettlog.parse import jsonl, undated
from ettlog.parse.gather import BAD_TIME, IGNORED, LONG, MATCHED, TORN, Facts, Instant
from ettlog.parse.parsed import Parsed, ScanOptions

NAME = "lsf_history"
MAX_LINE: Final = 1 << 16
MAX_LINES: Final = 4096
_STAMP = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: \d{4})?"
_ENTRY = re.compile(rf"(?P<stamp>{_STAMP}): (?P<text>\S.*)\Z", re.S)
_HEAD = re.compile(r"Job <(?P<id>\d{1,18}(?:\[\d{1,9}\])?)>, ")
_SNIFF = re.compile(
    rb"(?:\A|\n)Job <\d{1,18}(?:\[\d{1,9}\])?>, [^\n]{0,200}\n(?: {8}[^\n]{0,200}\n|\r?\n){0,60}?"
    + _STAMP.encode()
    + rb": Submitted from host <"
)
_MORE = " " * 8
_NAMED = {key: re.compile(rf"\b{words} <([^>]{{0,256}})>") for key, words in (
    ("name", "Job Name"), ("user", "User"), ("state", "Status"), ("partition", "[Qq]ueue"),
)}  # fmt: skip
_GIVEN = re.compile(
    r"(?:\[\d{1,9}\] )?(?:[Dd]ispatched|[Ss]tarted) "
    r"(?:\d{1,9} Task\(s\) on Host\(s\)|to|on)(?: \d{1,9} Hosts/Processors)? "
    r"(?P<hosts>(?:(?:\d{1,6}\*)?<[^<>]{1,255}>,? ?)+)"
)
_HOST = re.compile(r"<(?:\d{1,6}\*)?([^<>]{1,255}+)>")
_END = re.compile(
    r"(?P<done>Done successfully|Completed <done>)|Exited with exit code (?P<code>\d{1,5})"
    r"|Exited by signal (?P<signal>\d{1,3})|Exited\b|Completed <exit>"
)
_AGAIN = re.compile(r"(?:Pending: )?(?:Job has been )?[Rr]equeued\b")
_WHY = re.compile(r"\bTERM_[A-Z_]{2,40}\b[^.;]{0,200}")
_GPUS = re.compile(r"\bRequested GPU <num=(\d{1,4})\b")


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first job whether a file is the long listing of one of LSF's commands."""
    return _SNIFF.search(head) is not None


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read the jobs. Raise SourceRefusedError like the scanner."""
    return jsonl.blocks(path, options, _Reader(undated.facts_of(NAME, options)), MAX_LINE)


@dataclass(slots=True)
class _Attempt:
    """One attempt of the job that is open."""

    submit: Instant | None = None
    start: Instant | None = None
    hosts: int | None = None
    host: str | None = None
    restarts: int = 0
    why: str | None = None
    over: bool = False


class _Reader:
    """Puts the lines of an entry together, and the entries of a job."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._begin, self._open = 0, list[str]()
        self._job: dict[str, str] = {}
        self._gpus: int | None = None
        self._attempt = _Attempt()

    def line(self, line: jsonl.Line) -> None:
        """Take one line: the head of a job, an entry, more of either, or none of a job."""
        text = "" if line.long else line.text.decode("utf-8", "replace").rstrip()
        if self._open and text.startswith(_MORE) and len(self._open) < MAX_LINES:
            self._open.append(text.lstrip())
            self.facts.count(MATCHED)
            return
        self._entry()
        head, entry = _HEAD.match(text), _ENTRY.match(text)
        if head:
            self.close()
            self._begin, self._job = line.number, {"id": head["id"]}
        if head or (entry and self._job):
            self._open = [text]
            # what its stamp makes of the line is known when the whole entry is there
            self.facts.count(TORN if not line.ended and not text.endswith((">", ";", ".")) else MATCHED)
        else:
            self.facts.count(LONG if line.long else IGNORED if line.ended or not text else TORN)

    def close(self) -> None:
        """Make a row of the attempt that is open, and forget the job."""
        self._entry()
        if self._job and not self._attempt.over:
            self._write(None, None, {})
        self._job, self._gpus, self._attempt = {}, None, _Attempt()

    def _entry(self) -> None:
        text, self._open = "".join(self._open), []
        found = _ENTRY.match(text)
        for key, pattern in _NAMED.items():
            if (named := pattern.search(text)) and (not found or key == "partition"):
                self._job.setdefault(key, named[1])
        asked = _GPUS.search(text)
        self._gpus = int(asked[1]) if asked else self._gpus
        at = undated.instant(self.facts, found["stamp"]) if found else None
        if found and at is None:
            self.facts.count(MATCHED, lines=-1)
            self.facts.count(BAD_TIME)
        elif found and at is not None:
            self._happened(at, found["text"])

    def _happened(self, at: Instant, text: str) -> None:
        one = self._attempt
        why, given, end = _WHY.search(text), _GIVEN.match(text), _END.match(text)
        one.why = why[0].strip() if why else one.why
        if text.startswith("Submitted from host"):
            one.submit = one.submit or at
        elif given and (one.start is None or one.over):
            if one.over:
                self._attempt = one = _Attempt(one.submit, restarts=one.restarts)
            hosts = {found[1] for found in _HOST.finditer(given["hosts"])}
            one.start, one.hosts, one.host = at, len(hosts), min(hosts)
        elif _AGAIN.match(text):
            if not one.over:
                self._write(at, "REQUEUED", {})
            self._attempt = _Attempt(at, restarts=one.restarts + 1)
        elif end and not one.over:
            self._write(at, "DONE" if end["done"] else "EXIT", end.groupdict())
            one.over = True

    def _write(self, at: Instant | None, state: str | None, told: dict[str, str | None]) -> None:
        one, start = self._attempt, self._attempt.start
        code, signal = told.get("code"), told.get("signal")
        clock = next((found.clock for found in (start, one.submit, at) if found), "none")
        self.facts.alloc(
            self._begin, "job", clock, id=self._job["id"], raw=self._job["id"], name=self._job.get("name"),
            user=self._job.get("user"), partition=self._job.get("partition"),
            state=state or self._job.get("state") or ("RUN" if start else "PEND"), reason=one.why,
            submit_us=one.submit.us if one.submit else None, start_us=start.us if start else None,
            end_us=at.us if at else None, nodes=one.hosts, node=one.host if one.hosts == 1 else None,
            gpus_requested=self._gpus if one.hosts == 1 else None, restarts=one.restarts,
            exit_code=0 if told.get("done") else int(code) if code else None,
            exit_signal=int(signal) if signal else None,
        )  # fmt: skip
