"""Pictures of frames: each function draws one frame on matplotlib axes, in one style, and returns the axes."""

from __future__ import annotations

import re
import warnings
from io import StringIO
from typing import TYPE_CHECKING, Any, NamedTuple

from ettlog import sink
from ettlog.lifecycle import COMPONENTS, PARTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from matplotlib.axes import Axes

# Okabe and Ito's colours, told apart by people of every kind of colour vision, on light and on dark ground.
COLOURS = dict(
    zip(COMPONENTS, ("#e69f00", "#0072b2", "#cc79a7", "#009e73", "#d55e00", "#56b4e9", "#8a8f98"), strict=True)
)
"""Component -> its colour, the same in every picture, table and page."""
GAIN, LOSS, NOBODY, TOTAL = "#0072b2", "#d55e00", "#8a8f98", "#009e73"
"""Colours of what was saved, what was added, what nobody may claim, and of levels."""

SHORT = dict(zip(COMPONENTS, ("sched", "init", "compile", "train", "wasted", "shutdown", "unknown"), strict=True))
"""Component -> its name where room is short."""

INK, MUTED, GRID, GROUND = "#1f2329", "#656d77", "#d5d9df", "#fefefd"
THEMED = {INK: "currentColor", MUTED: "var(--muted)", GRID: "var(--line)", GROUND: "var(--card)"}
"""Colours of text and lines -> what `svg` writes for them, so that a page sets them for light and dark."""

EFFECTIVE = next(part.component for part in PARTS if part.role == "effective")
MICROS_PER_HOUR = 3_600_000_000
FINEST = 1500
"""Segments shorter than the wall divided by this are not drawn where a job has more of them than can be seen."""
MANY = 300
"""How many checkpoints of a job are drawn; of more, every n-th."""


class Level(NamedTuple):
    """One bar of a waterfall: a label, where it begins and ends (points of ETT), and its colour."""

    label: str
    begin: float
    end: float
    colour: str


def axes(width: float = 9.0, height: float = 3.0) -> Axes:
    """Return axes of their own figure, in inches, in the style of all pictures."""
    from matplotlib.figure import Figure

    return _styled(Figure(figsize=(width, height), layout="constrained", facecolor="none").add_subplot())


def gantt(timeline: pl.DataFrame, checkpoints: pl.DataFrame | None = None, ax: Axes | None = None) -> Axes:
    """Draw one job: a row per start, its time by component, committed checkpoints as ticks below; return the axes.

    `timeline` is the frame of `ettlog.timeline` (start, kind, component, begin_at, end_at, allocated); `checkpoints`
    is that of the relation `checkpoint` for the job. A row holds the time since the failure it recovered from; time
    without hardware is drawn thin. The x axis counts hours from the job's first moment.
    """
    import polars as pl

    frame = timeline.filter(pl.col("end_at") > pl.col("begin_at")).with_columns(pl.col("start").fill_null(-1))
    rows = frame.group_by("start").agg(pl.col("kind").first()).sort("start")
    ax = ax if ax is not None else axes(height=0.9 + 0.26 * max(rows.height, 2))
    if frame.is_empty():
        return _nothing(ax)
    zero: Any = frame["begin_at"].min()
    place = {start: number for number, start in enumerate(rows["start"])}
    for (component, held), part in _merged(frame).group_by("component", "allocated", maintain_order=True):
        _bars(ax, part, place, zero, COLOURS[str(component)], 0.72 if held else 0.3)
    if checkpoints is not None and not checkpoints.is_empty():
        _ticks(ax, checkpoints, place, zero)
    labels = [f"{start} {kind or ''}".strip() if start >= 0 else "no start" for start, kind in rows.iter_rows()]
    _named_rows(ax, labels)
    ax.set_xlim(0, _hours(frame["end_at"].max(), zero) or 1)
    return _labelled(ax, f"hours since {zero:%Y-%m-%d %H:%M} UTC")


def components(frame: pl.DataFrame, key: str = "week", ax: Axes | None = None, *, per_effective: bool = False) -> Axes:
    """Draw the components of the wall over time, stacked; return the axes.

    `frame` is that of `ettlog.ett(fleet, by=key)`, with `key` a date. Shares are of the wall (percent); with
    `per_effective`, overhead in GPU-hours per effective GPU-hour. A single period is drawn as a bar.
    """
    import polars as pl

    ax = ax if ax is not None else axes()
    frame = frame.filter(pl.col(key).is_not_null(), pl.col(f"{EFFECTIVE}_gpu_hours" if per_effective else "share") > 0)
    if frame.is_empty():
        return _nothing(ax)
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
        _dates(ax)
    top = heights.select(pl.sum_horizontal(names)).to_series().max()
    ax.set_ylim(0, float(top or 1) * 1.08 if per_effective else 100)  # type: ignore[arg-type]
    return _labelled(ax, "", "overhead per effective hour" if per_effective else "% of wall")


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
    _named_rows(ax, [level.label for level in levels])
    ax.set_xlim(low - pad, high + pad * 1.2)
    return _labelled(ax, "ETT, % of wall (the scale does not begin at zero)")


