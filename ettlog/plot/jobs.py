"""One job: a row per start, its time by component, checkpoints, and how each start ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ettlog import sink
from ettlog.lifecycle import COMPONENTS, LOST_ENDS
from ettlog.plot.style import COLOURS, INK, MUTED, axes, labelled, legend, named_rows, nothing

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

FINEST = 1500
"""Segments shorter than the wall divided by this are not drawn where a job has more of them than can be seen."""
SPECK = 400
"""A start shorter than the wall divided by this is marked with a dot."""
MANY = 300
"""How many checkpoints of a job are drawn; of more, every n-th."""
UNDATED = {1970: "the trace begins", 2000: "the log begins"}
"""Years of clocks that know no date: only differences of their instants are true."""


class Unit(NamedTuple):
    """What the axis counts in: its name, and how many seconds one has."""

    name: str
    seconds: float


UNITS = (Unit("minutes", 60.0), Unit("hours", 3600.0), Unit("days", 86400.0))


def gantt(
    timeline: pl.DataFrame,
    checkpoints: pl.DataFrame | None = None,
    ax: Axes | None = None,
    *,
    starts: pl.DataFrame | None = None,
    key: bool = False,
) -> Axes:
    """Draw one job: a row per start, its time by component, committed checkpoints as ticks below; return the axes.

    `timeline` is the frame of `ettlog.timeline` (start, kind, component, begin_at, end_at, allocated); `checkpoints`
    is that of the relation `checkpoint` for the job; `starts` (that of `timeline(..., starts=True)`) writes beside each
    row how the start ended; `key` explains the colours. A row holds the time since the failure it recovered from; time
    without hardware is drawn thin. The x axis counts minutes, hours or days from the job's first moment.
    """
    import polars as pl

    frame = timeline.filter(pl.col("end_at") > pl.col("begin_at")).with_columns(pl.col("start").fill_null(-1))
    rows = frame.group_by("start").agg(pl.col("kind").first()).sort("start")
    ax = ax if ax is not None else axes(height=(1.15 if key else 0.9) + 0.26 * max(rows.height, 2))
    if frame.is_empty():
        return nothing(ax)
    zero: Any = frame["begin_at"].min()
    unit = _unit((frame["end_at"].max() - zero).total_seconds())
    place = {start: number for number, start in enumerate(rows["start"])}
    for (component, held), part in _merged(frame).group_by("component", "allocated", maintain_order=True):
        _bars(ax, part, place, zero, unit, COLOURS[str(component)], 0.72 if held else 0.3)
    _specks(ax, frame, place, zero, unit)
    ticks = checkpoints is not None and _ticks(ax, checkpoints, place, zero, unit)
    labels = [f"{start} {kind or ''}".strip() if start >= 0 else "no start" for start, kind in rows.iter_rows()]
    named_rows(ax, labels)
    ax.set_xlim(0, _since(frame["end_at"].max(), zero, unit) or 1)
    if starts is not None:
        _ends(ax, starts, place)
    if key:
        found = set(frame["component"])
        legend(ax, [name for name in COMPONENTS if name in found], marks=[("|", "checkpoint")] if ticks else [])
    return labelled(ax, _axis(zero, unit))


def _unit(seconds: float) -> Unit:
    return UNITS[0] if seconds <= 2 * UNITS[1].seconds else UNITS[1] if seconds <= 4 * UNITS[2].seconds else UNITS[2]


def _axis(zero: Any, unit: Unit) -> str:
    since = UNDATED.get(zero.year)
    return f"{unit.name} since {since} (it shows no date)" if since else f"{unit.name} since {zero:%Y-%m-%d %H:%M} UTC"


def _since(at: Any, zero: Any, unit: Unit) -> float:
    return float((at - zero).total_seconds()) / unit.seconds


def _ends(ax: Axes, starts: pl.DataFrame, place: dict[Any, int]) -> None:
    """Write at the right how each start ended: its cause where one is named, paler where nothing was lost."""
    at = ax.get_yaxis_transform()
    for k, state, cause in starts.select("k", "end_state", "cause").iter_rows():
        if k not in place:
            continue
        said = sink.display(cause or state or "")
        colour = INK if state in LOST_ENDS else MUTED
        ax.text(1.01, place[k], said, transform=at, va="center", fontsize=8, color=colour, parse_math=False)


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


def _bars(
    ax: Axes, part: pl.DataFrame, place: dict[Any, int], zero: Any, unit: Unit, colour: str, height: float
) -> None:
    rows = part.select("start", "begin_at", "end_at").iter_rows()
    spans = [(place[start], _since(begin, zero, unit), _since(end, zero, unit)) for start, begin, end in rows]
    left = [begin for _, begin, _ in spans]
    widths = [end - begin for _, begin, end in spans]
    at = [row for row, _, _ in spans]
    ax.barh(at, widths, left=left, height=height, color=colour, edgecolor="none", linewidth=0)


def _specks(ax: Axes, frame: pl.DataFrame, place: dict[Any, int], zero: Any, unit: Unit) -> None:
    """Mark with a dot the starts that are too short to see."""
    import polars as pl

    wall = frame["end_at"].max() - frame["begin_at"].min()  # type: ignore[operator]
    begin, end = pl.col("begin_at").min(), pl.col("end_at").max()
    rows = frame.group_by("start", maintain_order=True).agg(begin, end)
    small = rows.filter((pl.col("end_at") - pl.col("begin_at")) * SPECK < wall)
    if small.is_empty():
        return
    xs = [_since(at, zero, unit) for at in small["begin_at"]]
    ax.plot(xs, [place[start] for start in small["start"]], marker="o", markersize=3.5, color=INK, linewidth=0)


def _ticks(ax: Axes, checkpoints: pl.DataFrame, place: dict[Any, int], zero: Any, unit: Unit) -> bool:
    """Draw committed checkpoints as ticks below their start; tell whether there is one."""
    import polars as pl

    known = checkpoints.filter(pl.col("at").is_not_null(), pl.col("k").is_in(list(place)))
    frame = known.filter(pl.col("state") == "committed").sort("at").unique(["k", "step"], maintain_order=True)
    shown = frame.gather_every(-(-frame.height // MANY) or 1).select("k", "at").rows()
    xs = [_since(at, zero, unit) for _, at in shown]
    rows = [place[k] + 0.44 for k, _ in shown]
    ax.plot(xs, rows, marker="|", markersize=5, markeredgewidth=1.1, markeredgecolor=INK, linewidth=0)
    return bool(xs)
