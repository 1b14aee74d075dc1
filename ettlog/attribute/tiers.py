"""Which tier of credit a moment belongs to, what drives it, and who may claim a change of it."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from ettlog.lifecycle import PARTS, RECOVERY_KINDS, STAGES, START_KINDS

FIRST_START, RESTART, RECOVERY, STEADY, SHUTDOWN = (stage.stage for stage in STAGES)
UNKNOWN = START_KINDS[-1]
EFFECTIVE = "effective"
CLAIMED = ("direct", "cascade", "recovery_only", SHUTDOWN, STEADY)
"""Tiers an optimization may claim, in the order they are printed."""
UNCLAIMED = (
    "failure_count", "workload", "mix", "entry", "exit", "migration", "drift", "interaction", UNKNOWN,
)  # fmt: skip
"""Rows nobody may claim, in the order they are printed."""
TIERS = CLAIMED + UNCLAIMED

COUNTS = {"failure_count": CLAIMED[1:3], "workload": (CLAIMED[0], SHUTDOWN)}
"""Rows that a change of the number of starts belongs to, with the tiers of what each start costs."""

EXPOSURE = "exposure"
SHUTDOWNS = "shutdowns"
_ROLE = {part.part: part.role for part in PARTS}


class Cell(NamedTuple):
    """One row of the exact ledger: a part, its tier, the start kind, and the count that drives it."""

    part: str
    tier: str
    kind: str
    driver: str
    """Name of a start kind (its starts), `shutdowns` (starts that reached a shutdown) or `exposure` (no count of its
    own).
    """

    @property
    def count_tier(self) -> str:
        """Return the row that a change of this cell's frequency belongs to."""
        return "failure_count" if self.kind in RECOVERY_KINDS else "workload"


def cell(part: str, tier: str, kind: str) -> Cell:
    """Make the cell of a part, with the driver its tier asks for."""
    if tier == SHUTDOWN:
        return Cell(part, tier, "", SHUTDOWNS)
    if tier in (STEADY, UNKNOWN):
        return Cell(part, tier, "", EXPOSURE)
    return Cell(part, tier, kind, kind)


def tier() -> pl.Expr:
    """Return the expression for the tier of a ledger row, from its role, stage and start kind.

    In a first or planned start everything is direct; in a recovery what every start repeats is cascade and the rest
    exists only there; a start of unknown kind is neither, so nobody may claim its change.
    """
    role, stage, kind = pl.col("role"), pl.col("stage"), pl.col("kind")
    starting = stage.is_in([FIRST_START, RESTART])
    recovering = stage == RECOVERY
    return (
        pl.when(role == "effective").then(pl.lit(EFFECTIVE))
        .when(role == UNKNOWN).then(pl.lit(UNKNOWN))
        .when((starting | recovering) & (kind == UNKNOWN)).then(pl.lit(UNKNOWN))
        .when(starting).then(pl.lit("direct"))
        .when(recovering & (role == "startup")).then(pl.lit("cascade"))
        .when(recovering).then(pl.lit("recovery_only"))
        .when(stage == SHUTDOWN).then(pl.lit(SHUTDOWN))
        .otherwise(pl.lit(STEADY))
    )  # fmt: skip


def repeats(part: str) -> bool:
    """Tell whether every start repeats the part, so that a bound for recoveries can be had from first starts."""
    return _ROLE.get(part) == "startup"
