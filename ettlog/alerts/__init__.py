"""What an owner should know today: regressions, wins nobody registered, effects that came, and budgets that burn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from ettlog import registry as registries
from ettlog.errors import NoDataError
from ettlog.ett import load, matching, period

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import polars as pl

    from ettlog.alerts.series import Series
    from ettlog.ett import Selection
    from ettlog.fleet import Fleet
    from ettlog.registry import Registry
    from ettlog.windows import Window

__all__ = ["Alerts", "alerts", "found"]

RATE = 0.05
"""Share of the changes told that may be false: Benjamini and Hochberg over all series watched."""
TESTS = 2
"""Tests of a series: its change points, and CUSUM."""


@dataclass(frozen=True)
class Alerts:
    """Alerts of a fleet, the budgets they were held against, and what was watched.

    `alerts` has the columns of `frames.ALERT`, those that fire first; `budgets` one row per budget (component, owner,
    budget, overhead, used, burn); `header` the window and the number of series.
    """

    alerts: pl.DataFrame
    budgets: pl.DataFrame
    header: dict[str, Any]

    @property
    def firing(self) -> int:
        """Return how many alerts ask somebody to act: open regressions and burning budgets."""
        return int(self.alerts["fires"].sum())


def alerts(fleet: Fleet, *, registry: Registry | str | Path | None = None, **selection: Unpack[Selection]) -> Alerts:
    """Return the alerts of a window, per component and owner.

    Changes of level are looked for in daily series over all history up to the window's end, and told when they began
    inside it; budgets (`slo` in ettlog.toml) are looked at as of its end. `registry` is as in `ettlog.attribute`.

    Raises:
        NoDataError: no job of the selection has a dated start in a trainer's log.
        UsageError: the window, registry or a setting is wrong.
    """
    import polars as pl

    timeline = load(fleet)
    span = period(timeline, selection)
    names = matching(timeline.job, selection.get("jobs"), selection.get("models"))
    ledger = fleet.table("ledger").filter(pl.col("job").is_in(names) & (pl.col("launched_us") < span.until_us))
    known = registry if isinstance(registry, registries.Registry) else _registry(fleet, registry)
    levels, watched = found(ledger, timeline.owners, known)
    inside = [row for row in levels if row["since_us"] >= span.since_us]
    segment = timeline.segment.filter(pl.col("job").is_in(names))
    return _made(inside, watched, segment, _budgets(fleet), _component_owners(timeline.owners, fleet), span)


def found(
    ledger: pl.DataFrame, owners: Mapping[str, str], registry: Registry, rate: float = RATE
) -> tuple[list[dict[str, Any]], int]:
    """Return the changes of level that a ledger frame shows, and the number of series watched.

    `rate` is the share of false ones allowed among those told. Raises NoDataError where no row is dated.
    """
    from ettlog.alerts import evidence, levels, match, series

    rows = series.prepared(ledger, owners)
    if rows.is_empty():
        raise NoDataError(
            "there is no dated start to watch", where="relation ledger", why=f"{ledger.height} rows, none dated",
            todo="ingest logs with a clock, or name their zone in ettlog.toml",
        )  # fmt: skip
    watched = [one for one in series.daily(rows) if len(one.day) >= levels.POINTS]
    rollouts = match.edges(registry, rows.select("model", "platform").unique().rows())
    parts = _parts(rows)
    changed = [
        match.row(one, shift, match.rollout(rollouts, one, shift, parts[_place(one)]))
        for one in watched
        for shift in levels.shifts(levels.logs(one))
    ]
    told = [
        row | {"q": q}
        for row, q in zip(changed, match.q_values([row["p"] for row in changed], TESTS * len(watched)), strict=True)
        if q <= rate and match.worth(row)
    ]
    return [row | evidence.of(rows, row) for row in match.folded(told)], len(watched)


def _place(one: Series) -> tuple[str, str, str]:
    return one.component, one.owner, one.per


def _parts(rows: pl.DataFrame) -> dict[tuple[str, str, str], frozenset[str]]:
    """Return (component, owner, per) -> its parts."""
    import polars as pl

    grouped = rows.drop_nulls("per").group_by("component", "owner", "per").agg(pl.col("part").unique())
    return {(component, owner, per): frozenset(parts) for component, owner, per, parts in grouped.rows()}


def _registry(fleet: Fleet, given: str | Path | None) -> Registry:
    """Return the registry of a path, else that of the configuration, else the lake's own copy, else an empty one."""
    named = given or (fleet.config.text("attribute.registry") if fleet.config else None)
    path = named or (fleet.lake.registry_path if fleet.lake else None)
    return registries.read(path) if path else registries.EMPTY


def _budgets(fleet: Fleet) -> dict[str, float]:
    return dict(fleet.config.get("slo")) if fleet.config else {}


def _component_owners(owners: Mapping[str, str], fleet: Fleet) -> dict[str, str]:
    """Return part or component -> owner; a component's owner is the one set for it, else of its first part."""
    from ettlog.lifecycle import PARTS

    found = {part.component: owners[part.part] for part in reversed(PARTS)}
    named = dict(fleet.config.get("owners")) if fleet.config else {}
    return {**found, **{name: who for name, who in named.items() if name in found}, **owners}


def _made(
    rows: list[dict[str, Any]], watched: int, segment: pl.DataFrame, budgets: dict[str, float],
    owners: Mapping[str, str], span: Window,
) -> Alerts:  # fmt: skip
    from ettlog.alerts import budget, frames

    burns, table = budget.looked_at(segment, budgets, owners, span.until_us)
    header = {
        "since_us": span.since_us, "until_us": span.until_us, "window": span.text, "series": watched, "rate": RATE,
    }  # fmt: skip
    return Alerts(frames.alerts([*burns, *rows]), table, header)
