"""Pods as a table of four columns without a header: pod, address, node, start in UTC.

Only the start is known. Pods whose names differ in `-master-N` or `-worker-N` only are one job.
"""

from __future__ import annotations

import re
from pathlib import Path

from ettlog.parse import jsonl
from ettlog.parse.blocks import open_source
from ettlog.parse.gather import BAD_RECORD, BAD_TIME, DUPLICATE, IGNORED, LONG, MATCHED, TORN, Facts
from ettlog.parse.k8s_object import micros
from ettlog.parse.parsed import Parsed, ScanOptions
from ettlog.parse.sacct_lines import Repeats

NAME = "kubernetes_pod_starts"
_ROW = re.compile(
    rb"([a-z0-9][a-z0-9.-]{0,252})[ \t]+(\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f:]{3,39})[ \t]+([A-Za-z0-9][\w.-]{0,252})[ \t]+"
    rb"(\d{4}-\d\d-\d\dT\S{9,30})[ \t]*\Z"
)
_ROLE = re.compile(r"-(?:master|chief|launcher|worker|ps|node|server)(?:-\d{1,6}){0,2}\Z|-\d{1,6}\Z")


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first line whether a file is such a table."""
    line = head.partition(b"\n")[0].removesuffix(b"\r")
    return len(line) < 1024 and _ROW.match(line) is not None


def job_of(pod: str) -> str:
    """Return the name of the job of a pod: its own without role and number."""
    return _ROLE.sub("", pod) or pod


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read the table. Raise SourceRefusedError like the scanner."""
    facts, repeats = Facts(NAME, options), Repeats()
    with open_source(path, budget=options.limits.output) as source:
        for line in jsonl.lines(source):
            facts.count(LONG if line.long else _take(facts, repeats, line), line.text)
        return facts.parsed(source)


def _take(facts: Facts, repeats: Repeats, line: jsonl.Line) -> str:
    if not line.text.strip():
        return IGNORED
    match = _ROW.match(line.text) if len(line.text) < 1024 else None
    if match is None:
        return BAD_RECORD if line.ended else TORN
    begun = micros(match[4].decode("ascii", "replace"))
    if begun is None:
        return BAD_TIME
    if repeats(line.text):
        return DUPLICATE
    pod = match[1].decode()
    job = job_of(pod)
    named = {"id": job, "raw": job, "name": job, "task": pod, "node": match[3].decode()}
    facts.alloc(line.number, "task", **named, start_us=begun, ready_us=begun, nodes=1)
    return MATCHED
