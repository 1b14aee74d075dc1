"""Stamps that may lack the year or the whole date: their differences are true even where the date is not known."""

from __future__ import annotations

from ettlog.lifecycle import CLOCKS
from ettlog.parse.clock import SourceClock
from ettlog.parse.gather import Facts, Instant
from ettlog.parse.parsed import ScanOptions

NOMINAL = CLOCKS[CLOCKS.index("date_nominal")]


def facts_of(name: str, options: ScanOptions) -> Facts:
    """Return empty facts whose clock reads stamps without a date in a nominal year."""
    facts = Facts(name, options)
    facts.clock = SourceClock(options.zone, options.year_hint, nominal=True)
    return facts


def instant(facts: Facts, text: str) -> Instant | None:
    """Return the instant of a stamp, of `Aug 28 16:55:44` too; None where it is no stamp."""
    at = facts.local(text) or facts.local(f"Mon {text}")
    return Instant(at.us, NOMINAL) if at is not None and facts.clock.guessing else at
