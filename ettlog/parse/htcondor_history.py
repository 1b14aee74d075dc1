"""History of HTCondor: ClassAds (`Attribute = value`), the same as JSON, and the columns that APEL asks for.

RemoteWallClockTime sums all runs of a job, LastRemoteWallClockTime is the last one: their difference is what the runs
before took. Between two dates of an ad a job may have waited or been held: the dates alone are no run.
"""

from __future__ import annotations

import re
from typing import Any

from ettlog.parse import jsonl
from ettlog.parse.attempts import Attempts
from ettlog.parse.blocks import Reader
from ettlog.parse.gather import BAD_RECORD, DUPLICATE, IGNORED, LONG, MATCHED, TORN, Facts, exact
from ettlog.parse.json_values import Values
from ettlog.parse.k8s_object import Fields

SECOND = 1_000_000
MAX_LINE, MAX_ATTRIBUTES = 1 << 18, 2000
SLACK = 60 * SECOND
"""A run may be this much shorter or longer than the time between its dates."""
STATES = {1: "IDLE", 2: "RUNNING", 3: "REMOVED", 4: "COMPLETED", 5: "HELD", 6: "TRANSFERRING_OUTPUT", 7: "SUSPENDED"}
_PAIR = re.compile(r"\s*([A-Za-z_]\w{0,127}) = (.*)\Z")
_BANNER = re.compile(r"\*\*\* ")
_ADS = re.compile(
    rb"^(?:RemoteWallClockTime|LastRemoteWallClockTime|NumShadowStarts|NumJobStarts|CommittedTime|GlobalJobId) = ", re.M
)
_AD_LINE = re.compile(rb"\s*(?:[A-Za-z_]\w{0,127} = |\*\*\* )")
_ROW = re.compile(
    r"([^|\s]{1,256})\|([^|]{0,128})\|(\d{1,12})\|\d{1,12}\|\d{1,12}\|(\d{9,10})\|(\d{9,10})\|\d{1,15}\|\d{1,15}\|(\d{1,9})"
    r"(?:\|[\d.]{0,12})?\Z"
)


def sniff(head: bytes) -> bool:
    """Tell by its first bytes whether a file is history of HTCondor."""
    if head.lstrip()[:1] in (b"[", b"{"):
        return b'"RemoteWallClockTime"' in head and (b'"ClusterId"' in head or b'"GlobalJobId"' in head)
    first = head.lstrip().split(b"\n", 1)[0]
    if _AD_LINE.match(first):
        return len(set(_ADS.findall(head))) >= 2
    return _ROW.match(first.decode("utf-8", "replace").rstrip("\r")) is not None


def fill(facts: Facts, source: Reader, head: bytes) -> None:
    """Read history of any of the three shapes into facts; what an ad that names no job tells are mere run times."""
    mark = head.lstrip()[:1]
    if mark in (b"[", b"{"):
        _json(facts, source)
    elif _AD_LINE.match(head.lstrip().split(b"\n", 1)[0]):
        _ads(facts, source)
    else:
        attempts = Attempts()
        for line in jsonl.lines(source, MAX_LINE):
            facts.count(LONG if line.long else _columns(facts, attempts, line))


def _json(facts: Facts, source: Reader) -> None:
    values, attempts = Values(source, lists=()), Attempts()
    for value in values:
        found = value.found if isinstance(value.found, dict) else {}
        outcome = _ad(facts, attempts, found, {}, value.line) if found else BAD_RECORD
        facts.count(TORN if values.torn and value.found is None else outcome, lines=value.lines)
    facts.count(IGNORED, lines=values.rest)


def _ads(facts: Facts, source: Reader) -> None:
    attempts = Attempts()
    ad: dict[str, Any] = {}
    lines: dict[str, int] = {}
    held = 0
    for line in jsonl.lines(source, MAX_LINE):
        text = "" if line.long else line.text.decode("utf-8", "replace").rstrip()
        pair = _PAIR.match(text)
        if line.long:
            facts.count(LONG)
        elif pair and len(ad) < MAX_ATTRIBUTES:
            ad[pair[1]], lines[pair[1]], held = _value(pair[2]), line.number, held + 1
        elif not text or _BANNER.match(text):
            facts.count(_ad(facts, attempts, ad, lines, line.number) if ad else IGNORED, lines=held)
            facts.count(IGNORED)
            ad, lines, held = {}, {}, 0
        else:
            facts.count(BAD_RECORD if line.ended else TORN)
    if ad:
        facts.count(_ad(facts, attempts, ad, lines, min(lines.values())), lines=held)


def _value(text: str) -> Any:
    if text[:1] == '"':
        return text.strip('"')
    if re.fullmatch(r"-?\d{1,15}(?:\.\d{1,9})?(?:[eE]\+?\d)?", text):
        return float(text) if "." in text or "e" in text.lower() else int(text)
    return text


