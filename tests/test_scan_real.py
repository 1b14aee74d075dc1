"""The scanner on real logs, against the facts that were read from them by hand and by script."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ettlog.parse.format import load_all
from ettlog.parse.scan import Parsed, ScanOptions, scan

pytestmark = pytest.mark.shared

FORMATS = load_all()
FAMILIES = ("bs_meg", "neox_", "megds_", "dse_")
NO_LAUNCH_LINE = ("neox_export_hf_1", "neox_export_hf_2", "dse_gpt2_medium")
"""Sets whose files hold no line of a launcher or worker that the formats know."""


@cache
def _facts(shared: Path) -> dict[str, dict[str, Any]]:
    rows = json.loads((shared / "data/trainer/facts.json").read_text())
    return {row["set"]: row for row in rows if row["set"].startswith(FAMILIES) and row.get("step_lines") is not None}


def _scanned(shared: Path, fact: dict[str, Any], folder: Path) -> Parsed:
    path = folder / "joined.log"
    with path.open("wb") as joined:
        for name in fact["files"]:
            joined.write((shared / "data/trainer" / name).read_bytes())
    return scan(path, FORMATS, ScanOptions())


def _each(shared: Path, folder: Path) -> Iterator[tuple[str, dict[str, Any], Parsed]]:
    for name, fact in _facts(shared).items():
        yield name, fact, _scanned(shared, fact, folder)


def _instant(us: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)


def test_lines_and_primary_steps_of_the_megatron_families(shared: Path, tmp_path: Path) -> None:
    """Lines, primary step lines, first and last step of every start are those of the facts."""
    for name, fact, parsed in _each(shared, tmp_path):
        steps = parsed.steps.to_pylist()
        assert parsed.n_lines == sum(parsed.lines.values()) == fact["lines"], name
        if name == "dse_gpt2_medium":
            continue  # bare DeepSpeed with its own first launch: the facts leave out the step of set-up
        assert len(steps) == fact["step_lines"], name
        if name in NO_LAUNCH_LINE:
            continue
        for number, start in enumerate(fact["starts"], 1):
            mine = [row["step"] for row in steps if row["launch"] == number]
            assert (mine[0] if mine else None, mine[-1] if mine else None) == (
                start["first_step"],
                start["last_step"],
            ), name


def test_launches_of_the_megatron_families(shared: Path, tmp_path: Path) -> None:
    """Every start of the facts is one launch, eighteen in one file among them."""
    for name, fact, parsed in _each(shared, tmp_path):
        if name not in NO_LAUNCH_LINE:
            launches = {*parsed.events["launch"].to_pylist(), *parsed.steps["launch"].to_pylist()} - {0}
            assert len(launches) == len(fact["starts"]), name


def test_undated_steps_take_the_stamp_of_their_twin(shared: Path, tmp_path: Path) -> None:
    """First and last step of a start are dated by the line or its dated twin, to the millisecond."""
    for name, fact, parsed in _each(shared, tmp_path):
        if name in NO_LAUNCH_LINE:
            continue
        steps = parsed.steps.to_pylist()
        told = (
            datetime.fromisoformat(f"2022-01-01T00:00:00{fact['utc_offset']}").tzinfo if fact.get("utc_offset") else UTC
        )
        zone = told if parsed.clock == "zone_inferred" else UTC
        for number, start in enumerate(fact["starts"], 1):
            mine = [row for row in steps if row["launch"] == number]
            for row, key in zip((mine[0], mine[-1]) if mine else (), ("first", "last"), strict=False):
                stamp = start[f"{key}_step_logged_at"]
                if stamp is not None:
                    assert _instant(row["ts"]) == datetime.fromisoformat(stamp).replace(tzinfo=zone), (
                        name,
                        number,
                        key,
                    )


def test_every_shared_file_is_read_and_counted(shared: Path) -> None:
    """No file of any dialect, known or not, makes the scanner fail or lose a line."""
    for path in sorted((shared / "data").rglob("*")):
        if path.is_file():
            parsed = scan(path, FORMATS, ScanOptions())
            data = path.read_bytes()
            lines = data.count(b"\n") + (data != b"" and not data.endswith(b"\n"))
            assert parsed.n_lines == sum(parsed.lines.values()) == lines, path
            assert parsed.n_bytes == len(data)
