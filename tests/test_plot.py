"""Pictures show the numbers of their frames, in fixed colours, and no label is read as a formula."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from matplotlib.colors import to_hex

from ettlog import plot
from ettlog.lifecycle import COMPONENTS
from ettlog.plot.style import GAIN, INK, NOBODY

ZERO = datetime(2031, 5, 6, 8)
EFFECTIVE, INIT, WASTED = COMPONENTS[3], COMPONENTS[1], COMPONENTS[4]


def timeline(*rows: tuple[int, str, float, float, bool]) -> pl.DataFrame:
    """Return a timeline of (start, component, hour from, hour to, hardware held)."""
    return pl.DataFrame(
        [
            {
                "start": start,
                "kind": "first" if start == 0 else "failure",
                "component": component,
                "begin_at": ZERO + timedelta(hours=begin),
                "end_at": ZERO + timedelta(hours=end),
                "allocated": held,
            }
            for start, component, begin, end, held in rows
        ]
    )


def bars(ax: Any) -> list[tuple[float, float, float, str]]:
    """Return row, left edge, width and colour of each bar, in the order of time."""
    found = [
        (
            round(p.get_y() + p.get_height() / 2, 6),
            round(p.get_x(), 6),
            round(p.get_width(), 6),
            to_hex(p.get_facecolor()),
        )
        for p in ax.patches
    ]
    return sorted(found, key=lambda bar: bar[1])


def credit(*rows: tuple[str, str, float]) -> pl.DataFrame:
    """Return credit rows of (optimization, tier, points), with ten GPU-hours for each point."""
    names = ("optimization", "tier", "points")
    frame = pl.DataFrame(rows, schema=names, orient="row")
    saved = pl.col("points") * 10
    return frame.with_columns(saved_gpu_hours=saved, low=saved - 1, high=saved + 1, bound_gpu_hours=pl.lit(0.0))


def test_colours_are_one_per_component() -> None:
    """Every component has a colour and no two share one."""
    assert tuple(plot.COLOURS) == COMPONENTS
    assert len(set(plot.COLOURS.values())) == len(COMPONENTS)


def test_gantt_places_each_component_on_the_row_of_its_start() -> None:
    """Two hours of init and four of training stand in row 0, the recovery's hour in row 1, hours from the beginning."""
    ax: Any = plot.gantt(timeline((0, INIT, 0, 2, True), (0, EFFECTIVE, 2, 6, True), (1, WASTED, 6, 7, True)))
    assert bars(ax) == [
        (0, 0, 2, plot.COLOURS[INIT]),
        (0, 2, 4, plot.COLOURS[EFFECTIVE]),
        (1, 6, 1, plot.COLOURS[WASTED]),
    ]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["0 first", "1 failure"]


def test_gantt_joins_neighbours_of_one_component() -> None:
    """Two adjoining segments of one component are one bar."""
    ax: Any = plot.gantt(timeline((0, EFFECTIVE, 0, 1, True), (0, EFFECTIVE, 1, 3, True)))
    assert bars(ax) == [(0, 0, 3, plot.COLOURS[EFFECTIVE])]


def test_gantt_draws_time_without_hardware_thinner() -> None:
    """A wait in the queue is lower than time with hardware."""
    ax: Any = plot.gantt(timeline((0, COMPONENTS[0], 0, 1, False), (0, EFFECTIVE, 1, 3, True)))
    waiting, training = sorted(ax.patches, key=lambda bar: bar.get_x())
    assert waiting.get_height() < training.get_height()


def test_gantt_marks_committed_checkpoints_only() -> None:
    """Of two checkpoints the one that was committed, at hour 2, has a tick."""
    saved = pl.DataFrame(
        {
            "k": [0, 0],
            "step": [5, 9],
            "state": ["committed", "requested"],
            "at": [ZERO + timedelta(hours=h) for h in (2, 3)],
        }
    )
    ax: Any = plot.gantt(timeline((0, EFFECTIVE, 0, 4, True)), saved)
    assert [list(line.get_xdata()) for line in ax.lines] == [[2.0]]


