"""`qstat -f` of PBS Pro, OpenPBS and Torque, `-x` too: a snapshot of what the server knows, a block of lines per job.

Times are local, as `ctime` writes them. A value goes on behind a tab on the next line. What a job is given, and what it
ended with, stands there as in the accounting; when it ended is `obittime`, in Torque `comp_time`, else the last change
of a job that has an exit status. Jobs that ended long ago are gone: absence is no evidence.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from ettlog.parse import jsonl, pbs
from ettlog.parse.attempts import Attempts
from ettlog.parse.gather import BAD_RECORD, BAD_TIME, DUPLICATE, IGNORED, LONG, MATCHED, TORN, Facts
from ettlog.parse.parsed import Parsed, ScanOptions

NAME = "pbs_qstat"
MAX_RECORD: Final = 1 << 20
SECOND = 1_000_000
_BEGIN = re.compile(r"Job Id ?: ([^\s;]{1,512})\s*\Z")
_SNIFF = re.compile(rb"(?:^|\n)Job Id ?: [^\s;]{1,512}[ \r]*\n {4}Job_Name = ")
_PAIR = re.compile(r" {4}([A-Za-z][\w.]{0,80}) = (.*)\Z", re.S)
_TIMES = {"ctime": ("ctime",), "etime": ("etime",), "start": ("stime", "start_time"), "end": ("obittime", "comp_time")}
_NAMES = {"Job_Name": "jobname", "queue": "queue", "exit_status": "Exit_status"}
_RUNNING, _ENDED = "RESUB", "FCX"


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first block whether a file is the full listing of qstat."""
    return _SNIFF.search(head) is not None


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read the jobs. Raise SourceRefusedError like the scanner."""
    return jsonl.blocks(path, options, _Reader(Facts(NAME, options)), MAX_RECORD)


class _Reader:
    """Puts the lines of a job together."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self._attempts = facts, Attempts()
        self._begin, self._size, self._ended, self._job, self._lines = 0, 0, True, "", list[str]()
        self._count = 0

    def line(self, line: jsonl.Line) -> None:
        """Take one line: the first of a job, one more of it, or none of a job."""
        if line.long or self._size + len(line.text) > MAX_RECORD:
            self.close()
            self.facts.count(LONG)
            return
        text = line.text.decode("utf-8", "replace").rstrip("\r\n")
        begins = _BEGIN.match(text)
        if begins:
            self.close()
            self._begin, self._job, self._count = line.number, begins[1], 1
        elif not self._job or text[:1] not in (" ", "\t"):
            self.close()
            self.facts.count(BAD_RECORD if text.strip() and text[:1] in (" ", "\t") else IGNORED)
            return
        else:
            self._count += 1
            self._add(text)
        self._size, self._ended = self._size + len(text), line.ended

    def _add(self, text: str) -> None:
        if text[:1] == "\t" and self._lines:
            self._lines[-1] += text[1:]
        else:
            self._lines.append(text)

    def close(self) -> None:
        """Make a row of the job that is open."""
        if self._job:
            pairs = (_PAIR.match(line) for line in self._lines)
            told = {found[1]: found[2] for found in pairs if found}
            outcome = take(self.facts, self._attempts, self._begin, self._job, told)
            self.facts.count(TORN if outcome == BAD_RECORD and not self._ended else outcome, lines=self._count)
        self._job, self._size, self._lines = "", 0, []


def take(facts: Facts, attempts: Attempts, begin: int, job: str, told: dict[str, str]) -> str:
    """Make a row of what the server tells of a job, from line `begin` on, and return the outcome of its lines."""
    state = told.get("job_state", "")[:1]
    if not state or "ctime" not in told:
        return BAD_RECORD
    ended = state in _ENDED
    clock, pairs = _pairs(facts, told, ended)
    if "start" in pairs and "end" in pairs and int(pairs["end"]) < int(pairs["start"]):
        return BAD_TIME
    kind = ("E" if "start" in pairs else "D") if ended else "S" if state in _RUNNING else "Q"
    fields = pbs.row(pbs.Line(begin, None, kind, job, pairs))
    if attempts.again(job, fields["start_us"], None):
        return DUPLICATE
    facts.alloc(begin, "job", clock, **fields)
    return MATCHED


def _pairs(facts: Facts, told: dict[str, str], ended: bool) -> tuple[str, dict[str, str]]:
    """Return the clock of the times and the values under the names that the accounting gives them."""
    pairs = {key: value for key, value in told.items() if "." in key or key in _KEPT}
    pairs |= {name: told[key] for key, name in _NAMES.items() if key in told}
    pairs["user"] = told.get("Job_Owner", "").partition("@")[0]
    clock = "none"
    for name, keys in _TIMES.items():
        if name == "end" and not ended:
            continue
        last = ("mtime",) if name == "end" and "Exit_status" in pairs else ()
        words = next((told[key] for key in (*keys, *last) if key in told), "")
        at = facts.local(words) if words else None
        if at is not None and at.us is not None:
            clock, pairs[name] = at.clock, str(at.us // SECOND)
    return clock, pairs


_KEPT = ("exec_host", "exec_vnode", "exec_gpus", "Exit_status", "run_count")
