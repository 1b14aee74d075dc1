"""The simulator's names: parts of `lifecycle.py` as members that code can spell, ends of starts, units."""

from __future__ import annotations

from enum import StrEnum, auto

SECOND = 1_000_000
SCHEDULERS = SLURM, KUBERNETES = ("slurm", "kubernetes")
HOUR = 3_600 * SECOND
DAY = 24 * HOUR


class P(StrEnum):
    """The parts of `lifecycle.PARTS` by name; a test holds that both lists are the same."""

    queue = auto()
    placement = auto()
    launch = auto()
    rendezvous = auto()
    process_group = auto()
    model_build = auto()
    data_warmup = auto()
    restore = auto()
    other = auto()
    compile = auto()
    first_step_excess = auto()
    recompile = auto()
    step = auto()
    replay = auto()
    abandoned = auto()
    save_stall = auto()
    hang = auto()
    evaluation = auto()
    final_save = auto()
    publish = auto()
    teardown = auto()
    gap = auto()


class End(StrEnum):
    """How a simulated start ends."""

    done = auto()
    """The target is reached."""
    failed = auto()
    """A rank dies; the log tells of it."""
    hung = auto()
    """The ranks wait for each other without a word until somebody cancels the allocation."""
    node = auto()
    """The scheduler loses a node; the log just stops."""
    preempted = auto()
    """The scheduler takes the hardware."""
    planned = auto()
    """The run's own limit, a new data window or a new configuration: it saves and leaves."""