def test_gantt_of_nothing_says_so() -> None:
    """A job without a segment gives axes with a sentence."""
    ax: Any = plot.gantt(timeline((0, EFFECTIVE, 0, 1, True)).clear())
    assert [text.get_text() for text in ax.texts] == ["nothing to draw"]


def weeks(count: int) -> pl.DataFrame:
    """Return an ETT frame by week: 60 effective, 30 init and 10 wasted of 100 GPU-hours each week."""
    hours = dict.fromkeys(COMPONENTS, 0.0) | {EFFECTIVE: 60.0, INIT: 30.0, WASTED: 10.0}
    columns = {f"{name}_gpu_hours": [value] * count for name, value in hours.items()}
    days = [date(2031, 5, 5) + timedelta(weeks=number) for number in range(count)]
    return pl.DataFrame({"week": days, "share": [1.0] * count, "wall_gpu_hours": [100.0] * count} | columns)


def test_components_fill_the_wall() -> None:
    """Shares of the wall are stacked to 100, training at the bottom up to 60."""
    ax: Any = plot.components(weeks(3))
    tops = [max(path.vertices[:, 1].max() for path in area.get_paths()) for area in ax.collections]
    assert tops[0] == pytest.approx(60)
    assert tops[-1] == pytest.approx(100)
    assert to_hex(ax.collections[0].get_facecolor()[0]) == plot.COLOURS[EFFECTIVE]


def test_overhead_per_effective_hour_leaves_training_out() -> None:
    """40 GPU-hours of overhead on 60 effective ones reach two thirds."""
    ax: Any = plot.components(weeks(3), per_effective=True)
    assert len(ax.collections) == len(COMPONENTS) - 1
    assert max(path.vertices[:, 1].max() for path in ax.collections[-1].get_paths()) == pytest.approx(40 / 60)


def test_one_week_is_a_bar() -> None:
    """A single period has no area: it is drawn as one stacked bar."""
    ax: Any = plot.components(weeks(1))
    assert sum(bar.get_height() for bar in ax.patches) == pytest.approx(100)


def test_waterfall_leads_from_before_to_after() -> None:
    """From 60 % a saving of 8 points and a loss of 3 that is nobody's lead to 65 %, tiers of one name added up."""
    rows = credit(("fast", "direct", 5.0), ("fast", "cascade", 3.0), ("", "mix", -3.0))
    ax: Any = plot.waterfall(rows, 0.60, 0.65)
    edges = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches]
    assert edges[0][1] == pytest.approx(60)
    assert edges[1] == pytest.approx((60, 68))
    assert edges[2] == pytest.approx((68, 65))
    assert edges[3][1] == pytest.approx(65)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["before", "fast", "(nobody) mix", "after"]


def test_credit_bars_carry_interval_and_bound() -> None:
    """A saving of 50 GPU-hours is a bar to 50, with a line from 49 to 51 and a diamond at its bound of 40."""
    rows = credit(("fast", "cascade", 5.0)).with_columns(bound_gpu_hours=pl.lit(40.0))
    ax: Any = plot.credit(rows)
    assert [bar.get_width() for bar in ax.patches] == [50]
    drawn = [list(line.get_xdata()) for line in ax.lines]
    assert drawn[:2] == [[49, 51], [40]]


@pytest.mark.parametrize("name", [r"$\frac$", "a$b$c", "<b>&", "\x1b[31m"])
def test_labels_are_text(name: str) -> None:
    """A name with the signs of formulas, of HTML or of a terminal is drawn as it is read, escaped."""
    text = plot.svg(plot.credit(credit((name, "direct", 1.0))), "credit", name)
    assert "<b>" not in text
    assert "\x1b" not in text
    assert ("$" in text) == ("$" in name)


def test_svg_is_the_same_bytes_and_asks_for_nothing() -> None:
    """A picture drawn twice is the same text; its identifiers carry its name; it links to itself only."""
    first, second = (plot.svg(plot.components(weeks(3)), "share", "shares") for _ in range(2))
    assert first == second
    assert 'id="share-' in first
    assert "http" not in first.replace('xmlns="http://www.w3.org/2000/svg"', "").replace(
        'xmlns:xlink="http://www.w3.org/1999/xlink"', ""
    )
    assert 'aria-label="shares"' in first


