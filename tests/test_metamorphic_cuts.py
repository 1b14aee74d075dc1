"""Where a log is cut into files does not matter: at every line, and where a start ends, the segments are the same."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import ettlog
from ettlog.ingest import IngestOptions
from tests.conftest import ROOT

COLUMNS = ("start", "component", "part", "stage", "begin_us", "end_us", "gpus", "allocated", "inferred")
CONFIG = """\
[paths]
templates = ["**/logs/{job}/{allocation}/*"]
[clock]
zone = "UTC"
year = 2031
"""
HEAD = "JobID|JobIDRaw|JobName|Cluster|State|Submit|Start|End|NNodes|AllocTRES|ExitCode"


AGENT = "torch/distributed/launcher/api.py:195]"
SERVER = "torch/distributed/elastic/agent/server/api.py"
CHILD = (
    "torch/distributed/elastic/multiprocessing/api.py:984] failed (exitcode: -9) local_rank: 5 (pid: 4321) of binary:"
)
WORKER = "Process rank: 0, device: cuda:0, n_gpu: 1, distributed training: True, 16-bits training: False"


def torchrun(at: str, later: str, how: str) -> list[str]:
    """Return the lines of one start of a torchrun job that comes up at one time, in full or not, and fails later."""
    begun = [
        f"I0506 {at}:00.000000 42 {AGENT} Starting elastic_operator with launch configs:",
        f"I0506 {at}:00.000000 42 {SERVER}:677] [default] Rendezvous'ing worker group",
    ]
    up = [
        f"I0506 {at}:20.000000 42 {SERVER}:535] [default] Rendezvous complete for workers. Result:",
        f"I0506 {at}:20.000000 42 {SERVER}:685] [default] Starting worker group",
        f"05/06/2031 {at}:21 - WARNING - __main__ - {WORKER}",
    ]
    dead = [
        f"E0506 {later}:30.000000 42 {CHILD} /usr/bin/python3",
        "train.py FAILED",
        f"  time      : 2031-05-06_{later}:30",
        "  exitcode  : -9 (pid: 4321)",
    ]
    return [*begun, *(up if how != "early" else []), *dead]


LOOP = [*torchrun("09:00", "09:00", "early"), *torchrun("09:02", "09:05", "up"), *torchrun("09:07", "09:07", "early"),
        *torchrun("09:09", "09:12", "up")]  # fmt: skip
"""A crash loop: the first and third start fail before the workers meet, the others behind it."""
ROBIN = (ROOT / "fixtures" / "tiny" / "logs" / "robin-1b.log").read_text().splitlines()
RESTART = next(at for at, line in enumerate(ROBIN) if at and "runner.py:571:main" in line)


def lay(folder: Path, job: str, allocation: int, parts: dict[str, list[str]]) -> str:
    """Write the files of one job; return its accounting row."""
    where = folder / "logs" / job / str(allocation)
    where.mkdir(parents=True)
    for name, lines in parts.items():
        # equal bytes would be one file, told twice
        (where / name).write_text("".join(f"{line}\n" for line in [f"printed by {job} to {name}", *lines]))
    return (
        f"{allocation}|{allocation}|{job}|maple|COMPLETED|2031-05-06T08:50:00|2031-05-06T08:55:00|2031-05-06T09:30:00"
        "|1|gres/gpu=4,node=1|0:0"
    )


def read(folder: Path, rows: list[str]) -> dict[str, pl.DataFrame]:
    """Ingest a folder with its accounting; return each job's segments without their evidence."""
    (folder / "ettlog.toml").write_text(CONFIG)
    (folder / "sacct.txt").write_text("\n".join([HEAD, *rows]) + "\n")
    ettlog.ingest([folder], folder / "lake", options=IngestOptions(workers=1))
    found = ettlog.open(folder / "lake").table("segment")
    return {job: found.filter(pl.col("job") == job).select(COLUMNS) for job in sorted(found["job"].unique())}


@pytest.mark.parametrize(("lines", "starts"), [(LOOP, 4), (ROBIN, 2)], ids=["torchrun", "deepspeed"])
def test_a_log_may_be_rotated_at_any_line(lines: list[str], starts: int, tmp_path: Path) -> None:
    """Two files, cut before any line, are the one log: a job for each cut, all with the same segments."""
    rows = [lay(tmp_path, "whole", 900, {"run.log": lines})]
    rows += [lay(tmp_path, f"cut-{at}", 1000 + at, {"run.log.1": lines[:at], "run.log": lines[at:]})
             for at in range(1, len(lines))]  # fmt: skip
    jobs = read(tmp_path, rows)
    assert jobs["whole"]["start"].n_unique() == starts
    assert [job for job, found in jobs.items() if not found.equals(jobs["whole"])] == []


def test_a_log_may_be_rotated_twice_inside_one_start(tmp_path: Path) -> None:
    """Three files whose cuts both lie between the lines that open the second start are the one log."""
    first = len(torchrun("09:00", "09:00", "early"))
    rows = [lay(tmp_path, "whole", 900, {"run.log": LOOP})]
    for a in range(first, first + 5):
        for b in range(a + 1, first + 8):
            parts = {"run.log.2": LOOP[:a], "run.log.1": LOOP[a:b], "run.log": LOOP[b:]}
            rows.append(lay(tmp_path, f"cut-{a}-{b}", 100 * a + b, parts))
    jobs = read(tmp_path, rows)
    assert [job for job, found in jobs.items() if not found.equals(jobs["whole"])] == []


def test_logs_of_one_job_may_be_concatenated(tmp_path: Path) -> None:
    """A file for each start, and all of them in one file, tell of the same segments, under a scheduler."""
    at = len(torchrun("09:00", "09:00", "early"))
    rows = [
        lay(tmp_path, "one", 900, {"run.log": ROBIN}),
        lay(tmp_path, "two", 901, {"run-a.log": ROBIN[:RESTART], "run-b.log": ROBIN[RESTART:]}),
        lay(tmp_path, "loop", 902, {"run.log": LOOP}),
        lay(tmp_path, "loops", 903, {"run-a.log": LOOP[:at], "run-b.log": LOOP[at:]}),
    ]
    jobs = read(tmp_path, rows)
    assert jobs["one"]["start"].n_unique() == 2
    assert_frame_equal(jobs["two"], jobs["one"])
    assert_frame_equal(jobs["loops"], jobs["loop"])
