"""How often and how long: a funnel of failure rates, and what recoveries are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ettlog import sink
from ettlog.lifecycle import PART_BY_NAME, RECOVERY_PHASES
from ettlog.plot.style import COLOURS, GAIN, GRID, GROUND, INK, LOSS, MUTED, NOBODY, axes, labelled, named_rows, nothing

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from matplotlib.axes import Axes

LIMITS = ((0.95, "95 %"), (0.998, "99.8 %"))
"""Where a group whose true rate is that of all would lie, of twenty and of five hundred such groups all but one."""
NAMED = 8
"""Groups outside the outer limits that are named."""
PER = 1000
PALER = (0.0, 0.45, 0.7)
"""How much of the ground is mixed into the colour of a component for its first, second and third phase."""


def funnel(rates: pl.DataFrame, key: str = "model", ax: Axes | None = None) -> Axes:
    """Draw the failure rate of each group over its exposure, within limits about the rate of all; return the axes.

    `rates` is the frame of `ettlog.reliability(fleet, by=key)` for one kind of event: `key`, `count`, `gpu_days`. The
    limits are quantiles of Poisson counts at the rate of all (a funnel plot after Spiegelhalter, Statistics in Medicine
    24, 2005): small groups scatter more, so that a high rate of a small one means little.
    """
    import polars as pl

    ax = ax if ax is not None else axes(height=3.6)
    frame = rates.filter(pl.col("gpu_days") > 0).sort("gpu_days")
    if frame.is_empty():
        return nothing(ax)
    mean = float(frame["count"].sum()) / float(frame["gpu_days"].sum())
    days = frame["gpu_days"].to_list()
    _limits(ax, mean, min(days), max(days))
    outside = frame.with_columns(_strays(frame, mean))
    for row in outside.iter_rows(named=True):
        colour = LOSS if row["stray"] > 0 else GAIN if row["stray"] < 0 else NOBODY
        ax.plot([row["gpu_days"]], [PER * row["count"] / row["gpu_days"]], marker="o", markersize=5, color=colour)
    strays = outside.filter(pl.col("stray") != 0).sort(pl.col("stray").abs(), descending=True).head(NAMED)
    for name, count, held in strays.select(key, "count", "gpu_days").iter_rows():
        said = sink.display(str(name or "(unknown)"))
        ax.annotate(
            said, (held, PER * count / held), xytext=(6, 4), textcoords="offset points", fontsize=8.5, color=INK,
            parse_math=False,
        )  # fmt: skip
    ax.set_xscale("log")
    ax.set_ylim(bottom=0)
    return labelled(ax, "GPU-days held", f"per {PER:,} GPU-days")


def _limits(ax: Axes, mean: float, least: float, most: float) -> None:
    import numpy as np
    from scipy.stats import poisson

    at = np.geomspace(least / 1.3, most * 1.3, 200)
    for (cover, said), style in zip(LIMITS, ((0, (4, 3)), "solid"), strict=True):
        tail = (1 - cover) / 2
        for share in (tail, 1 - tail):
            edge = PER * poisson.ppf(share, mean * at) / at
            ax.plot(at, edge, color=MUTED, linewidth=0.9, linestyle=style, label=said if share > 0.5 else None)
    ax.axhline(PER * mean, color=INK, linewidth=0.9, label="all")
    ax.legend(fontsize=8.5, frameon=False, labelcolor=INK, loc="upper right", title_fontsize=8.5)


def _strays(frame: pl.DataFrame, mean: float) -> Any:
    """Return how far a count lies outside the outer limits, in standard deviations; 0 inside."""
    import polars as pl
    from scipy.stats import poisson

    tail = (1 - LIMITS[-1][0]) / 2
    found = []
    for count, held in frame.select("count", "gpu_days").iter_rows():
        expected = mean * held
        inside = poisson.ppf(tail, expected) <= count <= poisson.ppf(1 - tail, expected)
        found.append(0.0 if inside or not expected else (count - expected) / expected**0.5)
    return pl.Series("stray", found, dtype=pl.Float64)


def recovery(frame: pl.DataFrame, phases: Sequence[str], ax: Axes | None = None) -> Axes:
    """Draw what a recovery takes, a bar per kind and cause, phase after phase, in minutes; return the axes.

    `frame` is that of `recovery.by_cause`: `kind`, `cause`, `recoveries`, and a column of mean microseconds for each of
    `phases`, in their order.
    """
    ax = ax if ax is not None else axes(height=1.3 + 0.3 * max(frame.height, 2))
    if frame.is_empty():
        return nothing(ax)
    left = [0.0] * frame.height
    colours = _colours()
    for phase in phases:
        widths = [(value or 0.0) / 60e6 for value in frame[phase]]
        if any(widths):
            rows = range(frame.height)
            ax.barh(rows, widths, left=left, height=0.66, color=colours[phase], label=phase, edgecolor=GROUND)
        left = [edge + width for edge, width in zip(left, widths, strict=True)]
    told = frame.select("kind", "cause", "recoveries").iter_rows()
    named_rows(ax, [f"{kind}: {cause} ({count:,})" for kind, cause, count in told])
    ax.legend(
        loc="lower left", bbox_to_anchor=(0, 1.0), ncols=10, frameon=False, fontsize=8.5, labelcolor=INK,
        handlelength=1.0, columnspacing=1.2, borderaxespad=0.2,
    )  # fmt: skip
    ax.grid(visible=True, axis="x", color=GRID)
    return labelled(ax, "minutes from the fault to the first new step, mean (number of recoveries)")


def _colours() -> dict[str, str]:
    """Return phase -> the colour of its component, paler for the second and third phase of one component."""
    from matplotlib.colors import to_hex, to_rgb

    found: dict[str, str] = {}
    seen: dict[str, int] = {}
    for row in RECOVERY_PHASES:
        if row.parts:
            component = PART_BY_NAME[row.parts[0]].component
            pale = PALER[min(seen.get(component, 0), len(PALER) - 1)]
            seen[component] = seen.get(component, 0) + 1
            own, ground = to_rgb(COLOURS[component]), to_rgb(GROUND)
            red, green, blue = ((1 - pale) * own[i] + pale * ground[i] for i in range(3))
            found[row.phase] = to_hex((red, green, blue))
    return found
