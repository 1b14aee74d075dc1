"""Slurm's own record of ended jobs: jobcomp/filetxt (a line of keys), and JSON of jobcomp/elasticsearch and kafka.

The text form holds local times and what was asked for, not what was given. A name may hold blanks and what looks like
keys, so the fields are found by their order. The JSON form writes UTC without saying so.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ettlog.parse import jsonl
from ettlog.parse import sacct_cells as cells
from ettlog.parse import slurm_words as words
from ettlog.parse.blocks import open_source
from ettlog.parse.gather import BAD_RECORD, BAD_TIME, DUPLICATE, IGNORED, LONG, MATCHED, TORN, Facts
from ettlog.parse.json_values import Values
from ettlog.parse.k8s_object import Fields, Object, count, part, parts, word
from ettlog.parse.parsed import Parsed, ScanOptions
from ettlog.parse.sacct_cells import ABSENT, BAD, Clock
from ettlog.parse.sacct_lines import Repeats
from ettlog.parse.sacct_rows import ASSUMED

NAME, JSON_NAME = "slurm_jobcomp", "slurm_jobcomp_json"
MAX_LINE = 1 << 16
_LINE = re.compile(
    r"JobId=(?P<raw>\d{1,18}) UserId=(?P<user>[^( ]{0,64})\S{0,24} GroupId=\S{0,96} Name=(?P<name>.*)"
    r" JobState=(?P<state>[A-Z_,+]{2,64}) Partition=(?P<partition>\S{0,256}) TimeLimit=\S{1,32}"
    r" StartTime=(?P<start>\S{1,40}) EndTime=(?P<end>\S{1,40}) NodeList=(?P<nodes>\S{0,32768}|None assigned)"
    r" NodeCnt=(?P<count>\d{1,9})(?: ProcCnt=(?P<cpus>\d{1,9}))?(?: WorkDir=(?P<rest>.*))?\Z"
)
_HEAD = re.compile(
    rb"JobId=\d{1,18} UserId=\S{1,96} GroupId=\S{0,96} Name=[^\n]{0,2048} JobState=\S{1,64} Partition=\S{0,256} "
    rb"TimeLimit="
)
_TAIL = re.compile(
    r" (Tres|Account|QOS|Cluster|SubmitTime|EligibleTime|ArrayJobId|ArrayTaskId|HetJobId|HetJobOffset|PackJobId"
    r"|PackJobOffset|ExitCode)=(\S*)"
)
_JSON = re.compile(rb"\s*[\[{]")


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first record whether a file is Slurm's record of ended jobs, text or JSON."""
    if _JSON.match(head):
        return all(key in head for key in (b'"jobid"', b'"@submit"', b'"state"', b'"total_nodes"'))
    return _HEAD.match(head.lstrip()) is not None


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read the jobs. Raise SourceRefusedError like the scanner."""
    with open_source(path, budget=options.limits.output) as source:
        is_json = _JSON.match(source.read_all(1 << 12)) is not None
    facts = Facts(JSON_NAME if is_json else NAME, options)
    with open_source(path, budget=options.limits.output) as source:
        if is_json:
            told = _read_json(facts, Values(source, lists=("hits",)))
            return words.unless_told(facts.parsed(source), told)
        clock, repeats = Clock(options.zone), Repeats()
        for line in jsonl.lines(source, MAX_LINE):
            outcome = LONG if line.long else _take(facts, clock, repeats, line)
            facts.count(outcome)
        return facts.parsed(source)


def _take(facts: Facts, clock: Clock, repeats: Repeats, line: jsonl.Line) -> str:
    text = line.text.strip()
    if not text:
        return IGNORED
    match = _LINE.match(text.decode("utf-8", "replace"))
    if match is None:
        return BAD_RECORD if line.ended else TORN
    if repeats(text):
        return DUPLICATE
    pairs = dict(_TAIL.findall(f" {match['rest'] or ''}"))
    found = {"start": match["start"], "end": match["end"]}
    found |= {"submit": pairs.get("SubmitTime", ""), "eligible": pairs.get("EligibleTime", "")}
    times = {name: clock(value.encode("utf-8", "replace")) for name, value in found.items()}
    if BAD in times.values():
        return BAD_TIME
    fields = _row(match, pairs, {name: None if us == ABSENT else us for name, us in times.items()})
    if fields["start_us"] is not None and fields["end_us"] is not None and fields["end_us"] < fields["start_us"]:
        return BAD_TIME
    if not facts.options.zone:
        facts.note(ASSUMED)
    facts.alloc(line.number, "job", "zone_set" if facts.options.zone else "zone_assumed", **fields)
    return MATCHED


def _row(match: re.Match[str], pairs: dict[str, str], times: dict[str, int | None]) -> Fields:
    status = words.state(re.split(r"[,+]", match["state"]))
    nodes = "" if match["count"] == "0" else match["nodes"]
    held = words.held(status, times["start"], times["end"], nodes, forecasts=False)
    code, signal = cells.exit_code(pairs.get("ExitCode", "").encode())
    array, het = _number(pairs.get("ArrayJobId")), _number(pairs.get("HetJobId", pairs.get("PackJobId")))
    offset = _number(pairs.get("HetJobOffset", pairs.get("PackJobOffset")))
    return {
        "id": words.job_id(match["raw"], array, pairs.get("ArrayTaskId"), het, offset),
        "raw": match["raw"],
        "cluster": pairs.get("Cluster") or None,
        "name": match["name"] or None,
        "user": match["user"] or None,
        "partition": match["partition"] or None,
        "state": status,
        "submit_us": times["submit"],
        "eligible_us": times["eligible"],
        "start_us": held.start,
        "end_us": held.end,
        "nodes": _number(match["count"]) if held.start is not None else None,
        "cpus": _number(match["cpus"]) if held.start is not None else None,
        "gpus_requested": words.gpus(pairs.get("Tres")),
        "exit_code": code,
        "exit_signal": signal,
    }


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else None


def _read_json(facts: Facts, values: Values) -> bool:
    utc, repeats, told = Clock("UTC"), Repeats(), False
    for value in values:
        outcome, gpus = _take_json(facts, utc, repeats, value.line, value.found)
        told = told or gpus
        facts.count(TORN if values.torn and value.found is None else outcome, lines=value.lines)
    facts.count(IGNORED, lines=values.rest)
    return told


def _take_json(facts: Facts, utc: Clock, repeats: Repeats, line: int, found: Any) -> tuple[str, bool]:
    if not isinstance(found, dict):
        return BAD_RECORD, False
    hits = parts(found, "hits", "hits")
    if hits:
        told = [_take_json(facts, utc, repeats, line, dict(hit)) for hit in hits]
        return (MATCHED if any(outcome == MATCHED for outcome, _ in told) else told[0][0]), any(
            gpus for _, gpus in told
        )
    job = part(found, "_source") or found
    if "index" in found or "create" in found or ("hits" in found and "jobid" not in job):
        return IGNORED, False  # the action line of a bulk request, or the frame of a reply
    if count(job, "jobid") is None or word(job, "state") is None:
        return BAD_RECORD, False
    times = {name: utc((word(job, f"@{name}") or "").encode()) for name in ("submit", "eligible", "start", "end")}
    if BAD in times.values():
        return BAD_TIME, False
    fields = _document(job, {name: None if us == ABSENT else us for name, us in times.items()})
    if fields["start_us"] is not None and fields["end_us"] is not None and fields["end_us"] < fields["start_us"]:
        return BAD_TIME, False
    if repeats(repr(fields).encode("utf-8", "replace")):
        return DUPLICATE, False
    facts.alloc(line, "job", **fields)
    return MATCHED, bool(fields["gpus"])


def _document(job: Object, times: dict[str, int | None]) -> Fields:
    status = words.state(re.split(r"[,+]", word(job, "state") or ""))
    held = words.held(status, times["start"], times["end"], word(job, "nodes") or "", forecasts=False)
    het, offset = count(job, "het_job_id"), count(job, "het_job_offset")
    het = het if het is not None else count(job, "pack_job_id")
    offset = offset if offset is not None else count(job, "pack_job_offset")
    raw, got, failed = str(job["jobid"]), word(job, "tres_alloc"), word(job, "failed_node")
    code, signal = cells.exit_code((word(job, "exit_code") or "").encode())
    gpus = words.gpus(got)
    return {
        "id": words.job_id(raw, count(job, "array_job_id"), count(job, "array_task_id"), het, offset),
        "raw": raw,
        "cluster": word(job, "cluster"),
        "name": word(job, "job_name"),
        "user": word(job, "username"),
        "partition": word(job, "partition"),
        "state": status,
        "reason": word(job, "state_reason_prev") if failed in (None, *words.NOWHERE) else f"failed: node {failed}",
        "submit_us": times["submit"],
        "eligible_us": times["eligible"],
        "start_us": held.start,
        "end_us": held.end,
        "nodes": count(job, "total_nodes") if held.start is not None else None,
        "cpus": count(job, "total_cpus") if held.start is not None else None,
        "gpus": 0 if held.start is None else gpus if gpus is not None else 0 if got and "=" in got else None,
        "gpus_requested": words.gpus(word(job, "tres_req")),
        "exit_code": code if code is not None else count(job, "exit_code"),
        "exit_signal": signal,
        "restarts": count(job, "restart_cnt"),
    }
