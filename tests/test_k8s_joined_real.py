"""Sets that hold a trainer's log beside the scheduler's record: one job, its whole wall time told apart."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ettlog import fleet
from ettlog.fleet import Fleet
from tests.conftest import ROOT

pytestmark = pytest.mark.shared

Row = dict[str, Any]


def components(k8s_fleet: Fleet, job: str) -> dict[str, float]:
    """Return the seconds of a job by component."""
    query = f"SELECT component, sum(end_us - begin_us) / 1e6 FROM segment WHERE job = '{job}' GROUP BY 1"
    return dict(k8s_fleet.sql(query).iter_rows())


def test_pytorchjob_with_its_log_is_a_whole_chain(k8s_fleet: Fleet, k8s_facts: dict[str, Row]) -> None:
    """732 s of waiting, 90 of start-up, 315 of training, 11 of evaluation and 2 of shutdown are 1,150 s."""
    job = k8s_fleet.sql("SELECT job FROM allocation WHERE id = 'pytorch-simple'").item()
    expected = k8s_facts["pytorchjob_status/status_2024-06.yaml"]["extra"]["joined_components_seconds"]
    assert components(k8s_fleet, job) == {
        "scheduling": expected["wait"], "trainer_init": expected["init"], "effective_training": expected["training"],
        "wasted_training": expected["evaluation"], "shutdown": expected["shutdown"],
    }  # fmt: skip
    assert k8s_fleet.sql(f"SELECT wall_us FROM job WHERE job = '{job}'").item() == 1150 * 1_000_000


def test_pods_with_their_log_are_a_whole_job(k8s_fleet: Fleet, k8s_facts: dict[str, Row]) -> None:
    """32 GPUs, 111,941.45 s from the first pod to the last line, 2,436 steps, times of the first and last one."""
    joined = k8s_facts["zhejiang_llama2_7b/pod-node-starttime.log"]["extra"]["joined_with_trainer_log"]
    job = k8s_fleet.sql("SELECT gpus, wall_us, first_us, starts FROM job WHERE job = 'zhejiang_llama2_7b'").row(0)
    assert (job[0], job[1], job[3]) == (joined["gpus"], joined["first_pod_start_to_last_stamp_seconds"] * 1e6, 1)
    columns = "epoch_us(first_step_at), epoch_us(last_step_at), steps, epoch_us(train_start_at)"
    start = k8s_fleet.sql(f"SELECT {columns} FROM start WHERE job = 'zhejiang_llama2_7b'").row(0)
    assert (start[0] - job[2]) / 1e6 == joined["first_pod_start_to_first_step_logged_seconds"]
    assert (start[1] - job[2]) / 1e6 == joined["first_pod_start_to_last_step_logged_seconds"]
    assert start[2] == 2436
    assert (start[3] - job[2]) / 1e6 == pytest.approx(197.34, abs=0.03)


STALLS = """
WITH line AS (
  SELECT t.ts, t.ts - lag(t.ts) OVER (ORDER BY t.step) AS gap
  FROM step AS t JOIN source AS s ON s.key = t.key WHERE s.path LIKE '%llama2_7b/master.log'
), usual AS (SELECT median(gap) AS us FROM line),
stall AS (SELECT count(*) AS stalls, sum(gap - us) AS us FROM line, usual WHERE gap > us + 20000000)
SELECT stalls, round(u.us / 1e6, 3) AS step, round(l.us / 1e6, 1) AS stalled,
  round(100 * (epoch_us(t.last_step_at) - epoch_us(t.train_start_at) - l.us) / j.wall_us, 3) AS share
FROM stall AS l, usual AS u, job AS j JOIN start AS t ON t.job = j.job WHERE j.job = 'zhejiang_llama2_7b'
"""


def test_four_stalls_and_the_share_of_the_loop(k8s_lake: Path) -> None:
    """The commands of a user give 99.687 % and four stalls of 134.2 s; each of them is a save that ettlog names."""
    command = [sys.executable, "-m", "ettlog", "sql", STALLS, "--lake", str(k8s_lake), "--format", "json"]
    shown = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120, check=True)
    found = json.loads(shown.stdout)
    row = (found["rows"] if isinstance(found, dict) else found)[0]
    assert list(row.values() if isinstance(row, dict) else row) == [4, 45.786, 134.2, 99.687]
    named = (
        fleet.open(k8s_lake)
        .sql("SELECT count(*), sum(end_us - begin_us) / 1e6 FROM segment WHERE part = 'save_stall'")
        .row(0)
    )
    assert named[0] == 4
    assert 100 < named[1] < 134.2
