"""A fleet over time: components stacked by week or month, and each day's ETT on a calendar."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from ettlog.lifecycle import COMPONENTS
from ettlog.plot.style import COLOURS, EFFECTIVE, GROUND, INK, MUTED, axes, dates, labelled, legend, nothing

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
TRIFLE = 0.01
"""A period with less than this share of the median period's wall says nothing of how the fleet trained."""
MAP = "cividis"
"""A colour scale that people of every kind of colour vision read alike, and that prints in order of lightness."""


def components(
    frame: pl.DataFrame,
    key: str = "week",
    ax: Axes | None = None,
    *,
    per_effective: bool = False,
    explained: bool = False,
) -> Axes:
    """Draw the components of the wall over time, stacked; return the axes.

    `frame` is that of `ettlog.ett(fleet, by=key)`, with `key` a date. Shares are of the wall (percent); with
    `per_effective`, overhead in GPU-hours per effective GPU-hour. A single period is drawn as a bar;
    `explained` names the colours above.
    """
    import polars as pl

    ax = ax if ax is not None else axes()
    frame = frame.filter(pl.col(key).is_not_null(), pl.col(f"{EFFECTIVE}_gpu_hours" if per_effective else "share") > 0)
    frame, left_out = _usual(frame)
    if frame.is_empty():
        return nothing(ax)
    names = [name for name in (EFFECTIVE, *COMPONENTS) if name != EFFECTIVE or not per_effective]
    names = list(dict.fromkeys(names))
    over = pl.col(f"{EFFECTIVE}_gpu_hours") if per_effective else pl.col("wall_gpu_hours") / 100
    heights = frame.select([(pl.col(f"{name}_gpu_hours") / over).alias(name) for name in names])
    days = frame[key].to_list()
    stacks, colours = [heights[name].to_list() for name in names], [COLOURS[name] for name in names]
    if len(days) == 1:
        _stacked_bar(ax, stacks, colours, f"{days[0]:%Y-%m-%d}")
    else:
        ax.stackplot(days, *stacks, colors=colours, edgecolor=GROUND, linewidth=0.4)
        ax.set_xlim(days[0], days[-1])
        dates(ax)
    top = heights.select(pl.sum_horizontal(names)).to_series().max()
    ax.set_ylim(0, float(top or 1) * 1.08 if per_effective else 100)  # type: ignore[arg-type]
    if explained:
        legend(ax, [name for name in names if heights[name].max()])
    said = f"left out: {left_out} with under {TRIFLE:.0%} of the usual wall" if left_out else ""
    return labelled(ax, said, "overhead per effective hour" if per_effective else "% of wall")


def calendar(frame: pl.DataFrame, ax: Axes | None = None, *, value: str = "ett") -> Axes:
    """Draw a calendar: a column per week, a row per weekday, each day coloured by ETT; return the axes.

    `frame` is that of `ettlog.ett(fleet, by="day")`: `day` (date) and the ratio `value`. Days that
    held next to nothing are left blank, so that a gap is a gap.
    """
    import numpy as np
    import polars as pl

    known, _ = _usual(frame.filter(pl.col("day").is_not_null(), pl.col(value).is_not_null()).sort("day"))
    if known.is_empty():
        return nothing(ax if ax is not None else axes())
    first: date = known["day"][0]
    monday = first - timedelta(days=first.weekday())
    weeks = (known["day"][-1] - monday).days // 7 + 1
    ax = ax if ax is not None else axes(width=min(14.0, 1.9 + 0.26 * max(weeks, 12)), height=2.5)
    grid = np.full((7, weeks), np.nan)
    for day, ratio in known.select("day", value).iter_rows():
        grid[day.weekday(), (day - monday).days // 7] = 100 * ratio
    mesh = ax.pcolormesh(grid, cmap=MAP, edgecolors=GROUND, linewidth=1.5)
    ax.set_yticks([row + 0.5 for row in range(7)], labels=list(DAYS))
    ax.set_ylim(7, 0)
    ax.set_aspect("equal")
    ax.grid(visible=False)
    _months(ax, monday, weeks)
    _scale(ax, mesh)
    return labelled(ax)


def _usual(frame: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Return the periods that held at least `TRIFLE` of the median period, and how many others there are."""
    import polars as pl

    if "wall_gpu_hours" not in frame.columns or frame.is_empty():
        return frame, 0
    kept = frame.filter(pl.col("wall_gpu_hours") >= TRIFLE * pl.col("wall_gpu_hours").median())
    return kept, frame.height - kept.height


def _months(ax: Axes, monday: date, weeks: int) -> None:
    """Name each month above the first week that begins in it."""
    ticks: list[tuple[float, str]] = []
    for week in range(weeks):
        day = monday + timedelta(weeks=week)
        if week == 0 or day.month != (day - timedelta(weeks=1)).month:
            ticks.append((week + 0.5, f"{day:%b %Y}" if week == 0 or day.month == 1 else f"{day:%b}"))
    if len(ticks) > 1 and ticks[1][0] - ticks[0][0] < 3:
        ticks = ticks[1:]
    ax.set_xticks([at for at, _ in ticks], labels=[said for _, said in ticks], ha="left")
    ax.xaxis.tick_top()


def _scale(ax: Axes, mesh: Any) -> None:
    figure: Any = ax.figure
    bar = figure.colorbar(mesh, ax=ax, shrink=0.9, aspect=12, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=INK, labelsize=8, length=0)
    bar.set_label("ETT, %", color=MUTED, fontsize=8.5)


def _stacked_bar(ax: Axes, stacks: list[list[float]], colours: list[str], label: str) -> None:
    bottom = 0.0
    for (height,), colour in zip(stacks, colours, strict=True):
        ax.bar([0], [height], bottom=bottom, width=0.5, color=colour, edgecolor=GROUND, linewidth=0.4)
        bottom += height
    ax.set_xticks([0], labels=[label], parse_math=False)
    ax.set_xlim(-1, 1)
