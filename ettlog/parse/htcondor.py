"""HTCondor: a job's user log (events between `...` lines), and history as ClassAds, JSON or columns between bars.

A run lasts from event 001 to the first event that ends it. An execute event may come twice, and may be missing. A job
that leaves with its checkpoint exit code is started again in place: nothing but two file transfers tells of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ettlog.parse import htcondor_history as history
from ettlog.parse import jsonl, undated
from ettlog.parse.attempts import Waiting
from ettlog.parse.blocks import open_source
from ettlog.parse.gather import BAD_RECORD, BAD_TIME, DUPLICATE, IGNORED, LONG, MATCHED, TORN, Facts, Instant
from ettlog.parse.parsed import Parsed, ScanOptions

NAME = "htcondor"
MAX_LINE, MAX_BODY = 1 << 16, 8
TSV = b"clock\ttime\tcode\tevent\tdetail"
SUBMIT, EXECUTE, SUSPEND, UNSUSPEND, RELEASE = "000", "001", "010", "011", "013"
ENDS = {
    "004": "evicted",
    "005": "terminated",
    "007": "shadow exception",
    "009": "aborted",
    "012": "held",
    "024": "reconnect failed",
}
"""Events that end a run, and the state it is left in; the job itself ends with 005 and 009 only."""
LAST = frozenset(("005", "009"))
MARKS = {"003": "checkpointed", "022": "disconnected", "023": "reconnected", "040": "file transfer"}
_EVENT = re.compile(
    r"(?P<code>\d{3}) \((?P<job>\d{1,12}\.\d{1,9})\.\d{1,9}\) "
    r"(?:(?P<date>\d{4}-\d\d-\d\d)[ T]|(?P<month>\d\d)/(?P<day>\d\d)(?:/(?P<year>\d\d(?:\d\d)?))? )"
    r"(?P<time>\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?) (?P<text>.*)\Z"
)
_HEAD = re.compile(
    rb"\d{3} \(\d{1,12}\.\d{1,9}\.\d{1,9}\) (?:\d{4}-\d\d-\d\d|\d\d/\d\d(?:/\d\d(?:\d\d)?)?)[ T]\d\d:\d\d:\d\d"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_VALUE = re.compile(r"\(return value (-?\d{1,9})\)")
_SIGNAL = re.compile(r"\(signal (\d{1,3})\)")
_SLOT = re.compile(r"\bSlotName: [^\s@]{1,64}@([\w.-]{1,255})")
_ALIAS, _ADDRESS = re.compile(r"[?&]alias=([\w.-]{1,255})"), re.compile(r"<\[?([\da-fA-F.:]{2,45}?)\]?:\d{1,5}[?>]")
_GPUS = re.compile(r"\bGPUs\s*=\s*(\d{1,4})\b")
_USAGE = re.compile(r"\s*Gpus(?: \(Average\))?\s*:(?:\s+[\d.]+){0,2}\s+(\d{1,4})(?:\s+\D.*)?\Z", re.I)


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first lines whether a file is a user log or history of HTCondor."""
    return head.startswith(TSV) or _HEAD.match(head.lstrip()) is not None or history.sniff(head)


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read a user log or history. Raise SourceRefusedError like the scanner."""
    with open_source(path, budget=options.limits.output) as source:
        head = source.read_all(1 << 16)
    facts = undated.facts_of(NAME, options)
    with open_source(path, budget=options.limits.output) as source:
        if not head.startswith(TSV) and not _HEAD.match(head.lstrip()):
            history.fill(facts, source, head)
        else:
            log = _Table(facts, path.parent.name) if head.startswith(TSV) else _Log(facts)
            for line in jsonl.lines(source, MAX_LINE):
                facts.count(LONG if line.long else log.line(line))
            log.close()
        return facts.parsed(source)


@dataclass(slots=True)
class _Run:
    """What is known of a job's run: instants in microseconds since 1970 UTC."""

    line: int
    job: str
    clock: str
    submit: int | None = None
    eligible: int | None = None
    start: int | None = None
    where: str | None = None
    node: str | None = None
    gpus: int | None = None
    asked: int | None = None
    runs: int = 0
    suspended: int = 0
    since: int | None = None