def credit(credit: pl.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the credit of each optimization and tier: the saving, its interval, and the bound as a diamond.

    `credit` holds rows of an attribution: optimization, tier, saved_gpu_hours, low, high, bound_gpu_hours. Return the
    axes.
    """
    ax = ax if ax is not None else axes(height=0.8 + 0.28 * max(credit.height, 2))
    if credit.is_empty():
        return _nothing(ax)
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
    _named_rows(ax, labels)
    ax.axvline(0, color=MUTED, linewidth=0.8)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    return _labelled(ax, "GPU-hours saved; line: interval; diamond: bound")


def svg(ax: Axes, name: str, said: str) -> str:
    """Return a picture as one SVG element for a page: the same bytes for the same picture, text as text.

    `name` makes its identifiers unique in the page, `said` tells it to those who do not see it. Colours of text and
    lines are left to the page's style. A figure is written once: drawing it again changes its layout.
    """
    from html import escape

    import matplotlib as mpl

    rules: Any = {"svg.fonttype": "none", "svg.hashsalt": name, "font.family": "sans-serif", "text.parse_math": False}
    out = StringIO()
    with mpl.rc_context(rules), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a script that the font lacks: the page's own font has it
        blank = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure: Any = ax.figure
        figure.savefig(out, format="svg", metadata=blank, transparent=True)
    text = out.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg ") :], flags=re.DOTALL)
    text = re.sub(r'(\bid="|xlink:href="#|url\(#)', rf"\g<1>{name}-", text)
    text = re.sub(r'style="[^"]*"', lambda found: _themed(found.group()), text)
    label = f'<svg class="plot" role="img" aria-label="{escape(sink.display(said))}" '
    return text.replace("<svg ", label, 1).strip()


def _themed(style: str) -> str:
    for colour, meaning in THEMED.items():
        style = style.replace(colour, meaning)
    return style.replace("'DejaVu Sans', ", "")


def _styled(ax: Axes) -> Axes:
    ax.set_facecolor("none")
    ax.set_axisbelow(True)
    ax.grid(visible=True, axis="both", color=GRID, linewidth=0.6)
    for side, spine in ax.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(MUTED)
    ax.tick_params(colors=INK, labelsize=9, length=0)
    return ax


def _labelled(ax: Axes, x: str = "", y: str = "") -> Axes:
    ax.set_xlabel(x, color=MUTED, fontsize=9, parse_math=False)
    ax.set_ylabel(y, color=MUTED, fontsize=9, parse_math=False)
    return ax


def _nothing(ax: Axes) -> Axes:
    ax.text(0.5, 0.5, "nothing to draw", ha="center", va="center", color=MUTED, transform=ax.transAxes)
    ax.set_xticks([])
    ax.set_yticks([])
    return ax


def _named_rows(ax: Axes, labels: Sequence[str]) -> None:
    """Name the rows, the first on top; a label is text, never a formula."""
    shown = [label if len(label) <= 44 else label[:43] + "…" for label in map(sink.display, labels)]
    ax.set_yticks(range(len(shown)), labels=shown, parse_math=False)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")


def _dates(ax: Axes) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=3, maxticks=8)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def _stacked_bar(ax: Axes, stacks: list[list[float]], colours: list[str], label: str) -> None:
    bottom = 0.0
    for (height,), colour in zip(stacks, colours, strict=True):
        ax.bar([0], [height], bottom=bottom, width=0.5, color=colour, edgecolor=GROUND, linewidth=0.4)
        bottom += height
    ax.set_xticks([0], labels=[label], parse_math=False)
    ax.set_xlim(-1, 1)


def _hours(at: Any, zero: Any) -> float:
    return float((at - zero).total_seconds()) / 3600


def _merged(frame: pl.DataFrame) -> pl.DataFrame:
    """Return segments with neighbours of one start, component and holding as one, without those too short to see."""
    import polars as pl

    frame = frame.sort("begin_at").with_columns(pl.col("allocated").fill_null(value=True))
    run = pl.struct("start", "component", "allocated").rle_id()
    keys = ("start", "component", "allocated")
    merged = frame.group_by(run.alias("run"), *keys, maintain_order=True).agg(
        pl.col("begin_at").min(), pl.col("end_at").max()
    )
    if merged.height <= FINEST:
        return merged
    wall = pl.col("end_at").max() - pl.col("begin_at").min()
    return merged.filter((pl.col("end_at") - pl.col("begin_at")) * FINEST >= wall)


def _bars(ax: Axes, part: pl.DataFrame, place: dict[Any, int], zero: Any, colour: str, height: float) -> None:
    rows = part.select("start", "begin_at", "end_at").iter_rows()
    spans = [(place[start], _hours(begin, zero), _hours(end, zero)) for start, begin, end in rows]
    left = [begin for _, begin, _ in spans]
    widths = [end - begin for _, begin, end in spans]
    at = [row for row, _, _ in spans]
    ax.barh(at, widths, left=left, height=height, color=colour, edgecolor="none", linewidth=0)


def _ticks(ax: Axes, checkpoints: pl.DataFrame, place: dict[Any, int], zero: Any) -> None:
    import polars as pl

    known = checkpoints.filter(pl.col("at").is_not_null(), pl.col("k").is_in(list(place)))
    frame = known.filter(pl.col("state") == "committed").sort("at").unique(["k", "step"], maintain_order=True)
    shown = frame.gather_every(-(-frame.height // MANY) or 1).select("k", "at").rows()
    hours = [_hours(at, zero) for _, at in shown]
    rows = [place[k] + 0.44 for k, _ in shown]
    ax.plot(hours, rows, marker="|", markersize=5, markeredgewidth=1.1, markeredgecolor=INK, linewidth=0)


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
