"""The log of Slurm's daemon on a node, `slurmd.log`: when the steps of jobs were launched there and were done.

It tells of no allocation, and what it says of cancelled steps is no word of a trainer: steps are kept as steps, and
lines that say why something ended as marks of the job.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ettlog.parse import jsonl, undated
from ettlog.parse.attempts import Waiting
from ettlog.parse.gather import BAD_TIME, IGNORED, MATCHED, TORN, UNMATCHED, Facts, Instant
from ettlog.parse.parsed import Parsed, ScanOptions

NAME = "slurmd"
MAX_LINE = 1 << 16
_LINE = re.compile(
    r"\[(?P<stamp>[^\]\n]{8,40})\] (?:\[(?:StepId=)?(?P<step>\d{1,18}\.(?:\d{1,9}|[a-z]{1,16}))\] )?(?P<text>.*)\Z",
    re.S,
)
_LAUNCH = re.compile(
    r"launch task (?:StepId=)?(?P<step>\d{1,18}\.(?:\d{1,9}|[a-z]{1,16})) request from UID"
    r"|Launching batch job (?P<job>\d{1,18}) for UID"
)
_DONE = re.compile(r"done with (?:job|step)\b")
_STATUS = re.compile(r"sending REQUEST_COMPLETE_BATCH_SCRIPT, error:\s?\d{1,9},? status:\s?(\d{1,9})")
_CANCELLED = re.compile(
    r"(?:error: )?\*\*\* (?:STEP|JOB) (?:StepId=)?(?P<id>\d{1,18})(?:\.\S{1,24})? "
    r"(?:ON|STEPD TERMINATED ON) \S{1,255} .*"
)
_PROLOG = re.compile(
    r"error: (?:\[job (?P<id>\d{1,18})\] prolog failed|Waiting for JobId=(?P<other>\d{1,18}) .*failed)"
)
_KNOWN = re.compile(
    rb"(?:\A|\n)\[\d{4}-\d\d-\d\dT[\d:.]{8,16}\] (?:launch task (?:StepId=)?\d{1,18}\.\S{1,24} request from UID"
    rb"|Launching batch job \d{1,18} for UID|slurmd version |\[\d{1,18}\.(?:\d{1,9}|batch|extern|interactive)\] "
    rb"(?:done with (?:job|step)|sending REQUEST_COMPLETE_BATCH_SCRIPT))"
)


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its lines whether a file is the log of the daemon of a node."""
    return _KNOWN.search(head) is not None


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read the log. Raise SourceRefusedError like the scanner."""
    reader = _Reader(undated.facts_of(NAME, options))
    return jsonl.each(path, options, reader.facts, reader.line, reader.close, MAX_LINE)


@dataclass(slots=True)
class _Step:
    """A step that was launched on this node."""

    line: int
    id: str
    start: Instant
    cancelled: bool = False
    status: int | None = None


class _Reader:
    """Follows the steps through the log."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._steps: Waiting[_Step] = Waiting()

    def line(self, line: jsonl.Line) -> str:
        """Take one line and return its outcome."""
        found = _LINE.match(line.text.decode("utf-8", "replace").rstrip())
        if found is None:
            return IGNORED if not line.text.strip() else UNMATCHED if line.ended else TORN
        text, name = found["text"], found["step"]
        launch, why = _LAUNCH.match(text), _CANCELLED.match(text) or _PROLOG.match(text)
        status, done = _STATUS.search(text), name is not None and _DONE.match(text) is not None
        if not (launch or why or status or done):
            return UNMATCHED
        at = undated.instant(self.facts, found["stamp"])
        if at is None or at.us is None:
            return BAD_TIME
        if launch:
            self._launched(_Step(line.number, launch["step"] or f"{launch['job']}.batch", at))
        step = self._steps.get(name or "")
        if why:
            job = why["id"] or why["other"]
            state = "cancelled" if why.re is _CANCELLED else "prolog_failed"
            self.facts.alloc(line.number, "mark", at.clock, id=job, raw=job, state=state, reason=text, start_us=at.us)
            if step is not None:
                step.cancelled = step.cancelled or state == "cancelled"
        if status and step is not None:
            step.status = int(status[1])
        if done and step is not None:
            self._write(self._steps.pop(step.id), at)
        return MATCHED

    def _launched(self, step: _Step) -> None:
        if step.id not in self._steps:
            given_up = self._steps.heard(step.id, step)
            if given_up is not None:
                self._write(given_up, None)

    def _write(self, step: _Step, end: Instant | None) -> None:
        code = step.status if step.status is not None and step.status < 1 << 16 else None
        ended = end.us if end is not None and (end.us or 0) >= (step.start.us or 0) else None
        self.facts.alloc(
            step.line, "step", step.start.clock, id=step.id, raw=step.id.partition(".")[0],
            state="CANCELLED" if step.cancelled else None if end else "RUNNING", start_us=step.start.us, end_us=ended,
            exit_code=None if code is None else code >> 8, exit_signal=None if code is None else code & 127 or None,
        )  # fmt: skip

    def close(self) -> None:
        """Write down the steps that are open at the end of the log."""
        while self._steps:
            self._write(self._steps.popitem(last=False)[1], None)
