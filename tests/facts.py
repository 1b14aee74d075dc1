"""What the facts beside the real logs say, compared with what the relations say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from ettlog.fleet import Fleet

VALUES = {
    "first_step": "first_step", "last_step": "last_step", "resumed_from": "resumed_from", "end": "end_state",
    "cause": "cause", "world_size": "world_size",
}  # fmt: skip
STAMPS = {
    "launched_at": "launched_at", "training_starts_at": "train_start_at", "first_step_logged_at": "first_step_at",
    "last_step_logged_at": "last_step_at", "failed_at": "failed_at", "ended_at": "ended_at",
}  # fmt: skip
NOMINAL = 2000
"""Year of instants whose source shows none."""


def load(shared: Path) -> dict[str, dict[str, Any]]:
    """Return the facts of the trainer logs by name of the set."""
    listed = json.loads((shared / "data" / "trainer" / "facts.json").read_text(encoding="utf-8"))
    return {fact["set"]: fact for fact in listed}


def same_instant(found: datetime | None, printed: str | None, offset: str = "+00:00") -> bool:
    """Tell whether an instant is the stamp as printed, at its resolution; a stamp without Z is `offset` from UTC."""
    if found is None or printed is None:
        return found is None and printed is None
    text = printed.removesuffix("Z")
    text = (f"{NOMINAL}{text[1:]}" if text.startswith("--") else text)[:26]
    stamp = datetime.fromisoformat(text)
    if not printed.endswith("Z") and not printed.startswith("--"):
        hours, minutes = offset[1:].split(":")
        shift = timedelta(hours=int(hours), minutes=int(minutes))
        stamp += shift if offset[0] == "-" else -shift
    digits = len(text.partition(".")[2])
    return abs(found - stamp) < timedelta(microseconds=10 ** (6 - digits))


def of_set(fleet: Fleet, relation: str, name: str) -> pl.DataFrame:
    """Return the rows of a relation whose evidence lies in a set, jobs in the order of their sweep."""
    frame = fleet.table(relation)
    path = pl.col("evidence").str.extract(r"^(.*?)(?::\d+)")
    mine = path.str.starts_with(f"{name}/") | (path == name) | (path == f"{name}.log")
    number = pl.col("job").str.extract(r"#(\d+)$").cast(pl.Int64).fill_null(1)
    return frame.filter(mine).with_columns(number.alias("member")).sort("member", "k")


def differences(fleet: Fleet, fact: dict[str, Any]) -> set[str]:
    """Return the keys of the facts of a set that the relations answer in another way; debatable keys never differ."""
    return {key for key, agrees in compared(fleet, fact) if not agrees}


def compared(fleet: Fleet, fact: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yield key and verdict for every fact of a set that is not debatable, those of each start one by one."""
    debatable = {word.removeprefix("starts.") for word in fact.get("debatable", [])}
    yield from ((key, agrees) for key, agrees in _compared(fleet, fact) if key not in debatable)


def _compared(fleet: Fleet, fact: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    name, offset = fact["set"], fact.get("utc_offset", "+00:00")
    found = of_set(fleet, "start", name)
    yield "starts", found.height == len(fact["starts"])
    if found.height != len(fact["starts"]):
        return
    if found.height:
        yield "job_count", found["job"].n_unique() == fact["job_count"]
    for row, start in zip(found.iter_rows(named=True), fact["starts"], strict=True):
        yield from ((key, row[column] == start[key]) for key, column in VALUES.items() if key in start)
        stamps = ((key, column) for key, column in STAMPS.items() if key in start)
        yield from ((key, same_instant(row[column], start[key], offset)) for key, column in stamps)
    yield from _steps(found, fact)
    yield from _checkpoints(of_set(fleet, "checkpoint", name), fact, offset)


def _steps(found: pl.DataFrame, fact: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    if fact.get("new_steps_range") and fact["job_count"] == 1:
        first, last = fact["new_steps_range"]
        yield "new_steps_range", found["new_steps"].sum() == last - first + 1
    replayed = sum(row["steps"] - row["new_steps"] for row in found.iter_rows(named=True))
    if fact.get("replayed_steps") is not None:
        yield "replayed_steps", fact["replayed_steps"] == replayed


def _checkpoints(found: pl.DataFrame, fact: dict[str, Any], offset: str) -> Iterator[tuple[str, bool]]:
    requests = fact.get("saves_requested")
    if requests is not None:
        yield "saves_requested", found.filter(pl.col("state") == "requested").height == requests
    for state, key in (("committed", "saves_committed"), ("loaded", "loads")):
        rows = found.filter(pl.col("state") == state).sort("step", nulls_last=True).select("step", "at").rows()
        expected = fact.get(key)
        if isinstance(expected, dict):
            yield key, len(rows) == expected["count"]
        elif expected is not None:
            yield key, _same_saves(rows, expected, offset)


def _same_saves(rows: list[tuple[Any, ...]], expected: list[list[Any]], offset: str) -> bool:
    if [row[0] for row in rows] != [step for step, _ in expected]:
        return False
    return all(at is None or same_instant(row[1], at, offset) for row, (_, at) in zip(rows, expected, strict=True))
