"""Pictures by name: what each asks of a fleet, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Unpack

from ettlog.errors import NoDataError, UsageError
from ettlog.ett import Selection
from ettlog.lifecycle import RECOVERY_KINDS
from ettlog.plot.changes import credit, event_study, waterfall
from ettlog.plot.jobs import gantt
from ettlog.plot.periods import calendar, components
from ettlog.plot.rates import funnel, recovery

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from ettlog.attribute import Attribution
    from ettlog.fleet import Fleet

WHOLE = "all"
FEW_WEEKS = 4
"""With fewer weeks than this a fleet is drawn by day."""


class Asked(NamedTuple):
    """A fleet, the names given after the picture's, and window and filters."""

    fleet: Fleet
    names: Sequence[str]
    selection: Selection


class Named(NamedTuple):
    """One picture: its name, a sentence, how many names it takes after its own, and what draws it."""

    name: str
    text: str
    takes: str
    draw: Callable[[Asked], Axes]


def draw(fleet: Fleet, name: str, *names: str, **selection: Unpack[Selection]) -> Axes:
    """Return the axes of a picture: one of `NAMED`, with what it takes, such as a job.

    Raises:
        UsageError: there is no such picture, or it takes other names.
        NoDataError: the lake has nothing to draw it from.
    """
    found = next((item for item in NAMED if item.name == name), None)
    if found is None or ((found.takes != "") != bool(names) and found.takes != OPTIONAL):
        raise UsageError(
            f"{' '.join((name, *names))!r} is not a picture",
            where="NAME",
            why=f"the pictures are {', '.join(f'{item.name} {item.takes}'.strip() for item in NAMED)}",
            todo="name one of these",
        )
    return found.draw(Asked(fleet, names, selection))


def _gantt(asked: Asked) -> Axes:
    import polars as pl

    import ettlog
    from ettlog.jobs import named

    job = named(asked.fleet, asked.names[0])
    saved = asked.fleet.table("checkpoint").filter(pl.col("job") == job)
    starts = ettlog.timeline(asked.fleet, job, starts=True)
    return gantt(ettlog.timeline(asked.fleet, job), saved, starts=starts, key=True)


def _periods(asked: Asked) -> tuple[pl.DataFrame, str]:
    import ettlog

    weeks = ettlog.ett(asked.fleet, by="week", **asked.selection)
    if weeks.height >= FEW_WEEKS:
        return weeks, "week"
    return ettlog.ett(asked.fleet, by="day", **asked.selection), "day"


def _components(asked: Asked) -> Axes:
    return components(*_periods(asked), explained=True)


def _overhead(asked: Asked) -> Axes:
    return components(*_periods(asked), per_effective=True, explained=True)


def _calendar(asked: Asked) -> Axes:
    import ettlog

    return calendar(ettlog.ett(asked.fleet, by="day", **asked.selection))


def _waterfall(asked: Asked) -> Axes:
    found = _attributed(asked)
    return waterfall(_whole(found.credit), found.header["ett_before"], found.header["ett_after"])


def _credit(asked: Asked) -> Axes:
    rows = _whole(_attributed(asked).credit)
    return credit(rows.filter(rows["optimization"] != ""))


def _event_study(asked: Asked) -> Axes:
    """Draw the tier that saved most, of the optimization that is named, else of all."""
    import polars as pl

    found = _attributed(asked)
    if found.study.is_empty():
        raise NoDataError(
            "there is no event study",
            where="attribute",
            why="no optimization rolled out to some models while others were still without it",
            todo="see `ettlog attribute` for what was compared instead",
        )
    names = found.study["optimization"].unique(maintain_order=True).to_list()
    wanted = [name for name in names if name in (asked.names or names)]
    if not wanted:
        raise UsageError(
            f"there is no event study of {asked.names[0]!r}", where="NAME", why=f"there are {', '.join(names)}",
            todo="name one of these",
        )  # fmt: skip
    saved = _whole(found.credit).select("optimization", "tier", "saved_gpu_hours")
    pairs = found.study.filter(pl.col("optimization").is_in(wanted)).select("optimization", "tier").unique()
    pairs = pairs.join(saved, on=["optimization", "tier"], how="left").sort(
        "saved_gpu_hours", "optimization", "tier", descending=[True, False, False], nulls_last=True
    )
    name, tier, _ = pairs.row(0)
    ax = event_study(found.study.filter(pl.col("optimization") == name, pl.col("tier") == tier))
    ax.set_title(f"{name}, {tier}", fontsize=9, loc="left", parse_math=False)
    return ax


def _funnel(asked: Asked) -> Axes:
    import ettlog

    rates = ettlog.reliability(asked.fleet, by="model", **asked.selection)
    return funnel(rates.filter(rates["event"] == RECOVERY_KINDS[0]))


def _recovery(asked: Asked) -> Axes:
    from ettlog.recovery import PHASES, by_cause

    return recovery(by_cause(asked.fleet).head(12), PHASES)


def _attributed(asked: Asked) -> Attribution:
    import ettlog

    given = asked.selection
    since, until = given.get("since"), given.get("until")
    return ettlog.attribute(asked.fleet, window=given.get("window"), since=since, until=until)


def _whole(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(rows["model"] == WHOLE)


OPTIONAL = "[OPTIMIZATION]"
NAMED: tuple[Named, ...] = (
    Named("gantt", "One job: a row per start, components, checkpoints, how each start ended.", "JOB", _gantt),
    Named("components", "The components of the wall, by week, stacked.", "", _components),
    Named("overhead", "Overhead per effective hour, by week, stacked.", "", _overhead),
    Named("calendar", "ETT of each day.", "", _calendar),
    Named("waterfall", "ETT from before to after, with whose work moved it.", "", _waterfall),
    Named("credit", "What each optimization saved, with interval and bound.", "", _credit),
    Named("event-study", "What an optimization saved, week by week since its rollout.", OPTIONAL, _event_study),
    Named("funnel", "Failure rates of models over GPU-days, within limits about the rate of all.", "", _funnel),
    Named("recovery", "What recoveries are made of, by cause.", "", _recovery),
)
"""Every picture that `ettlog plot` draws."""
