"""Tables of a checkpoint probe: a trainer that is evicted on purpose and writes what it did, one event a row.

Two tables: the trainer's own (`clock time execution event step detail`), and the outcomes of many probes (which
step was saved when the signal came, which step the next run restored). A save that the next run did not restore was
lost, whatever the trainer said of it.
"""

from __future__ import annotations

import re
from pathlib import Path

from ettlog.parse import jsonl, undated
from ettlog.parse.blocks import open_source
from ettlog.parse.gather import BAD_RECORD, BAD_TIME, IGNORED, LONG, MATCHED, NO_CLOCK, TORN, Facts, Instant
from ettlog.parse.parsed import Parsed, ScanOptions

NAME = "ckpt_probe"
MAX_LINE = 1 << 16
SECOND = 1_000_000
TRAINER = b"clock\ttime\texecution\tevent\tstep\tdetail"
OUTCOMES = (
    b"probe\texecutions_by_trainer\texecuting_events_in_joblog\tNumJobStarts\tstep_saved_at_signal\tstep_restored_next"
)
_KINDS = {
    "start": "worker_start",
    "loop_start": "train_start",
    "save_start": "save_request",
    "save_done": "save_commit",
    "signal": "signal",
}
_RESTORED = re.compile(r"\brestored (\d{1,12})")
_SECONDS = re.compile(r"(\d{1,6})\.(\d{1,6}) s\b")
_CODE = re.compile(r"\bcode (-?\d{1,9})\b")
_TOTAL = re.compile(r"\btotal_steps=(\d{1,12})\b")


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its header whether a file is a table of a checkpoint probe."""
    return head.startswith((TRAINER, OUTCOMES))


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read a table. Raise SourceRefusedError like the scanner."""
    facts = undated.facts_of(NAME, options)
    with open_source(path, budget=options.limits.output) as source:
        reader: _Trainer | _Outcomes | None = None
        for line in jsonl.lines(source, MAX_LINE):
            if reader is None:
                reader = _Trainer(facts, path.parent.name) if line.text.startswith(TRAINER) else _Outcomes(facts)
                facts.count(IGNORED)
            else:
                facts.count(LONG if line.long else reader.line(line))
        return facts.parsed(source)


class _Trainer:
    """The trainer's table: an execution is a launch. It names no job; the table of the scheduler beside it neither."""

    def __init__(self, facts: Facts, folder: str) -> None:
        facts.hints["allocation"] = folder
        self._facts, self._signalled, self._step = facts, False, 0

    def line(self, line: jsonl.Line) -> str:
        """Take a row and return its outcome."""
        cells = line.text.decode("utf-8", "replace").split("\t")
        if not line.text.strip():
            return IGNORED
        if len(cells) != 6:
            return BAD_RECORD if line.ended else TORN
        at = undated.instant(self._facts, cells[1])
        if at is None:
            return BAD_TIME
        step = int(cells[4]) if cells[4].isascii() and cells[4].isdigit() and len(cells[4]) < 13 else None
        self._event(line.number, at, cells[3], step, cells[5])
        return MATCHED

    def _event(self, number: int, at: Instant, event: str, step: int | None, detail: str) -> None:
        add, kind = self._facts.event, _KINDS.get(event)
        if event == "start":
            self._signalled, self._step = False, step or 0
        elif step is not None and step > self._step:
            self._step = step
            self._facts.step(number, event, at, step)
        self._signalled = self._signalled or event == "signal"
        if event == "exit":
            code = _CODE.search(detail)
            value = int(code[1]) if code else None
            # leaving with a code of its own choice after a save is a plan, unless a signal forced it
            kind = "exit_ok" if value == 0 else "exit_code" if self._signalled else "exit_planned"
            add(number, kind, event, at, step=step, code=value)
        elif kind is not None:
            taken, total = _SECONDS.search(detail), _TOTAL.search(detail)
            add(
                number, kind, event, at, step=None if event in ("start", "loop_start") else step, name=detail,
                duration_us=int(taken[1]) * SECOND + int(taken[2].ljust(6, "0")) if taken else None,
                target=int(total[1]) if total else None,
            )  # fmt: skip
        restored = _RESTORED.search(detail)
        if restored:
            add(number, "resume", event, at, step=int(restored[1]), name=detail)
        elif event == "start" and step:
            add(number, "heartbeat", event, at, step=step, name=detail)
        elif "no checkpoint" in detail:
            add(number, "restore_none", event, at)


class _Outcomes:
    """The table of outcomes: of each probe a launch with the step it saved at the signal and the step the run after it
    restored. No times.
    """

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def line(self, line: jsonl.Line) -> str:
        """Take a row and return its outcome."""
        cells = line.text.decode("utf-8", "replace").split("\t")
        if not line.text.strip():
            return IGNORED
        if len(cells) < 7:
            return BAD_RECORD if line.ended else TORN
        saved, restored = (int(cell) if cell.isascii() and cell.isdigit() else None for cell in cells[4:6])
        add = self._facts.event
        add(line.number, "worker_start", "saving", NO_CLOCK, name=cells[0])
        if saved is not None:
            add(line.number, "save_commit", "saving", NO_CLOCK, step=saved, name=cells[0])
        add(line.number, "signal", "saving", NO_CLOCK, name=cells[0])
        if restored is not None:
            add(line.number, "resume", "restoring", NO_CLOCK, step=restored, name=cells[0])
        return MATCHED
