"""`bjobs -o FIELDS -json` of LSF: a snapshot of jobs under the names of the fields that were asked for.

Times are local, to the minute and without a year, or whole where the site says so. FINISH_TIME of a job that runs is
what its limit foretells. GPU_NUM counts the GPUs of all hosts.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

from ettlog.parse import jsonl, undated
from ettlog.parse.attempts import Attempts
from ettlog.parse.blocks import open_source
from ettlog.parse.gather import BAD_RECORD, BAD_TIME, DUPLICATE, IGNORED, MATCHED, Facts, Instant
from ettlog.parse.json_values import Values, each
from ettlog.parse.parsed import Parsed, ScanOptions

NAME = "lsf_json"
_SNIFF = re.compile(rb'"COMMAND"\s{0,9}:\s{0,9}"bjobs"')
_STAMP = re.compile(r"([A-Z][a-z]{2} [ \d]?\d \d\d:\d\d)(:\d\d)?( \d{4})?(?: [ELX])?\Z")
_SECONDS, _CLOCK = re.compile(r"(\d{1,10}) second"), re.compile(r"(\d{1,6}):([0-5]\d):([0-5]\d)\Z")
_HOST = re.compile(r"(?:\d{1,6}\*)?([^\s:*]{1,255}+)")
_WAITS, _OVER = ("PEND", "PSUSP", "WAIT"), ("DONE", "EXIT")
_NAMES = {"submit_us": "SUBMIT_TIME", "start_us": "START_TIME", "end_us": "FINISH_TIME"}
_YEAR = 366 * 86_400_000_000
"""The year 2000, in which stamps without one stand."""


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its head whether a file is the listing of bjobs as JSON."""
    return b'"RECORDS"' in head and _SNIFF.search(head) is not None


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read the jobs. Raise SourceRefusedError like the scanner."""
    facts, attempts = undated.facts_of(NAME, options), Attempts()
    with open_source(path, budget=options.limits.output) as source:
        each(Values(source, lists=("RECORDS",)), facts, partial(_take, facts, attempts))
        return facts.parsed(source)


def _take(facts: Facts, attempts: Attempts, line: int, found: Any) -> str:
    if not isinstance(found, dict):
        return BAD_RECORD
    job, state, index = (jsonl.text(found, key) for key in ("JOBID", "STAT", "JOBINDEX"))
    if job is None or state is None:
        return IGNORED if "COMMAND" in found else BAD_RECORD
    told = {key: (jsonl.text(found, key) or "").removesuffix("-").strip() for key in _NAMES.values()}
    if state in _WAITS:
        told["START_TIME"] = ""
    if state not in _OVER:
        told["FINISH_TIME"] = ""
    times: dict[str, Instant] = {}
    before: Instant | None = None
    for name, key in _NAMES.items():
        if not told[key]:
            continue
        at = _instant(facts, told[key], before)
        if at is None or at.us is None or (before is not None and before.us is not None and at.us < before.us):
            return BAD_TIME
        times[name] = before = at
    name = f"{job}[{index}]" if index not in (None, "", "0") else job
    us = {key: times[key].us if key in times else None for key in _NAMES}
    if attempts.again(name, us["submit_us"], us["start_us"], us["end_us"]):
        return DUPLICATE
    facts.alloc(
        line, "job", before.clock if before else "none", id=name, raw=name, state=state, **us, **_held(found, us)
    )
    return MATCHED


def _instant(facts: Facts, text: str, before: Instant | None) -> Instant | None:
    found = _STAMP.match(text)
    at = undated.instant(facts, f"{found[1]}{found[2] or ':00'}{found[3] or ''}") if found else None
    turned = at is not None and at.us is not None and before is not None and before.us is not None and at.us < before.us
    if at is None or at.us is None or found is None or found[3] or not turned:
        return at
    return Instant(at.us + _YEAR, at.clock)  # the year ended between the two


def _held(found: dict[str, Any], us: dict[str, int | None]) -> dict[str, Any]:
    """Return what is told of a job beside its times."""
    hosts = set(_HOST.findall(jsonl.text(found, "EXEC_HOST") or jsonl.text(found, "ALLOC_SLOT") or ""))
    held = us["start_us"] is not None
    run, done = jsonl.text(found, "RUN_TIME") or "", jsonl.text(found, "STAT") == "DONE"
    seconds, clock = _SECONDS.match(run), _CLOCK.match(run)
    elapsed = int(seconds[1]) if seconds else None
    if clock:
        elapsed = 3600 * int(clock[1]) + 60 * int(clock[2]) + int(clock[3])
    return {
        "name": jsonl.text(found, "JOB_NAME"),
        "user": jsonl.text(found, "USER"),
        "partition": jsonl.text(found, "QUEUE"),
        "reason": jsonl.text(found, "EXIT_REASON") or jsonl.text(found, "PEND_REASON"),
        "elapsed_us": elapsed * jsonl.SECOND if elapsed is not None and held else None,
        "nodes": len(hosts) or None if held else None,
        "node": min(hosts) if held and len(hosts) == 1 else None,
        "gpus": jsonl.whole(found, "GPU_NUM") if held else None,
        "cpus": jsonl.whole(found, "NALLOC_SLOT") or jsonl.whole(found, "SLOTS") if held else None,
        "exit_code": 0 if done else jsonl.whole(found, "EXIT_CODE"),
    }
