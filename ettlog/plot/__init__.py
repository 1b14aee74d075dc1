"""Pictures of frames: each function draws one frame on matplotlib axes, in one style, and returns the axes."""

from __future__ import annotations

from ettlog.plot.changes import credit, event_study, waterfall
from ettlog.plot.jobs import gantt
from ettlog.plot.periods import calendar, components
from ettlog.plot.rates import funnel, recovery
from ettlog.plot.style import COLOURS, EFFECTIVE, SHORT, alone, axes, png, svg

__all__ = [
    "COLOURS", "EFFECTIVE", "SHORT", "alone", "axes", "calendar", "components", "credit", "event_study", "funnel",
    "gantt", "png", "recovery", "svg", "waterfall",
]  # fmt: skip
