"""Reader of the comma-separated tables of public traces: knows a table by the names of its columns."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ettlog.parse import jsonl
from ettlog.parse.blocks import open_source
from ettlog.parse.gather import BAD_RECORD, BAD_TIME, DUPLICATE, EXACT, IGNORED, LONG, MATCHED, TORN, Facts
from ettlog.parse.parsed import Parsed, ScanOptions
from ettlog.parse.sacct_cells import Clock
from ettlog.parse.sacct_lines import Repeats
from ettlog.parse.sacct_rows import ASSUMED
from ettlog.parse.traces import alibaba, clusters
from ettlog.parse.traces.cells import BadCellError, Fields, Row

NAME = "trace"
RELATIVE, LOCAL = "relative", "local"


class Dialect(NamedTuple):
    """One table: the columns it is known by, what makes rows of a line, and what its times are."""

    name: str
    columns: str
    rows: Callable[[Row, Clock], list[Fields]]
    clock: str = RELATIVE
    """`relative`, `exact`, or `local`: then the zone of the options."""
    jobs: bool = True
    """Lines stand for jobs with ids: a byte-equal line is the same job again."""
    all_columns: bool = False
    """Known only when these are all its columns."""


def _things(name: str, columns: str, rows: Callable[[Row, Clock], list[Fields]], clock: str = RELATIVE) -> Dialect:
    return Dialect(name, columns, rows, clock, jobs=False, all_columns=True)


_ACME = "job_id user node_num gpu_num cpu_num type state submit_time start_time end_time duration queue gpu_time"
_HELIOS = "job_id user vc gpu_num cpu_num node_num state submit_time start_time end_time duration queue"
_OPENB = "name cpu_milli num_gpu gpu_milli qos pod_phase creation_time deletion_time scheduled_time"
_SERVING = "instance_sn role app_name cpu_request gpu_request creation_time scheduled_time deletion_time"
_TASK = "job_name task_name inst_num status start_time end_time plan_cpu plan_mem plan_gpu gpu_type"
_INSTANCE = "job_name task_name inst_name worker_name inst_id status start_time end_time machine"
_RATES, _TIMES = ("complete_rate_gpu cancel_rate_gpu fail_rate_gpu", "complete_gpu_time cancel_gpu_time fail_gpu_time")
_SUMMARY = f"id job_num gpu_job_num {_RATES} {_TIMES}"
_BY_MINUTE = "time total_gpu_num running_gpu_num running_job_num"

DIALECTS: tuple[Dialect, ...] = (
    Dialect("alibaba_2023", _OPENB, alibaba.openb),
    Dialect("alibaba_2025", _SERVING, alibaba.serving),
    Dialect("alibaba_2026", "job_name gpu_request worker_num submit_time duration job_type", alibaba.spot),
    Dialect("pai_job_table", "job_name inst_id user status start_time end_time", alibaba.pai_job, all_columns=True),
    Dialect("pai_task_table", _TASK, alibaba.pai_task, all_columns=True),
    Dialect("pai_instance_table", _INSTANCE, alibaba.pai_instance, all_columns=True),
    Dialect("acme", _ACME, clusters.slurm_csv, LOCAL),
    Dialect("helios", _HELIOS, clusters.slurm_csv, LOCAL),
    Dialect("supercloud", "id_job time_submit time_start time_end state tres_alloc", clusters.supercloud, EXACT),
    _things("alibaba_2023_node", "sn cpu_milli memory_mib gpu model", alibaba.openb_node),
    _things("alibaba_2026_node", "gpu_model gpu_capacity_num cpu_num node_name", alibaba.spot_node),
    _things("pai_machine_spec", "machine gpu_type cap_cpu cap_mem cap_gpu", alibaba.pai_machine),
    _things("nodes_by_minute", "time active total", clusters.nodes_by_minute, LOCAL),
    _things("run_time", "runtime", clusters.run_time),
    Dialect("summary", _SUMMARY, clusters.summary, jobs=False),
    Dialect("gpus_by_minute", _BY_MINUTE, clusters.gpus_by_minute, LOCAL, jobs=False),
)
"""Tables with blanks in the names of their columns, or with a column for each of many things, stand in `_odd`."""

BY_NAME = {dialect.name: dialect for dialect in DIALECTS}
_NODES = Dialect("nodes_by_cluster", "", clusters.nodes_by_cluster, jobs=False)
_DAYS = Dialect("gpus_by_day", "", clusters.gpus_by_day, LOCAL, jobs=False)
_DAY = re.compile(r"date(?:,vc\w+)+,total\Z")
_JOB_ROW = re.compile(r"[0-9a-f]{24},[\w-]*,[\w-]*,[A-Z][a-z]+,[\d.]*,[\d.]*\Z")
_TASK_ROW = re.compile(r"[0-9a-f]{24},\w+,[\d.]*,[A-Z][a-z]+,[\d.]*,[\d.]*(?:,[\d.]*){3},[\w-]*\Z")
_INSTANCE_ROW = re.compile(r"[0-9a-f]{24},\w+,\w*,\w*,\w*,[A-Z][a-z]+,[\d.]*,[\d.]*,\w*\Z")
_BARE = (("pai_job_table", _JOB_ROW), ("pai_task_table", _TASK_ROW), ("pai_instance_table", _INSTANCE_ROW))
_MIXED = "table\trow"


class Layout(NamedTuple):
    """How the lines of a file are cut: None as dialect where every line names its own table."""

    dialect: Dialect | None
    columns: tuple[str, ...]
    header: bool


def find_layout(head: bytes) -> Layout | None:
    """Return how the lines of a table are cut, known by its first line; None for anything else."""
    line = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0].removesuffix(b"\r")
    if len(line) > 1 << 14:
        return None
    text = line.decode("utf-8", "replace")
    if text == _MIXED and b"\npai_" in head:
        return Layout(None, (), True)
    bare = next((name for name, shape in _BARE if shape.match(text)), None)
    if bare:
        return Layout(BY_NAME[bare], tuple(BY_NAME[bare].columns.split()), False)
    columns = tuple(cell.strip().strip('"') for cell in text.split(","))
    dialect = _odd(text) or next((found for found in DIALECTS if _fits(found, columns)), None)
    return Layout(dialect, columns, True) if dialect else None


def _odd(text: str) -> Dialect | None:
    return _NODES if text == "vc,node num" else _DAYS if _DAY.match(text) else None


def _fits(dialect: Dialect, columns: tuple[str, ...]) -> bool:
    wanted = dialect.columns.split()
    return columns == tuple(wanted) if dialect.all_columns else set(wanted) <= set(columns)


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first line whether a file is a table of a public trace."""
    return find_layout(head) is not None


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read a table. Raise SourceRefusedError like the scanner."""
    facts = Facts(NAME, options)
    with open_source(path, budget=options.limits.output) as source:
        reader: _Reader | None = None
        for line in jsonl.lines(source, options.limits.record):
            if reader is None:
                reader = _Reader(facts, find_layout(line.text + b"\npai_") or Layout(None, (), True))
            facts.count(LONG if line.long else reader.take(line), line.text)
        if reader is not None:
            reader.finish()
        return facts.parsed(source)


class _Reader:
    """Makes rows of lines."""

    def __init__(self, facts: Facts, layout: Layout) -> None:
        self._facts, self._layout = facts, layout
        self._clock, self._repeats = Clock(facts.options.zone), Repeats()
        self._local = "zone_set" if facts.options.zone else "zone_assumed"
        self._queued: Counter[str] = Counter()

    def take(self, line: jsonl.Line) -> str:
        if (line.number == 1 and self._layout.header) or not line.text.strip():
            return IGNORED
        text = line.text.decode("utf-8", "replace")
        dialect, columns = self._layout.dialect, self._layout.columns
        if dialect is None:
            name, _, text = text.partition("\t")
            if name not in BY_NAME:
                return BAD_RECORD
            dialect = BY_NAME[name]
            columns = tuple(dialect.columns.split())
        cells = split(text)
        if cells is None or len(cells) != len(columns):
            return BAD_RECORD if line.ended else TORN
        if dialect.jobs and self._repeats(line.text):
            return DUPLICATE
        return self._rows(line.number, dialect, dict(zip(columns, cells, strict=True)))

    def _rows(self, line: int, dialect: Dialect, row: Row) -> str:
        try:
            rows = dialect.rows(row, self._clock)
        except BadCellError:
            return BAD_TIME
        if any(fields.get("record", "job") in ("job", "task", "step") and not fields.get("id") for fields in rows):
            return BAD_RECORD
        for fields in rows:
            self._add(line, dialect, row, fields)
        return MATCHED

    def _add(self, line: int, dialect: Dialect, row: Row, fields: Fields) -> None:
        if fields.pop("queue_counted", False):
            self._queued["rows"] += 1
            self._queued["run"] += fields.pop("not_run_us")
            self._queued["gpu"] += fields.pop("not_gpu_us") or 0
        clock = dialect.clock if dialect.clock != LOCAL else self._local
        if dialect.clock == LOCAL and _with_offset(row.get("submit_time", "")):
            clock = EXACT
        elif clock == "zone_assumed":
            self._facts.note(ASSUMED)
        self._facts.alloc(line, fields.pop("record", "job"), clock, **fields)

    def finish(self) -> None:
        if self._queued:
            run, gpu = (self._queued[name] // 1_000_000 for name in ("run", "gpu"))
            told = f"the printed durations of {self._queued['rows']} rows count the queue and are not used"
            self._facts.note(f"{told}: {run} s, {gpu} GPU-seconds")
        if self._layout.dialect is BY_NAME["summary"]:
            self._facts.note("numbers of jobs by end are printed rates times jobs")


def _with_offset(text: str) -> bool:
    return len(text) > 19 and (text[-6:-5] in "+-" or text.endswith("Z"))


def split(text: str) -> list[str] | None:
    """Cut a line at its commas, quotes respected; None where a quote does not end."""
    if '"' not in text:
        return text.split(",")
    try:
        return next(csv.reader([text], strict=True))
    except (csv.Error, StopIteration):
        return None
