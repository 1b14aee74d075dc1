"""What the name of a log file tells: compression, parts, rotations, rank, node, allocation, and the job left over."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

PACKED = (".gz", ".zst", ".zstd", ".bz2", ".xz")
LOG_ENDINGS = (".log", ".out", ".err", ".txt", ".output", ".stdout", ".stderr", ".json", ".jsonl", ".csv", ".acct")

DOCUMENTS = (".md", ".rst", ".adoc", ".tex", ".tsv", ".html", ".htm", ".ipynb", ".py", ".sh")
"""Endings of prose, tables and programs: they may quote log lines, but no trainer wrote them."""

GENERIC = re.compile(
    r"(?:logs?|train(?:ing|er)?|outputs?|out|std(?:out|err)|err(?:ors?)?|console|main|results?(?:_\d+)?|slurm|driver"
    r"|rank|job|run|nohup|worker|node|master|chief|launcher)",
    re.IGNORECASE,
)
"""Stems that say nothing about the job: the folder names it."""

TELEMETRY = re.compile(
    r"dedicated_log_torch_trace(?:_\w{1,12})?|events(?:_\d{1,10}){0,2}|\w{1,40}\.\d{8}-\d{6}-[A-Z0-9]{6}"
    r"|cycle_info(?:\.[\w-]+){0,3}|progress|metrics|one_?logger|goodput\w{0,20}"
)
"""Names that tools give their files beside a trainer's log: the folder names the job, no number is an allocation."""

TELEMETRY_FOLDERS = frozenset(("structured_logs", "torch_trace", "torch_traces", "nvrx"))
"""Folders that tools make for such files: the folder above names the job."""

_PART = re.compile(r"[._-]part[_-]?(\d{1,4})(?:[_-]?of[_-]?(\d{1,4}))?$", re.IGNORECASE)
_ROTATED = re.compile(r"\.(\d{1,3})$")
_DATED = re.compile(r"(\.\w{1,8})[-.]((?:19|20)\d\d-?[01]\d-?[0-3]\d)$")
_RANK = re.compile(
    r"(?:^|[._-])(?:(?:global_?|local_?)?rank[._-]?(\d{1,6})(?:_[a-z0-9_]{8})?|r(\d{1,6})|0(\d{2,4}))(?=$|[._-])",
    re.IGNORECASE,
)
_NODE = re.compile(
    r"(?:^|[._-])((?:(?:gpu|cpu|compute|[abhv]\d{2,3})-)?(?:node|nid|host|worker|gpu-?node|master|cn|hgx|dgx)[_-]?\d{1,6})(?=$|[._-])",
    re.IGNORECASE,
)
_SLURM = re.compile(r"slurm-(\d+)(?:_(\d+))?(?:[.-](\d{1,5}))?$", re.IGNORECASE)
_ALLOCATION = re.compile(r"(?:^|[._-])(?:job[._-]?(?:id)?[._-]?)?([1-9]\d{3,9})(_\d{1,6})?$", re.IGNORECASE)
_CLOCK = re.compile(r"(?:^|[._-])(?:\d{6}|\d{8}|\d{4}-\d\d-\d\d)[._T-]?\d{2}[-_:]?\d{2}(?:[-_:]?\d{2})?$")
_DATE = re.compile(r"(?:^|[._-])(?:19|20)\d\d(?:[-_]?[01]\d[-_]?[0-3]\d)?$")
_FOLDER_RANK = re.compile(r"(?:global_?|local_?)?rank[._-]?(\d{1,6})|r(\d{1,6})", re.IGNORECASE)
_FOLDER_START = re.compile(r"(?:attempt|start|restart|launch)[._-]?(\d{1,6})", re.IGNORECASE)
_FOLDER_ALLOCATION = re.compile(r"(?:(?:slurm|job|jobid|alloc)[._-]?)?([1-9]\d{4,9}(?:_\d{1,6})?)", re.IGNORECASE)


@dataclass
class Named:
    """What a path tells."""

    job: str
    job_from_name: bool
    stream: str
    in_name: dict[str, str] = field(default_factory=dict)
    in_folder: dict[str, str] = field(default_factory=dict)


def is_document(path: str) -> bool:
    """Tell whether a file is prose, a table or a program by its ending, compressed or not."""
    bare = next((path[: -len(ending)] for ending in PACKED if path.lower().endswith(ending)), path)
    return bare.lower().endswith(DOCUMENTS)


