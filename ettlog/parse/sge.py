"""Accounting of Grid Engine: fields between colons, a record per run of a job or of a task of an array.

Times are seconds since 1970; Univa's are milliseconds, which their length tells. 0 and -1 are no time. Records of the
slaves of a parallel job name their task: their hardware is the job's.
"""

from __future__ import annotations

import re
from pathlib import Path

from ettlog.parse import jsonl
from ettlog.parse.attempts import Attempts
from ettlog.parse.blocks import open_source
from ettlog.parse.gather import BAD_RECORD, BAD_TIME, DUPLICATE, IGNORED, LONG, MATCHED, TORN, Facts, exact
from ettlog.parse.k8s_object import Fields
from ettlog.parse.parsed import Parsed, ScanOptions

NAME = "sge"
MAX_LINE = 1 << 16
SECOND, MILLI = 1_000_000, 1000
LEAST = 36
"""Fields that every release has; newer ones add more behind them."""
SLAVE_TASK = 41
_TIME = re.compile(r"(?:-1|\d{1,16})(?:\.0+)?\Z")
_NUMBER = re.compile(r"-?\d{1,12}\Z")
_HEAD = re.compile(
    rb"[^:\n]{0,128}:[^:\n]{0,256}:[^:\n]{0,128}:[^:\n]{0,128}:[^:\n]{0,512}:\d{1,12}:[^:\n]{0,128}:-?\d{1,8}:\d{9,16}:"
    rb"(?:-1|\d{1,16}):(?:-1|\d{1,16}):\d{1,4}:-?\d{1,6}:(?:[^:\n]{0,64}:){20}"
)
_GPUS = re.compile(r"(?:^|[\s,])(?:n|num_)?gpus?=(\d{1,4})(?=[\s,.]|$)")


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first record whether a file is accounting of Grid Engine."""
    lines = [line for line in head.split(b"\n", 20)[:20] if line.strip() and line[:1] != b"#"]
    return bool(lines) and _HEAD.match(lines[0]) is not None


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read the records. Raise SourceRefusedError like the scanner."""
    facts, attempts = Facts(NAME, options), Attempts()
    with open_source(path, budget=options.limits.output) as source:
        for line in jsonl.lines(source, MAX_LINE):
            facts.count(LONG if line.long else _take(facts, attempts, line))
        return facts.parsed(source)


def _take(facts: Facts, attempts: Attempts, line: jsonl.Line) -> str:
    text = line.text.decode("utf-8", "replace").strip()
    if not text or text[0] == "#":
        return IGNORED
    cells = text.split(":")
    if len(cells) < LEAST or not _NUMBER.match(cells[5]) or not all(_TIME.match(cell) for cell in cells[8:11]):
        return BAD_RECORD if line.ended else TORN
    submit, start, end = (_time(cell) for cell in cells[8:11])
    if submit is None or (start is not None and end is not None and end < start):
        return BAD_TIME
    slave = cells[SLAVE_TASK] if len(cells) > SLAVE_TASK and cells[SLAVE_TASK] not in ("NONE", "", "0") else None
    name = cells[5] if cells[35] in ("0", "") else f"{cells[5]}.{cells[35]}"
    if attempts.again(name, slave, submit, start, None if start else end):
        return DUPLICATE
    times: Fields = {"submit_us": submit, "start_us": start, "end_us": end}
    record = "step" if slave else "job"
    facts.alloc(line.number, record, **_row(cells, name, times), **times, task=slave)
    return MATCHED


def _row(cells: list[str], name: str, times: Fields) -> Fields:
    started = times["start_us"] is not None
    code, slots = _number(cells[12]), _number(cells[34])
    signal = code - 128 if started and code is not None and 128 < code < 193 else None
    asked = gpus_asked(cells[39]) if len(cells) > 39 else None
    return {
        "id": name,
        "raw": name,
        "name": cells[4],
        "user": cells[3],
        "partition": cells[0],
        "node": cells[1],
        "state": f"failed {cells[11]}",
        "elapsed_us": _wall(cells[13], times),
        "cpus": slots,
        # a resource may count for each slot or for the job: only one slot leaves no doubt
        "gpus_requested": asked if slots == 1 else None,
        "exit_code": code if started and signal is None else None,
        "exit_signal": signal,
    }


def gpus_asked(resources: str) -> int | None:
    """Return the GPUs that the resources of a job ask for; None where they name none."""
    found = _GPUS.search(resources)
    return int(found[1]) if found else None


def _time(cell: str) -> int | None:
    """Return microseconds since 1970 of seconds or milliseconds; None for 0 and -1."""
    number = int(cell.partition(".")[0])
    found = exact(number * (MILLI if number >= 10**11 else SECOND)) if number > 0 else None
    return found.us if found else None


def _wall(cell: str, times: Fields) -> int | None:
    """Return the printed time held; whether it is in seconds or milliseconds is told by the instants beside it."""
    text, _, fraction = cell.partition(".")
    if not text.isascii() or not text.isdigit() or len(text) > 12 or times["start_us"] is None:
        return None
    micros = int(text) * SECOND + int((fraction[:6] if fraction.isdigit() else "0").ljust(6, "0"))
    if times["end_us"] is None:
        return micros
    length = times["end_us"] - times["start_us"]
    return micros if abs(micros - length) <= abs(micros // MILLI - length) else micros // MILLI


def _number(cell: str) -> int | None:
    return int(cell) if _NUMBER.match(cell) else None
