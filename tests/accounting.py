"""Accounting written for tests: records under one header, and their rows after reading."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ettlog.parse import sacct
from ettlog.parse.parsed import Parsed, ScanOptions

HEAD = "JobID|JobIDRaw|JobName|State|Submit|Eligible|Start|End|Elapsed|AllocTRES|ReqTRES|NNodes|NodeList|ExitCode"
RAN = "2024-03-01T10:00:00|2024-03-01T10:00:05|2024-03-01T10:10:00|2024-03-01T12:10:00|02:00:00"
GPUS = "billing=9,cpu=64,gres/gpu=8,gres/gpu:h100=8,mem=1T,node=2"


def row(job: str = "4001", name: str = "pre", state: str = "COMPLETED", times: str = RAN, tres: str = GPUS) -> str:
    """Write one record under HEAD."""
    return f"{job}|{job}|{name}|{state}|{times}|{tres}|cpu=64,gres/gpu=16,node=2|2|n[1-2]|0:0"


def read(tmp_path: Path, text: str | bytes, **options: Any) -> Parsed:
    """Read a text as a file and check that every line has one outcome."""
    path = tmp_path / "sacct.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    parsed = sacct.read(path, ScanOptions(**options))
    assert sum(parsed.lines.values()) == parsed.n_lines
    return parsed


def rows(parsed: Parsed) -> list[dict[str, Any]]:
    """Return the rows as dictionaries."""
    found: list[dict[str, Any]] = parsed.allocs.to_pylist()
    return found


def us(text: str) -> int:
    """Return microseconds of an ISO stamp in UTC."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000_000
