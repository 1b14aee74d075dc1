"""Where the level of a series changed: change points of its past, and CUSUM over its newest days; each with its p."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ettlog.attribute import changes

if TYPE_CHECKING:
    from ettlog.alerts.series import Series
    from ettlog.attribute.changes import Array

POINTS = 20
"""Fewest points of a series that is watched, and fewest of a CUSUM's baseline."""
WATCHED = 14
"""Newest points in which CUSUM looks for a rise too young for a change point."""
FLOOR = 0.05
"""Share of the mean that is added before logarithms are taken, so that a day of zero is finite."""
CHANGE_POINT, CUSUM = "change point", "cusum"


PLACE = 11.0
"""The 97.5 % point of where a two-sided Brownian motion with drift -|s|/2 is largest (Bai 1997)."""


class Shift(NamedTuple):
    """A change of level at point `at`, lasting up to point `end`; `begin` is where the level before it began.

    `near` is by how many points its place may be wrong, at 95 %.
    """

    begin: int
    at: int
    end: int
    near: int
    p: float
    found_by: str


def logs(series: Series) -> Array:
    """Return the daily amounts per event on a logarithmic scale: costs are skewed, and their changes are ratios."""
    rate = series.amount / series.events
    floor = FLOOR * float(series.amount.sum() / series.events.sum())
    return np.log(rate + floor) if floor else np.zeros(len(rate))


def shifts(values: Array) -> list[Shift]:
    """Return every change of level of a series in its order; none of a series that is too short.

    Points are drawn in to three robust standard deviations, and the variance is the long-run one: days resemble the day
    before. p of a change point is that of the largest deviation of a Brownian bridge over the two levels it parts. Of
    the newest points CUSUM has the word where it is surer.
    """
    if len(values) < POINTS:
        return []
    x = changes.winsorised(values)
    sd = changes.noise(x)
    if sd == 0:
        return []
    edges = [0, *changes.partition(x), len(x)]
    found = [
        Shift(begin, at, end, _place(x[begin:at], x[at:end], sd), bridge_p(x[begin:end], sd), CHANGE_POINT)
        for begin, at, end in zip(edges, edges[1:], edges[2:], strict=False)
    ]
    old = [edge for edge in edges[:-1] if edge + POINTS + WATCHED <= len(x)]
    young = _young(x, old[-1], sd) if old else None
    newest = [shift for shift in found if shift.at >= len(x) - WATCHED]
    if young is None or any(shift.p <= young.p for shift in newest):
        return found
    return [*found[: len(found) - len(newest)], young]


def _place(before: Array, after: Array, sd: float) -> int:
    """Return by how many points the place of a change may be wrong: 11 (sd / size)^2 + 1 at 95 % (Bai 1997)."""
    size = float(after.mean() - before.mean())
    return min(int(PLACE * (sd / size) ** 2) + 1, len(before), len(after)) if size else min(len(before), len(after))


def bridge_p(values: Array, sd: float) -> float:
    """Return the p of one level: that of max |S_t - t/n S_n| / (sd sqrt(n)), by Kolmogorov's distribution.

    `sd` is the long-run standard deviation. The place of the change is searched for, and this p allows for it.
    """
    from scipy.special import kolmogorov

    sums = np.cumsum(values - values.mean())
    return float(kolmogorov(float(np.abs(sums).max()) / (sd * math.sqrt(len(values)))))


def _young(x: Array, begin: int, sd: float) -> Shift | None:
    """Return a rise within the newest points, against those from `begin` up to them, or None."""
    from_ = len(x) - WATCHED
    base = x[begin:from_]
    # a baseline of n points knows its own level to sd / sqrt(n): allowed for, or short ones would cry
    scores = (x[from_:] - base.mean()) / (sd * math.sqrt(1 + WATCHED / len(base)))
    at, peak = climb(scores)
    if peak <= changes.ALARM:
        return None
    return Shift(begin, from_ + at, len(x), changes.SHORTEST, cusum_p(peak, WATCHED), CUSUM)


def climb(scores: Array) -> tuple[int, float]:
    """Return where a one-sided CUSUM began the climb to its last value, and that value: S = max(0, S + z - SLACK)."""
    total, began = 0.0, 0
    for index, score in enumerate(scores):
        if total == 0.0:
            began = index
        total = max(0.0, total + float(score) - changes.SLACK)
    return began, total


def run_length(threshold: float) -> float:
    """Return the mean number of points to a false alarm of a one-sided CUSUM of standard normal points.

    Siegmund's approximation (1985), (e^b - 1 - b) / (2 k^2) with b = 2 k (h + 1.166) and k the slack.
    """
    b = 2 * changes.SLACK * (threshold + 1.166)
    return (math.exp(b) - 1 - b) / (2 * changes.SLACK**2)


def cusum_p(peak: float, points: int) -> float:
    """Return the chance that some of `points` points would raise a CUSUM to `peak` though nothing changed."""
    return -math.expm1(-points / run_length(min(peak, 500.0)))
