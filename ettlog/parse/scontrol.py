"""`scontrol show job`, in blocks or with `-o` one job a line: a snapshot of what the controller knows.

For a waiting job StartTime and EndTime are a forecast, for a running one EndTime is; neither is a fact. Requeue=1 means
that the job may be requeued, Restarts counts. Ended jobs vanish after some minutes: absence is no evidence.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from ettlog.parse import jsonl
from ettlog.parse import sacct_cells as cells
from ettlog.parse import slurm_words as words
from ettlog.parse.gather import BAD_RECORD, BAD_TIME, DUPLICATE, IGNORED, LONG, MATCHED, TORN, Facts
from ettlog.parse.k8s_object import Fields
from ettlog.parse.parsed import Parsed, ScanOptions
from ettlog.parse.sacct_cells import ABSENT, BAD, Clock
from ettlog.parse.sacct_lines import Repeats
from ettlog.parse.sacct_rows import ASSUMED

NAME = "scontrol"
MAX_RECORD: Final = 1 << 20
_BEGIN = re.compile(rb"JobId=(?:\d{1,18}(?:[_+][\d\[\]%,*-]{1,4096})?) (?:\S{1,64}=\S{0,256} ){0,6}(?:Job)?Name=")
_SNIFF = re.compile(
    rb"^JobId=\d{1,18}\S{0,80}+ (?:[^\s=]{1,64}+=\S{0,256}+ ){0,6}(?:Job)?Name="
    rb"(?=[^\n]*\bUserId=|[^\n]*+\n[^\n]*\bUserId=)",
    re.M,
)
_TYPED = re.compile(rb"\s*+(?>[^\n]{0,256}?\bscontrol\b[^\n]{0,256}\n\s*+){0,3}\Z")
"""What may stand above the first job: nothing, or the command as it was typed."""
_PAIR = re.compile(r"(?:^|(?<=\s))([A-Z][A-Za-z0-9/:_-]{0,40})=(\S*)")
_NAME = re.compile(r"(?:^|\s)(?:Job)?Name=((?:\S++|(?!\s++UserId=)[^\S\n]++(?!\n))*+)")
_TIMES = ("SubmitTime", "EligibleTime", "StartTime", "EndTime")


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first record whether a file is `scontrol show job`."""
    if b"JobState=" not in head or b"SubmitTime=" not in head:
        return False
    found = _SNIFF.search(head)
    return found is not None and _TYPED.match(head, 0, found.start()) is not None


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read the jobs. Raise SourceRefusedError like the scanner."""
    reader = _Reader(Facts(NAME, options))
    return words.unless_told(jsonl.blocks(path, options, reader, MAX_RECORD), reader.told)


class _Reader:
    """Puts the lines of a job together."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.told = facts, False
        self._clock, self._repeats = Clock(facts.options.zone), Repeats()
        self._begin, self._size, self._ended, self._lines = 0, 0, True, list[bytes]()

    def line(self, line: jsonl.Line) -> None:
        """Take one line: the first of a job, one more of it, or none of a job."""
        if line.long or self._size + len(line.text) > MAX_RECORD:
            self.close()
            self.facts.count(LONG)
        elif _BEGIN.match(line.text):
            self.close()
            self._begin, self._size, self._ended, self._lines = line.number, len(line.text), line.ended, [line.text]
        elif self._lines and line.text[:1] in (b" ", b"\t") and line.text.strip():
            self._size, self._ended = self._size + len(line.text), line.ended
            self._lines.append(line.text)
        else:
            self.close()
            self.facts.count(BAD_RECORD if line.text.strip() else IGNORED)

    def close(self) -> None:
        """Make a row of the job that is open."""
        if self._lines:
            text = b"\n".join(self._lines)
            self.facts.count(self._take(text), lines=len(self._lines))
        self._lines, self._size = [], 0

    def _take(self, text: bytes) -> str:
        pairs = _pairs(text.decode("utf-8", "replace"))
        if not {"JobId", "JobState", "SubmitTime"} <= pairs.keys():
            return BAD_RECORD if self._ended else TORN
        times = {name: self._clock(pairs.get(name, "").encode()) for name in _TIMES}
        if BAD in times.values():
            return BAD_TIME
        fields = _row(pairs, {name: None if us == ABSENT else us for name, us in times.items()})
        if fields["start_us"] is not None and fields["end_us"] is not None and fields["end_us"] < fields["start_us"]:
            return BAD_TIME
        if self._repeats(repr(fields).encode("utf-8", "replace")):
            return DUPLICATE
        zone = self.facts.options.zone
        if not zone:
            self.facts.note(ASSUMED)
        self.facts.alloc(self._begin, "job", "zone_set" if zone else "zone_assumed", **fields)
        self.told = self.told or bool(fields["gpus"])
        return MATCHED


def _pairs(text: str) -> dict[str, str]:
    """Return key and value pairs; the first of a key counts, and what stands inside the job's name does not."""
    pairs: dict[str, str] = {}
    name = _NAME.search(text)
    if name:
        pairs["JobName"] = name[1]
        text = text[: name.start(1)] + text[name.end(1) :]
    for key, value in _PAIR.findall(text):
        pairs.setdefault(key, value)
    return pairs


def _row(pairs: dict[str, str], times: dict[str, int | None]) -> Fields:
    status = words.state(re.split(r"[,+]", pairs["JobState"]))
    held = words.held(status, times["StartTime"], times["EndTime"], pairs.get("NodeList"), forecasts=True)
    got = words.gpus(pairs.get("AllocTRES") or (pairs.get("TRES") if held.start is not None else None))
    asked = words.gpus(pairs.get("ReqTRES") or pairs.get("TRES"))
    code, signal = cells.exit_code(pairs.get("ExitCode", "").encode())
    named = pairs.get("AllocTRES", pairs.get("TRES", "(null)")) not in words.NOWHERE
    return {
        **_named(pairs),
        "state": status,
        "reason": _known(pairs.get("Reason")),
        "submit_us": times["SubmitTime"],
        "eligible_us": times["EligibleTime"],
        "start_us": held.start,
        "end_us": held.end,
        "gpus": 0 if held.start is None else got if got is not None else 0 if named else None,
        "gpus_requested": asked,
        "nodes": _count(pairs.get("NumNodes")) if held.start is not None else None,
        "cpus": _count(pairs.get("NumCPUs")) if held.start is not None else None,
        "restarts": _count(pairs.get("Restarts")),
        "exit_code": code,
        "exit_signal": signal,
    }


def _named(pairs: dict[str, str]) -> Fields:
    raw = re.split(r"[_+]", pairs["JobId"])[0]
    het, offset = _count(pairs.get("HetJobId", pairs.get("PackJobId"))), _count(pairs.get("HetJobOffset"))
    offset = offset if offset is not None else _count(pairs.get("PackJobOffset"))
    return {
        "id": words.job_id(raw, _count(pairs.get("ArrayJobId")), pairs.get("ArrayTaskId"), het, offset),
        "raw": raw,
        "name": _known(pairs.get("JobName")),
        "user": _known(pairs.get("UserId", "").partition("(")[0]),
        "partition": _known(pairs.get("Partition")),
    }


def _known(text: str | None) -> str | None:
    return None if text is None or text in words.NOWHERE else text


def _count(text: str | None) -> int | None:
    low = (text or "").partition("-")[0]
    return int(low) if low.isascii() and low.isdigit() and len(low) < 10 else None
