"""What the cells of public traces mean: seconds, stamps, counts and shares of GPUs; what is not there stays unknown."""

from __future__ import annotations

import math
from typing import Any

from ettlog.parse.sacct_cells import ABSENT, BAD, Clock

SECOND = 1_000_000
ABSENT_WORDS = frozenset(("", "nan", "none", "null", "n/a", "unknown", "nat"))
MILLI = 1000
_MOST = (1 << 63) - 1

Row = dict[str, str]
Fields = dict[str, Any]


class BadCellError(ValueError):
    """A time of a row cannot be read: the row is counted as `bad_time` and not used."""


def known(text: str) -> str | None:
    """Return the text of a cell, or None for one of the words that stand for nothing."""
    text = text.strip()
    return None if len(text) < 8 and text.lower() in ABSENT_WORDS else text


def scaled(text: str, scale: int) -> int | None:
    """Return a decimal number times `scale`, rounded to a whole; None where there is none. Raise BadCellError."""
    cell = known(text)
    if cell is None:
        return None
    if cell.isascii() and cell.isdigit() and len(cell) < 16:
        return int(cell) * scale
    try:
        value = float(cell)
    except ValueError:
        raise BadCellError(text[:40]) from None
    if not math.isfinite(value) or abs(value * scale) > _MOST:
        raise BadCellError(text[:40])
    return round(value * scale)


def seconds(text: str) -> int | None:
    """Return microseconds of a number of seconds; None where there is none. Raise BadCellError."""
    return scaled(text, SECOND)


def whole(text: str) -> int | None:
    """Return a whole number that may be written as 8 or 8.0; None for anything else."""
    try:
        milli = scaled(text, MILLI)
    except BadCellError:
        return None
    return None if milli is None or milli % MILLI else milli // MILLI


def share(text: str, scale: int = MILLI) -> int | None:
    """Return a number of GPUs or processors in thousandths; None for what is no number."""
    try:
        return scaled(text, scale)
    except BadCellError:
        return None


def stamp(text: str, clock: Clock) -> int | None:
    """Return the instant of a stamp in microseconds since 1970 UTC; None where there is none. Raise BadCellError."""
    cell = known(text)
    if cell is None:
        return None
    at = clock(cell.encode("utf-8", "replace"))
    if at == BAD:
        raise BadCellError(text[:40])
    return None if at == ABSENT else at


def end_after(start: int | None, text: str, clock: Clock) -> int | None:
    """Return the end of a run; of the two readings that a clock change gives, the one behind the start.

    Raise BadCellError for an end before the start.
    """
    end = stamp(text, clock)
    if start is None or end is None or end >= start:
        return end
    later = clock.later(text.strip().encode("utf-8", "replace"))
    if later is None or later < start:
        raise BadCellError(text[:40])
    return later


def gpus(milli: int | None) -> Fields:
    """Return the columns of a number of GPUs in thousandths: whole GPUs where it is whole, the share always."""
    if milli is None:
        return {}
    return {"gpu_milli": milli, "gpus": None if milli % MILLI else milli // MILLI}


def ceiling(milli: int | None) -> int | None:
    """Return the whole GPUs that a share of some of them asks for."""
    return None if milli is None else -(-milli // MILLI)
