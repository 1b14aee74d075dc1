"""What a log in each simulated dialect can tell: the finest instant it prints, the parts it marks, and its lines."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ettlog.simulate.words import P

FOLDER = Path(__file__).parent / "dialects"


class Dialect(NamedTuple):
    """One file of `dialects/`."""

    name: str
    resolution_us: int
    """Instants are drawn as multiples of this, so that the log can tell them exactly."""
    path: tuple[P, ...]
    """Parts of a start in their order, from the first line to the first step's own line."""
    loop: frozenset[P]
    """Parts inside the loop and after it that happen in this dialect."""
    tells: frozenset[P]
    """Parts that its lines tell by name; the rest of start-up is `other` to whoever reads the log."""
    offset: int
    """What is added to a step's number when it is printed."""
    steps: str
    """Which log of a start has the steps: first, last, every; with `every`, all lines are in all logs."""
    agents: frozenset[str]
    """Moments that the launcher of every node prints: they are in all logs."""
    lines: dict[str, tuple[str, ...]]
    """Moment -> its lines: FORMAT.PATTERN[:SAMPLE][@stop], or = and text."""
    failures: dict[str, tuple[str, ...]]
    """Cause of a failure -> lines about it."""


@cache
def dialect(name: str) -> Dialect:
    """Read a dialect by its name."""
    data = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    lines = {moment: tuple(keys) for moment, keys in data["lines"].items()}
    loop = {P.save_stall, P.final_save}
    loop |= {part for part in (P.evaluation, P.publish) if f"{part}_end" in lines}
    loop |= {P.recompile} if P.recompile in lines else set()
    return Dialect(
        name, data["resolution_us"], tuple(P(part) for part in data["path"]), frozenset(loop),
        frozenset(P(part) for part in data["tells"]), data.get("offset", 0), data["steps"],
        frozenset(data["agents"]), lines,
        {cause: tuple(keys) for cause, keys in data["failures"].items()},
    )  # fmt: skip


def names() -> list[str]:
    """Return the names of all dialects."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))
