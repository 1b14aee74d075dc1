"""Lines made of a pattern's own pieces, 64 KiB long, on which a careless regex runs away."""

from __future__ import annotations

import functools
import math
import time
from typing import NamedTuple

from ettlog.parse import format as formats
from ettlog.parse import format_proof, format_time

SIZES = (1 << 14, 1 << 16, 1 << 18)
NOISE_S = 100e-6
"""Below it a search is a call and some noise: nothing grows there."""
GROWTH = 1.35
"""Exponent of time over length that is still linear; a quadratic search has 2."""


class Worst(NamedTuple):
    """The slowest of a pattern's hostile lines."""

    pattern: str
    lines: int
    """Hostile lines that were tried."""
    seconds: float
    """Time for 64 KiB of it."""
    exponent: float
    """Fitted over 16, 64 and 256 KiB; 0 where it takes next to nothing."""
    unit: bytes
    pace: float
    """How slow the machine was: 1, or more where it was slower than the one that the bound is meant for."""


def seconds(pattern: formats.Pattern, line: bytes, rounds: int) -> float:
    """Return the least processor time that all searches of a line take."""
    best = math.inf
    for _ in range(rounds):
        begun = time.thread_time()
        for _ in pattern.regex.finditer(line):
            pass
        best = min(best, time.thread_time() - begun)
    return best


def worst(pattern: formats.Pattern) -> Worst:
    """Search all hostile lines of a pattern, and fit how the time grows on the slowest one."""
    units = list(format_time.units(pattern, format_proof.tree_of(pattern, formats.FOLDER)))
    took = [seconds(pattern, format_time.killer(unit, format_time.KILLER), 1) for unit in units]
    slowest = units[max(range(len(units)), key=took.__getitem__)]
    exponent, least, pace = 0.0, max(took), 1.0
    for rounds in (2, 6, 12, 24):  # other processes make a machine slower, never faster: what is good once is good
        if least > format_time.MAX_SECONDS * pace:
            pace = max(1.0, format_time.pace())
            least = min(least, seconds(pattern, format_time.killer(slowest, format_time.KILLER), rounds))
        if max(took) > NOISE_S and (rounds == 2 or exponent > GROWTH):
            found = _exponent(pattern, slowest, rounds)
            exponent = found if rounds == 2 else min(exponent, found)
    return Worst(f"{pattern.format}.{pattern.name}", len(units), least, exponent, slowest[0] + slowest[1], pace)


def _exponent(pattern: formats.Pattern, unit: tuple[bytes, bytes], rounds: int) -> float:
    points = [(size, seconds(pattern, format_time.killer(unit, size), rounds)) for size in SIZES]
    return fit([(float(size), max(took, 1e-7)) for size, took in points])


def fit(points: list[tuple[float, float]]) -> float:
    """Return the slope of a straight line through points on logarithmic axes, by least squares."""
    xs, ys = [math.log(x) for x, _ in points], [math.log(y) for _, y in points]
    middle, height = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - middle) * (y - height) for x, y in zip(xs, ys, strict=True)) / sum((x - middle) ** 2 for x in xs)


@functools.cache
def all_worst() -> tuple[Worst, ...]:
    """Return the worst line of every pattern that comes with ettlog, the slowest first."""
    return tuple(sorted(map(worst, formats.load_all().patterns), key=lambda one: -one.seconds))
