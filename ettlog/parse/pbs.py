"""Accounting of PBS Pro, OpenPBS and Torque: `stamp;type;id;key=value ...`, a line per thing that befell a job.

Types: Q queued, S started, E ended, R run again (rerun or requeued: the run before is over), A aborted, D deleted,
z suspended, r resumed. Other small letters tell of parts of a job, or of changes to it, and end nothing.
The stamp of a line is local; the times among the values are seconds since 1970. An E and an R line is an attempt; a job
that has none of them is told by the newest line about it. Two E lines with one start are one attempt: the first.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from ettlog.parse import jsonl
from ettlog.parse import sacct_cells as cells
from ettlog.parse.attempts import Attempts, Waiting
from ettlog.parse.blocks import open_source
from ettlog.parse.gather import BAD_RECORD, BAD_TIME, DUPLICATE, IGNORED, LONG, MATCHED, TORN, Facts, Instant, exact
from ettlog.parse.k8s_object import Fields
from ettlog.parse.parsed import Parsed, ScanOptions

NAME = "pbs"
SECOND = 1_000_000
MAX_LINE = 1 << 18
ENDS, BEGINS, STOPS, MARKS, STILL = "ER", "S", "AD", "QTC", "zr"
_LINE = re.compile(
    r"(?:\d{8}:)?(?P<stamp>\d\d/\d\d/\d{4} \d\d:\d\d:\d\d);(?P<type>[A-Za-z]);(?P<id>[^;\s]{0,512});(?P<rest>.*)\Z",
    re.S,
)
_HEAD = re.compile(rb"(?:\d{8}:)?\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;[A-Za-z];[^;\n]{0,512};")
_PAIR = re.compile(r"(?:^|(?<= ))([A-Za-z][\w.]{0,64})=((?:(?! [A-Za-z][\w.]{0,64}=).)*)", re.S)
_SECONDS = re.compile(r"\d{1,11}\Z")
_VNODE = re.compile(r"\bngpus=(\d{1,4})")
_EACH = re.compile(r"(?:^|\+|:)(?:gpus|gpu|ngpus)=(\d{1,4})")
_HOST = re.compile(r"(?<![^/+()\s])([^/+()\s]{1,256}+)/(\d{1,6})(?:-(\d{1,6}))?(?:\*(\d{1,6}))?")


class Line(NamedTuple):
    """One line: its number, its own instant, what it tells of which job."""

    number: int
    at: Instant | None
    type: str
    id: str
    pairs: dict[str, str]


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first lines whether a file is accounting of PBS or Torque."""
    return any(_HEAD.match(line) for line in head.split(b"\n", 8)[:8])


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read the lines. Raise SourceRefusedError like the scanner."""
    reader = _Reader(Facts(NAME, options))
    with open_source(path, budget=options.limits.output) as source:
        for line in jsonl.lines(source, MAX_LINE):
            outcome = LONG if line.long else reader.line(line)
            reader.facts.count(TORN if outcome == BAD_RECORD and not line.ended else outcome)
        reader.close()
        return reader.facts.parsed(source)


class _Reader:
    """Follows each job from its queueing to its end."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self._attempts = facts, Attempts()
        self._waiting: Waiting[list[Line]] = Waiting()
        self._still: Waiting[tuple[int | None, int]] = Waiting()

    def line(self, line: jsonl.Line) -> str:
        """Take one line and return its outcome."""
        text = line.text.decode("utf-8", "replace").strip()
        if not text:
            return IGNORED
        match = _LINE.match(text)
        if match is None:
            return BAD_RECORD
        pairs = {key: value.strip() for key, value in _PAIR.findall(match["rest"])}
        kind = match["type"].replace("s", "S")  # the same start again, with the nodes that are left
        told = Line(line.number, self.facts.local(match["stamp"]), kind, match["id"], pairs)
        if not told.id or told.type not in ENDS + BEGINS + STOPS + MARKS + STILL:
            return IGNORED
        if told.type in STILL:
            return self._stands(told)
        if any(key in pairs and not _SECONDS.match(pairs[key]) for key in ("ctime", "qtime", "etime", "start", "end")):
            return BAD_RECORD
        if told.type == "R" and "start" not in pairs:
            return self._run_again(told)
        return self._ended(told) if told.type in ENDS else self._seen(told)

    def _stands(self, line: Line) -> str:
        """Sum up the time in which a job that holds its hosts is suspended; the lines themselves are marks."""
        if line.at is None or line.at.us is None:
            return BAD_TIME
        since, stood = self._still.get(line.id, (None, 0))
        if line.type == "z":
            self._still.heard(line.id, (line.at.us if since is None else since, stood))
        elif since is not None:
            self._still.heard(line.id, (None, stood + max(line.at.us - since, 0)))
        return self._seen(line)

    def _stood(self, line: Line) -> int | None:
        """Return how long a job that ends now was suspended, by the stamps of its lines; None where none tells."""
        since, stood = self._still.pop(line.id, (None, 0))
        if since is not None and line.at is not None and line.at.us is not None:
            stood += max(line.at.us - since, 0)
        return stood or None

    def _run_again(self, line: Line) -> str:
        """End the run that is open: Torque's R line tells nothing but that it is over."""
        begun = next((one for one in self._waiting.pop(line.id, [])[::-1] if one.type in BEGINS), None)
        if begun is None or line.at is None:
            return self._seen(line)
        fields = row(begun)
        late = fields["start_us"] is None or (line.at.us or 0) >= fields["start_us"]
        fields |= {"state": line.type, "end_us": line.at.us if late else None, "suspended_us": self._stood(line)}
        if self._attempts.again(line.id, fields["start_us"], None):
            return DUPLICATE
        self.facts.alloc(line.number, "job", line.at.clock, **fields)
        return MATCHED

    def _ended(self, line: Line) -> str:
        fields = row(line)
        start, end = fields["start_us"], fields["end_us"]
        if "end" not in line.pairs or (start is None and "exec_host" in line.pairs):
            return BAD_RECORD
        if start is not None and end is not None and end < start:
            return BAD_TIME
        if self._attempts.again(line.id, start, None if start else fields["submit_us"]):
            return DUPLICATE
        self._waiting.pop(line.id, None)
        self.facts.alloc(line.number, "job", **fields, suspended_us=self._stood(line))
        return MATCHED

    def _seen(self, line: Line) -> str:
        """Keep what a line tells of a job that has not ended; the line itself is a mark."""
        clock = line.at.clock if line.at else "none"
        at = line.at.us if line.at else None
        self.facts.alloc(line.number, "mark", clock, id=line.id, raw=line.id, state=line.type, start_us=at)
        if line.type in "QSAD":
            given_up = self._waiting.heard(line.id, [*self._waiting.get(line.id, [])[-3:], line])
            self._give_up(given_up)
        return MATCHED

    def close(self) -> None:
        """Write down the jobs that have no line of an end."""
        while self._waiting:
            self._give_up(self._waiting.popitem(last=False)[1])

    def _give_up(self, lines: list[Line] | None) -> None:
        """Make the row of a job without an end of its own: started, waiting, or deleted."""
        for line in lines or []:
            start = line.pairs.get("start")
            if line.type in BEGINS + STOPS and start and not self._attempts.again(line.id, _us(start), None):
                self.facts.alloc(line.number, "job", **row(line))
                return
        queued = next((line for line in lines or [] if line.type == "Q"), None)
        last = lines[-1] if lines else None
        if queued is None or last is None or any(line.type in BEGINS for line in lines or []):
            return
        stamp = queued.at.us if queued.at else None
        fields = row(queued)
        fields["submit_us"] = fields["submit_us"] if fields["submit_us"] is not None else stamp
        fields["state"], fields["start_us"] = last.type, None
        fields["end_us"] = last.at.us if last.type in STOPS and last.at else None
        self.facts.alloc(queued.number, "job", queued.at.clock if queued.at else "none", **fields)


