"""`qacct -j` of Grid Engine and its successors: the accounting as people print it, a block of lines per record.

Every block stands below a line of `=`. Times are local: as `ctime` writes them, with slashes (Univa), or as ISO dates
(Gridware); `-/-` is no time. What a field means is told in `sge`, which reads the file that this is made from.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from ettlog.parse import jsonl, sge
from ettlog.parse.attempts import Attempts
from ettlog.parse.gather import BAD_RECORD, BAD_TIME, DUPLICATE, IGNORED, LONG, MATCHED, NO_CLOCK, TORN, Facts, Instant
from ettlog.parse.k8s_object import Fields
from ettlog.parse.parsed import Parsed, ScanOptions

NAME = "qacct"
MAX_LINE: Final = 1 << 16
MOST_LINES: Final = 200
"""Lines of one record; there are about 50."""
SECOND = 1_000_000
_SNIFF = re.compile(rb"(?:\A|\n)[ \t]{0,16}={20,200}[ \r]{0,16}\n[ \t]{0,16}qname[ \t]{1,64}\S")
_PAIR = re.compile(r"\s{0,16}([a-z][\w.]{0,40})\s+(\S.*)\Z")
_WHOLE = re.compile(r"-?\d{1,12}(?!\d)")
_SECONDS = re.compile(r"(\d{1,10})(?:\.(\d{1,9}))?s?\Z")
_UNTOLD = ("NONE", "undefined", "")


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first block whether a file is what qacct prints of jobs."""
    return _SNIFF.search(head) is not None


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read the records. Raise SourceRefusedError like the scanner."""
    return jsonl.blocks(path, options, _Reader(Facts(NAME, options)), MAX_LINE)


class _Reader:
    """Puts the lines of a record together."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self._attempts = facts, Attempts()
        self._told: dict[str, str] = {}
        self._begin, self._count, self._ended = 0, 0, True

    def line(self, line: jsonl.Line) -> None:
        """Take one line: a rule between records, a field, or none of a record."""
        text = "" if line.long else line.text.decode("utf-8", "replace").strip()
        field = _PAIR.match(text)
        if line.long or not field or self._count >= MOST_LINES:
            broken = bool(text and self._told and not line.ended)
            self._ended = self._ended and not broken
            self.close()
            self.facts.count(LONG if line.long else TORN if broken else IGNORED)
            return
        if field[1] == "qname":
            self.close()
        if not self._told and field[1] != "qname":
            self.facts.count(IGNORED)
            return
        self._begin = self._begin if self._told else line.number
        self._told.setdefault(field[1], field[2].strip())
        self._count, self._ended = self._count + 1, line.ended

    def close(self) -> None:
        """Make a row of the record that is open."""
        if self._told:
            outcome = self._take(self._told)
            self.facts.count(TORN if outcome == BAD_RECORD and not self._ended else outcome, lines=self._count)
        self._told, self._count = {}, 0

    def _take(self, told: dict[str, str]) -> str:
        if not _WHOLE.match(told.get("jobnumber", "")) or "qsub_time" not in told or "end_time" not in told:
            return BAD_RECORD
        submit, start, end = (self._time(told.get(key, "")) for key in ("qsub_time", "start_time", "end_time"))
        if submit.us is None or (start.us is not None and end.us is not None and end.us < start.us):
            return BAD_TIME
        task, slave = told.get("taskid", ""), told.get("pe_taskid", "")
        name = told["jobnumber"] + ("" if task in _UNTOLD else f".{task}")
        times: Fields = {"submit_us": submit.us, "start_us": start.us, "end_us": end.us}
        if self._attempts.again(name, slave, submit.us, start.us, None if start.us else end.us):
            return DUPLICATE
        record, part = ("job", None) if slave in _UNTOLD else ("step", slave)
        self.facts.alloc(self._begin, record, submit.clock, **_row(told, name, times), **times, task=part)
        return MATCHED

    def _time(self, text: str) -> Instant:
        return (self.facts.local(text) if text[:1] not in ("", "-") else None) or NO_CLOCK


def _row(told: dict[str, str], name: str, times: Fields) -> Fields:
    started = times["start_us"] is not None
    code, slots = _whole(told.get("exit_status", "")), _whole(told.get("slots", ""))
    signal = code - 128 if started and code is not None and 128 < code < 193 else None
    asked = sge.gpus_asked(" ".join(told.get(key, "") for key in ("category", "hard_resources")))
    return {
        "id": name,
        "raw": name,
        "name": told.get("jobname"),
        "user": told.get("owner"),
        "partition": told.get("qname"),
        "node": told.get("hostname") if started else None,
        "state": f"failed {_whole(told.get('failed', '')) or 0}",
        "elapsed_us": _seconds(told.get("ru_wallclock", "")) if started else None,
        "cpus": slots,
        "gpus_requested": asked if slots == 1 else None,  # as in `sge`: for each slot, or for the job
        "exit_code": code if started and signal is None else None,
        "exit_signal": signal,
    }


def _whole(text: str) -> int | None:
    found = _WHOLE.match(text)
    return int(found[0]) if found else None


def _seconds(text: str) -> int | None:
    found = _SECONDS.match(text)
    return int(found[1]) * SECOND + int((found[2] or "0")[:6].ljust(6, "0")) if found else None
