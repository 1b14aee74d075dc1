"""Windows: calendar months back from the newest event, and half-open bounds."""

from __future__ import annotations

from datetime import date

import polars as pl
import pytest

from ettlog import windows
from ettlog.errors import UsageError

AUGUST = windows.instant("2026-08-31T12:00:00")


@pytest.mark.parametrize(
    ("window", "begin"),
    [
        ("6mo", "2026-02-28T12:00:00"),
        ("1mo", "2026-07-31T12:00:00"),
        ("1y", "2025-08-31T12:00:00"),
        ("2w", "2026-08-17T12:00:00"),
        ("30d", "2026-08-01T12:00:00"),
        ("36h", "2026-08-30T00:00:00"),
    ],
)
def test_windows_count_back_from_the_newest_event(window: str, begin: str) -> None:
    """Months and years are calendar ones: half a year before 31 August is 28 February."""
    assert windows.before(AUGUST, window) == windows.instant(begin)


def test_months_back_are_those_of_polars() -> None:
    """From the ends of months of leap years and others, any months and years back end where Polars' calendar does."""
    ends = [
        f"{year}-{month:02}-{day}T07:30:00" for year in (2023, 2024, 2100) for month in range(1, 13) for day in (15, 28)
    ]
    ends += ["2024-02-29T23:59:59", "2023-01-31T00:00:00", "2024-03-31T12:00:00", "2024-12-31T00:00:01"]
    frame = pl.Series(ends).str.to_datetime(time_unit="us")
    for window in ("1mo", "2mo", "11mo", "12mo", "13mo", "1y", "4y", "100y", "5d", "3w", "49h"):
        expected = frame.dt.offset_by(f"-{window}").to_physical().to_list()
        assert [windows.before(windows.instant(end), window) for end in ends] == expected, window


@pytest.mark.parametrize("window", ["", "6", "mo", "0d", "-1d", "6 mo", "1.5d", "6m", "99999y"])
def test_what_is_no_window_is_refused(window: str) -> None:
    """A window is a whole number above zero and a unit; the message names the option."""
    with pytest.raises(UsageError, match="is not a window") as caught:
        windows.before(AUGUST, window)
    assert caught.value.where == "--window"


def test_a_window_before_year_one_is_refused() -> None:
    """9999 years before 2026 is no date."""
    with pytest.raises(UsageError, match="before year 1"):
        windows.before(AUGUST, "9999y")


def test_the_newest_event_lies_inside() -> None:
    """The bounds are half open, so the end is one microsecond after the newest event."""
    found = windows.resolve(AUGUST, oldest_us=0, window="1mo")
    assert found.holds(AUGUST)
    assert found.holds(found.since_us)
    assert not found.holds(found.until_us)


def test_dates_bound_the_window() -> None:
    """A bare date is its first instant in UTC; a stamp with a zone is moved to UTC."""
    found = windows.resolve(AUGUST, oldest_us=0, since=date(2026, 3, 1), until="2026-04-01T02:00+02:00")
    assert (found.since_us, found.until_us) == (windows.instant("2026-03-01"), windows.instant("2026-04-01"))


def test_without_a_window_all_events_are_in() -> None:
    """The default begins with the oldest event."""
    assert windows.resolve(AUGUST, oldest_us=5).since_us == 5


def test_window_and_since_exclude_each_other() -> None:
    """Each of them sets the beginning."""
    with pytest.raises(UsageError, match="both a window and a beginning"):
        windows.resolve(AUGUST, oldest_us=0, window="1mo", since="2026-01-01")


def test_an_empty_window_is_refused() -> None:
    """A window must begin before it ends."""
    with pytest.raises(UsageError, match="is empty"):
        windows.resolve(AUGUST, oldest_us=0, since="2026-05-01", until="2026-05-01")


def test_instants_keep_microseconds() -> None:
    """2026-01-01 is 1,767,225,600 s after 1970; microseconds come back unchanged."""
    assert windows.instant("2026-01-01T00:00:00.000001") == 1_767_225_600_000_001
    assert windows.micros(windows.moment(1_767_225_600_000_001)) == 1_767_225_600_000_001
