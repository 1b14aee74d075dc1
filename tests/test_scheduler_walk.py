"""The walks over real scheduler files leave none out: each file with facts is compared by one of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests import conftest, test_sacct_real, test_sched_batch_real, test_traces_real

pytestmark = pytest.mark.shared

JOINED = {
    "zhejiang_llama2_7b/master.log", "zhejiang_llama2_7b/worker-1.log", "pytorchjob_status/master_log_2024-06.txt",
    "htcondor_ckpt_probe/trainer.tsv", "htcondor_ckpt_probe/probe_outcomes.tsv",
}  # fmt: skip
"""Trainer logs among the scheduler's files: compared as joined sets."""
EXPECTED = ("expected output", "capacity only: three partitions")
"""Files that are answers of other parsers, or hold nothing a job is made of and no walk reads."""


def walks(fact: dict[str, Any]) -> list[str]:
    """Return the walks that compare a file."""
    file, dialect = fact["file"], fact.get("dialect")
    found = {
        "sacct": file.startswith(test_sacct_real.SETS) and dialect == "slurm_sacct_text",
        "batch": dialect in test_sched_batch_real.DIALECTS,
        "kubernetes": file.startswith(conftest.KUBERNETES) and file not in JOINED,
        "traces": file.startswith(test_traces_real.SETS),
        "joined": file in JOINED,
    }
    return [name for name, mine in found.items() if mine]


def test_each_file_is_walked_once(shared: Path) -> None:
    """Of 121 files each is compared by one walk, save eight that no reader is for."""
    facts: list[dict[str, Any]] = json.loads((shared / "data/scheduler/facts.json").read_text(encoding="utf-8"))
    assert len(facts) == 121
    left = {fact["file"] for fact in facts if len(walks(fact)) != 1}
    answers = {fact["file"] for fact in facts if str(fact.get("skipped", "")).startswith(EXPECTED)}
    assert left == answers
    assert len(answers) == 8
