"""OpenTelemetry traces as OTLP/JSON: one trace per job, a span per start, a child per segment."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import ettlog
from ettlog.export.tracks import NO_START, NOBODYS, Args, Process, processes

if TYPE_CHECKING:
    from ettlog.export.tracks import Slice
    from ettlog.fleet import Fleet

INTERNAL = 1
"""Kind of a span that neither calls nor serves."""
TRACE_BYTES, SPAN_BYTES = 16, 8
NANOS = 1000


def otlp(fleet: Fleet, jobs: Iterable[str]) -> bytes:
    """Return the named jobs as OTLP/JSON lines, one export request per job, as a collector's file receiver reads them.

    The root span is the job's wall; below it each start reaches from its first segment to its last, and holds the
    segments of its stages. Ids are made of names, so that the same job has the same ids again.
    """
    return b"".join(_line(process) for process in processes(fleet, jobs))


def _line(process: Process) -> bytes:
    resource: dict[str, str | int | bool] = {"service.name": "ettlog", "ettlog.job": process.job}
    resource |= {f"ettlog.{name}": value for name, value in process.args.items()}
    scope = {"scope": {"name": "ettlog", "version": ettlog.__version__}, "spans": list(_spans(process))}
    request = {"resourceSpans": [{"resource": {"attributes": _attributes(resource)}, "scopeSpans": [scope]}]}
    return json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def _spans(process: Process) -> Iterator[dict[str, Any]]:
    whole = process.partition
    if not whole:
        return
    trace = _ident(TRACE_BYTES, process.job)
    root = _ident(SPAN_BYTES, process.job, "job")
    yield _span(trace, root, "", "job", whole[0].begin_us, whole[-1].end_us, process.args)
    titles = {thread.k: thread.title for thread in process.threads}
    for k, items in _by_start(whole).items():
        own = _ident(SPAN_BYTES, process.job, k)
        title = titles.get(k, NOBODYS)
        yield _span(trace, own, root, title, items[0].begin_us, items[-1].end_us, {"start": k})
        for item in items:
            child = _ident(SPAN_BYTES, process.job, k, item.begin_us)
            args = {"component": item.category, **item.args}
            yield _span(trace, child, own, item.name, item.begin_us, item.end_us, args)


def _by_start(segments: list[Slice]) -> dict[int, list[Slice]]:
    found: dict[int, list[Slice]] = {}
    for item in segments:
        k = item.args.get("start", NO_START)
        found.setdefault(int(k), []).append(item)
    return found


def _span(trace: str, own: str, parent: str, name: str, begin_us: int, end_us: int, args: Args) -> dict[str, Any]:
    when = {"startTimeUnixNano": str(max(begin_us, 0) * NANOS), "endTimeUnixNano": str(max(end_us, 0) * NANOS)}
    above = {"parentSpanId": parent} if parent else {}
    return {
        "traceId": trace, "spanId": own, **above, "name": name, "kind": INTERNAL, **when,
        "attributes": _attributes({f"ettlog.{key}": value for key, value in args.items()}),
    }  # fmt: skip


def _attributes(args: Args) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in args.items()]


def _value(value: str | int | bool) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def _ident(size: int, *names: object) -> str:
    text = "\0".join(map(str, names)).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=size).hexdigest()
