"""Random sequences of actions on a folder of logs and its lake (tests/lake_machine.py), a thousand a process.

`python -m tests.torture.sequences COUNT SEED` runs some of them in this process.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from tests.conftest import ROOT
from tests.torture import results
from tests.torture.registry import Outcome

if TYPE_CHECKING:
    from tests.torture.registry import Scope

FULL, SAMPLE, SLICE = 10_000, 40, 1_000
STEPS = 16
"""Actions of one sequence at most, beside the two ingests at its end."""
MACHINE = ("tests/lake_machine.py", "tests/ingesting.py", "tests/reading_once.py")


def run(scope: Scope) -> Outcome:
    """Run all sequences, each thousand with a seed of its own."""
    found = Outcome()
    count = scope.number(FULL, SAMPLE)
    parts = results.parts(scope.kept, f"{STEPS} {count}", "ettlog", *MACHINE)
    for number, begin in enumerate(range(0, count, SLICE)):
        many, seed = min(SLICE, count - begin), 1000 * scope.seed + number
        if parts and (parts / f"{seed}").exists():
            found.counts["executions"] += many
            continue
        command = [sys.executable, "-m", "tests.torture.sequences", str(many), str(seed)]
        done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
        found.counts["executions"] += many if done.returncode == 0 else 0
        found.expect(done.returncode == 0, f"seed {seed}: {done.stderr[-1500:]}")
        if parts and done.returncode == 0:
            (parts / f"{seed}").touch()
    found.notes.append(
        f"{count:,} sequences of up to {STEPS} actions; every ingest that ended gave the lake of a fresh one"
    )
    return found


def some(count: int, seed: int) -> None:
    """Run sequences in this process; raise what the first one that fails raises, after it was made short."""
    import hypothesis
    from hypothesis.stateful import run_state_machine_as_test

    from tests.lake_machine import LakeMachine

    settings = hypothesis.settings(
        max_examples=count,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    run_state_machine_as_test(hypothesis.seed(seed)(LakeMachine), settings=settings)


if __name__ == "__main__":
    some(int(sys.argv[1]), int(sys.argv[2]))
