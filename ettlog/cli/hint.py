"""What to do next, given what the lake holds."""

from __future__ import annotations

from pathlib import Path

HEAD = "ettlog: where a training fleet's GPU time went, who can win it back, and whose work won it back.\n"
TAIL = "\nAll commands: ettlog --help"


def advise(lake: str) -> str:
    """Return the next commands to type for the lake at a path."""
    steps = _first_steps(lake) if not (Path(lake) / "manifest.jsonl").exists() else _next_steps(lake)
    width = max(len(command) for command, _ in steps)
    return HEAD + "\n".join(f"  {command:<{width}}  {meaning}" for command, meaning in steps) + TAIL


def _first_steps(lake: str) -> list[tuple[str, str]]:
    return [
        ("ettlog ingest LOGS...", f"read a folder of logs into the lake {lake} (there is none yet)"),
        ("ettlog status", "see what was read"),
        ("ettlog ett --by model", "see where the wall time went"),
        ("ettlog attribute --window 6mo", "see what changed, and whose work changed it"),
    ]


def _next_steps(lake: str) -> list[tuple[str, str]]:
    return [
        ("ettlog status", f"what the lake {lake} holds, file by file"),
        ("ettlog jobs", "the jobs: wall time, starts, failures, end"),
        ("ettlog ett --by model", "where the wall time went"),
        ("ettlog timeline JOB", "one job, moment by moment, with the lines it rests on"),
        ("ettlog attribute --window 6mo", "what changed, and whose work changed it"),
        ("ettlog ingest LOGS...", "read more; files that did not change are skipped"),
    ]