def test_svg_leaves_ink_to_the_page() -> None:
    """Text is drawn in the page's own colour, so that it can be read on light and on dark ground."""
    text = plot.svg(plot.components(weeks(3)), "share", "shares")
    assert "currentColor" in text
    assert INK not in text


def test_gantt_says_how_starts_ended_and_explains_its_colours() -> None:
    """At the right of each row stands the cause or the end; the key names the components that are there."""
    frame = timeline((0, INIT, 0, 1, True), (0, EFFECTIVE, 1, 3, True), (1, EFFECTIVE, 3, 4, True))
    starts = pl.DataFrame({"k": [0, 1, 7], "end_state": ["failed", "completed", None], "cause": ["oom", None, None]})
    ax: Any = plot.gantt(frame, starts=starts, key=True)
    assert [text.get_text() for text in ax.texts] == ["oom", "completed"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["init", "train"]


@pytest.mark.parametrize(("hours", "unit"), [(0.5, "minutes"), (20, "hours"), (200, "days")])
def test_gantt_counts_in_a_unit_that_fits(hours: float, unit: str) -> None:
    """Half an hour is drawn in minutes, a day in hours, a week in days; the bar is as long as it took."""
    ax: Any = plot.gantt(timeline((0, EFFECTIVE, 0, hours, True)))
    assert ax.get_xlabel() == f"{unit} since 2031-05-06 08:00 UTC"
    length = hours * {"minutes": 60, "hours": 1, "days": 1 / 24}[unit]
    assert bars(ax)[0][2] == pytest.approx(length)


def test_gantt_of_a_log_without_dates_claims_none() -> None:
    """A clock that knows no date (year 2000) is not shown as one."""
    frame = timeline((0, EFFECTIVE, 0, 4, True))
    moved = [pl.col(name).dt.replace(year=2000) for name in ("begin_at", "end_at")]
    ax: Any = plot.gantt(frame.with_columns(moved))
    assert "2000" not in ax.get_xlabel()
    assert "no date" in ax.get_xlabel()


def test_gantt_marks_starts_too_short_to_see() -> None:
    """A start of six seconds in a job of ten hours has a dot at its beginning; the long one has none."""
    ax: Any = plot.gantt(timeline((0, EFFECTIVE, 0, 10, True), (1, INIT, 10, 10 + 6 / 3600, True)))
    assert [(list(line.get_xdata()), list(line.get_ydata())) for line in ax.lines] == [([10.0], [1])]


def test_trifling_weeks_are_left_out_and_said() -> None:
    """A week that held a thousandth of the usual wall is not drawn, and the axis says so."""
    frame = weeks(4).with_columns(wall_gpu_hours=pl.Series([100.0, 100.0, 100.0, 0.1]))
    ax: Any = plot.components(frame)
    assert ax.get_xlabel() == "left out: 1 with under 1% of the usual wall"
    assert (
        max(path.vertices[:, 0].max() for path in ax.collections[0].get_paths())
        == (date(2031, 5, 19) - date(1970, 1, 1)).days
    )


def test_calendar_places_each_day_in_its_week_and_leaves_gaps() -> None:
    """Tuesday of the first week and Sunday of the second are coloured by their ETT; the days between are blank."""
    frame = pl.DataFrame({"day": [date(2031, 5, 6), date(2031, 5, 18)], "ett": [0.5, 0.9]})
    ax: Any = plot.calendar(frame)
    grid = ax.collections[0].get_array().filled(-1).tolist()
    filled = {(row, week): value for row, line in enumerate(grid) for week, value in enumerate(line) if value >= 0}
    assert filled == {(1, 0): pytest.approx(50), (6, 1): pytest.approx(90)}
    assert [label.get_text() for label in ax.get_yticklabels()][:2] == ["Mon", "Tue"]


def test_event_study_parts_before_from_after() -> None:
    """Weeks before the rollout are grey, those after in the colour of savings, in percent."""
    study = pl.DataFrame({"week": [-1, 0, 1], "cut": [0.01, 0.2, 0.3], "model_weeks": [4, 4, 2]})
    ax: Any = plot.event_study(study)
    points = ax.collections[0]
    assert points.get_offsets().tolist() == [[-1, pytest.approx(1)], [0, pytest.approx(20)], [1, pytest.approx(30)]]
    assert [to_hex(colour) for colour in points.get_facecolors()] == [NOBODY, GAIN, GAIN]
    assert points.get_sizes()[0] > points.get_sizes()[2]


def test_event_study_draws_intervals_where_there_are_any() -> None:
    """Low and high become a line through the point."""
    study = pl.DataFrame({"week": [0], "cut": [0.2], "low": [0.1], "high": [0.3], "model_weeks": [4]})
    ax: Any = plot.event_study(study)
    assert list(ax.lines[0].get_ydata()) == [pytest.approx(10), pytest.approx(30)]


def test_event_study_keeps_its_scale_beside_an_outlier() -> None:
    """A week at -5000 % is a triangle at the lower edge; the others keep their place."""
    study = pl.DataFrame({"week": [0, 1], "cut": [0.2, -50.0], "model_weeks": [4, 1]})
    ax: Any = plot.event_study(study)
    assert ax.collections[0].get_offsets().tolist() == [[0, pytest.approx(20)], [1, -100]]
    assert [list(line.get_ydata()) for line in ax.lines if line.get_marker() == "v"] == [[-100]]
    assert ax.get_ylim() == (pytest.approx(-108), pytest.approx(108))


def test_funnel_names_what_lies_outside_its_limits() -> None:
    """Of groups with 100 GPU-days, one with 30 failures where 10 are expected is named; one with 14 is not.

    Poisson(10.1): the quantile of 99.9 % is 21, of 0.1 % is 2.
    """
    rates = pl.DataFrame(
        {"model": ["bad", "odd", *"abcdefghijklm"], "count": [30, 14, *[8, 9] * 6, 9], "gpu_days": [100.0] * 15}
    )
    ax: Any = plot.funnel(rates)
    assert [text.get_text() for text in ax.texts] == ["bad"]


def test_funnel_limits_close_in_with_exposure() -> None:
    """Ten times the GPU-days give narrower limits about the same rate."""
    rates = pl.DataFrame({"model": ["a", "b"], "count": [10, 100], "gpu_days": [100.0, 1000.0]})
    ax: Any = plot.funnel(rates)
    low, high = ax.lines[0].get_ydata(), ax.lines[1].get_ydata()
    assert high[-1] - low[-1] < high[0] - low[0]


def test_recovery_bars_hold_phases_in_order() -> None:
    """Detection of 10 minutes and replay of 30 stand one after the other; an empty phase is not named."""
    minutes = 60e6
    frame = pl.DataFrame(
        {"kind": ["failure"], "cause": ["oom"], "recoveries": [3], "detection": [10 * minutes], "requeue": [0.0],
         "replay": [30 * minutes]}
    )  # fmt: skip
    ax: Any = plot.recovery(frame, ("detection", "requeue", "replay"))
    assert [(left, width) for _, left, width, _ in bars(ax) if width] == [(0, 10), (10, 30)]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["detection", "replay"]
    assert ax.get_yticklabels()[0].get_text() == "failure: oom (3)"


@pytest.mark.parametrize("name", ["calendar", "event_study", "funnel"])
def test_pictures_of_nothing_say_so(name: str) -> None:
    """A frame without rows gives axes with a sentence."""
    columns = {"day": pl.Date, "ett": pl.Float64, "week": pl.Int64, "cut": pl.Float64, "model_weeks": pl.Int64}
    empty = pl.DataFrame(schema={**columns, "model": pl.String, "count": pl.Int64, "gpu_days": pl.Float64})
    ax: Any = getattr(plot, name)(empty)
    assert [text.get_text() for text in ax.texts] == ["nothing to draw"]


@pytest.mark.parametrize("form", ["png", "alone"])
def test_picture_is_the_same_bytes_each_time(form: str) -> None:
    """Drawn anew, the same frame gives the same PNG and the same SVG."""
    once, again = (getattr(plot, form)(plot.gantt(timeline((0, EFFECTIVE, 0, 4, True)))) for _ in range(2))
    assert once == again
