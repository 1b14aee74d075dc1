"""The page of a fleet or of a few jobs: its sections in the order that a reader asks."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import ettlog
from ettlog import aliases, plot
from ettlog.errors import NoDataError
from ettlog.report import credit, failures, jobs, quality, wall
from ettlog.report.page import Notes, Page, Section, render
from ettlog.report.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ettlog.ett import Selection
    from ettlog.fleet import Fleet


def build(
    fleet: Fleet,
    *,
    window: str | None = None,
    since: str | None = None,
    until: str | None = None,
    jobs: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    logged: bool = False,
    title: str | None = None,
) -> str:
    """Return one self-contained HTML page about a fleet, or about the jobs and models that match globs.

    `logged` counts only jobs of which a trainer's log shows a start.
    `window`, `since` and `until` are those of `windows.resolve`. The page asks for nothing from outside, and is the
    same bytes for the same lake and arguments. What cannot be told stands there with what would make it possible.

    Raises:
        NoDataError: jobs or models were named and none matches.
        UsageError: the window is not one.
    """
    selection: Selection = {
        "window": window,
        "since": since,
        "until": until,
        "jobs": jobs,
        "models": models,
        "logged": logged,
    }
    scope = Scope(fleet, selection)
    return render(Page(title or _title(scope), _lines(scope), _sections(scope), list(plot.COLOURS.items())))


def _sections(scope: Scope) -> list[Section]:
    try:
        scope.total()
    except NoDataError as error:
        if scope.narrowed:
            raise
        missing = Notes([f"{error.what}: {error.why}; {error.todo}."], "missing")
        return [Section("headline", "Where the time went", [missing]), quality.section(scope)]
    parts = [wall.headline(scope), wall.over_time(scope), wall.owners(scope)]
    parts += [credit.credit(scope), credit.waterfall(scope)] if not scope.narrowed else []
    return [*parts, failures.recoveries(scope), failures.failures(scope), jobs.worst(scope), quality.section(scope)]


def _title(scope: Scope) -> str:
    names = [*(scope.selection.get("jobs") or ()), *(scope.selection.get("models") or ())]
    return f"Training time of {', '.join(names)}" if names else "Training time of the fleet"


def _lines(scope: Scope) -> list[str]:
    made = f"made by ettlog {ettlog.__version__}: ettlog report {shlex.join(scope.options())}".rstrip()
    entries = scope.fleet.lake.sources() if scope.fleet.lake else []
    return [*scope.described(), *aliases.told(entries), made]
