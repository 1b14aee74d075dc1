"""The axes of the determinism matrix, and the runs that meet every pair of their values."""

from __future__ import annotations

import itertools
import random

AXES: dict[str, tuple[str, ...]] = {
    "workers": ("1", "2", "8"),
    "duckdb threads": ("1", "2", "8"),
    "polars threads": ("1", "2"),
    "file order": ("sorted", "reversed", "shuffled 1", "shuffled 2", "shuffled 3"),
    "block": ("2097152", "4096", "65536", "8388608"),
    "hash seed": ("0", "1", "random"),
    "zone": ("UTC", "Etc/GMT+12", "Etc/GMT-14", "Asia/Kolkata", "Australia/Lord_Howe"),
    "locale": ("C.UTF-8", "C", "tr_TR.UTF-8", "de_DE.UTF-8", "ar_EG.UTF-8"),
    "umask": ("022", "000", "077"),
    "folder": ("here", "elsewhere"),
    "home": ("set", "unset"),
    "user and host": ("own", "other"),
    "lake": ("lake", "a lake", "it's", "date=2024-01-01"),
    "clock": ("now", "1999", "2100"),
    "course": ("straight", "killed"),
    "cache": ("warm", "cold"),
}
"""What must not show in any byte; the first value of each axis is that of the run all others are compared with."""

Run = dict[str, str]
LEAST = 24


def baseline() -> Run:
    """Return the run that all others are compared with."""
    return {axis: values[0] for axis, values in AXES.items()}


def furthest() -> Run:
    """Return the run in which every axis has its last value."""
    return {axis: values[-1] for axis, values in AXES.items()}


def drawn(seed: int) -> Run:
    """Return one run drawn by chance."""
    return _drawn(random.Random(seed), [])


def runs(seed: int = 1) -> list[Run]:
    """Return runs in which every value of each axis meets every value of each other one at least once, and 24 at least.

    Greedy: of 30 drawn runs the one that meets most pairs not yet met, beginning with one of those pairs.
    """
    rng = random.Random(seed)
    found = [furthest()]
    left = set(_pairs()) - _met(found[0])
    while left or len(found) < LEAST:
        offered = [_drawn(rng, sorted(left)) for _ in range(30)]
        best = max(offered, key=lambda run: len(left & _met(run)))
        found.append(best)
        left -= _met(best)
    return found


Pair = tuple[tuple[str, str], tuple[str, str]]


def _pairs() -> list[Pair]:
    return [
        ((one, first), (other, second))
        for one, other in itertools.combinations(AXES, 2)
        for first in AXES[one]
        for second in AXES[other]
    ]


def _met(run: Run) -> set[Pair]:
    return set(itertools.combinations(run.items(), 2))


def _drawn(rng: random.Random, left: list[Pair]) -> Run:
    run = {axis: rng.choice(values) for axis, values in AXES.items()}
    if left:
        run.update(dict(rng.choice(left)))
    return {axis: run[axis] for axis in AXES}
