"""The layout of scheduler accounting, and its records: any delimiter, nothing escaped, broken over lines.

Columns are found by name only. A record whose number of delimiters is not the header's is joined with the lines after
it or rejected; it is never shifted. Nothing here trusts a field: a job's name may hold anything.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

MAX_RECORD = 1 << 20
"""Bytes of one record; what is longer is counted and not read."""
MAX_LINES = 64
"""Lines one record may be broken over."""
SEEN = 1 << 18
"""Records remembered to know repeats by; the memory holds between one and two times as many."""

_NAMES = """
account admincomment alloccpus allocgres allocnodes alloctres associd avecpu avecpufreq avediskread avediskwrite
avepages averss avevmsize blockid cluster comment constraints consumedenergy consumedenergyraw container cputime
cputimeraw dbindex deriveexitcode derivedexitcode elapsed elapsedraw eligible end exitcode expandednodelist extra
failednode flags gid group jobid jobidraw jobname layout licenses maxdiskread maxdiskreadnode maxdiskreadtask
maxdiskwrite maxdiskwritenode maxdiskwritetask maxpages maxpagesnode maxpagestask maxrss maxrssnode maxrsstask
maxvmsize maxvmsizenode maxvmsizetask mcslabel mincpu mincpunode mincputask ncpus nnodes nodelist ntasks
originalsluid partition planned plannedcpu plannedcpuraw priority qos qosraw qosreq reason reqcpufreq reqcpufreqgov
reqcpufreqmax reqcpufreqmin reqcpus reqgres reqmem reqnodes reqtres reserved reservation reservationid resvcpu
resvcpuraw restarts segmentsize sluid start state stderr stdin stdout steps submit submitline suspended systemcomment
systemcpu timelimit timelimitraw totalcpu tresusageinave tresusageinmax tresusageinmaxnode tresusageinmaxtask
tresusageinmin tresusageinminnode tresusageinmintask tresusageintot tresusageoutave tresusageoutmax
tresusageoutmaxnode tresusageoutmaxtask tresusageoutmin tresusageoutminnode tresusageoutmintask tresusageouttot uid
user usercpu wckey wckeyid workdir
"""
KNOWN = frozenset(_NAMES.split()) | {"tres"}
"""Column names of all releases, lower case."""
SQUEUE = {
    "name": "jobname", "username": "user", "numnodes": "nnodes", "nodes": "nnodes", "numcpus": "ncpus", "cpus": "ncpus",
    "starttime": "start", "endtime": "end", "submittime": "submit", "eligibletime": "eligible", "timeused": "elapsed",
    "time": "elapsed", "tresalloc": "tres", "restartcnt": "restarts",
}  # fmt: skip
"""What `squeue` calls a column -> what `sacct` does; `tres` is held by what runs and asked for by what waits."""
FREE_TEXT = ("jobname", "comment", "admincomment", "systemcomment", "submitline", "workdir", "extra", "constraints")
"""Columns a user may write anything into, delimiters too."""

JOB_ID = re.compile(rb"(\d{1,18}(?:_(?:\d{1,18}|\[[^\]|]{0,4096}\]?|\*))?(?:\+\d{1,9})?)(\.[\w+.-]{1,64})?\Z")
"""Two groups: the job, and the step with its dot."""
STATE = re.compile(rb"[A-Za-z_]{2,32}\+?(?: by [^|]{0,64})?\Z")
_HEADER = re.compile(rb"\s*([A-Za-z]{2,40})([^A-Za-z0-9\r\n]{1,16})(?=[A-Za-z]{2,40})")


class Layout(NamedTuple):
    """How the records of one file are written."""

    fields: tuple[str, ...]
    """Names of the columns, lower case."""
    delimiter: bytes
    trailing: bool
    """The delimiter also ends a record (`-p`)."""
    header: bytes
    """The header line, or nothing."""

    @property
    def delimiters(self) -> int:
        """Return how many delimiters a whole record has."""
        return len(self.fields) - (0 if self.trailing else 1)

    def column(self, *names: str) -> int | None:
        """Return the place of the first of these columns that is there."""
        return next((self.fields.index(name) for name in names if name in self.fields), None)


def find_layout(head: bytes, fields: tuple[str, ...] | None = None, delimiter: str | None = None) -> Layout | None:
    """Return the layout of a file by its first bytes, or None when it is not sacct's.

    A header is looked for in the first ten lines. Without one, `fields` must be told, and one of the first lines must
    fit them: right number of columns, a job id and a state where they belong.
    """
    lines = [line.rstrip(b"\r") for line in head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 64)[:64]]
    found = next((layout for line in lines[:10] if (layout := _by_header(line, delimiter)) is not None), None)
    if found is not None or not fields:
        return found
    names = plain([name.partition("%")[0].strip().lower() for name in fields])
    if not {"jobid", "jobidraw"} & set(names):
        return None
    for trailing in (False, True):
        layout = Layout(names, (delimiter or "|").encode(), trailing, b"")
        if any(line.count(layout.delimiter) == layout.delimiters and plausible(line, layout) for line in lines):
            return layout
    return None


def plain(names: list[str]) -> tuple[str, ...]:
    """Return the names of columns as `sacct` has them, where `squeue` wrote them."""
    bare = [name.replace("-", "").replace("_", "") for name in names]
    if "jobarrayid" in bare:
        bare = [{"jobid": "jobidraw", "jobarrayid": "jobid"}.get(name, name) for name in bare]
    return tuple(SQUEUE.get(name, name) for name in bare)


def _by_header(line: bytes, told: str | None) -> Layout | None:
    match = _HEADER.match(line)
    if match is None or len(line) > HEADER_BYTES:
        return None
    delimiter = told.encode() if told and told.encode() in line else match[2]
    names = [name.decode("ascii", "replace").strip().lower() for name in line.split(delimiter)]
    trailing = names[-1] == "" and len(names) > 2
    names = names[:-1] if trailing else names
    names = list(plain(names)) if line.isupper() else names  # as squeue writes them
    if delimiter.isspace() > (delimiter == b"\t") or not _known(names):
        return None
    return Layout(tuple(names), delimiter, trailing, line)


def of_names(cells: list[bytes], delimiter: bytes, header: bytes) -> Layout | None:
    """Return the layout of records under these names, or None where they are not those of `sacct`."""
    names = [cell.decode("ascii", "replace").lower() for cell in cells]
    return Layout(tuple(names), delimiter, False, header) if _known(names) else None


def _known(names: list[str]) -> bool:
    known = sum(name in KNOWN for name in names)
    return len(names) >= 2 and known >= 0.6 * len(names) and bool({"jobid", "jobidraw"} & set(names))


HEADER_BYTES = 1 << 14


def plausible(record: bytes, layout: Layout) -> bool:
    """Tell whether the columns of a record lie under their names: a job id, a state, times that look like times."""
    cells = record.split(layout.delimiter)
    checks = (("jobid", JOB_ID), ("jobidraw", JOB_ID), ("state", STATE), *((name, STAMP) for name in TIMES))
    return all(
        pattern.match(cells[layout.fields.index(name)]) is not None for name, pattern in checks if name in layout.fields
    )


TIMES = ("submit", "eligible", "start", "end")
STAMP = re.compile(rb"(?:|None|Unknown|N/A|\d{9,11}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S{0,8})\Z")


def lacks_header(head: bytes) -> bool:
    """Tell whether a text looks like `sacct -n -P`: lines of equal width that begin with a job id and hold a state."""
    lines = [line.rstrip(b"\r") for line in head.split(b"\n")[:20] if line][:-1] or [head.strip()]
    for delimiter in (b"|#", b"|"):
        cells = [line.split(delimiter) for line in lines]
        width = len(cells[0])
        if width >= 5 and all(len(row) == width and JOB_ID.match(row[0]) and _has_state(row) for row in cells):
            return True
    return False


def _has_state(cells: list[bytes]) -> bool:
    return any(cell.partition(b" ")[0] in STATES for cell in cells)


STATES = frozenset(
    b"BOOT_FAIL CANCELLED COMPLETED DEADLINE FAILED NODE_FAIL OUT_OF_MEMORY PENDING PREEMPTED REQUEUED RESIZING "
    b"RUNNING SUSPENDED TIMEOUT".split()
)


class Record(NamedTuple):
    """One whole record and where it stands."""

    line: int
    lines: int
    text: bytes


@dataclass
class Joiner:
    """Makes records of lines; `lost` counts the lines that belong to none, by outcome."""

    layout: Layout
    number: int = 0
    lost: Counter[str] = field(default_factory=Counter)
    _open: list[tuple[int, bytes]] = field(default_factory=list)

    def feed(self, lines: list[bytes]) -> Iterator[Record]:
        """Yield the records that are whole after these lines."""
        delimiter, want, header = self.layout.delimiter, self.layout.delimiters, self.layout.header
        for line in lines:
            self.number += 1
            if line.count(delimiter) == want and line != header:
                if self._open:
                    self._give_up(len(self._open))
                yield Record(self.number, 1, line)
            elif line == header or not (self._open or line.strip()):
                self.lost["ignored"] += 1
            else:
                self._open.append((self.number, line))
                yield from self._settle()

    def _settle(self) -> Iterator[Record]:
        """Look whether the open lines are a record by now; give lines up that can be part of none."""
        while self._open:
            text = b"\n".join(line for _, line in self._open)
            have = text.count(self.layout.delimiter)
            if have < self.layout.delimiters and len(self._open) < MAX_LINES and len(text) < MAX_RECORD:
                return
            record = self._whole(text, have)
            if record is not None:
                yield Record(self._open[0][0], len(self._open), record)
                self._open.clear()
                return
            self._give_up(1)

    def _whole(self, text: bytes, have: int) -> bytes | None:
        if have > self.layout.delimiters:
            text = self._mended(text, have - self.layout.delimiters) or b""
        whole = text.count(self.layout.delimiter) == self.layout.delimiters
        return text if whole and plausible(text, self.layout) else None

    def _mended(self, text: bytes, extra: int) -> bytes | None:
        """Take delimiters out of a user's text, where it is certain what stands in all other columns.

        With one column of free text it is; with several, where all that fit agree. Broken lines are not guessed at.
        """
        free = [index for index, name in enumerate(self.layout.fields) if name in FREE_TEXT]
        if extra > 64 or (len(free) != 1 and len(self._open) > 1):
            return None
        cells = text.split(self.layout.delimiter)
        made = [[*cells[:at], b" ".join(cells[at : at + extra + 1]), *cells[at + extra + 1 :]] for at in free]
        if len(made) == 1:
            return self.layout.delimiter.join(made[0])
        fitting = [row for row in made if plausible(self.layout.delimiter.join(row), self.layout)]
        used = {tuple(cell for at, cell in enumerate(row) if at not in free or self._names(at)) for row in fitting}
        return self.layout.delimiter.join(fitting[0]) if len(used) == 1 else None

    def _names(self, at: int) -> bool:
        return self.layout.fields[at] == "jobname"

    def _give_up(self, count: int) -> None:
        for _, line in self._open[:count]:
            self.lost["bad_record" if line.strip() else "ignored"] += 1
        del self._open[:count]

    def close(self, ended: bool) -> None:
        """Give up what is still open at the end; a last line that was cut short is torn."""
        if self._open and not ended:
            self._open.pop()
            self.lost["torn"] += 1
        self._give_up(len(self._open))


class Repeats:
    """Remembers the newest records, to know a byte-equal repeat; memory stays bounded."""

    def __init__(self, size: int = SEEN) -> None:
        """Remember at least `size` records."""
        self._size, self._new, self._old = size, set[int](), set[int]()

    def __call__(self, text: bytes) -> bool:
        """Tell whether this record was seen, and remember it."""
        mark = hash(text)
        if mark in self._new or mark in self._old:
            return True
        self._new.add(mark)
        if len(self._new) >= self._size:
            self._old, self._new = self._new, set()
        return False