def take_apart(path: str, node: str = "") -> Named:
    """Read a source's path; `node` is a node name its lines tell, so that it is known when the file's name holds it."""
    *above, last = [part for part in path.split("/") if part not in ("", ".")] or [""]  # as a path has them, cheaper
    folders, in_folder = _folders(above)
    stem, in_name, ending = _file(last)
    stem = _tokens(stem, in_name, node)
    bare = "" if TELEMETRY.fullmatch(stem) else _allocation(stem, in_name)
    below = folders[1:] or folders
    generic = not bare or GENERIC.fullmatch(bare) is not None
    job = "/".join(below if generic else [*folders[1:], bare]) or bare or last
    stream = "/".join([*folders, (stem or "rank") + ending])
    return Named(job, not (generic and below), stream, in_name, in_folder)


def _folders(parts: list[str]) -> tuple[list[str], dict[str, str]]:
    """Return the folders that name the job, and what the others say: a rank, an attempt, a node, an allocation."""
    kept: list[str] = parts[:1]
    found: dict[str, str] = {}
    for part in parts[1:]:
        rank, start = _FOLDER_RANK.fullmatch(part), _FOLDER_START.fullmatch(part)
        if rank:
            found["rank"] = rank[1] or rank[2]
        elif start:
            found["start"] = start[1]
        elif "start" in found and re.fullmatch(r"\d{1,5}", part):
            found["rank"] = part  # torchrun: RUN/attempt_0/3/stdout.log
        elif _NODE.fullmatch(part):
            found["node"] = part
        elif part not in TELEMETRY_FOLDERS:
            allocation = _FOLDER_ALLOCATION.fullmatch(part)
            if allocation:
                found["allocation"] = allocation[1]
            kept.append(part)
    return kept, found


def _file(name: str) -> tuple[str, dict[str, str], str]:
    """Return a file's stem, its part, and its ending, without compression."""
    found: dict[str, str] = {}
    while name.lower().endswith(PACKED):
        name = name[: name.rindex(".")]
    part = _PART.search(name)
    if part:
        found["part"] = part[1]
        name = name[: part.start()]
    else:
        name = _rotation(name, found)
    stem, ending = name, ""
    while stem.lower().endswith(LOG_ENDINGS) and stem.rindex(".") > 0:
        cut = stem.rindex(".")
        stem, ending = stem[:cut], stem[cut:] + ending
    part = None if part else _PART.search(stem)  # NAME.part1of2.log
    if part and part.start() > 0:
        found["part"], stem = part[1], stem[: part.start()]
    return stem, found, ending


def _rotation(name: str, found: dict[str, str]) -> str:
    """Take a rotation off a name. The highest number is the oldest text, the file without a number the newest."""
    dated = _DATED.search(name)
    if dated:
        found["part"] = f"-{30000000 - int(dated[2].replace('-', ''))}"
        return name[: dated.start(2) - 1]
    rotated = _ROTATED.search(name)
    ranked = any(match.end() == len(name) for match in _RANK.finditer(name))  # rank.1 is a rank, rank1.log.1 a rotation
    if rotated and rotated.start() > 0 and not ranked and not name.startswith("cycle_info."):
        found["part"] = f"-{int(rotated[1])}"
        return name[: rotated.start()]
    return name


def _tokens(stem: str, found: dict[str, str], node: str) -> str:
    """Take rank and node off a stem, wherever they stand."""
    if node and len(node) > 2:
        known = re.search(rf"(?:^|[._-]){re.escape(node)}(?=$|[._-])", stem)
        if known:
            found["node"] = node
            stem = _without(stem, known)
    timed = _CLOCK.search(stem) is not None  # 20240131_0930 ends with a time of day, not with a rank
    for name, pattern in (("rank", _RANK), ("node", _NODE)):
        match = None if name in found or (name == "rank" and timed) else pattern.search(stem)
        if match:
            found[name] = next(group for group in match.groups() if group)
            stem = _without(stem, match)
    return stem


def _without(stem: str, match: re.Match[str]) -> str:
    left, right = stem[: match.start()], stem[match.end() :]
    return left + right if left else right.lstrip("._-")


def _allocation(stem: str, found: dict[str, str]) -> str:
    """Take the scheduler's id off a stem; dates and clock times are none."""
    slurm = _SLURM.fullmatch(stem)
    if slurm:
        found["allocation"] = slurm[1] + (f"_{slurm[2]}" if slurm[2] else "")
        if slurm[3] and "rank" not in found:
            found["rank"] = slurm[3]
        return ""
    if _CLOCK.search(stem) or _DATE.search(stem):
        return stem
    match = _ALLOCATION.search(stem)
    if match is None:
        return stem
    found["allocation"] = match[1] + (match[2] or "")
    return stem[: match.start()]
