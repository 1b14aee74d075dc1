"""Jobs of Slurm as JSON: `sacct`, `squeue` and `scontrol --json`, and replies of slurmrestd.

The accounting writes facts only; the controller foretells the start of waiting jobs and the end of running ones, and
knows GPUs by node (`gres_detail`). A number is written plain or as `{set, infinite, number}`; 0 stands for no instant.
Covers data_parser v0.0.41 to v0.0.45, and the shapes before: states as text, steps without an id text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ettlog.parse import slurm_words as words
from ettlog.parse.blocks import open_source
from ettlog.parse.gather import BAD_RECORD, BAD_TIME, DUPLICATE, IGNORED, MATCHED, TORN, Facts, exact
from ettlog.parse.json_values import Values
from ettlog.parse.k8s_object import Fields, Object, at, part, parts, word
from ettlog.parse.parsed import Parsed, ScanOptions
from ettlog.parse.sacct_lines import Repeats

NAME = "slurm_json"
SECOND = 1_000_000
_HEAD = re.compile(rb'\s*+[\[{]\s*+(?:\{\s*+)?"')
_EMPTY = re.compile(rb'\s*\{\s*"jobs"\s*:\s*\[\s*\]')
_STEP_ID = re.compile(r"[\d_+]{1,64}\.[\w+.-]{1,64}\Z")


class _BadTimeError(ValueError):
    """A job ends before it starts."""


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first record whether a file holds jobs of Slurm as JSON."""
    if not _HEAD.match(head):
        return False
    if b'"job_id"' in head:
        accounting = b'"submission"' in head and b'"elapsed"' in head
        controller = b'"job_state"' in head and b'"submit_time"' in head
        return accounting or controller
    return _EMPTY.match(head) is not None and b"data_parser" in head


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read the jobs. Raise SourceRefusedError like the scanner."""
    facts, repeats, restarts = Facts(NAME, options), Repeats(), words.Restarts()
    told = False
    with open_source(path, budget=options.limits.output) as source:
        values = Values(source, lists=("jobs",))
        for value in values:
            outcome, gpus = _take(facts, repeats, restarts, value.line, value.found)
            told = told or gpus
            facts.count(TORN if values.torn and value.found is None else outcome, lines=value.lines)
        facts.count(IGNORED, lines=values.rest)
        note = restarts.note()
        if note:
            facts.note(note)
        return words.unless_told(facts.parsed(source), told)


def _take(facts: Facts, repeats: Repeats, restarts: words.Restarts, line: int, found: Any) -> tuple[str, bool]:
    if not isinstance(found, dict):
        return BAD_RECORD, False
    if "job_id" not in found:
        return (IGNORED if "meta" in found or "last_update" in found else BAD_RECORD), False
    try:
        rows = list(_rows(found))
    except _BadTimeError:
        return BAD_TIME, False
    if not rows:
        return BAD_RECORD, False
    if repeats(repr(rows).encode("utf-8", "replace")):
        return DUPLICATE, False
    restarts.saw(f"{rows[0]['cluster']}/{rows[0]['raw']}", rows[0]["restarts"])
    for fields in rows:
        facts.alloc(line, **fields)
    return MATCHED, any(fields.get("gpus") for fields in rows)


def _rows(job: Object) -> Iterator[Fields]:
    """Yield the row of a job and those of its steps."""
    raw = number(job, "job_id")
    if raw is None or raw < 0:
        return
    row = _accounted(job, raw) if part(job, "time") else _controlled(job, raw)
    if row["start_us"] is not None and row["end_us"] is not None and row["end_us"] < row["start_us"]:
        raise _BadTimeError
    yield row
    for step in parts(job, "steps"):
        yield _step(step, row)


def _accounted(job: Object, raw: int) -> Fields:
    """Return the row of a job as the accounting writes it."""
    nodes = job.get("nodes") if isinstance(job.get("nodes"), str) else None
    status = words.state(_states(at(job, "state", "current")))
    held = words.held(status, instant(job, "time", "start"), instant(job, "time", "end"), nodes, forecasts=False)
    wanted, got = parts(job, "tres", "requested"), parts(job, "tres", "allocated")
    count = number(job, "allocation_nodes") or None
    asked = _gpus(wanted)
    return {
        **_named(job, raw),
        **_ended(job),
        "state": status,
        "reason": _reason(word(job, "state", "reason"), word(job, "failed_node")),
        "submit_us": instant(job, "time", "submission"),
        "eligible_us": instant(job, "time", "eligible"),
        "start_us": held.start,
        "end_us": held.end,
        "elapsed_us": _seconds(job, "time", "elapsed"),
        "suspended_us": _seconds(job, "time", "suspended"),
        "nodes": count,
        "cpus": _count(got, "cpu"),
        "gpus": _held_gpus(held.start, _gpus(got), bool(got)),
        "gpus_requested": asked
        if asked is not None
        else words.asked(word(job, "submit_line"), count or _count(wanted, "node")),
    }


def _controlled(job: Object, raw: int) -> Fields:
    """Return the row of a job as the controller writes it."""
    status = words.state(_states(job.get("job_state")))
    nodes = job.get("nodes") if isinstance(job.get("nodes"), str) else None
    held = words.held(status, instant(job, "start_time"), instant(job, "end_time"), nodes, forecasts=True)
    text, detail = word(job, "tres_alloc_str"), job.get("gres_detail")
    named = detail if isinstance(detail, list) else []
    on_nodes = [words.gres(found) or 0 for found in named if isinstance(found, str)]
    got = words.gpus(text)
    asked = words.gpus(word(job, "tres_req_str"))
    count = number(job, "node_count")
    if asked is None:
        asked = words.gpus(word(job, "tres_per_job"))
    if asked is None and word(job, "tres_per_node") and count:
        each = words.gpus(word(job, "tres_per_node"))
        asked = None if each is None else each * count
    return {
        **_named(job, raw),
        **_ended(job),
        "state": status,
        "reason": _reason(word(job, "state_reason"), word(job, "failed_node")),
        "submit_us": instant(job, "submit_time"),
        "eligible_us": instant(job, "eligible_time"),
        "start_us": held.start,
        "end_us": held.end,
        "nodes": count if held.start is not None else None,
        "cpus": number(job, "cpus") if held.start is not None else None,
        "gpus": _held_gpus(held.start, sum(on_nodes) if sum(on_nodes) else got, bool(text)),
        "gpus_requested": asked,
    }


def _named(job: Object, raw: int) -> Fields:
    array = number(job, "array", "job_id") or number(job, "array_job_id")
    task: object = number(job, "array", "task_id")
    if task is None:
        task = number(job, "array_task_id")
    if task is None:
        task = word(job, "array", "task") or word(job, "array_task_string")
    het = number(job, "het", "job_id") or number(job, "het_job_id")
    offset = number(job, "het", "job_offset")
    return {
        "record": "job",
        "id": words.job_id(raw, array, task, het, offset if offset is not None else number(job, "het_job_offset")),
        "raw": str(raw),
        "cluster": word(job, "cluster"),
        "name": word(job, "name"),
        "user": word(job, "user") or word(job, "user_name"),
        "partition": word(job, "partition"),
        "restarts": number(job, "restart_cnt"),
    }


def _step(step: Object, job: Fields) -> Fields:
    name = at(step, "step", "id")
    if not isinstance(name, str) or not _STEP_ID.match(name):
        parts_of = [str(at(step, "step", "id", key)) for key in ("job_id", "step_id")]
        name = ".".join(parts_of) if "None" not in parts_of else f"{job['id']}.{word(step, 'step', 'name') or 0}"
    got = parts(step, "tres", "allocated")
    start, end = instant(step, "time", "start"), instant(step, "time", "end")
    status = words.state(_states(step.get("state")))
    return {
        "record": "step",
        "id": name,
        "raw": job["raw"],
        "cluster": job["cluster"],
        "name": word(step, "step", "name"),
        "state": status,
        "start_us": start,
        "end_us": None if status in words.RUNNING else end,
        "elapsed_us": _seconds(step, "time", "elapsed"),
        "suspended_us": _seconds(step, "time", "suspended"),
        "nodes": number(step, "nodes", "count"),
        "cpus": _count(got, "cpu"),
        "gpus": _gpus(got),
        **_ended(step),
    }


def _ended(record: Object) -> Fields:
    code = number(record, "exit_code", "return_code")
    signal = number(record, "exit_code", "signal", "id")
    if signal is None:
        signal = number(record, "exit_code", "signal", "signal_id")
    return {"exit_code": code, "exit_signal": signal}


def _reason(text: str | None, failed: str | None) -> str | None:
    told = None if text in ("None", "", None) else text
    return f"{told or 'failed'}: node {failed}" if failed else told


def _states(found: object) -> list[str]:
    if isinstance(found, str):
        return found.split("+" if "+" in found else ",")
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


def _held_gpus(start: int | None, got: int | None, told: bool) -> int | None:
    """Return the GPUs held: none without hardware or where what was given is told and names none."""
    return 0 if start is None else got if got is not None else 0 if told else None


def _count(tres: list[Object], kind: str) -> int | None:
    counts = [number(item, "count") for item in tres if item.get("type") == kind]
    return next((count for count in counts if count is not None and count >= 0), None)


def _gpus(tres: list[Object]) -> int | None:
    """Return the GPUs of a list of TRES, each counted once: the entry without a type, else the typed ones."""
    named = [(str(item.get("name")), number(item, "count") or 0) for item in tres if item.get("type") == "gres"]
    whole = [count for name, count in named if name == "gpu"]
    typed = [count for name, count in named if name.startswith("gpu:")]
    return whole[0] if whole else sum(typed) if typed else None


def number(record: Object, *path: str) -> int | None:
    """Return the whole number at a path, plain or as `{set, infinite, number}`; None where it is not set."""
    found = at(record, *path)
    if isinstance(found, dict):
        if found.get("infinite") or not found.get("set", True):
            return None
        found = found.get("number")
    if isinstance(found, str) and found.isascii() and found.isdigit() and len(found) < 19:
        return int(found)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _seconds(record: Object, *path: str) -> int | None:
    found = number(record, *path)
    return found * SECOND if found is not None and 0 <= found < 1 << 40 else None


def instant(record: Object, *path: str) -> int | None:
    """Return the instant of a number of seconds since 1970 in microseconds; None for 0 and what is none."""
    found = number(record, *path)
    got = exact(found * SECOND) if found is not None and 0 < found < 1 << 40 else None
    return got.us if got else None
