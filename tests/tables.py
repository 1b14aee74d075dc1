"""Builds fact tables from short rows, so that a test can show a whole log in a few lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from ettlog.config import Config
from ettlog.fleet import Fleet

SECOND = 1_000_000
MINUTE = 60 * SECOND
START = 1_767_225_600 * SECOND
"""2026-01-01 00:00:00 UTC, minute 0 of every timeline here."""


def minute(at: float) -> int:
    """Return the instant of a minute in microseconds since 1970."""
    return START + round(at * MINUTE)


def table(rows: Iterable[Mapping[str, Any]]) -> pa.Table | None:
    """Return rows as an Arrow table; None without rows. A column is there if one row has it."""
    rows = list(rows)
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows]) if rows else None


class Log:
    """One log file under construction: lines are numbered as they are added."""

    def __init__(self, key: str = "a", **source: Any) -> None:
        """Begin a log; further words are columns of the source, and `torn`: its last line breaks off."""
        self.torn = bool(source.pop("torn", False))
        """Whether its last line breaks off, and nothing matches what is left of it."""
        self.source: dict[str, Any] = {
            "key": key,
            "path": f"logs/{key}.log",
            "job_name": "run",
            "state": "whole",
        } | source
        self.events: list[dict[str, Any]] = []
        self.steps: list[dict[str, Any]] = []
        self.line = 0
        self.launch = 0

    def say(self, at: float | None, kind: str, **fields: Any) -> None:
        """Add an event line at a minute; None leaves it undated. `launch` and `restart` open the next launch."""
        self.launch += kind in ("launch", "restart")
        self.events.append(self._row(at) | {"kind": kind, "format": "f", "pattern": kind} | fields)

    def step(self, at: float | None, number: int, minutes: float | None = None, **fields: Any) -> None:
        """Add a step line at a minute, with the printed duration of a step in minutes."""
        duration = None if minutes is None else round(minutes * MINUTE)
        self.steps.append(self._row(at) | {"step": number, "duration_us": duration, "format": "f"} | fields)

    def _row(self, at: float | None) -> dict[str, Any]:
        self.line += 1
        stamp = None if at is None else minute(at)
        return {
            "key": self.source["key"], "line": self.line, "launch": self.launch, "ts": stamp,
            "clock": "none" if at is None else "exact",
        }  # fmt: skip


def record(key: str = "s", **fields: Any) -> dict[str, Any]:
    """Return a scheduler record; instants `submit`, `start`, `end` are minutes."""
    times = {f"{name}_us": minute(fields.pop(name)) for name in ("submit", "start", "end") if name in fields}
    row = {"key": key, "line": 2, "record": "job", "id": "7", "raw": "7", "state": "COMPLETED", "name": "run"}
    return row | times | fields


def fleet(*logs: Log, alloc: Iterable[Mapping[str, Any]] = (), config: Config | None = None) -> Fleet:
    """Return a fleet over logs and scheduler records."""
    records = list(alloc)
    keys = dict.fromkeys(row["key"] for row in records)
    sources = [{"n_lines": log.line + log.torn} | log.source for log in logs] + [
        {"key": key, "path": f"logs/{key}.sacct", "state": "whole"} for key in keys
    ]
    return Fleet.from_tables(
        source=table(sources),
        event=table(row for log in logs for row in log.events),
        step=table(row for log in logs for row in log.steps),
        alloc=table(records),
        line=table(
            {"key": log.source["key"], "path": log.source["path"], "outcome": outcome, "lines": lines}
            for log in logs
            for outcome, lines in (("matched", log.line), ("torn", int(log.torn)))
            if lines and "n_lines" not in log.source
        ),
        config=config,
    )
