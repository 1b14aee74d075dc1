"""Self-describing input: readers that know a file by its head and read it without formats."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, Protocol, cast

from ettlog.parse import blocks
from ettlog.parse.literals import Search, every
from ettlog.parse.parsed import Parsed, ScanOptions

HEAD = 1 << 16
"""Bytes of text a reader is shown to know its input by."""

_FIRST = re.compile(rb"(?:\xef\xbb\xbf)?\s*+(\S)")
"""The first byte of a text behind a byte order mark and blanks; the head is not copied to find it."""
_JSON = b"{["
_LONG = 4
"""Bytes of a mark that is looked for together with those of other readers; shorter ones stand everywhere."""
_SHORT = 6
"""Bytes below which a mark may be a word of any text."""


class _Module(Protocol):
    """What the module of a reader offers."""

    NAME: str

    def sniff(self, head: bytes, options: ScanOptions) -> bool:
        """Tell whether the reader knows the input."""
        ...

    def read(self, path: Path, options: ScanOptions) -> Parsed:
        """Read the input."""
        ...


class Reader(NamedTuple):
    """One reader, and what cannot be missing in its input: its module is imported only where that is there."""

    name: str
    module: str
    opens: bytes = b""
    """Bytes the text may begin with, behind blanks; any without."""
    marks: tuple[bytes, ...] = ()
    """One of these stands in the head; nothing has to without."""

    def sniff(self, head: bytes, options: ScanOptions, seen: frozenset[bytes] | None = None) -> bool:
        """Tell whether the reader knows an input by its head; `seen` are the long marks of all readers in it."""
        if self.opens and ((first := _FIRST.match(head)) is None or first[1] not in self.opens):
            return False
        if self.marks and not any(
            mark in head if seen is None or len(mark) < _LONG else mark in seen for mark in self.marks
        ):
            return False
        return self._load().sniff(head, options)

    def read(self, path: Path, options: ScanOptions) -> Parsed:
        """Read an input that the reader knows; raise SourceRefusedError like the scanner."""
        return self._load().read(path, options)

    def _load(self) -> _Module:
        return _module(self.module)


@cache
def _module(name: str) -> _Module:
    """Return the module of a reader; the system of imports takes long to say that it has one."""
    return cast(_Module, import_module(f"ettlog.parse.{name}"))


READERS: tuple[Reader, ...] = (
    Reader("torch_trace", "torch_trace", b"VIWEC", (b"{",)),
    Reader("titan_jsonl", "titan_jsonl", b"{", (b'"log_type_name"',)),
    Reader(
        "dlrover_events", "dlrover_events", _JSON, (b'"event_type"', b"] [BEGIN] ", b"] [END] ", b"] [INSTANT] ")
    ),
    Reader("one_logger", "one_logger", b"{", (b'"pid"',)),
    Reader("goodput_entries", "goodput_entries", b"{"),
    Reader("resiliency_log", "resiliency_log", b"{", (b'"event_type"',)),
    Reader("maxtext_metrics", "maxtext_metrics", b"{", (b'"perf', b'"learning')),
    Reader("nvrx_cycles", "nvrx_cycles", b"{", (b'"cycle_number"',)),
    Reader("ray_export", "ray_export", b"{", (b"EXPORT_",)),
    Reader("kueue_log", "kueue_log", b"", (b'"caller":"',)),
    Reader("kueue_watch", "kueue_watch", b"", (b"ADDED", b"MODIFIED", b"DELETED", b"CONDITIONS")),
    Reader("philly", "traces.philly", _JSON, (b'"submitted_time"',)),
    Reader("kubernetes", "k8s", b"", (b'"apiVersion"', b"kind: ")),
    Reader("aws_batch", "aws_batch", _JSON, (b'"jobQueue"',)),
    Reader("sagemaker", "sagemaker", _JSON, (b'"TrainingJobName"',)),
    Reader("flux_eventlog", "flux_eventlog", b"", (b"submit userid=", b"submit urgency=", b'"urgency"')),
    Reader("flux_jobs", "flux_jobs", _JSON, (b'"t_submit"',)),
    Reader("skypilot", "skypilot", b"", (b"=== Checking the job", b"Starting job loop for ", b"cluster launched.")),
    Reader("slurm_json", "slurm_json", _JSON, (b'"job_id"', b"data_parser")),
    Reader("slurm_jobcomp", "slurm_jobcomp", b"", (b"JobState=", b'"@submit"')),
    Reader("scontrol", "scontrol", b"", (b"JobState=",)),
    Reader("lsf", "lsf", b"", (b'"JOB_', b'"EVENT_ADRSV_FINISH"')),
    Reader("lsf_events", "lsf_events", b"", (b'"JOB_NEW" "', b'"JOB_START', b'"JOB_STATUS" "', b'"JOB_EXECUTE" "')),
    Reader("lsf_history", "lsf_history", b"", (b": Submitted from host <",)),
    Reader("lsf_json", "lsf_json", _JSON, (b'"RECORDS"',)),
    Reader("pbs", "pbs", b"", (b";",)),
    Reader("pbs_qstat", "pbs_qstat", b"", (b"    Job_Name = ",)),
    Reader("pbs_json", "pbs_json", _JSON, (b'"Jobs"',)),
    Reader("sge", "sge", b"", (b":",)),
    Reader("qacct", "qacct", b"", (b"qsub_time",)),
    Reader(
        "slurmctld",
        "slurmctld",
        b"",  # its own stamps, or those of the journal of its system, behind a line that may have been cut
        (
            b"sched", b"_slurm_rpc_", b"backfill: ", b"job_complete: ", b"equeu", b"POWER: ", b"update_node: node ",
            b"slurmctld version ", b"Time limit exhausted for JobI", b"reempted JobI",
        ),
    ),
    Reader("slurmd", "slurmd", b"", (b"launch task ", b"Launching batch job ", b"slurmd version ", b"] done with ")),
    Reader("htcondor", "htcondor"),
    Reader("ckpt_probe", "ckpt_probe", b"cp", (b"\ttime\texecution\t", b"\texecutions_by_trainer\t")),
    Reader("kubernetes_describe", "k8s_describe", b"", (b"Namespace:  ",)),
    Reader("kubernetes_pod_starts", "k8s_pod_text"),
    Reader("swf", "traces.swf"),
    Reader("trace", "traces.tables"),
    Reader("sacct", "sacct"),
)  # fmt: skip
"""All readers; the first that knows a source reads it, so what could be mistaken for another kind stands last."""


def reader_for(path: Path, options: ScanOptions) -> Reader | None:
    """Return the first reader that knows a source by its head, or None; raise SourceRefusedError like the scanner."""
    with blocks.open_source(path) as source:
        return reader_of(source, options)


def reader_of(source: blocks.Reader, options: ScanOptions) -> Reader | None:
    """Return the first reader that knows an open source of which nothing was read yet; nothing is read after it."""
    head = bytes(source.peek(HEAD))
    seen = _seen(head)
    return next((reader for reader in READERS if reader.sniff(head, options, seen)), None)


def warm() -> None:
    """Load what ordinary text is shown to: readers without marks, or with marks so short that they stand everywhere."""
    for reader in READERS:
        if min(map(len, reader.marks), default=0) < _SHORT:
            reader._load()
    _marks()


@lru_cache(maxsize=1)
def _marks() -> tuple[list[bytes], Search]:
    long = sorted({mark for reader in READERS for mark in reader.marks if len(mark) >= _LONG})
    return long, every(long)


def _seen(head: bytes) -> frozenset[bytes]:
    """Return the long marks of readers that stand in a head: one look for all of them."""
    marks, search = _marks()
    return frozenset(marks[number] for number in set(search.find(memoryview(head)).number.tolist()))


def advice(path: Path) -> str:
    """Return what a user could do about a source that no format and no reader knows, as a sentence, or nothing."""
    from ettlog.parse import sacct_lines

    if sacct_lines.lacks_header(_head(path)):
        return "looks like sacct output without a header: name its fields with --sacct-fields"
    return ""


def _head(path: Path) -> bytes:
    with blocks.open_source(path) as source:
        return source.read_all(HEAD)