def row(line: Line) -> Fields:
    """Return the columns of an attempt; the times among the values are seconds since 1970."""
    pairs = line.pairs
    start, hosts = _us(pairs.get("start")), _hosts(pairs.get("exec_host", ""))
    code, signal = _exit(pairs.get("Exit_status"))
    asked = _asked(pairs)
    runs = _number(pairs.get("run_count"))
    return {
        "id": line.id,
        "raw": line.id,
        "name": pairs.get("jobname"),
        "user": pairs.get("user"),
        "partition": pairs.get("queue"),
        "state": line.type,
        "submit_us": _us(pairs.get("ctime")),
        "eligible_us": _us(pairs.get("etime")),
        "start_us": start,
        "end_us": _us(pairs.get("end")),
        "elapsed_us": cells.duration(pairs.get("resources_used.walltime", "").encode("utf-8", "replace")),
        "nodes": len(hosts) or None,
        "node": next(iter(hosts)) if len(hosts) == 1 else None,
        "cpus": sum(hosts.values()) or None,
        "gpus": 0 if start is None and pairs.get("end") and asked else None if start is None else _got(pairs, asked),
        "gpus_requested": asked,
        "exit_code": code,
        "exit_signal": signal,
        "restarts": runs - 1 if runs else None,
    }


def _got(pairs: dict[str, str], asked: int | None) -> int | None:
    """Return the GPUs held: those of the nodes where they are named, else those asked for, which a job gets whole."""
    named = [int(found) for found in _VNODE.findall(pairs.get("exec_vnode", ""))]
    if named:
        return sum(named)
    devices = pairs.get("exec_gpus", "")
    return len({item for item in devices.split("+") if item}) or asked


