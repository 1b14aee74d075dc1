"""Pictures show the numbers of their frames, in fixed colours, and no label is read as a formula."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from matplotlib.colors import to_hex

from ettlog import plot
from ettlog.lifecycle import COMPONENTS

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
    assert plot.INK not in text
