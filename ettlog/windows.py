"""Windows of time: `6mo` and its kin, dates, and the half-open interval [since, until) they stand for."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import MINYEAR, UTC, date, datetime, timedelta
from typing import NamedTuple

from ettlog.errors import UsageError

UNITS: dict[str, timedelta | int] = {
    "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1), "mo": 1, "y": 12,
}  # fmt: skip
"""Unit of a window -> its length, or how many calendar months it has."""

_WINDOW = re.compile(r"(\d{1,4})(h|d|w|mo|y)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Window(NamedTuple):
    """A half-open window [since, until) in microseconds since 1970 UTC, and how it was had."""

    since_us: int
    until_us: int
    text: str

    def holds(self, instant_us: int) -> bool:
        """Tell whether an instant lies in the window."""
        return self.since_us <= instant_us < self.until_us


def micros(moment: datetime) -> int:
    """Return microseconds since 1970 UTC, in integers; a moment without a zone is read as UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    delta = moment - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def moment(instant_us: int) -> datetime:
    """Return the UTC datetime of an instant in microseconds since 1970."""
    return datetime.fromtimestamp(instant_us // 1_000_000, tz=UTC).replace(microsecond=instant_us % 1_000_000)


def instant(value: str | date | datetime, *, where: str = "--since") -> int:
    """Return the instant of an ISO date or datetime in microseconds since 1970 UTC; raises UsageError."""
    if isinstance(value, datetime):
        return micros(value)
    if isinstance(value, date):
        return micros(datetime(value.year, value.month, value.day, tzinfo=UTC))
    try:
        return micros(datetime.fromisoformat(value.strip()))
    except ValueError as error:
        raise UsageError(
            f"{value!r} is not a date", where=where, why=str(error), todo="write 2026-03-01 or 2026-03-01T12:00+02:00"
        ) from error


def before(newest_us: int, window: str) -> int:
    """Return the instant one window before the newest event; `6mo` is six calendar months. Raises UsageError."""
    found = _WINDOW.fullmatch(window.strip())
    if found is None or int(found[1]) == 0:
        raise UsageError(
            f"{window!r} is not a window",
            where="--window",
            why="a window is a whole number above zero and one of " + ", ".join(UNITS),
            todo="write 6mo, 30d, 2w, 12h or 1y",
        )
    try:
        return micros(_earlier(moment(newest_us), int(found[1]), UNITS[found[2]]))
    except (OverflowError, ValueError) as error:
        raise UsageError(
            f"the window {window} reaches before year 1",
            where="--window",
            why=str(error),
            todo="ask for a shorter window",
        ) from error


def _earlier(when: datetime, count: int, unit: timedelta | int) -> datetime:
    """Return the moment so many units earlier; where a month lacks the day, its last one."""
    if isinstance(unit, timedelta):
        return when - count * unit
    year, month = divmod(12 * when.year + when.month - 1 - count * unit, 12)
    if year < MINYEAR:
        raise ValueError(f"year {year} is out of range")
    return when.replace(year=year, month=month + 1, day=min(when.day, monthrange(year, month + 1)[1]))


def _edge(value: str | date, newest_us: int, where: str) -> int:
    """Return the instant of an edge of a window; `now` is just after the newest event, `now-7d` a week before it."""
    text = value.strip() if isinstance(value, str) else ""
    if text == "now":
        return newest_us + 1
    return before(newest_us, text.removeprefix("now-")) if text.startswith("now-") else instant(value, where=where)


def resolve(
    newest_us: int,
    *,
    oldest_us: int,
    window: str | None = None,
    since: str | date | None = None,
    until: str | date | None = None,
) -> Window:
    """Return the window asked for, counted back from the newest event of the data (not from today).

    `since` and `until` are ISO dates (a bare date is its first instant in UTC), or `now` and `now-7d`, where now is the
    newest event. Raises UsageError when window and since are both given or the result is empty.
    """
    if window is not None and since is not None:
        raise UsageError(
            "both a window and a beginning were given", where="--window, --since",
            why="each of them sets where the window begins", todo="give one of the two",
        )  # fmt: skip
    end = newest_us + 1 if until is None else _edge(until, newest_us, "--until")
    if window is not None:
        begin = before(end if until is not None else newest_us, window)
        text = f"{window} back from " + ("the newest event" if until is None else "--until")
    elif since is not None:
        begin, text = _edge(since, newest_us, "--since"), "from --since"
    else:
        begin, text = min(oldest_us, end - 1), "all events"
    if begin >= end:
        raise UsageError(
            "the window is empty", where="--since, --until",
            why=f"it would begin at {moment(begin)} and end at {moment(end)}",
            todo="let it begin before it ends; the newest event is at " + moment(newest_us).isoformat(),
        )  # fmt: skip
    return Window(begin, end, text)
