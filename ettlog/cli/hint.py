"""What to do next, given what the lake holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from ettlog.tables import count

HEAD = "ettlog: where a training fleet's GPU time went, who can win it back, and whose work won it back.\n"
TAIL = "All commands: ettlog --help"
MANIFEST = "manifest.jsonl"
REGISTRY = "optimizations.toml"
FEW = 0.2
"""Share of known lines under which formats are missing."""


class Held(NamedTuple):
    """What a lake lists: files, those of which a format knows a line, those with facts of each kind, and lines."""

    files: int = 0
    known: int = 0
    trainer: int = 0
    scheduler: int = 0
    lines: int = 0
    matched: int = 0


def advise(lake: str) -> str:
    """Return what the lake at a path holds, what it lacks, and the next commands to type."""
    folder = Path(lake)
    held = _held(folder)
    if not held.files:
        return _page(f"There is no lake {lake} yet.", [], _first())
    said = f"The lake {lake} holds {count(held.files, 'file')}"
    if not held.known:
        steps = [("ettlog status", "which files were read, and how far they were understood"), _first()[0]]
        return _page(f"{said}. No format knows a line of them.", [], steps)
    said += f": {held.trainer:,} with a trainer's events, {held.scheduler:,} with scheduler records."
    return _page(said, _lacks(held, registry=(folder / REGISTRY).exists()), _next(held))


def _page(state: str, lacks: list[str], steps: list[tuple[str, str]]) -> str:
    width = max(len(command) for command, _ in steps)
    lines = [f"  {command:<{width}}  {meaning}" for command, meaning in steps]
    missing = ["Missing:", *(f"  {line}" for line in lacks), ""] if lacks else []
    return "\n".join([HEAD, state, "", *missing, "Next:", *lines, "", TAIL])


def _held(folder: Path) -> Held:
    """Return what the manifest lists, the last line of a path counts; damage is for `ettlog check`."""
    current: dict[str, Held] = {}
    try:
        text = (folder / MANIFEST).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return Held()
    for line in text.splitlines():
        try:
            entry = json.loads(line)
            current[entry["path"]] = _one(entry)
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return Held(*map(sum, zip(*current.values(), strict=True))) if current else Held()


def _one(entry: dict[str, Any]) -> Held:
    if entry.get("op") == "remove":
        return Held()
    tables, lines = entry.get("files") or {}, entry.get("lines") or {}
    trainer = "event" in tables or "step" in tables
    number, matched = int(entry.get("n_lines") or 0), int(lines.get("matched", 0))
    return Held(1, bool(entry.get("formats")), trainer, "alloc" in tables, number, matched)


def _lacks(held: Held, *, registry: bool) -> list[str]:
    lacks = []
    if not held.trainer:
        lacks.append("trainer logs: without them no start, step or ETT is known; ingest the jobs' stdout")
    if not held.scheduler:
        lacks.append("scheduler records: queues, GPU counts and why jobs ended; ingest the output of sacct,")
        lacks.append("kubectl or another scheduler (docs/schedulers_batch.md, docs/schedulers_k8s.md)")
    if not registry:
        lacks.append(f"a registry of what was changed ({REGISTRY} beside the logs): without it no work gets credit")
    if held.matched < FEW * held.lines:
        lacks.append(f"formats: {100 * held.matched / held.lines:.0f} % of the lines are known; see `ettlog status`")
    return lacks


def _first() -> list[tuple[str, str]]:
    return [
        ("ettlog ingest LOGS...", "read a folder of logs"),
        ("ettlog status", "see what was read"),
        ("ettlog ett --by model", "see where the wall time went"),
        ("ettlog attribute --window 6mo", "see what changed, and whose work changed it"),
    ]


def _next(held: Held) -> list[tuple[str, str]]:
    steps = [
        ("ettlog ett --by model", "where the wall time went"),
        ("ettlog jobs", "the jobs: wall time, starts, failures, end"),
        ("ettlog timeline JOB", "one job, moment by moment, with the lines it rests on"),
        ("ettlog attribute --window 6mo", "what changed, and whose work changed it"),
        ("ettlog report -o report.html", "all of it as one page to look at"),
        ("ettlog status", "the files that were read, and the fate of their lines"),
        ("ettlog ingest LOGS...", "read more; files that did not change are skipped"),
    ]
    return steps if held.trainer else [step for step in steps if not step[0].startswith("ettlog attribute")]
