"""Workers come from a process that loads what they need, and nothing of the program that ingests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

SCRIPT = """\
import ettlog
from ettlog.ingest import IngestOptions
print("begun")
report = ettlog.ingest(["logs"], "lake", options=IngestOptions(workers=2, confine="always"))
print(report.sources, __file__)
"""


def test_a_plain_script_may_read_with_several_workers(tmp_path: Path) -> None:
    """A script that does not ask whether it is the program runs once, keeps its name, and says nothing else."""
    (tmp_path / "logs").mkdir()
    for name in ("a.log", "b.log"):
        (tmp_path / "logs" / name).write_text(f"2031-03-09 08:00:00 a line of {name}\n")
    (tmp_path / "script.py").write_text(SCRIPT)
    told = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert (told.stdout, told.stderr) == (f"begun\n2 {tmp_path / 'script.py'}\n", "")


def test_without_room_for_workers_the_error_has_four_parts(tmp_path: Path) -> None:
    """Where the system gives no more open files, the ingest says so and how to go on, and is no defect."""
    (tmp_path / "logs").mkdir()
    for name in ("a.log", "b.log"):
        (tmp_path / "logs" / name).write_text(f"2031-03-09 08:00:00 a line of {name}\n")
    narrow = ["/bin/sh", "-c", 'ulimit -n 16; exec "$@"', "sh"]
    told = subprocess.run(
        [*narrow, sys.executable, "-m", "ettlog", "ingest", "logs", "--lake=lake", "--workers=2"],
        cwd=tmp_path, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert told.returncode == 1
    assert "no process can be started to read the logs" in told.stderr
    assert "--workers 1" in told.stderr