class _Log:
    """Follows jobs through their events."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._runs: Waiting[_Run] = Waiting()
        self._at: Instant | None = None
        self._last: tuple[str, str] | None = None
        """Code and job of the event that is open, for the lines that belong to it."""
        self._ended: tuple[_Run, Instant, str, list[str]] | None = None
        """A run whose end is open: the lines below tell how it ended."""

    def line(self, line: jsonl.Line) -> str:
        """Take a line: the first of an event, one of its body, or the end of it."""
        text = line.text.decode("utf-8", "replace").rstrip()
        match = _EVENT.match(text)
        if match is None:
            return self._body(text, line.ended)
        self._settle()
        at = self._instant(match)
        if at is None:
            return BAD_TIME
        self._last = (match["code"], match["job"])
        return self.event(line.number, at, match["code"], match["job"], match["text"])

    def _instant(self, match: re.Match[str]) -> Instant | None:
        if match["date"]:
            return undated.instant(self.facts, f"{match['date']} {match['time']}")
        month, day, year = int(match["month"]), match["day"], match["year"]
        if year:
            full = year if len(year) == 4 else f"20{year}"
            return undated.instant(self.facts, f"{full}-{month:02d}-{day} {match['time']}")
        return undated.instant(self.facts, f"{_MONTHS[month - 1]} {day} {match['time']}") if 0 < month < 13 else None

    def _body(self, text: str, ended: bool) -> str:
        if text == "...":
            self._settle()
            return IGNORED
        if self._last is None:
            return IGNORED if not text.strip() else BAD_RECORD if ended else TORN
        code, job = self._last
        run = self._runs.get(job)
        if run is not None and code == EXECUTE:
            found = _GPUS.search(text)
            run.gpus = int(found[1]) if found else run.gpus
            slot = _SLOT.search(text)
            run.node = slot[1] if slot else run.node
        elif self._ended is not None:
            run, _, _, texts = self._ended
            used = _USAGE.match(text)
            run.gpus = int(used[1]) if used else run.gpus
            if len(texts) < MAX_BODY:
                texts.append(text.strip())
        return IGNORED

    def _settle(self) -> None:
        """Write the run whose end was open."""
        self._last = None
        if self._ended is not None:
            run, at, state, texts = self._ended
            self._ended = None
            self._write(run, at.us, state, " ".join(texts), at)

    def event(self, number: int, at: Instant, code: str, job: str, text: str) -> str:
        """Take one event and return the outcome of its line."""
        run = self._runs.get(job)
        if code == SUBMIT:
            self._keep(_Run(number, job, at.clock, submit=at.us, eligible=at.us))
        elif code == EXECUTE:
            return self._executes(run or _Run(number, job, at.clock), number, at, text)
        elif code in ENDS:
            return self._ends(run, number, at, code, text, job)
        elif run is not None and code == SUSPEND:
            run.since = at.us
        elif run is not None and code == UNSUSPEND and run.since is not None:
            run.suspended, run.since = run.suspended + max((at.us or 0) - run.since, 0), None
        elif run is not None and code == RELEASE and run.start is None:
            run.eligible = at.us
        elif code in MARKS:
            self._mark(number, at, job, MARKS[code], text)
        elif code not in (SUSPEND, UNSUSPEND, RELEASE):
            return IGNORED
        return MATCHED

    def _mark(self, number: int, at: Instant, job: str, state: str, text: str) -> None:
        self.facts.alloc(number, "mark", at.clock, id=job, raw=job, state=state, reason=text, start_us=at.us)

    def _executes(self, run: _Run, number: int, at: Instant, text: str) -> str:
        where = re.split(r"[;\s]", text.rpartition("host: ")[2].strip())[0]
        if run.start is not None:
            if run.where == where:
                return DUPLICATE
            self._write(run, None, "executing", "another execute event follows without an end of this run", None)
            run = _Run(number, run.job, at.clock, submit=at.us, runs=run.runs, asked=run.asked)
        found, named = _GPUS.search(text), _ALIAS.search(where) or _ADDRESS.match(where)
        run.line, run.start, run.where = number, at.us, where
        run.node = named[1] if named else where.rpartition("@")[2] or None
        run.gpus = int(found[1]) if found else None
        run.runs += 1
        self._keep(run)
        return MATCHED

    def _ends(self, run: _Run | None, number: int, at: Instant, code: str, text: str, job: str) -> str:
        if run is not None and run.start is not None and at.us is not None and at.us < run.start:
            return BAD_TIME
        if run is None or (run.start is None and code not in LAST):
            self._mark(number, at, job, ENDS[code], text)
            return MATCHED
        if run.since is not None:
            run.suspended += max((at.us or 0) - run.since, 0)
        self._ended = (run, at, ENDS[code], [text])
        del self._runs[job]
        if code not in LAST:
            self._keep(_Run(number, job, at.clock, submit=at.us, eligible=at.us, runs=run.runs))
        return MATCHED

    def _keep(self, run: _Run) -> None:
        given_up = self._runs.heard(run.job, run)
        if given_up is not None:
            self._open(given_up)

    def _write(self, run: _Run, end: int | None, state: str, text: str, at: Instant | None) -> None:
        value, signal = _VALUE.search(text), _SIGNAL.search(text)
        self.facts.alloc(
            run.line, "job", at.clock if at else run.clock, id=run.job, raw=run.job, state=state, reason=text or None,
            submit_us=run.submit, eligible_us=run.eligible, start_us=run.start, end_us=end,
            suspended_us=run.suspended, node=run.node,
            gpus=run.gpus, restarts=max(run.runs - 1, 0),
            exit_code=int(value[1]) if value else None, exit_signal=int(signal[1]) if signal else None,
        )  # fmt: skip

    def _open(self, run: _Run) -> None:
        """Write a run that has no end here; what waits after a run is told by that run already."""
        if run.start is not None or run.runs == 0:
            self._write(run, None, "executing" if run.start is not None else "submitted", "", None)

    def close(self) -> None:
        """Write down what is open at the end of the log."""
        self._settle()
        while self._runs:
            self._open(self._runs.popitem(last=False)[1])


class _Table(_Log):
    """A user log as a table, without the job's id: it has the name of its folder."""

    def __init__(self, facts: Facts, name: str) -> None:
        super().__init__(facts)
        self._name = name

    def line(self, line: jsonl.Line) -> str:
        """Take a row: clock, time, code, event, detail."""
        cells = line.text.decode("utf-8", "replace").split("\t")
        if line.number == 1 or not line.text.strip():
            return IGNORED
        if len(cells) != 5:
            return BAD_RECORD if line.ended else TORN
        at = undated.instant(self.facts, cells[1])
        if at is None:
            return BAD_TIME
        if not re.fullmatch(r"\d{3}", cells[2]):
            self._mark(line.number, at, self._name, cells[3], cells[4])
            return MATCHED
        outcome = self.event(line.number, at, cells[2], self._name, cells[4])
        self._settle()
        return outcome
