"""The log of SkyPilot's controller: launches, losses, recoveries, ends; stamps without a year."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.scheduling import jobs, read, us

LAUNCH = "recovery_strategy.py:321] Managed job cluster launched."
STARTED = "state.py:365] Job started."
LOST = "controller.py:545] Cluster is preempted or failed (status: INIT). Recovering..."
AGAIN = "state.py:410] === Recovering... ==="
BACK = "state.py:425] ==== Recovered. ===="


def log(*lines: str, before: str = "") -> str:
    """Write lines of a controller, one each minute."""
    return "".join(f"{before}I 04-05 06:{at:02d}:00 {line}\n" for at, line in enumerate(lines))


def rows(tmp_path: Path, text: str) -> list[dict[str, Any]]:
    """Return the attempts that a text tells of."""
    return jobs(read(tmp_path / "7.log", "skypilot", text, zone="UTC", year_hint=2031))


def at(minute: int) -> int:
    """Return the instant of a minute."""
    return us(f"2031-04-05T06:{minute:02d}:00")


def test_a_cluster_that_is_lost_and_comes_back(tmp_path: Path) -> None:
    """Each cluster is an attempt; the wait of the second begins at the recovery; GPUs are those of all nodes chosen."""
    first, second = rows(
        tmp_path,
        log(
            "controller.py:931] Starting job loop for 7",
            "optimizer.py:900] Considered resources (2 nodes):",
            "optimizer.py:900]  GCP (us-east1)  a3-highgpu-8g  208  1872  H100:8  88.2  \u2714",
            LAUNCH,
            STARTED,
            "utils.py:94] === Checking the job status... ===",
            LOST,
            AGAIN,
            LAUNCH,
            BACK,
            "controller.py:245] Task 0 succeeded! Getting end time and cleaning up",
            "controller.py:245] Managed job 7 (task: 0) SUCCEEDED. Cleaning up the cluster pre-7.",
        ),
    )
    keys = ("submit_us", "start_us", "ready_us", "end_us", "state", "restarts", "gpus", "raw")
    assert [first[key] for key in keys] == [at(0), at(3), at(4), at(6), "RECOVERING", 0, 16, "7"]
    assert [second[key] for key in keys] == [at(7), at(8), at(9), at(10), "SUCCEEDED", 1, 16, "7"]


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ("controller.py:150] Cluster is preempted (status: STOPPED). Recovering...", "PREEMPTED"),
        ("controller.py:100] The cluster is preempted.", "PREEMPTED"),
        ("controller.py:400] User program crashed (FAILED). (Retry the job as asked. [1/3])", "FAILED"),
        ("controller.py:380] The user job failed (JobStatus.FAILED). Please check the logs below.", "FAILED"),
        ("state.py:500] Job cancelled.", "CANCELLED"),
        ("state.py:480] Job succeeded.", "SUCCEEDED"),
    ],
)  # fmt: skip
def test_ends(tmp_path: Path, line: str, state: str) -> None:
    """Older releases tell that a spot cluster was preempted; a crash ends an attempt, if the job comes back or not."""
    (row,) = rows(tmp_path, log(LAUNCH.replace("Managed job", "Spot"), STARTED, line, before="(pre, pid=45563) "))
    assert (row["state"], row["end_us"], row["gpus"], row["raw"], row["name"]) == (state, at(2), None, "pre", "pre")


def test_what_runs_and_what_waits_at_the_end(tmp_path: Path) -> None:
    """A cluster that is there is open; a job that recovers waits."""
    (row,) = rows(tmp_path, log(LAUNCH, STARTED))
    assert (row["state"], row["start_us"], row["end_us"]) == ("RUNNING", at(0), None)
    lost, waits = rows(tmp_path, log(LAUNCH, STARTED, LOST, AGAIN))
    assert (lost["state"], waits["state"], waits["submit_us"], waits["start_us"]) == (
        "RECOVERING",
        "PENDING",
        at(3),
        None,
    )


def test_a_job_that_never_had_a_cluster(tmp_path: Path) -> None:
    """Failed launches are marks; what is cancelled before any cluster held nothing."""
    parsed = read(
        tmp_path / "7.log",
        "skypilot",
        log(
            "controller.py:931] Starting job loop for 7",
            "recovery_strategy.py:497] Failed to launch a cluster with error: no capacity)",
            "state.py:500] Job cancelled.",
        ),
    )
    (row,) = jobs(parsed)
    assert (row["state"], row["start_us"], row["end_us"] - row["submit_us"]) == ("CANCELLED", None, 120_000_000)
    assert [row["state"] for row in parsed.allocs.to_pylist() if row["record"] == "mark"] == [
        "launch_failed",
        "CANCELLED",
    ]
    assert "no stamp of this source shows a year: they are read as of 2000" in parsed.inferences


def test_other_lines_are_counted(tmp_path: Path) -> None:
    """What the job itself printed, and stamps that are none, are losses."""
    text = log(LAUNCH) + "step 10 loss 2.5\nI 02-31 06:00:00 state.py:365] Job started.\n"
    assert read(tmp_path / "7.log", "skypilot", text).lines == {"bad_time": 1, "matched": 1, "unmatched": 1}
