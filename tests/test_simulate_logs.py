"""Simulated fleets as logs: what ettlog finds in them beside what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

import ettlog
from ettlog import simulate
from ettlog.simulate import compare, faults, template
from ettlog.simulate.dialect import dialect, names
from ettlog.simulate.write import files
from tests import simulating

if TYPE_CHECKING:
    from pathlib import Path

    from ettlog.simulate.run import Simulated

US = 1_768_203_347_123_456
"""2026-01-12 07:35:47.123456 UTC."""


@pytest.mark.parametrize(
    ("key", "values", "line"),
    [
        (
            "torchelastic.restart",
            {"name": "1/3"},
            (
                "INFO:torch.distributed.elastic.agent.server.api:[default] Worker group FAILED. 1/3 attempts left; "
                "will restart worker group"
            ),
        ),
        (
            "deepspeed_checkpoint.commit",
            {"step": 40},
            (
                "[2026-01-12 07:35:47,123] [INFO] [torch_checkpoint_engine.py:33:commit] [Torch] Checkpoint "
                "global_step40 is ready now!"
            ),
        ),
        (
            "megatron_phases.model_built~6",
            {},
            "[after model, optimizer, and learning rate scheduler are built] datetime: 2026-01-12 07:35:47.123456 ",
        ),
        ("torchelastic_report.time", {}, "  time      : 2026-01-12_07:35:47"),
        (
            "orbax.renamed",
            {"step": 7},
            (
                "I0112 07:35:47.123456 140001112223334 atomicity.py:289] Renaming "
                "/runs/a/checkpoints/1000.orbax-checkpoint-tmp-3 to /runs/a/checkpoints/7"
            ),
        ),
    ],
)
def test_a_sample_is_filled_anew(key: str, values: dict[str, object], line: str) -> None:
    """Stamps in all their layouts and the innermost groups are replaced; all else is the sample's."""
    assert template.template(key).fill(US, values) == line


def test_every_line_of_every_dialect_can_be_made() -> None:
    """No dialect names a pattern that no format has."""
    for name in names():
        speaks = dialect(name)
        for keys in (*speaks.lines.values(), *speaks.failures.values()):
            for key in keys:
                if not key.startswith("="):
                    assert template.template(key.partition("@")[0]).fill(US, {})


def test_an_unknown_line_is_refused() -> None:
    """A dialect that names a pattern that does not exist says which."""
    with pytest.raises(ettlog.errors.UsageError) as told:
        template.template("megatron_steps.none")
    assert "megatron_steps.none" in str(told.value)


def small(seed: int = 1, **fleet: object) -> Simulated:
    """Return a fleet of five models, one a dialect."""
    usual: dict[str, object] = {
        "models": 5, "jobs": 15, "hours": [4, 8], "step_s": [30, 60],
        "dialects": ["megatron", "neox", "titan", "hf", "maxtext"],
    }  # fmt: skip
    return simulate.fleet(simulate.default().having(**{**usual, **fleet}), seed)


def test_the_same_seed_writes_the_same_bytes() -> None:
    """Files are equal for equal seeds, with all faults too, and differ for other seeds."""
    every = faults.parse("all")
    assert files(small(jobs=5, ranks=2), every) == files(small(jobs=5, ranks=2), every)
    assert files(small(jobs=5)) != files(small(2, jobs=5))


def test_a_lake_without_logs_holds_what_logs_would_tell(tmp_path: Path) -> None:
    """Facts written straight into a lake give the true segments, every one of them to the microsecond."""
    made = small(models=2, jobs=6, dialects=["titan"])
    rows = simulate.write_lake(made, tmp_path / "lake")
    assert rows["step"] == sum(one.steps for job in made.plans for one in job.starts)
    found = ettlog.open(tmp_path / "lake").table("segment")
    pieces = compare.differences(compare.told(made), found)
    sure = pieces.filter(~pl.col("found_inferred"))
    assert sure.filter(pl.col("truth_part") != pl.col("found_part")).height == 0
    assert compare.ett(found) == compare.ett(made.segments)


@pytest.mark.parametrize("seed", [0, 1])
def test_whole_logs_give_the_truth(seed: int, tmp_path: Path) -> None:
    """Where logs are whole, ETT is exact, and no component holds another's time without saying that it may be wrong."""
    made = simulate.fleet(simulating.spec(jobs=20, elastic=0.2, ranks=1 + seed), seed)
    one = simulating.outcome(made, frozenset(), tmp_path)
    assert one.error < 0.001
    assert one.unflagged == 0
    assert one.differs < 0.01 * one.held


@pytest.mark.parametrize("fault", ["gzip", "zoneless", "ranks_missing", "skewed"])
def test_a_fault_of_logs_costs_no_truth(fault: str, tmp_path: Path) -> None:
    """Packed, zone-less, skewed and incomplete logs give ETT to a tenth of a point, and nothing wrong unflagged."""
    made = simulate.fleet(simulating.spec(jobs=5, ranks=3), 3)
    one = simulating.outcome(made, faults.parse(fault), tmp_path)
    assert one.error < 0.1
    assert one.unflagged == 0


@pytest.mark.parametrize("fault", ["torn", "rotated", "duplicated", "interleaved"])
def test_a_fault_that_spoils_lines_is_seen_in_what_it_spoils(fault: str, tmp_path: Path) -> None:
    """Of torn, rotated, repeated and broken lines nothing trades time without saying that it may be wrong."""
    made = simulate.fleet(simulating.spec(jobs=10, ranks=2), 4)
    one = simulating.outcome(made, faults.parse(fault), tmp_path)
    assert one.error < 1
    assert one.unflagged == 0


def test_with_every_fault_the_share_is_right_to_a_point(tmp_path: Path) -> None:
    """All faults at once: right to a point, and nothing trades components without saying that it may be wrong."""
    made = simulate.fleet(simulating.spec(jobs=20, ranks=2), 5)
    one = simulating.outcome(made, faults.parse("all"), tmp_path)
    assert one.error < 1
    assert one.unflagged == 0


@pytest.mark.parametrize(("seed", "struck"), [(0, ""), (1, "all")])
def test_pods_tell_the_truth_too(seed: int, struck: str, tmp_path: Path) -> None:
    """Where Kubernetes is the scheduler, lists of pods and whole logs give ETT exactly, and nothing wrong unflagged.

    With every fault the logs are local and do not say where: their zone is inferred from the pods of their job.
    """
    made = simulate.fleet(simulating.spec(jobs=10, ranks=2, elastic=0.1, scheduler="kubernetes"), seed)
    assert {path.partition("-")[0] for path in files(made) if path.endswith(".json")} == {"pods"}
    one = simulating.outcome(made, faults.parse(struck), tmp_path)
    assert one.error < (1 if struck else 0.001)
    assert one.unflagged == 0
    assert one.differs < 0.01 * one.held
