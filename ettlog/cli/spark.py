"""Trends in one line of text: ETT by week or month as bars of eight heights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ettlog.cli.options import UNKNOWN
from ettlog.tables import Shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import date

    import polars as pl

    from ettlog.ett import Selection
    from ettlog.fleet import Fleet
    from ettlog.tables import View

BARS = "▁▂▃▄▅▆▇█"
NOTHING = "·"
"""Stands where a period has no value."""
PERIODS = ("week", "month")
MOST, MOST_BESIDE, FEWEST = 27, 13, 3
"""Periods that a trend has at most, in a column beside others, or longer ones are taken; and at least."""
WHOLE = ""
"""Stands for all groups."""
THIN = 0.05
"""Share of the usual GPU-hours below which a period says nothing: it is the end of one job."""


def bars(values: Sequence[float | None], low: float, high: float) -> str:
    """Return one bar per value, the lowest at `low` and the highest at `high`."""
    top = len(BARS) - 1
    scale = (lambda value: round(top * (value - low) / (high - low))) if high > low else (lambda _: top // 2)
    return "".join(NOTHING if value is None else BARS[min(max(scale(value), 0), top)] for value in values)


def trend(fleet: Fleet, selection: Selection, conventions: Mapping[str, Any], by: str = "") -> Trend | None:
    """Return ETT over time of the whole and of each group of `by`; None where there are too few periods."""
    import ettlog

    for period in PERIODS:
        whole = ettlog.ett(fleet, by=period, **selection, **conventions)
        if whole.height <= (MOST_BESIDE if by else MOST) or period == PERIODS[-1]:
            groups = ettlog.ett(fleet, by=[by, period], **selection, **conventions) if by else whole.clear()
            found = Trend(period, whole, groups, by)
            return found if FEWEST <= len(found.days) <= MOST else None
    return None


class Trend:
    """ETT by period, of the whole and by group, on one scale."""

    def __init__(self, period: str, whole: pl.DataFrame, groups: pl.DataFrame, by: str) -> None:
        """Keep the values of frames of `ettlog.ett`: the period, wall_gpu_hours, ett, and `by` in `groups`."""
        self.period = period
        self._values: dict[tuple[str | None, date], float]
        self._values = {(WHOLE, day): ett for day, ett in _thick(whole, period)}
        for (name,), rows in groups.group_by(by) if by else ():
            self._values |= {(name, day): ett for day, ett in _thick(rows, period)}
        self.days = sorted({day for _, day in self._values})
        self._known = sorted(self._values.values())

    def line(self, group: str | None = WHOLE) -> str:
        """Return the bars of the whole, or of one group."""
        return bars([self._values.get((group, day)) for day in self.days], self._known[0], self._known[-1])

    def scale(self) -> str:
        """Return what the bars mean."""
        low, high = (f"{100 * value:.1f} %" for value in (self._known[0], self._known[-1]))
        span = f"{self.days[0]:%Y-%m-%d} to {self.days[-1]:%Y-%m-%d}"
        return f"ETT by {self.period}, {span}: {BARS[0]} is {low}, {BARS[-1]} {high}"


def _thick(frame: pl.DataFrame, period: str) -> Iterator[tuple[date, float]]:
    import polars as pl

    least = THIN * pl.col("wall_gpu_hours").median()
    rows = frame.filter(pl.col(period).is_not_null(), pl.col("ett").is_not_null(), pl.col("wall_gpu_hours") >= least)
    yield from rows.select(period, "ett").sort(period).iter_rows()


def beside(view: View, found: Trend | None, by: str) -> View:
    """Return a table of groups, its last row the whole, with a column of trends and a note on what the bars mean."""
    import polars as pl

    if found is None or view.readable is None:
        return view
    groups = view.readable[by].to_list()[:-1]
    lines = [*(found.line(None if name == UNKNOWN else name) for name in groups), found.line()]
    at = next(at for at, item in enumerate(view.shown) if item.column == "ett") + 1
    return view._replace(
        readable=view.readable.with_columns(pl.Series("trend", lines)),
        shown=[*view.shown[:at], Shown("trend", f"by {found.period}"), *view.shown[at:]],
        notes=[*view.notes, found.scale()],
    )


def below(view: View, found: Trend | None) -> View:
    """Return the table of the whole with its trend as a line of its own, under ETT."""
    import polars as pl

    if found is None or view.readable is None:
        return view
    name, rows = f"ETT by {found.period}", view.readable
    at = rows["name"].to_list().index("ETT") + 1
    added = pl.DataFrame({"name": [name], "detail": [f"{found.line()}  {found.scale().partition(', ')[2]}"]})
    return view._replace(readable=pl.concat([rows[:at], added, rows[at:]], how="diagonal"))
