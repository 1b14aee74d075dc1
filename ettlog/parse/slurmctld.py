"""The controller's log, `slurmctld.log`: when hardware was given and taken back, and why, to the millisecond.

It is the only place that tells why a job was requeued, which node did not come up and who preempted whom. An attempt
runs from its allocation to the first line that ends it; several lines may tell of one end. GPUs are not logged.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from ettlog.parse import jsonl, undated
from ettlog.parse.attempts import Waiting
from ettlog.parse.gather import BAD_TIME, IGNORED, MATCHED, TORN, UNMATCHED, Facts, Instant
from ettlog.parse.parsed import Parsed, ScanOptions
from ettlog.parse.slurmctld_messages import END, KILL, OF_NODES, READY, REFUSED, START, SUBMIT, Message, Told

NAME = "slurmctld"
MAX_LINE, NODES = 1 << 16, 10_000
_JOURNAL = r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.,]{8,18}(?:Z|[+-]\d\d:?\d\d)?)"
"""Stamps of the system's own log, where the controller has no file: by default without a year and a zone."""
_STAMP = re.compile(
    r"(?:slurmctld: )?\[(?P<stamp>[^\]\n]{8,40})\] ?(?:\[[^\]]{0,40}\] )?(?P<rest>.*)\Z"
    rf"|(?P<day>{_JOURNAL}) \S{{1,255}} slurmctld\[\d{{1,9}}\]: (?:slurmctld: )?(?P<told>.*)\Z",
    re.S,
)
_LEVEL = re.compile(r"(?:(?:fatal|error|debug\d?|info|verbose):\s+){1,3}")
_OF_INTEREST = re.compile(rb"JobI[dD]=|update_node: |POWER: |powering down |[Nn]odes? \S+ not re")
"""Most lines of a controller are about other things."""
_KILLED = (
    "an attempt of which this log tells no end was ended by the request to kill it: a signal may be asked for alike"
)
_ANSWER = 1_000_000
"""Microseconds within which the controller refuses a request."""
_KNOWN = re.compile(
    rb"^(?:(?:slurmctld: )?\[[^\]\n]{8,40}\] ?|"
    + _JOURNAL.encode()
    + rb" \S{1,255} slurmctld\[\d{1,9}\]: (?:slurmctld: )?)(?:(?:error|debug\d?|info): +)?(?:_slurm_rpc_\w+: "
    rb"|sched: (?:Allocate|_slurm_rpc_\w+:?) JobI[dD]=|sched/backfill: |backfill: |_?job_complete: |requeue job JobI"
    rb"|Requeuing JobI|POWER: |update_node: node "
    rb"|slurmctld version |Time limit exhausted for JobI|[Pp]reempted JobI)"
)


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first lines whether a file is a log of Slurm's controller."""
    text = head.lstrip()
    own = text[:1] in (b"[", b"s") or text.partition(b"\n")[2][:1] == b"["  # the first line may have been cut
    journal = b" slurmctld[" in head
    return (own or journal) and any(
        _KNOWN.match(line)
        for line in head.split(b"\n")
        if (own and line[:1] in (b"[", b"s")) or (journal and b" slurmctld[" in line[:300])
    )


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read the log. Raise SourceRefusedError like the scanner."""
    reader = _Reader(undated.facts_of(NAME, options))
    return jsonl.each(path, options, reader.facts, reader.line, reader.close, MAX_LINE)


@dataclass(slots=True)
class _Attempt:
    """One attempt of a job: what is known of it so far."""

    line: int
    id: str
    raw: str
    clock: str
    submit: int | None = None
    start: int | None = None
    partition: str | None = None
    nodes: str | None = None
    cpus: int | None = None
    restarts: int = 0
    ready: int | None = None
    ended: int | None = None
    """The instant at which the attempt before this one ended."""


def _names(raw: str, name: str) -> tuple[str, ...]:
    """Return what a job is called where it is to be killed: alone, by its place in an array, with its array."""
    return raw, name, re.split(r"[_+]", name)[0]


class _Reader:
    """Follows the jobs through the log."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._told = Told()
        self._jobs: Waiting[_Attempt] = Waiting()
        self._reasons: OrderedDict[str, str] = OrderedDict()
        self._kills: Waiting[int] = Waiting()
        """When it was asked to kill a job, by the id that was asked for: the controller tells of no other end then."""

    def line(self, line: jsonl.Line) -> str:
        """Take one line and return its outcome."""
        if not _OF_INTEREST.search(line.text):
            return IGNORED if not line.text.strip() else UNMATCHED if line.ended else TORN
        text = line.text.decode("utf-8", "replace").rstrip()
        match = _STAMP.match(text)
        if match is None:
            return UNMATCHED if line.ended else TORN
        rest = _LEVEL.sub("", match["rest"] or match["told"] or "", count=1)
        told = self._told.match(rest)
        if told:
            at = self._instant(match["stamp"] or match["day"])
            return self._job(line.number, at, *told, rest) if at else BAD_TIME
        for kind, pattern in OF_NODES:
            found = pattern.match(rest)
            if found:
                return self._node(line.number, self._instant(match["stamp"] or match["day"]), kind, found.groupdict())
        return UNMATCHED

    def _instant(self, stamp: str) -> Instant | None:
        return undated.instant(self.facts, stamp)

    def _node(self, number: int, at: Instant | None, kind: str, found: dict[str, str | None]) -> str:
        node, reason = found.get("node"), (found.get("reason") or "").strip() or None
        if node and reason:
            self._reasons[node] = reason[:256]
            if len(self._reasons) > NODES:
                self._reasons.popitem(last=False)
        clock = at.clock if at else "none"
        self.facts.alloc(number, "mark", clock, node=node, state=kind, reason=reason, start_us=at.us if at else None)
        return MATCHED

    def _job(self, number: int, at: Instant, message: Message, found: re.Match[str], text: str) -> str:
        cells = found.groupdict()
        name, raw = found["id"], found["raw"] or re.split(r"[_+]", found["id"])[0]
        self.facts.alloc(
            number, "mark", at.clock, id=name, raw=raw, state=message.kind, reason=text, node=cells.get("node"),
            start_us=at.us,
        )  # fmt: skip
        job = self._jobs.get(raw)
        if message.does == SUBMIT:
            self._keep(_Attempt(number, name, raw, at.clock, submit=at.us))
        elif message.does == START:
            self._started(number, at, name, raw, cells)
        elif message.does == READY:
            if job is not None and job.start is not None and job.ready is None:
                job.ready = at.us
        elif message.does in (KILL, REFUSED):
            self._asked(name.removesuffix("_*"), at, message.does == REFUSED)
        elif message.does == END and job is not None:
            self._ended(job, at, message, cells)
        elif message.does == END:
            # its begin lies before this log: an older one may hold it
            self.facts.alloc(
                number, "mark", at.clock, id=name, raw=raw, state=message.state, reason=self._why(message, cells),
                start_us=at.us,
            )  # fmt: skip
            self._waits(_Attempt(number, name, raw, at.clock), at, message, cells)
        return MATCHED

    def _asked(self, name: str, at: Instant, refused: bool) -> None:
        """Keep the first request to kill a job, or all of an array; forget one that is refused at once."""
        before = self._kills.get(name)
        if not refused and before is None and at.us is not None:
            self._kills.heard(name, at.us)
        elif refused and before is not None and at.us is not None and at.us - before < _ANSWER:
            del self._kills[name]

    def _killed(self, job: _Attempt) -> int | None:
        """Return when it was asked to kill a job of which nothing more is told."""
        return next((self._kills[name] for name in _names(job.raw, job.id) if name in self._kills), None)

    def _keep(self, job: _Attempt) -> None:
        given_up = self._jobs.heard(job.raw, job)
        if given_up is not None:
            self._write(given_up, None, None, None, {})

    def _started(self, number: int, at: Instant, name: str, raw: str, cells: dict[str, str | None]) -> None:
        before = self._jobs.get(raw)
        if before is not None and before.start is not None:
            return  # the allocation is told of again
        for asked in _names(raw, name):
            self._kills.pop(asked, None)  # what was asked for before did not end this one
        # what asks for hardware and gets it at once did not wait
        submit = before.submit if before is not None else at.us if cells.get("asked") else None
        job = _Attempt(number, name, raw, at.clock, submit=submit, start=at.us)
        job.restarts = 0 if before is None else before.restarts
        job.partition = cells.get("partition") or cells.get("queue")
        job.nodes = cells.get("nodes")
        job.cpus = int(cells["cpus"] or 0) if cells.get("cpus") else None
        self._keep(job)

    def _ended(self, job: _Attempt, at: Instant, message: Message, cells: dict[str, str | None]) -> None:
        """End the attempt that is open; a job that is requeued waits from here on."""
        again = message.state == "REQUEUED" or bool(cells.get("again"))
        if job.start is None and job.ended is not None:
            if again and job.submit is None:  # the end was told of before; that the job comes back only now
                job.submit, job.restarts = at.us, job.restarts + 1
            return
        if job.start is None and message.state != "CANCELLED":
            return  # it ended, but its begin lies before this log
        self._write(job, at.us, message.state, self._why(message, cells), cells)
        self._waits(job, at, message, cells)

    def _waits(self, job: _Attempt, at: Instant, message: Message, cells: dict[str, str | None]) -> None:
        """Keep a job whose attempt ended: it may come back."""
        again = message.state == "REQUEUED" or bool(cells.get("again"))
        waits = _Attempt(job.line, job.id, job.raw, at.clock, at.us if again else None, ended=at.us)
        waits.restarts = job.restarts + again
        self._keep(waits)

    def _why(self, message: Message, cells: dict[str, str | None]) -> str:
        node = cells.get("node")
        if not node:
            return message.kind
        told = self._reasons.get(node)
        return f"failure of node {node}: {told}" if told else f"failure of node {node}"

    def _write(
        self, job: _Attempt, end: int | None, state: str | None, why: str | None, cells: dict[str, str | None]
    ) -> None:
        if job.ended is not None and job.start is None and end is None:
            return  # what follows is not in this log
        if end is None and (end := self._killed(job)) is not None:
            state, why = "CANCELLED", "kill_request"
            self.facts.note(_KILLED)
        one = job.nodes is not None and "[" not in job.nodes and "," not in job.nodes
        code, signal = cells.get("code"), cells.get("signal")
        self.facts.alloc(
            job.line, "job", job.clock, id=job.id, raw=job.raw, partition=job.partition, cpus=job.cpus,
            node=job.nodes if one else None, nodes=1 if one else None,
            state=state or ("RUNNING" if job.start is not None else "PENDING"), reason=why, submit_us=job.submit,
            start_us=job.start, ready_us=job.ready, end_us=end, restarts=job.restarts,
            exit_code=int(code) if code else None, exit_signal=int(signal) if signal else None,
        )  # fmt: skip

    def close(self) -> None:
        """Write down the attempts that are open at the end of the log."""
        while self._jobs:
            self._write(self._jobs.popitem(last=False)[1], None, None, None, {})
