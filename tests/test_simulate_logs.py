"""Simulated fleets as logs: what ettlog finds in them beside what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import ettlog
from ettlog import simulate
from ettlog.simulate import faults, template
from ettlog.simulate.dialect import dialect, names
from ettlog.simulate.write import files

if TYPE_CHECKING:
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