def _ad(facts: Facts, attempts: Attempts, ad: dict[str, Any], lines: dict[str, int], line: int) -> str:
    """Write the rows of a job: its last run, and the runs before it together."""
    total, last = _seconds(ad, "RemoteWallClockTime"), _seconds(ad, "LastRemoteWallClockTime")
    runs = _whole(ad, "NumShadowStarts") or _whole(ad, "NumJobStarts")
    if total is None and runs is None and _us(ad, "QDate") is None:
        return BAD_RECORD
    base = _named(ad)
    record = "job" if base["id"] else "run"
    if attempts.again(base["id"], base["raw"], sorted((key, str(value)) for key, value in ad.items())):
        return DUPLICATE
    before = None if total is None or last is None or not runs or runs < 2 else max(total - last, 0)
    start, end = _last_run(ad, last if last is not None else total, runs)
    # times of the ad are those of its lines, so that two rows of one job are told apart
    if before is not None and runs is not None:
        first = _us(ad, "JobStartDate") if runs == 2 else None
        told: Fields = {"start_us": first, "end_us": None if first is None else first + before}
        number = lines.get("RemoteWallClockTime", line)
        facts.alloc(
            number, record, **base, **told, elapsed_us=before, count=None if runs == 2 else runs - 1, restarts=None
        )
    facts.alloc(
        lines.get("LastRemoteWallClockTime", min(lines.values(), default=line)), record, **base,
        start_us=start, end_us=end, elapsed_us=last if before is not None else total,
        restarts=_restarts(ad, runs), state=STATES.get(_whole(ad, "JobStatus") or 0), reason=_reason(ad),
        exit_code=_whole(ad, "ExitCode"), exit_signal=_whole(ad, "ExitSignal"),
    )  # fmt: skip
    return MATCHED


def _named(ad: dict[str, Any]) -> Fields:
    cluster, process = _whole(ad, "ClusterId"), _whole(ad, "ProcId")
    name = None if cluster is None else f"{cluster}.{process or 0}"
    whole = ad.get("GlobalJobId") if isinstance(ad.get("GlobalJobId"), str) else None
    provided = _whole(ad, "GPUsProvisioned")
    return {
        "id": name or whole,
        "raw": name or whole,
        "name": ad.get("JobBatchName") if isinstance(ad.get("JobBatchName"), str) else None,
        "user": ad.get("Owner") if isinstance(ad.get("Owner"), str) else None,
        "submit_us": _us(ad, "QDate"),
        "gpus": provided,
        "gpus_requested": _whole(ad, "RequestGPUs"),
        "cpus": _whole(ad, "CpusProvisioned") or _whole(ad, "RequestCpus"),
    }


def _last_run(ad: dict[str, Any], length: int | None, runs: int | None) -> tuple[int | None, int | None]:
    """Return begin and end of the last run; an end only where the length of the run agrees with it."""
    start = _us(ad, "JobCurrentStartDate") or (_us(ad, "JobStartDate") if runs in (None, 1) else None)
    ends = [_us(ad, key) for key in ("CompletionDate", "LastVacateTime", "EnteredCurrentStatus")]
    if start is None or _whole(ad, "JobStatus") == 2:
        return start, None
    good = [end for end in ends if end is not None and end >= start]
    if length is None:
        return start, good[0] if good else None
    return start, next((end for end in good if abs(end - start - length) <= SLACK), start + length)


def _restarts(ad: dict[str, Any], runs: int | None) -> int | None:
    """Return how often the job was started again; NumRestarts may be 0 though it was."""
    return max(runs - 1, 0) if runs is not None else _whole(ad, "NumVacates")


def _reason(ad: dict[str, Any]) -> str | None:
    found = (ad.get(key) for key in ("RemoveReason", "HoldReason", "LastHoldReason", "VacateReason"))
    return next((text for text in found if isinstance(text, str) and text), None)


def _columns(facts: Facts, attempts: Attempts, line: jsonl.Line) -> str:
    """Take one row of columns; dates that do not hold the run between them become marks."""
    text = line.text.decode("utf-8", "replace").strip()
    if not text:
        return IGNORED
    match = _ROW.match(text)
    if match is None:
        return BAD_RECORD if line.ended else TORN
    name, user, wall, cpus = match[1], match[2] or None, int(match[3]) * SECOND, int(match[6])
    if attempts.again(name):
        return DUPLICATE
    begin, end = int(match[4]) * SECOND, int(match[5]) * SECOND
    row: Fields = {"id": name, "raw": name, "user": user, "elapsed_us": wall, "cpus": cpus}
    if end >= begin and abs(end - begin - wall) <= SLACK:
        facts.alloc(line.number, "job", **row, start_us=begin, end_us=end)
        return MATCHED
    facts.alloc(line.number, "job", **row)
    for state, at in (("JobStartDate", begin), ("EnteredCurrentStatus", end)):
        facts.alloc(line.number, "mark", id=name, raw=name, state=state, start_us=at)
    return MATCHED


def _whole(ad: dict[str, Any], key: str) -> int | None:
    found = ad.get(key)
    if isinstance(found, bool) or not isinstance(found, int | float) or not abs(found) < 1 << 40:
        return None
    return int(found)


def _seconds(ad: dict[str, Any], key: str) -> int | None:
    found = ad.get(key)
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found < 1 << 40:
        return None
    return round(found * SECOND)


def _us(ad: dict[str, Any], key: str) -> int | None:
    found = _whole(ad, key)
    got = exact(found * SECOND) if found else None
    return got.us if got else None
