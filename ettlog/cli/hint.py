"""What to do next, given what the lake holds."""

from __future__ import annotations

import json
from pathlib import Path

from ettlog.tables import count

HEAD = "ettlog: where a training fleet's GPU time went, who can win it back, and whose work won it back.\n"
TAIL = "All commands: ettlog --help"
MANIFEST = "manifest.jsonl"
REGISTRY = "optimizations.toml"


def advise(lake: str) -> str:
    """Return what the lake at a path holds, and the next commands to type."""
    folder = Path(lake)
    files, known = _held(folder)
    state, steps = f"The lake {lake} holds {count(files, 'file')}.", _next(registry=(folder / REGISTRY).exists())
    if not files:
        state, steps = f"There is no lake {lake} yet.", _first()
    elif not known:
        state += " No format knows a line of them."
        steps = [("ettlog status", "which files were read, and how far they were understood"), _first()[0]]
    width = max(len(command) for command, _ in steps)
    lines = [f"  {command:<{width}}  {meaning}" for command, meaning in steps]
    return "\n".join([HEAD, state, *lines, "", TAIL])


def _held(folder: Path) -> tuple[int, int]:
    """Return how many files the lake lists, and in how many a format knows a line; damage is for `ettlog check`."""
    formats: dict[str, bool] = {}
    try:
        text = (folder / MANIFEST).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0, 0
    for line in text.splitlines():
        try:
            entry = json.loads(line)
            formats[entry["path"]] = bool(entry.get("formats"))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return len(formats), sum(formats.values())


def _first() -> list[tuple[str, str]]:
    return [
        ("ettlog ingest LOGS...", "read a folder of logs"),
        ("ettlog status", "see what was read"),
        ("ettlog ett --by model", "see where the wall time went"),
        ("ettlog attribute --window 6mo", "see what changed, and whose work changed it"),
    ]


def _next(*, registry: bool) -> list[tuple[str, str]]:
    credit = "what changed, and whose work changed it"
    if not registry:
        credit += f" (name the work in an {REGISTRY} beside the logs)"
    return [
        ("ettlog ett --by model", "where the wall time went"),
        ("ettlog jobs", "the jobs: wall time, starts, failures, end"),
        ("ettlog timeline JOB", "one job, moment by moment, with the lines it rests on"),
        ("ettlog attribute --window 6mo", credit),
        ("ettlog status", "the files that were read, and the fate of their lines"),
        ("ettlog ingest LOGS...", "read more; files that did not change are skipped"),
    ]
