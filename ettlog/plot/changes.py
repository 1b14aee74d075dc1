"""What changed: from before to after, the credit of each optimization, and a change seen week by week."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ettlog.plot.style import (
    GAIN,
    GROUND,
    INK,
    LOSS,
    MUTED,
    NOBODY,
    TOTAL,
    axes,
    labelled,
    named_rows,
    nothing,
)  # fmt: skip

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes


MOST = 100.0
"""Percent saved or lost that an event study shows at most."""


class Level(NamedTuple):
    """One bar of a waterfall: a label, where it begins and ends (points of ETT), and its colour."""

    label: str
    begin: float
    end: float
    colour: str


def waterfall(credit: pl.DataFrame, before: float, after: float, ax: Axes | None = None) -> Axes:
    """Draw how ETT went from `before` to `after` (ratios): a bar per optimization, then what nobody may claim.

    `credit` holds the rows of the fleet (model `all`) of an attribution: optimization, tier and points of ETT, which
    add up to the change. The scale begins near the lower level, not at zero. Return the axes.
    """
    levels = _levels(credit, before, after)
    ax = ax if ax is not None else axes(height=0.8 + 0.3 * len(levels))
    edges = [edge for level in levels for edge in (level.begin, level.end) if edge]
    low, high = min(edges), max(edges)
    pad = max(high - low, 0.5) * 0.12
    for row, level in enumerate(levels):
        begin = low - pad if row in (0, len(levels) - 1) else level.begin
        ax.barh(row, level.end - begin, left=begin, height=0.66, color=level.colour, edgecolor="none")
        said = f"{level.end:.1f} %" if row in (0, len(levels) - 1) else f"{level.end - level.begin:+.2f}"
        ax.text(max(begin, level.end) + pad * 0.12, row, said, va="center", color=INK, fontsize=9, parse_math=False)
    named_rows(ax, [level.label for level in levels])
    ax.set_xlim(low - pad, high + pad * 1.2)
    return labelled(ax, "ETT, % of wall (the scale does not begin at zero)")


def credit(credit: pl.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the credit of each optimization and tier: the saving, its interval, and the bound as a diamond.

    `credit` holds rows of an attribution: optimization, tier, saved_gpu_hours, low, high, bound_gpu_hours. Return the
    axes.
    """
    ax = ax if ax is not None else axes(height=0.8 + 0.28 * max(credit.height, 2))
    if credit.is_empty():
        return nothing(ax)
    columns = ("optimization", "tier", "saved_gpu_hours", "low", "high", "bound_gpu_hours")
    labels = []
    for row, (name, tier, saved, low, high, bound) in enumerate(credit.select(columns).iter_rows()):
        labels.append(f"{name}, {tier}" if name else f"(nobody) {tier}")
        colour = (GAIN if saved >= 0 else LOSS) if name else NOBODY
        ax.barh(row, saved, height=0.6, color=colour, edgecolor="none")
        if low is not None and high is not None:
            ax.plot([low, high], [row, row], color=INK, linewidth=1.2, marker="|", markersize=7)
        if bound:
            ax.plot([bound], [row], marker="D", markersize=6, markerfacecolor=GROUND, markeredgecolor=INK, linewidth=0)
    named_rows(ax, labels)
    ax.axvline(0, color=MUTED, linewidth=0.8)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    return labelled(ax, "GPU-hours saved; line: interval; diamond: bound")


def event_study(study: pl.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the share saved by week since the rollout; return the axes.

    `study` holds the rows of one optimization and tier: `week` (0 is the week of the rollout), `cut` (share saved) and
    `model_weeks` (how many a point rests on, which sets its size); `low` and `high` where there are any. Weeks before
    the rollout should lie around zero: they say how far the comparison can be trusted. What lies
    outside -100 to 100 % is a triangle at the edge.
    """
    import polars as pl

    ax = ax if ax is not None else axes()
    frame = study.filter(pl.col("cut").is_not_null()).sort("week")
    if frame.is_empty():
        return nothing(ax)
    weeks, cut = frame["week"].to_list(), [100 * value for value in frame["cut"]]
    most = max(frame["model_weeks"].max() or 1, 1)
    sizes = [18 + 60 * (count / most) for count in frame["model_weeks"]]
    colours = [NOBODY if week < 0 else GAIN for week in weeks]
    kept = [min(max(value, -MOST), MOST) for value in cut]
    if {"low", "high"} <= set(frame.columns):
        low, high = ([100 * value if value is not None else None for value in frame[name]] for name in ("low", "high"))
        for week, under, over in zip(weeks, low, high, strict=True):
            if under is not None and over is not None:
                ax.plot([week, week], [under, over], color=INK, linewidth=1.1)
    ax.plot(weeks, kept, color=MUTED, linewidth=0.8, zorder=1)
    ax.scatter(weeks, kept, s=sizes, c=colours, zorder=3, edgecolors=GROUND, linewidths=0.7)
    for week, value in zip(weeks, cut, strict=True):
        if abs(value) > MOST:
            edge, mark = (MOST, "^") if value > 0 else (-MOST, "v")
            ax.plot([week], [edge], marker=mark, markersize=9, color=INK, zorder=4)
    if max(map(abs, cut)) > MOST:
        ax.set_ylim(-1.08 * MOST, 1.08 * MOST)
    ax.axhline(0, color=MUTED, linewidth=0.8)
    ax.axvline(-0.5, color=INK, linewidth=1.0, linestyle=(0, (4, 3)))
    above = ax.get_xaxis_transform()
    ax.text(-0.4, 0.03, "rollout", transform=above, va="bottom", fontsize=8.5, color=INK)
    return labelled(ax, "weeks since the rollout (size: models and weeks behind a point)", "% saved")


def _levels(credit: pl.DataFrame, before: float, after: float) -> list[Level]:
    """Return the bars of a waterfall, in percent: the first and the last are levels, those between are changes."""
    import polars as pl

    named = pl.when(pl.col("optimization") == "").then("(nobody) " + pl.col("tier")).otherwise("optimization")
    nobody = (pl.col("optimization") == "").first()
    sums = credit.group_by(named.alias("label"), maintain_order=True).agg(pl.col("points").sum(), nobody.alias("open"))
    sums = sums.sort("open", "points", descending=[False, True])
    levels, at = [Level("before", 0.0, 100 * before, TOTAL)], 100 * before
    for label, points, nobodys in sums.iter_rows():
        colour = NOBODY if nobodys else GAIN if points >= 0 else LOSS
        levels.append(Level(label, at, at + points, colour))
        at += points
    return [*levels, Level("after", 0.0, 100 * after, TOTAL)]
