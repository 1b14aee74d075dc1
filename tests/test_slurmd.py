"""The log of Slurm's daemon on a node: steps, why they ended, and no job of a trainer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ettlog
from tests.scheduling import read, us


def log(*lines: str) -> str:
    """Write lines of a daemon, one each minute."""
    return "".join(f"[2031-04-05T06:{at:02d}:00.250] {line}\n" for at, line in enumerate(lines))


LINES = (
    "slurmd version 23.11.4 started",
    "Launching batch job 81 for UID 4001",
    "launch task StepId=81.0 request from UID:4001 GID:4001 HOST:192.0.2.1 PORT:4",
    "[81.0] error: *** STEP 81.0 ON m7 CANCELLED AT 2031-04-05T06:03:00 ***",
    "[81.0] done with step",
    "[81.batch] sending REQUEST_COMPLETE_BATCH_SCRIPT, error:0 status:35072",
    "[81.batch] done with job",
    "launch task 82.1 request from UID:4001  GID:4001 HOST:192.0.2.1 PORT:4",
    "error: [job 83] prolog failed status=1:0",
)


def rows(tmp_path: Path, *lines: str, **options: Any) -> list[dict[str, Any]]:
    """Return all rows that lines give."""
    found: list[dict[str, Any]] = read(tmp_path / "slurmd.log", "slurmd", log(*lines), **options).allocs.to_pylist()
    return found


def test_steps_and_why_they_ended(tmp_path: Path) -> None:
    """A step runs from its launch to the line that is done with it; what a batch script exited with is told apart."""
    found = rows(tmp_path, *LINES)
    steps = {row["id"]: row for row in found if row["record"] == "step"}
    assert {name: (row["start_us"], row["end_us"], row["state"]) for name, row in steps.items()} == {
        "81.batch": (us("2031-04-05T06:01:00.250"), us("2031-04-05T06:06:00.250"), None),
        "81.0": (us("2031-04-05T06:02:00.250"), us("2031-04-05T06:04:00.250"), "CANCELLED"),
        "82.1": (us("2031-04-05T06:07:00.250"), None, "RUNNING"),
    }
    assert (steps["81.batch"]["exit_code"], steps["81.batch"]["raw"]) == (137, "81")
    marks = [(row["raw"], row["state"]) for row in found if row["record"] == "mark"]
    assert marks == [("81", "cancelled"), ("83", "prolog_failed")]


def test_a_daemon_is_no_trainer(tmp_path: Path) -> None:
    """Its lines about cancelled steps are those of other jobs: the log itself is none, and holds no hardware."""
    (tmp_path / "slurmd.log").write_text(log(*LINES))
    ettlog.ingest([tmp_path / "slurmd.log"], tmp_path / "lake")
    lake = ettlog.open(tmp_path / "lake")
    assert lake.sql("SELECT count(*) FROM job").item() == lake.sql("SELECT count(*) FROM start").item() == 0


def test_other_lines_are_counted(tmp_path: Path) -> None:
    """What is not known is counted by its shape."""
    parsed = read(tmp_path / "slurmd.log", "slurmd", log(LINES[1], "CPU frequency setting not configured") + "x\n\n")
    assert parsed.lines == {"matched": 1, "unmatched": 2, "ignored": 1}
