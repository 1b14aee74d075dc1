"""Alerts in sentences: whose, what, since when, how much, how sure, and where to look next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ettlog.alerts.match import BURN, CONFIRMED, REGRESSION, WIN
from ettlog.alerts.series import EFFECTIVE, FLEET
from ettlog.tables import count, human
from ettlog.windows import moment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ettlog.alerts import Alerts

MOST = 20
"""Most alerts that get a sentence of their own; the table has all."""
NOUNS = {
    REGRESSION: "regression", BURN: "burning budget", WIN: "unregistered win", CONFIRMED: "confirmed effect",
}  # fmt: skip


UNITS = {False: "GPU-seconds per ", True: "GPU-hours per "}


def header(found: Alerts) -> Iterator[str]:
    """Yield how many alerts fire, what else was found, and what all rests on."""
    kinds = found.alerts["kind"].to_list()
    told = [count(kinds.count(kind), noun) for kind, noun in NOUNS.items() if kind in kinds]
    fires = "no alert fires" if not found.firing else count(found.firing, "alert") + (
        " fires" if found.firing == 1 else " fire"
    )  # fmt: skip
    yield f"{fires}{': ' if told else '; no level changed'}{', '.join(told)}."
    since, until = (moment(found.header[name]) for name in ("since_us", "until_us"))
    yield f"window: [{since:%Y-%m-%d %H:%M:%S}, {until:%Y-%m-%d %H:%M:%S}) UTC, {found.header['window']}"
    yield (
        f"watched: {found.header['series']:,} daily series of cost per start, recovery, shutdown and effective "
        f"hour; of the changes told at most {found.header['rate']:.0%} are false (q, Benjamini-Hochberg)"
    )
    yield "counted: before and after are GPU-seconds per event, or GPU-hours per effective GPU-hour; lost is measured"


def notes(found: Alerts) -> Iterator[str]:
    """Yield a sentence for each alert, the dearest first, then where each budget stands."""
    for row in found.alerts.head(MOST).iter_rows(named=True):
        yield sentence(row)
    if found.alerts.height > MOST:
        yield f"{found.alerts.height - MOST} more in the table"
    for row in found.budgets.iter_rows(named=True):
        yield standing(row)
    if found.budgets.is_empty():
        yield "no budget is set: say in ettlog.toml what an effective hour may cost, such as [slo] compilation = 0.02"
    if not found.header["series"]:
        yield "no series is long enough: a change of level needs twenty days on which a model started"


def sentence(row: Mapping[str, Any]) -> str:
    """Return one alert as a sentence with its next command."""
    said = _burn(row) if row["kind"] == BURN else _level(row)
    return f"{said} Look: {row['look']}"


def _level(row: Mapping[str, Any]) -> str:
    whom = f" for {row['owner']}" if row["owner"] else ""
    where = "the fleet" if row["model"] == FLEET else row["model"] or "jobs without a model"
    also = f" ({count(row['models'], 'model')} by themselves)" if row["model"] == FLEET and row["models"] else ""
    lost = abs(row["lost_gpu_hours"])
    events = f" over {count(row['events'], row['per'])}" if row["events"] else ""
    worth = f"{human(lost, 'hours')} GPU-hours {'lost' if row['lost_gpu_hours'] > 0 else 'saved'}{events}"
    opened = "" if row["fires"] or row["kind"] != REGRESSION else ", and went back since"
    return (
        f"{row['kind']}{whom}: {row['component']} of {where}{also} went from {human(row['before'], 'level')} to "
        f"{human(row['after'], 'level')} {UNITS[row['per'] == EFFECTIVE]}{row['per']}{_percent(row['change'])} "
        f"about {row['since']:%Y-%m-%d}{opened}: {worth} ({row['found_by']}, q {human(row['q'], 'q')}). {_rollout(row)}"
    )


def _rollout(row: Mapping[str, Any]) -> str:
    if not row["rollout"]:
        return "No rollout is near it."
    if row["declares"]:
        return f"It came with the rollout of {row['rollout']}."
    return f"{row['rollout']} rolled out near it and does not declare this part: a side effect?"


def _burn(row: Mapping[str, Any]) -> str:
    whom = f" for {row['owner']}" if row["owner"] else ""
    now = "without end" if row["after"] is None else f"{row['after']:.3g}"
    return (
        f"{row['urgency']}{whom}: {row['component']} burns its budget {row['change'] + 1:.1f} times too fast "
        f"({row['found_by']}), since {row['since']:%Y-%m-%d %H:%M} UTC: {now} GPU-hours per effective GPU-hour where "
        f"{row['before']:.3g} are allowed, {human(row['lost_gpu_hours'], 'hours')} GPU-hours above it."
    )


def standing(row: Mapping[str, Any]) -> str:
    """Return where one budget stands, as a sentence."""
    whose = f" ({row['owner']})" if row["owner"] else ""
    if row["overhead"] is None:
        return f"budget of {row['component']}{whose}: nothing was trained in {row['days']:.0f} days"
    return (
        f"budget of {row['component']}{whose}: {row['overhead']:.3g} of {row['budget']:.3g} GPU-hours per effective "
        f"GPU-hour over {row['days']:.1f} days, {row['used']:.0%} of it"
    )


def _percent(change: float | None) -> str:
    return "" if change is None else f" ({change:+.0%})"
