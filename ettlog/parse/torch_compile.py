"""What the records of a TORCH_TRACE file say of compiles: intervals, reasons, restarts, caches, in all generations of
the schema.

A compile lasts as long as its outermost interval: the chromium events `dynamo` (forward) and
`entire_backward_compile`. Traces before these events have `compilation_metrics` with seconds, and those count where
no interval covers them. Compile id is `frame/compile`: compile > 0 is a recompile; `attempt` > 0 is the same compile
begun again, not a recompile.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

from ettlog.parse import jsonl, torch_metrics, vocabulary
from ettlog.parse.gather import BAD_RECORD, DUPLICATE, IGNORED, MATCHED, NO_CLOCK, UNMATCHED, Facts, Instant, exact
from ettlog.parse.jsonl import Record
from ettlog.parse.stamp import Stamp

OUTER = frozenset((
    "dynamo", "_compile.compile_inner", "entire_frame_compile", "entire_backward_compile", "backward._backward_impl",
    "compiled_autograd", "_call_user_compiled_autograd",
))  # fmt: skip
"""Chromium events whose union is the compile time of a process; they nest, and the outermost counts."""

METRICS = ("compilation_metrics", "bwd_compilation_metrics", "aot_autograd_backward_compilation_metrics")
_ENVELOPE = frozenset((
    "rank", "frame_id", "frame_compile_id", "attempt", "compiled_autograd_id", "has_payload", "stack", "process_index",
    "python_stack",
))  # fmt: skip
_QUIET = frozenset((
    "str", "dynamo_output_graph", "dynamo_guards", "dynamo_cpp_guards_str", "describe_storage", "describe_tensor",
    "describe_source", "inductor_output_code", "graph_dump", "dump_file", "link", "exported_program",
    "optimize_ddp_split_graph", "optimize_ddp_split_child", "compiled_autograd_graph", "missing_fake_kernel",
    "mismatched_fake_kernel", "symbolic_shape_specialization", "guard_added", "guard_added_fast", "create_symbol",
    "create_unbacked_symbol", "expression_created", "propagate_real_tensors", "propagate_real_tensors_provenance",
    "dynamo_graph_break_reason",
))  # fmt: skip
_QUIET_WORDS = ("_graph",)
_CACHE = re.compile(r"(fx_graph_cache|aotautograd_cache|autograd_cache)_(hit|miss|bypass|disabled)\Z")
_REASONS = "recompile_reasons"
_WORDS = vocabulary.load("torch_trace")
_COMPILES, _CACHES, _TOLD = _WORDS["compile"], _WORDS["cache"], _WORDS["told"]

CompileId = tuple[int | None, int | None, int | None]


def kind_of(record: Record) -> str:
    """Return the one key of a record that says what it is, or an empty text."""
    return next((key for key in record if key not in _ENVELOPE), "")


def wants(record: Record) -> bool:
    """Tell whether the payload of a record is looked into."""
    if "chromium_event" in record:
        return True
    name = jsonl.text(jsonl.object_in(record, "artifact"), "name") or ""
    return name == _REASONS or _CACHE.match(name) is not None


class Compiles:
    """The compiles of one process while its trace is read."""

    def __init__(self, facts: Facts, file_rank: int | None) -> None:
        """Start before the first record."""
        self._facts, self._file_rank = facts, file_rank
        self._stacks: dict[tuple[Any, Any], list[tuple[str, int, int, CompileId]]] = {}
        self._seen: set[tuple[int, int, Any, Any]] = set()
        self._intervals: list[tuple[int, int]] = []
        self._told: dict[CompileId, torch_metrics.Told] = {}
        self._attempts: set[tuple[CompileId, int]] = set()
        self._later: list[tuple[int, Stamp | None, str, str, dict[str, Any]]] = []
        self._untimed: list[tuple[int, Stamp | None, torch_metrics.Told, dict[str, Any], bool]] = []
        self._observed = False
        self._first: tuple[int, Stamp] | None = None
        self._last: Stamp | None = None

    def take(self, line: int, stamp: Stamp | None, record: Record, payload: bytes) -> str:
        """Take one record; returns its outcome."""
        kind = kind_of(record)
        if stamp is not None:
            self._last = stamp
            if self._first is None:
                self._first = (line, stamp)
        common = {"rank": self._rank(record)}
        self._restart(line, stamp, record, common)
        if kind == "chromium_event":
            return self._chromium(line, stamp, record, payload, common)
        if kind in METRICS:
            return self._metrics(line, stamp, record, kind, common)
        if kind == "compilation_metrics_runtime":
            return self._runtime(line, stamp, jsonl.object_in(record, kind), common)
        if kind == "artifact":
            return self._artifact(line, stamp, record, payload, common)
        if kind == "dynamo_start" or kind in _QUIET or any(word in kind for word in _QUIET_WORDS):
            return IGNORED
        return UNMATCHED

    def _rank(self, record: Record) -> int | None:
        rank = jsonl.whole(record, "rank")
        return self._file_rank if rank is None else rank

    def _restart(self, line: int, stamp: Stamp | None, record: Record, common: Mapping[str, Any]) -> None:
        attempt = jsonl.whole(record, "attempt") or 0
        key = (_id(record), attempt)
        if attempt > 0 and key not in self._attempts:
            self._attempts.add(key)
            name = f"{_shown(key[0])}_{attempt}"
            self._later.append((line, stamp, _TOLD["restart"], "compile_restart", {**common, "name": name}))

    def _chromium(
        self, line: int, stamp: Stamp | None, record: Record, payload: bytes, common: Mapping[str, Any]
    ) -> str:
        event = jsonl.parse(payload) if payload else jsonl.object_in(record, "chromium_event")
        if event is None:
            return BAD_RECORD
        name, phase, us = jsonl.text(event, "name") or "", event.get("ph"), jsonl.micros(event, "ts", 1)
        if phase in ("B", "E") and exact(us) is not None and us is not None:
            self._observe(us, stamp)
        if name not in OUTER:
            return self._instant(line, us, name, common)
        if us is None or exact(us) is None:
            return BAD_RECORD
        thread = (event.get("pid"), event.get("tid"))
        stack = self._stacks.setdefault(thread, [])
        if phase == "B":
            stack.append((name, us, line, _id(record)))
            return MATCHED
        if phase == "X":
            duration = jsonl.micros(event, "dur", 1) or 0
            return MATCHED if stack else self._compiled(line, us, us + duration, thread, _id(record), common)
        while stack:
            begun = stack.pop()
            if begun[0] == name:
                return MATCHED if stack else self._compiled(line, begun[1], us, thread, begun[3], common)
        return IGNORED

    def _instant(self, line: int, us: int | None, name: str, common: Mapping[str, Any]) -> str:
        at = exact(us)
        if name == "fx_graph_cache_disabled" and at is not None:  # no artifact tells of it
            self._facts.event(line, _CACHES["disabled"], name, at, **common)
            return MATCHED
        return IGNORED

    def _compiled(
        self, line: int, begin: int, end: int, thread: tuple[Any, Any], compile_id: CompileId, common: Mapping[str, Any]
    ) -> str:
        at = exact(end)
        if at is None or end < begin:
            return BAD_RECORD
        if (begin, end, *thread) in self._seen:
            return DUPLICATE
        self._seen.add((begin, end, *thread))
        self._intervals.append((begin, end))
        told = self._told.pop(compile_id, None)
        kind, pattern = _kind(compile_id, told)
        name = torch_metrics.describe(_shown(compile_id), told)
        self._facts.event(line, kind, pattern, at, duration_us=end - begin, name=name, **common)
        return MATCHED

    def _metrics(self, line: int, stamp: Stamp | None, record: Record, kind: str, common: Mapping[str, Any]) -> str:
        metrics = jsonl.object_in(record, kind)
        told = torch_metrics.read(metrics, backward=kind != METRICS[0])
        compile_id = _id(record)
        before = self._told.get(compile_id)
        if before is not None and told.reason is None:
            told = told._replace(reason=before.reason)
        self._told[compile_id] = told
        if told.end_us is not None:
            self._observe(told.end_us, stamp)
        fields = {**common, "compile_id": compile_id}
        self._untimed.append((line, stamp, told, fields, (jsonl.whole(record, "frame_compile_id") or 0) > 0))
        for cache, count in told.remote:
            found = _CACHES[cache.rpartition("_")[2]]
            self._later.append((line, stamp, found, cache, {**common, "name": str(count)}))
        if told.saved_us:
            name = {**common, "duration_us": told.saved_us, "name": _shown(compile_id)}
            self._later.append((line, stamp, _TOLD["remote_cache_time_saved"], "remote_cache_time_saved", name))
        if told.restarts:
            name = {**common, "duration_us": told.before_restart_us, "name": f"{_shown(compile_id)}: {told.restarts}"}
            self._later.append((line, stamp, _TOLD["time_before_restart"], "time_before_restart", name))
        return MATCHED

    def _runtime(self, line: int, stamp: Stamp | None, metrics: Record, common: Mapping[str, Any]) -> str:
        spent = sum(
            jsonl.whole(metrics, key) or 0 for key in metrics if key.startswith("runtime_") and key.endswith("_time_us")
        )
        if spent <= 0:
            return IGNORED
        name = jsonl.text(metrics, "compile_id") or ""
        self._later.append((line, stamp, _TOLD["runtime"], "runtime", {**common, "duration_us": spent, "name": name}))
        return MATCHED

    def _artifact(
        self, line: int, stamp: Stamp | None, record: Record, payload: bytes, common: Mapping[str, Any]
    ) -> str:
        name = jsonl.text(jsonl.object_in(record, "artifact"), "name") or ""
        if name == _REASONS:
            reason = _first_reason(payload)
            self._told.setdefault(_id(record), torch_metrics.NOTHING)
            self._told[_id(record)] = self._told[_id(record)]._replace(reason=reason)
            return MATCHED
        match = _CACHE.match(name)
        if match is None:
            return IGNORED
        body = jsonl.parse(payload) or {}
        fields: dict[str, Any] = {**common, "name": jsonl.text(body, "key") or jsonl.text(body, "cache_bypass_reason")}
        saved = jsonl.whole(body, "time_saved_ns")
        if saved:
            fields["duration_us"] = saved // 1_000
        self._later.append((line, stamp, _CACHES[match[2]], name, fields))
        return MATCHED

    def _observe(self, us: int, stamp: Stamp | None) -> None:
        if not self._observed and stamp is not None:
            self._observed = True
            self._facts.clock.observe(us, stamp)

    def finish(self) -> None:
        """Add what waited for the zone and the year, compiles without an interval, and those that never ended."""
        if self._first is not None:
            line, stamp = self._first
            self._facts.event(line, _TOLD["first_record"], "first_record", self._at(stamp), rank=self._file_rank)
            self._facts.saw(self._at(self._last))
        for at_line, when, kind, pattern, fields in self._later:
            self._facts.event(at_line, kind, pattern, self._at(when), **fields)
        covered = _union(self._intervals)
        for at_line, when, told, fields, again in self._untimed:
            self._by_metrics(at_line, self._at(when), told, fields, again, covered)
        for stack in self._stacks.values():
            for name, us, at_line, compile_id in stack[:1]:
                fields = {"rank": self._file_rank, "name": _shown(compile_id)}
                self._facts.event(at_line, _COMPILES["never_ended"], name, exact(us) or NO_CLOCK, **fields)

    def _at(self, stamp: Stamp | None) -> Instant:
        us, clock = self._facts.clock.instant(stamp) if stamp is not None else (None, "none")
        return Instant(us, clock)

    def _by_metrics(
        self,
        line: int,
        at: Instant,
        told: torch_metrics.Told,
        fields: dict[str, Any],
        again: bool,
        covered: list[tuple[int, int]],
    ) -> None:
        end = exact(told.end_us) or at
        if told.duration_us is None or end.us is None:
            return
        middle = end.us - told.duration_us // 2
        at_or_before = bisect_right(covered, (middle, end.us))
        if at_or_before and middle <= covered[at_or_before - 1][1]:
            return
        compile_id = fields.pop("compile_id")
        kind, pattern = (_COMPILES["again"], "metrics_again") if again else (_COMPILES["first"], "metrics")
        name = torch_metrics.describe(_shown(compile_id), told)
        self._facts.event(line, kind, pattern, end, duration_us=told.duration_us, name=name, **fields)


def _id(record: Record) -> CompileId:
    return tuple(jsonl.whole(record, key) for key in ("compiled_autograd_id", "frame_id", "frame_compile_id"))  # type: ignore[return-value]


def _shown(compile_id: CompileId) -> str:
    autograd, frame, again = compile_id
    if frame is None:
        return f"!{autograd}" if autograd is not None else "-"
    return f"{'' if autograd is None else f'!{autograd}/'}{frame}/{again or 0}"


def _kind(compile_id: CompileId, told: torch_metrics.Told | None) -> tuple[str, str]:
    which = "again" if (compile_id[2] or 0) > 0 else "first"
    return _COMPILES[which], "failed" if told is not None and told.failed else which


def _union(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return intervals that overlap as one, in order."""
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(intervals):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((begin, end))
    return joined


def _first_reason(payload: bytes) -> str | None:
    try:
        found = json.loads(payload) if payload else None
    except (ValueError, RecursionError):
        return None
    first = found[0] if isinstance(found, list) and found else found
    return first if isinstance(first, str) else None
