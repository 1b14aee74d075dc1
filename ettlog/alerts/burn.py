"""Budgets of overhead: how fast a component uses up what `[slo]` in ettlog.toml allows it, over several windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

MINUTE = 60_000_000
GRID = 5 * MINUTE
PERIOD = 30 * 1440 * MINUTE
"""What a budget is for: thirty days."""


class Rule(NamedTuple):
    """Fires while both windows burn faster than `times`; the short one lets it stop soon after the trouble stopped."""

    name: str
    long: int
    short: int
    times: float
    urgency: str


RULES: tuple[Rule, ...] = (
    Rule("1 h", 60 * MINUTE, 5 * MINUTE, 14.4, "page"),
    Rule("6 h", 360 * MINUTE, 30 * MINUTE, 6.0, "page"),
    Rule("3 d", 4320 * MINUTE, 360 * MINUTE, 1.0, "ticket"),
)
"""2, 5 and 10 % of the budget of thirty days; the most urgent first."""


class Burn(NamedTuple):
    """A rule that fires at the end: `times` is how fast the budget burns, `since_us` when the firing began."""

    rule: Rule
    since_us: int
    overhead: float
    times: float
    over_us: int
    """GPU-microseconds of the long window above its budget."""


def held(segments: pl.DataFrame, edges: Ints) -> Ints:
    """Return the GPU-microseconds held from the beginning up to each edge, exactly.

    `segments` has begin_us, end_us, gpus. The rate changes only where a segment begins or ends, so that the sum between
    two changes is linear, in integers.
    """
    begin, end, gpus = (segments[name].to_numpy().astype(np.int64) for name in ("begin_us", "end_us", "gpus"))
    at = np.concatenate([begin, end])
    order = np.argsort(at, kind="stable")
    at, rate = at[order], np.cumsum(np.concatenate([gpus, -gpus])[order])
    if not len(at):
        return np.zeros(len(edges), dtype=np.int64)
    sums = np.concatenate([[0], np.cumsum(rate[:-1] * np.diff(at))])
    place = np.searchsorted(at, edges, side="right") - 1
    known = np.maximum(place, 0)
    return np.asarray(np.where(place < 0, 0, sums[known] + rate[known] * (edges - at[known])), dtype=np.int64)


def grid(until_us: int, oldest_us: int) -> Ints:
    """Return edges every five minutes back from the end, over at most thirty days, the oldest first."""
    steps = min(PERIOD, max(until_us - oldest_us, GRID)) // GRID
    return until_us - GRID * np.arange(steps, -1, -1, dtype=np.int64)


def burning(overhead: Ints, effective: Ints, edges: Ints, budget: float) -> Burn | None:
    """Return the most urgent rule that fires at the last edge, or None.

    `overhead` and `effective` are sums up to each edge (`held`). A window burns overhead / (budget x effective), with
    at least as much effective time as such a window has in the mean of the period: where the fleet stands still, a few
    minutes of overhead are no hundredfold burn.
    """
    for rule in RULES:
        if rule.long > edges[-1] - edges[0]:
            continue
        long = _times(overhead, effective, edges, rule.long, budget)
        firing = (long > rule.times) & (_times(overhead, effective, edges, rule.short, budget) > rule.times)
        if firing[-1]:
            quiet = np.flatnonzero(~firing)
            since = int(edges[quiet[-1] + 1]) if len(quiet) else int(edges[0])
            spent, trained = (_inside(sums, rule.long)[-1] for sums in (overhead, effective))
            over = int(spent - budget * trained)
            return Burn(rule, since - rule.short, float(spent / trained) if trained else np.inf, float(long[-1]), over)
    return None


def _inside(sums: Ints, width: int) -> Ints:
    """Return the sum inside the window that ends at each edge; windows before the first edge are cut there."""
    steps = width // GRID
    before = np.concatenate([np.full(min(steps, len(sums)), sums[0]), sums[:-steps]])
    return np.asarray(sums - before, dtype=np.int64)


def _times(overhead: Ints, effective: Ints, edges: Ints, width: int, budget: float) -> NDArray[np.float64]:
    mean = (effective[-1] - effective[0]) / (edges[-1] - edges[0]) * width
    trained = np.maximum(_inside(effective, width), mean)
    return np.asarray(_inside(overhead, width) / np.where(trained > 0, budget * trained, np.inf))
