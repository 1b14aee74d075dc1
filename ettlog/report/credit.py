"""Whose work changed it: the credit table with its bars, and the waterfall from before to after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettlog import plot
from ettlog.attribute.reading import CREDIT
from ettlog.errors import NoDataError
from ettlog.report.page import Block, Notes, Picture, Section, Table
from ettlog.tables import human

if TYPE_CHECKING:
    import polars as pl

    from ettlog.attribute import Attribution
    from ettlog.report.scope import Scope

WHOLE = "all"
COUNTED = (
    (
        "direct: first starts times the saving per first start. cascade: the same saving repeated in recoveries, as "
        "measured; bound: recoveries times the saving per first start. recovery_only: parts that exist only in "
        "recoveries."
    ),
    (
        "Rows of nobody (failure counts, workload, mix, drift, unknown) belong to no optimization; all rows together "
        "add up to the measured change. Grades: A paired with an interval, B staggered rollout, C before and after, D"
        " bound or declared. docs/attribution.md has the method."
    ),
)
NO_REGISTRY = (
    "There is no registry of optimizations, so no saving can be credited: write optimizations.toml beside the logs "
    "(name, owner, parts, rollouts) and ingest again."
)


def credit(scope: Scope) -> Section:
    """Return the credit of each optimization and tier: direct, cascade and bound."""
    found = scope.attribution
    command = scope.command("attribute")
    if isinstance(found, NoDataError):
        return Section("credit", "Credit", [_missing(found)], command)
    rows = whole(found)
    blocks: list[Block] = [Notes([NO_REGISTRY], "missing")] if not found.header["optimizations"] else []
    claimed = rows.filter(rows["optimization"] != "")
    if not claimed.is_empty():
        ax = plot.credit(claimed, plot.axes(10, 0.8 + 0.28 * max(claimed.height, 2)))
        said = "Saving of each optimization and tier, with its interval and its bound"
        blocks.append(Picture(said, plot.svg(ax, "credit", said)))
    named = rows.with_columns(optimization=rows["optimization"].replace("", "(nobody)"))
    blocks.append(Table("Credit, whole fleet", named, CREDIT))
    if found.notes:
        blocks.append(Notes(found.notes))
    return Section("credit", "Credit", blocks, command, (*COUNTED, *_conventions(found)))


def waterfall(scope: Scope) -> Section:
    """Return the way from the level before to the level after, mix and unknown among its steps."""
    found = scope.attribution
    if isinstance(found, NoDataError):
        return Section("waterfall", "Before and after", [_missing(found)])
    head = found.header
    ax = plot.waterfall(whole(found), head["ett_before"], head["ett_after"])
    said = f"ETT from {human(head['ett_before'], 'percent')} to {human(head['ett_after'], 'percent')}, in points"
    blocks: list[Block] = [Picture(said, plot.svg(ax, "waterfall", said))]
    counted = ["Each bar is the sum of the points of its rows in the credit table; together they are the whole change."]
    return Section("waterfall", "Before and after", blocks, scope.command("attribute", "--by", "optimization"), counted)


def whole(found: Attribution) -> pl.DataFrame:
    """Return the rows of the fleet, those of single models left out."""
    return found.credit.filter(found.credit["model"] == WHOLE)


def _missing(error: NoDataError) -> Notes:
    return Notes([f"{error.what}: {error.why}; {error.todo}."], "missing")


def _conventions(found: Attribution) -> list[str]:
    head = found.header
    return [
        (
            f"Counted here: overhead {head['basis_text']}, {head['aggregation']}, method {head['method']}; "
            f"low and high: {head['interval']}."
        )
    ]