def _asked(pairs: dict[str, str]) -> int | None:
    """Return the GPUs asked for; None where none are or where two ways of asking contradict each other."""
    found = {_number(pairs.get(f"Resource_List.{key}")) for key in ("ngpus", "gpus", "gpu")}
    found |= {_by_node(value) for key, value in pairs.items() if key in _NODE_KEYS}
    counts = found - {None}
    return counts.pop() if len(counts) == 1 else None


_NODE_KEYS = (
    "Resource_List.nodes", "Resource_List.select", "Resource_List.neednodes", "Resource_List.nodect",
)  # fmt: skip


def _by_node(text: str) -> int | None:
    """Return the GPUs of `2:ppn=8:gpus=4+1:gpus=1`: 9."""
    total, seen = 0, False
    for chunk in text[: 1 << 14].split("+"):
        each = _EACH.search(chunk)
        count = chunk.partition(":")[0]
        if each:
            seen = True
            total += int(each[1]) * (int(count) if count.isascii() and count.isdigit() and len(count) < 7 else 1)
    return total if seen else None


def _hosts(text: str) -> dict[str, int]:
    """Return processors by host of `h/5`, `h/7+h/6`, `h/0-3`, `h/0*13`."""
    hosts: dict[str, int] = {}
    for host, low, high, times in _HOST.findall(text[: 1 << 17]):
        span = int(high) - int(low) + 1 if high else int(times) if times else 1
        hosts[host] = hosts.get(host, 0) + max(span, 0)
    return hosts


def _exit(text: str | None) -> tuple[int | None, int | None]:
    """Return code and signal: 271 is signal 15, by Torque and by PBS Pro, which may add 10000."""
    code = int(text) if text and re.fullmatch(r"-?\d{1,9}", text) else None
    if code is None:
        return None, None
    code = code - 10_000 if code > 10_256 else code
    return (None, code - 256) if 256 < code < 256 + 128 else (code, None)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else None


def _us(text: str | None) -> int | None:
    found = exact(int(text) * SECOND) if text and _SECONDS.match(text) else None
    return found.us if found else None
