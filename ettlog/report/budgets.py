"""Whether owners keep to their budgets of overhead, as of the end of the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettlog.alerts import budget, burn
from ettlog.lifecycle import PARTS
from ettlog.report.page import Block, Notes, Table
from ettlog.tables import Shown, human

if TYPE_CHECKING:
    import polars as pl

    from ettlog.config import Config
    from ettlog.report.scope import Scope

BUDGETS = (
    Shown("component", "component or part"), Shown("owner", "owner"), Shown("budget", "budget", "number"),
    Shown("overhead", "used, per effective hour", "number"), Shown("used", "% of budget", "ratio"),
    Shown("gpu_hours", "GPU-h", "hours"), Shown("state", "state"),
)  # fmt: skip
URGENCY = ("", *dict.fromkeys(rule.urgency for rule in reversed(burn.RULES)))
"""How fast a budget burns, the most urgent last."""
NONE = (
    "No budget is set: `[slo]` in ettlog.toml gives a component or part the GPU-hours it may cost per effective "
    "GPU-hour, such as compilation = 0.02; its state then stands here and in `ettlog alerts`."
)
COUNTED = (
    "A budget is overhead in GPU-hours per effective GPU-hour over thirty days up to the end of the window. It burns "
    "where a long and a short window both use it too fast (docs/alerts.md); over is more than all of it."
)


def budgets(scope: Scope) -> pl.DataFrame | None:
    """Return the table of budgets (`alerts.budget.BUDGET`) with `state`; None where none is set."""
    import polars as pl

    config = scope.fleet.config
    given = config.get("slo") if config else None
    if config is None or not given:
        return None
    _, table = budget.looked_at(scope.chosen("segment"), given, _owners(config), scope.window.until_us)
    return table.with_columns(state=pl.Series([_state(*row) for row in table.select("burning", "used").iter_rows()]))


def states(table: pl.DataFrame | None) -> dict[str, str]:
    """Return owner -> the state of the budget that is worst of theirs, in words."""
    if table is None:
        return {}
    ranked = sorted(table.iter_rows(named=True), key=lambda row: (URGENCY.index(row["burning"]), row["used"] or 0.0))
    return {row["owner"]: f"{row['component']}: {row['state']}" for row in ranked}


def block(table: pl.DataFrame | None) -> Block:
    """Return the table of budgets, or how to set one."""
    return Notes([NONE]) if table is None else Table("Budgets (SLO) of overhead, thirty days", table, BUDGETS)


def _state(burning: str, used: float | None) -> str:
    if burning:
        return f"burning ({burning})"
    if used is None:
        return "nothing trained"
    return f"{'over' if used > 1 else 'within'} ({human(used, 'percent')})"


def _owners(config: Config) -> dict[str, str]:
    of_parts = {part.part: config.owner_of(part.part) for part in PARTS}
    of_components = {part.component: of_parts[part.part] for part in reversed(PARTS)}
    return of_components | of_parts
