"""`flux jobs --json`: a snapshot of Flux's jobs, with exact times. A job holds hardware from `t_run` to `t_inactive`.

GPUs are not told; an exception tells why a job ended.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from ettlog.parse import jsonl
from ettlog.parse.attempts import Attempts
from ettlog.parse.blocks import open_source
from ettlog.parse.flux_eventlog import EXCEPTIONS
from ettlog.parse.gather import BAD_RECORD, BAD_TIME, DUPLICATE, IGNORED, MATCHED, Facts, exact
from ettlog.parse.json_values import Values, each
from ettlog.parse.parsed import Parsed, ScanOptions

NAME = "flux_jobs"
_OVER, _WAITS = "INACTIVE", ("NEW", "DEPEND", "PRIORITY", "SCHED")


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first job whether a file is the listing of Flux's jobs as JSON."""
    return all(key in head for key in (b'"t_submit"', b'"urgency"', b'"waitstatus"', b'"t_depend"')) or all(
        key in head for key in (b'"t_submit"', b'"urgency"', b'"t_depend"', b'"status"', b'"annotations"')
    )


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read the jobs. Raise SourceRefusedError like the scanner."""
    facts, attempts = Facts(NAME, options), Attempts()
    with open_source(path, budget=options.limits.output) as source:
        each(Values(source, lists=("jobs",)), facts, partial(_take, facts, attempts))
        return facts.parsed(source)


def _take(facts: Facts, attempts: Attempts, line: int, job: Any) -> str:
    name = job.get("id") if isinstance(job, dict) else None
    if not isinstance(job, dict) or not isinstance(name, str | int) or "t_submit" not in job:
        return IGNORED if isinstance(job, dict) and len(job) < 2 else BAD_RECORD  # what held the list of jobs
    times: dict[str, Any] = {
        key: _time(job, told) for key, told in (("submit_us", "t_submit"), ("eligible_us", "t_depend"))
    }
    state = jsonl.text(job, "state") or ""
    times["start_us"] = None if state in _WAITS else _time(job, "t_run")
    times["end_us"] = _time(job, "t_inactive") if state == _OVER else None
    if times["start_us"] and times["end_us"] and times["end_us"] < times["start_us"]:
        return BAD_TIME
    if attempts.again(name, times["submit_us"], times["end_us"]):
        return DUPLICATE
    status = jsonl.whole(job, "waitstatus")
    code = status if status is not None and 0 <= status < 1 << 16 else None
    broken = jsonl.object_in(job, "exception")
    kind = jsonl.text(broken, "type") if broken.get("occurred") is True else None
    result = (jsonl.text(job, "result") or jsonl.text(job, "status") or state).replace("CANCELED", "CANCELLED")
    note = jsonl.text(broken, "note")
    facts.alloc(
        line, "job", id=str(name), raw=str(name), name=jsonl.text(job, "name"), user=jsonl.text(job, "username"),
        partition=jsonl.text(job, "queue"), state=EXCEPTIONS.get(kind or "", result) if result == "FAILED" else result,
        reason=f"{kind}: {note}" if kind and note else kind, nodes=jsonl.whole(job, "nnodes"),
        cpus=jsonl.whole(job, "ncores"), exit_code=None if code is None or code & 127 else code >> 8,
        exit_signal=None if code is None else code & 127 or None, **times,
    )  # fmt: skip
    return MATCHED


def _time(job: dict[str, Any], key: str) -> int | None:
    found = exact(jsonl.micros(job, key))
    return found.us if found else None
