"""Whatever happens to logs and lake, in any order: after the next ingest the lake is that of a fresh one."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

from tests.lake_machine import LakeMachine

SEQUENCES = int(os.environ.get("LAKE_SEQUENCES", "1000"))
"""How many sequences of actions are tried; `make machine` tries 10,000 longer ones."""

TestLake = LakeMachine.TestCase
TestLake.settings = settings(
    max_examples=SEQUENCES,
    stateful_step_count=16 if SEQUENCES <= 1_000 else 40,
    deadline=None,
    phases=(Phase.generate, Phase.shrink),
    derandomize=SEQUENCES <= 1_000,
    suppress_health_check=list(HealthCheck),
)
