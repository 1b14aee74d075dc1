"""Before an experiment: how many pairs it needs, when and how to kill its runs, and what it could not show."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Unpack

from ettlog import cascade
from ettlog.attribute import uncertainty
from ettlog.errors import NoDataError, UsageError
from ettlog.ett import Selection, load, matching, measure, period
from ettlog.lifecycle import RECOVERY_KINDS
from ettlog.tables import Shown, View, count

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from ettlog.ett import Timeline
    from ettlog.fleet import Fleet

EFFECTS = (2.0, 5.0, 10.0)
"""Gains in points of ETT that are planned for where none is given."""
MARGIN = 0.05
"""Share of a run at its begin and end in which nothing is killed: a run has to start and to end."""

PAIRS = (
    Shown("effect_points", "gain to show", "number"),
    Shown("sd_points", "sd", "number"),
    Shown("power", "power", "percent"),
    Shown("pairs", "pairs needed", "int"),
    Shown("smallest_p", "smallest p", "number"),
)
"""The columns of the pairs that people read."""
KILLS = (
    Shown("pair", "pair", "int"),
    Shown("kill", "kill", "int"),
    Shown("at_hours", "at h", "hours"),
    Shown("event", "as"),
    Shown("cause", "cause"),
)
"""The columns of the kills that people read."""


class Mix(NamedTuple):
    """The natural failures of a fleet: losses by event and cause, and how many a job meets."""

    counts: dict[tuple[str, str], int]
    per_job: float


@dataclass(frozen=True)
class Plan:
    """A plan: `pairs` (effect_points, sd_points, power, pairs, smallest_p), `kills` (pair, kill, at_hours, event,
    cause) and sentences on what the design could and could not show.
    """

    pairs: pl.DataFrame
    kills: pl.DataFrame
    notes: tuple[str, ...]

    def _repr_html_(self) -> str:
        return View(self.pairs, shown=PAIRS).html() + View(self.kills, (), self.notes, KILLS).html()


def plan(
    fleet: Fleet | None = None,
    *,
    effects: Sequence[float] = EFFECTS,
    sd: float | None = None,
    power: float = 0.8,
    kills: int = 2,
    hours: float = 11.0,
    runs: int | None = None,
    seed: int = 0,
    **selection: Unpack[Selection],
) -> Plan:
    """Plan paired runs: the pairs that each effect needs, and a schedule of kills out of the natural failure mix.

    Args:
        fleet: an open lake, for the spread and the failure mix; None needs `sd`, and kills have no cause.
        effects: gains in points of ETT that are to be shown.
        sd: standard deviation of a pair's gain in points; by default sqrt(2) x that of ETT over jobs of one model.
        power: probability of showing the effect at the 5 % level (paired t test, exact).
        kills, hours: kills per run, and how long a run lasts.
        runs: pairs in the schedule; by default the pairs that the largest effect needs.
        seed: seed of the schedule; both runs of a pair are killed alike.
        selection: window and jobs of the history.

    Raises:
        UsageError: a number is out of range.
        NoDataError: no `sd` is given and no model has two runs to take it from.
    """
    _check(effects, sd, power, kills, hours, runs)
    mix, spread, source = Mix({}, 0.0), sd, "given"
    if fleet is not None:
        timeline = load(fleet)
        mix = natural(timeline, selection)
        if spread is None:
            spread, source = _spread(timeline, selection)
    if not spread and fleet is None:
        raise NoDataError(
            "the spread of a gain is not known", where="--sd", why="there is no lake whose history would tell it",
            todo="give --sd, in points of ETT (2 to 8 were measured elsewhere), or name a lake with --lake",
        )  # fmt: skip
    if not spread:
        raise NoDataError(
            "the spread of a gain is not known", where="--sd", why="no model has two runs whose ETT differs",
            todo="give --sd: points of ETT by which the gains of like pairs differ (2 to 8 were measured elsewhere)",
        )  # fmt: skip
    pairs = _pairs(effects, spread, power)
    schedule = _schedule(mix, kills, hours, runs or int(pairs["pairs"].min()), seed)  # type: ignore[arg-type]
    return Plan(pairs, schedule, tuple(_notes(mix, spread, source, kills)))


def _check(
    effects: Sequence[float], sd: float | None, power: float, kills: int, hours: float, runs: int | None
) -> None:
    wrong = [
        name
        for name, fine in (
            ("effects", bool(effects) and all(effect > 0 and math.isfinite(effect) for effect in effects)),
            ("sd", sd is None or (sd > 0 and math.isfinite(sd))),
            ("power", 0.05 < power < 1),
            ("kills", kills >= 0),
            ("hours", hours > 0 and math.isfinite(hours)),
            ("runs", runs is None or runs > 0),
        )
        if not fine
    ]
    if wrong:
        raise UsageError(
            f"the plan has a number out of range: {', '.join(wrong)}", where=", ".join(f"--{name}" for name in wrong),
            why="effects, sd, hours and runs are above 0, power is between .05 and 1, kills are 0 or more",
            todo="give such a number",
        )  # fmt: skip


def natural(timeline: Timeline, selection: Selection) -> Mix:
    """Return the failures and preemptions of the selected jobs by event and cause, and their mean number per job."""
    import polars as pl

    from ettlog.reliability import events

    names = matching(timeline.job, selection.get("jobs"), selection.get("models"))
    lost = events(timeline, period(timeline, selection), names)
    counted = lost.group_by("event", "cause").len().sort("len", "event", "cause", descending=[True, False, False])
    jobs = timeline.start.filter(pl.col("job").is_in(names))["job"].n_unique()
    return Mix({(event, cause): n for event, cause, n in counted.iter_rows()}, lost.height / jobs if jobs else 0.0)


def _spread(timeline: Timeline, selection: Selection) -> tuple[float | None, str]:
    """Return sqrt(2) x the pooled standard deviation of ETT over the jobs of one model, in points, and its source."""
    import polars as pl

    frame = measure(timeline, period(timeline, selection), by=["model", "job"]).drop_nulls("ett")
    frame = frame.filter(pl.col("job").is_in(matching(timeline.job, selection.get("jobs"), selection.get("models"))))
    groups = frame.drop_nulls("model").group_by("model").agg(pl.len(), pl.col("ett").var()).filter(pl.col("len") > 1)
    freedom = int(groups["len"].sum()) - groups.height
    if freedom < 1:
        return None, ""
    pooled = groups.select(((pl.col("len") - 1) * pl.col("ett")).sum()).item() / freedom
    jobs, models = int(groups["len"].sum()), groups.height
    where = f"{count(models, 'model')} over {count(jobs, 'job')}"
    text = f"sqrt(2) x the standard deviation within {where}; rollouts among them widen it"
    return 100 * math.sqrt(2 * pooled), text


def _pairs(effects: Sequence[float], sd: float, power: float) -> pl.DataFrame:
    import polars as pl

    needed = [uncertainty.pairs_needed(effect, sd, power) for effect in effects]
    return pl.DataFrame(
        {
            "effect_points": [float(effect) for effect in effects], "sd_points": [sd] * len(needed),
            "power": [power] * len(needed), "pairs": needed, "smallest_p": [2.0 ** (1 - n) for n in needed],
        }
    )  # fmt: skip


def _schedule(mix: Mix, kills: int, hours: float, runs: int, seed: int) -> pl.DataFrame:
    """Draw the instants of the kills uniformly inside each run, and their causes from the natural mix."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(seed)
    names, weights = list(mix.counts), np.array(list(mix.counts.values()), dtype=np.float64)
    rows: list[tuple[int, int, float, str | None, str | None]] = []
    for pair in range(1, runs + 1):
        instants = np.sort(rng.uniform(MARGIN * hours, (1 - MARGIN) * hours, kills))
        drawn = rng.choice(len(names), kills, p=weights / weights.sum()) if names else [0] * kills
        for kill, (at, which) in enumerate(zip(instants, drawn, strict=True), 1):
            rows.append((pair, kill, float(at), *(names[int(which)] if names else (RECOVERY_KINDS[0], None))))
    schema = {"pair": pl.Int64, "kill": pl.Int64, "at_hours": pl.Float64, "event": pl.String, "cause": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _notes(mix: Mix, sd: float, source: str, kills: int) -> list[str]:
    """Return what the plan rests on, and what no result of it could show."""
    factor, own = cascade.factor(float(kills)), cascade.factor(mix.per_job)
    notes = [f"spread of a pair's gain: {sd:.1f} points ({source})"]
    if mix.counts:
        notes.append(
            f"{kills} kills a run make a start-path saving count {factor:.1f} times; this fleet's own jobs meet "
            f"{mix.per_job:.2f} losses each, which makes it {own:.2f}: scale what recoveries save by the ratio"
        )
    notes.append("a kill at a chosen instant shows detection and recovery; it cannot show how often failures come")
    if kills == 0:
        notes.append("without a kill nothing is shown of recoveries: no cascade, no recovery-only saving")
    notes.append("one pair has no interval of its own; with 5 pairs or fewer no sign-flip p is below .05")
    return notes
