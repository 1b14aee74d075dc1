"""Chrome's JSON trace, for chrome://tracing and tools that read nothing newer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ettlog.export.tracks import Process, Slice, processes

if TYPE_CHECKING:
    from ettlog.fleet import Fleet

PARTITION_TID = 0
LANES = 100
"""Numbers kept for the tracks of one start."""


def chrome(fleet: Fleet, jobs: Iterable[str]) -> bytes:
    """Return the named jobs as a trace in Chrome's JSON: complete events, instants in microseconds since 1970 UTC.

    The tracks are those of `perfetto`; what overlaps has a thread of its own, since this form knows no child tracks.
    """
    events = [event for process in processes(fleet, jobs) for event in _process(process)]
    trace = {"displayTimeUnit": "ms", "otherData": {"clock": "UTC"}, "traceEvents": events}
    return json.dumps(trace, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def _process(process: Process) -> Iterator[dict[str, Any]]:
    yield _meta("process_name", process.pid, PARTITION_TID, process.job)
    yield _meta("thread_name", process.pid, PARTITION_TID, "exclusive partition")
    yield from (_slice(item, process.pid, PARTITION_TID) for item in process.partition)
    for at, gpus in process.gpus:
        yield {"ph": "C", "name": "GPUs held", "pid": process.pid, "ts": at, "args": {"GPUs": gpus}}
    for place, thread in enumerate(process.threads, 1):
        for lane, slices in enumerate(thread.lanes):
            tid = place * LANES + min(lane, LANES - 1)
            yield _meta("thread_name", process.pid, tid, thread.title + (", beside" if lane else ""))
            yield from (_slice(item, process.pid, tid) for item in slices)
        for instant in thread.instants:
            place_of = {"pid": process.pid, "tid": place * LANES, "ts": instant.at_us}
            yield {"ph": "i", "s": "t", "name": instant.name, "cat": "checkpoint", **place_of, "args": instant.args}


def _meta(name: str, pid: int, tid: int, said: str) -> dict[str, Any]:
    return {"ph": "M", "name": name, "pid": pid, "tid": tid, "args": {"name": said}}


def _slice(item: Slice, pid: int, tid: int) -> dict[str, Any]:
    when = {"ts": item.begin_us, "dur": item.end_us - item.begin_us}
    return {"ph": "X", "name": item.name, "cat": item.category, "pid": pid, "tid": tid, **when, "args": item.args}
