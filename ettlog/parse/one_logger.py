"""Records of nv-one-logger's file exporter: spans and events of a training process, epoch milliseconds.

One JSON object a line with `type`: `start`, `stop` or `complete` of a span (complete holds both ends: a span nothing
happened in), `event` inside a span, `application_error`, `telemetry_data_error`. Rank and world size stand once, in
the first event.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ettlog.parse import jsonl, vocabulary
from ettlog.parse.gather import BAD_RECORD, BAD_TIME, IGNORED, MATCHED, Facts, Instant, cause_of, exact
from ettlog.parse.jsonl import Record
from ettlog.parse.parsed import Parsed, ScanOptions

NAME = "one_logger"
_TYPES = frozenset(("start", "stop", "complete", "event", "application_error", "telemetry_data_error"))
WORDS = vocabulary.load(NAME)
_QUIET = frozenset((
    "training_single_iteration", "validation_single_iteration", "TESTING_SINGLE_ITERATION", "data_loading",
    "model_forward", "zero_grad", "model_backward", "optimizer_update",
))  # fmt: skip
"""Spans inside an iteration, and iterations without a number: `training_metrics_update` tells of the same steps."""


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first record whether a file was written by nv-one-logger."""
    record = jsonl.first_record(head)
    return record is not None and record.get("type") in _TYPES and {"count", "pid"} <= record.keys()


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read the records of one process."""
    facts = Facts(NAME, options)
    return jsonl.read(path, options, facts, _Reader(facts).take, jsonl.parse)


class _Reader:
    """What the first event said of the process, and whether it has failed."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._common: dict[str, Any] = {"rank": None, "node": None}
        self._failed = False
        self._target: int | None = None
        self._last_step: int | None = None

    def take(self, line: int, record: Record) -> str:
        what = record.get("type")
        if what == "telemetry_data_error":
            return IGNORED
        if what in ("event", "application_error"):
            return self._event(line, what, jsonl.object_in(record, "event"))
        name = jsonl.text(record, "name")
        if name is None or what not in _TYPES:
            return BAD_RECORD
        if name in _QUIET:
            return IGNORED
        attributes = jsonl.object_in(record, "attributes")
        ends = [(edge, _instant(jsonl.object_in(record, f"{edge}_event"))) for edge in _edges(str(what))]
        if any(at is None for _, at in ends):
            return BAD_TIME
        for edge, at in ends:
            if at is not None:
                self._span(line, name, edge, at, attributes)
        return MATCHED

    def _add(self, line: int, kind: str, pattern: str, at: Instant, **fields: Any) -> None:
        self._facts.event(line, kind, pattern, at, **self._common, **fields)

    def _span(self, line: int, name: str, edge: str, at: Instant, attributes: Record) -> None:
        step = jsonl.whole(attributes, "current_iteration")
        if edge == "start":
            kind = WORDS["start"].get(name)
            if kind is not None:
                self._add(line, kind, f"{name}_start", at, step=step, world=jsonl.whole(attributes, "world_size"))
            if name == "training_loop":
                self._loop(line, at, attributes)
            return
        kind = WORDS["stop"].get(name, WORDS["told"]["other_span"])
        if name == "application" and self._failed:
            kind = WORDS["told"]["end_behind_an_error"]
        duration = jsonl.micros(attributes, "duration_msec", 1_000)
        self._add(line, kind, f"{name}_stop", at, step=step, duration_us=duration, name=name)

    def _loop(self, line: int, at: Instant, attributes: Record) -> None:
        self._target = jsonl.whole(attributes, "train_iterations_target")
        first = jsonl.whole(attributes, "train_iterations_start")
        if first:
            self._add(line, WORDS["told"]["first_iteration"], "train_iterations_start", at, step=first)

    def _event(self, line: int, what: str, event: Record) -> str:
        name, attributes, at = jsonl.text(event, "name"), jsonl.object_in(event, "attributes"), _instant(event)
        if name is None:
            return BAD_RECORD
        if at is None:
            return BAD_TIME
        if what == "application_error":
            self._failed = True
            words = " ".join(
                str(attributes.get(key, "")) for key in ("exception_type", "exception_message", "error_message")
            )
            self._add(line, WORDS["told"]["error"], what, at, cause=cause_of(words), name=words.strip())
        elif name == "one_logger_initialization":
            self._common = {"rank": jsonl.whole(attributes, "rank"), "node": jsonl.text(attributes, "node_name")}
            self._add(line, WORDS["event"][name], name, at, world=jsonl.whole(attributes, "world_size"))
        elif name == "training_metrics_update":
            return self._metrics(line, at, attributes)
        elif name == "save_checkpoint_success":
            path = jsonl.text(attributes, "checkpoint_directory")
            self._add(
                line, WORDS["event"][name], name, at, step=jsonl.whole(attributes, "current_iteration"), name=path
            )
        else:
            return IGNORED
        return MATCHED

    def _metrics(self, line: int, at: Instant, attributes: Record) -> str:
        step = jsonl.whole(attributes, "current_iteration")
        if step is None:
            return BAD_RECORD
        if step == self._last_step:
            return IGNORED
        self._last_step = step
        duration = jsonl.micros(attributes, "avg_iteration_time_sec")
        finished = exact(jsonl.micros(attributes, "last_logged_train_iterations_finish_timestamp_sec"))
        self._facts.step(
            line, "training_metrics_update", finished or at, step, rank=self._common["rank"], duration_us=duration,
            target=self._target,
        )  # fmt: skip
        return MATCHED


def _edges(what: str) -> tuple[str, ...]:
    return ("start", "stop") if what == "complete" else (what,)


def _instant(event: Record) -> Instant | None:
    return exact(jsonl.micros(jsonl.object_in(event, "attributes"), "timestamp_msec", 1_000))
