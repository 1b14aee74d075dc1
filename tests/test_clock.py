"""Stamps of every layout, and what makes instants of stamps that lack a zone, a year or a date."""

from __future__ import annotations

import calendar
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettlog.errors import UsageError
from ettlog.lifecycle import CLOCKS
from ettlog.parse.clock import SourceClock, Stamp, find, has_clock, parse


def us(*parts: int) -> int:
    """Return microseconds since 1970 of a UTC date, by the standard library."""
    return (datetime(*parts, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)  # type: ignore[misc,arg-type]


def local(*parts: int) -> Stamp:
    """Return a local stamp with date and year."""
    return Stamp(us(*parts), "local", True, True, "iso_blank")


LAYOUTS = [
    (b"2031-03-09 11:15:30", us(2031, 3, 9, 11, 15, 30), "local", "iso_blank"),
    (b"2031-03-09T11:15:30", us(2031, 3, 9, 11, 15, 30), "local", "iso"),
    (b"2031-03-09 11:15:30,123", us(2031, 3, 9, 11, 15, 30, 123000), "local", "iso_blank"),
    (b"2031-03-09 11:15:30.123456", us(2031, 3, 9, 11, 15, 30, 123456), "local", "iso_blank"),
    (b"2031-03-09T11:15:30.1234567Z", us(2031, 3, 9, 11, 15, 30, 123456), "utc", "iso"),
    (b"2031-03-09T11:15:30.123456789Z", us(2031, 3, 9, 11, 15, 30, 123456), "utc", "iso"),
    (b"2031-03-09T11:15:30+05:30", us(2031, 3, 9, 5, 45, 30), "offset", "iso"),
    (b"2031-03-09T11:15:30-0800", us(2031, 3, 9, 19, 15, 30), "offset", "iso"),
    (b"2031-03-09_11:15:30", us(2031, 3, 9, 11, 15, 30), "local", "torchelastic"),
    (b"2031-03-09 11:15:30 AM", us(2031, 3, 9, 11, 15, 30), "local", "iso_blank"),
    (b"2031-03-09 12:15:30 AM", us(2031, 3, 9, 0, 15, 30), "local", "iso_blank"),
    (b"2031-03-09 12:15:30 PM", us(2031, 3, 9, 12, 15, 30), "local", "iso_blank"),
    (b"2031-03-09 01:15:30 PM", us(2031, 3, 9, 13, 15, 30), "local", "iso_blank"),
    (b"04/05/2031 06:07:08", us(2031, 4, 5, 6, 7, 8), "local", "us_slash"),
    (b"2031/03/09 11:15:30", us(2031, 3, 9, 11, 15, 30), "local", "iso_slash"),
    (b"20310309 11:15:30", us(2031, 3, 9, 11, 15, 30), "local", "compact"),
    (b"Sun Mar  9 11:15:30 2031", us(2031, 3, 9, 11, 15, 30), "local", "ctime"),
    (b"Sun Mar  9 11:15:30 UTC 2031", us(2031, 3, 9, 11, 15, 30), "utc", "ctime"),
    (b"Sun Mar 19 11:15:30 CEST 2031", us(2031, 3, 19, 11, 15, 30), "local", "ctime"),
    (b"1933135628.123456", 1933135628123456, "utc", "epoch_s"),
]


@pytest.mark.parametrize(("text", "value", "zone", "layout"), LAYOUTS)
def test_layouts_are_read(text: bytes, value: int, zone: str, layout: str) -> None:
    """Each layout of the closed list gives its microseconds, zone and name, alone and at the head of a line."""
    assert parse(text) == Stamp(value, zone, True, True, layout)
    assert find(text + b" and more") == Stamp(value, zone, True, True, layout)
    if layout != "epoch_s":
        assert find(b"text before it: [" + text + b"] and more") == Stamp(value, zone, True, True, layout)


@pytest.mark.parametrize(
    ("text", "value", "date"),
    [
        (b"W0309 11:15:30.123000", us(2000, 3, 9, 11, 15, 30, 123000), True),
        (b"E309 11:15:30.123456789", us(2000, 3, 9, 11, 15, 30, 123456), True),
        (b"E1206 11:15:30.123456", us(2000, 12, 6, 11, 15, 30, 123456), True),
        (b"I0229 00:00:00.000000", us(2000, 2, 29), True),
        (b"04/05 06:07:08 [INFO|DP=0|TP=0|gpu-a]: iteration: 40", us(2000, 4, 5, 6, 7, 8), True),
        (b"04/05 06:07:08", us(2000, 4, 5, 6, 7, 8), True),
        (b"[04/05 06:07:08 d2.utils.events]:  eta: 0:01:00", us(2000, 4, 5, 6, 7, 8), True),
        (b"[04/05 06:07:08] ppdet.engine INFO: Epoch: [0]", us(2000, 4, 5, 6, 7, 8), True),
        (b"04/05 06:07:08 - mmengine - INFO - ", us(2000, 4, 5, 6, 7, 8), True),
        (b"[06:07:08.123]", us(1970, 1, 1, 6, 7, 8, 123000), False),
        (b"06:07:08 INFO", us(1970, 1, 1, 6, 7, 8), False),
    ],
)
def test_layouts_without_year_or_date(text: bytes, value: int, date: bool) -> None:
    """glog, c10 and recent nanotron stamps lack the year, times of day the date; both say so."""
    stamp = find(text)
    assert stamp is not None
    assert (stamp.us, stamp.year, stamp.date, stamp.zone) == (value, False, date, "local")


@pytest.mark.parametrize(
    "text",
    [
        b"2031-02-31 00:00:00", b"2031-13-01 00:00:00", b"1999-12-31 23:59:59", b"2100-01-01 00:00:00",
        b"0000-00-00 00:00:00", b"9999-12-31 00:00:00", b"2031-03-09 24:00:00", b"2031-03-09 11:60:00",
        b"2016-12-31 23:59:60", b"2031-03-09 13:00:00 PM", b"2031-03-09T00:00:00+99:00", b"E1399 11:15:30.123456",
        b"100000000.5", b"99999999999.5",
    ],
)  # fmt: skip
def test_impossible_stamps_are_none(text: bytes) -> None:
    """Days that never were, years outside 2000 to 2099, leap seconds, 13 PM: no stamp, never a guess."""
    assert find(text) is None
    assert parse(text) is None


@pytest.mark.parametrize(
    "text",
    [
        b"  3%| 10/300 [12:34:56<1:02:03, 2.8s/it]", b"took 01:02:03 to load", b"aa:11:22:33:44:55", b"x 12:34:56.789",
        b"ratio 1:2:3", b"no time at all", b"", b"10.12.34.56:12:34", b"100 elapsed 00:00:12",
    ],
)  # fmt: skip
def test_durations_are_no_stamps(text: bytes) -> None:
    """A time of day counts only at the beginning of a line or alone in brackets."""
    assert find(text) is None


def test_first_valid_stamp_of_a_line_counts() -> None:
    """Of several stamps the first is taken; an impossible one is passed over."""
    line = b"[2031-02-31 00:00:00] a [2031-03-01 00:00:00] b [2031-03-02 00:00:00]"
    assert find(line) == Stamp(us(2031, 3, 1), "local", True, True, "iso_blank")
    assert has_clock(b"at 2031-02-31 00:00:00")
    assert not has_clock(b"at noon")


def test_stamp_far_inside_a_long_line() -> None:
    """A stamp glued behind 60 kB of other text is found."""
    assert find(b"x" * 60_000 + b"[2031-03-09 11:15:30,000] [INFO]") == local(2031, 3, 9, 11, 15, 30)


def test_month_names_do_not_depend_on_the_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    """English month names are read even where the process's own month names are others."""
    monkeypatch.setattr(calendar, "month_abbr", ["", *(f"ay{number}" for number in range(1, 13))])
    monkeypatch.setattr(calendar, "day_abbr", [f"gun{number}" for number in range(7)])
    assert parse(b"Sat Mar 01 00:00:00 2031") == Stamp(us(2031, 3, 1), "local", True, True, "ctime")


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_no_error(line: bytes) -> None:
    """Whatever a line holds, the answer is a stamp or None, also in front of and behind a real one."""
    for text in (line, line + b"2031-03-09 11:15:30", b"2031-03-09 11:15:30" + line):
        assert find(text) is None or isinstance(find(text), Stamp)
        assert parse(text) is None or isinstance(parse(text), Stamp)


@settings(deadline=None)
@given(st.datetimes(datetime(2000, 1, 1), datetime(2099, 12, 31, 23, 59, 59)))
def test_iso_stamps_agree_with_the_standard_library(when: datetime) -> None:
    """For any date the microseconds are those of datetime."""
    expected = (when - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    assert parse(when.strftime("%Y-%m-%d %H:%M:%S.") + f"{when.microsecond:06d}") == Stamp(
        expected, "local", True, True, "iso_blank"
    )


def test_stamps_with_a_zone_are_exact() -> None:
    """A Z, an offset or an epoch value needs nothing: the instant is the value."""
    clock = SourceClock("Europe/Paris")
    for text in (b"2031-03-09T11:15:30Z", b"2031-03-09T12:15:30+01:00"):
        stamp = parse(text)
        assert stamp is not None
        assert clock.instant(stamp) == (us(2031, 3, 9, 11, 15, 30), "exact")
    assert clock.inferences == []


def test_zone_set_with_daylight_saving() -> None:
    """Paris is one hour ahead in January and two in July."""
    clock = SourceClock("Europe/Paris")
    assert clock.instant(local(2031, 1, 10, 12)) == (us(2031, 1, 10, 11), "zone_set")
    assert clock.instant(local(2031, 7, 10, 12)) == (us(2031, 7, 10, 10), "zone_set")


def test_the_hour_that_comes_twice() -> None:
    """In Paris 2031-10-26 02:30 comes twice: first at 00:30 UTC, then, once 02:45 has passed, at 01:30 UTC."""
    clock = SourceClock("Europe/Paris")
    assert clock.instant(local(2031, 10, 26, 2, 30)) == (us(2031, 10, 26, 0, 30), "zone_set")
    assert clock.instant(local(2031, 10, 26, 2, 45)) == (us(2031, 10, 26, 0, 45), "zone_set")
    assert clock.instant(local(2031, 10, 26, 2, 15)) == (us(2031, 10, 26, 1, 15), "zone_set")
    assert clock.instant(local(2031, 10, 26, 3, 15)) == (us(2031, 10, 26, 2, 15), "zone_set")


def test_small_steps_back_stay_in_the_first_hour() -> None:
    """Ranks that write some milliseconds out of order do not jump an hour in the hour that comes twice."""
    clock = SourceClock("Europe/Paris")
    clock.instant(local(2031, 10, 26, 2, 30, 0, 20_000))
    assert clock.instant(local(2031, 10, 26, 2, 30)) == (us(2031, 10, 26, 0, 30), "zone_set")


def test_the_hour_that_never_was() -> None:
    """In Paris 2031-03-30 02:30 does not exist: it is read by the clock that was not yet put forward, 01:30 UTC."""
    assert SourceClock("Europe/Paris").instant(local(2031, 3, 30, 2, 30)) == (us(2031, 3, 30, 1, 30), "zone_set")


def test_half_hour_daylight_saving() -> None:
    """Lord Howe is 10:30 ahead in winter (July) and 11:00 in summer (January)."""
    clock = SourceClock("Australia/Lord_Howe")
    assert clock.instant(local(2031, 1, 10, 12)) == (us(2031, 1, 10, 1), "zone_set")
    assert clock.instant(local(2031, 7, 10, 12)) == (us(2031, 7, 10, 1, 30), "zone_set")


def test_without_zone_local_is_read_as_utc_and_said() -> None:
    """No zone and no evidence: the stamp is taken as UTC, and the report says so once."""
    clock = SourceClock()
    assert clock.instant(local(2031, 3, 9, 11)) == (us(2031, 3, 9, 11), "zone_assumed")
    assert clock.instant(local(2031, 3, 9, 12)) == (us(2031, 3, 9, 12), "zone_assumed")
    assert clock.inferences == ["local stamps without a zone are read as UTC"]


def test_zone_from_an_epoch_value_beside_a_local_stamp() -> None:
    """Epoch 2031-03-09 19:15:29.9 beside local 11:15:30 is eight hours behind UTC."""
    clock = SourceClock()
    clock.observe(us(2031, 3, 9, 19, 15, 29, 900_000), local(2031, 3, 9, 11, 15, 30))
    assert clock.instant(local(2031, 3, 9, 11, 20)) == (us(2031, 3, 9, 19, 20), "zone_inferred")
    assert clock.inferences == ["zone UTC-08:00 inferred from an epoch value beside a local stamp"]


def test_zone_and_year_from_an_epoch_value() -> None:
    """A glog stamp gets its year from the epoch value beside it, over New Year too."""
    clock = SourceClock()
    glog = find(b"W1231 23:59:59.000000")
    assert glog is not None
    clock.observe(us(2032, 1, 1, 4, 59, 59), glog)
    later = find(b"W0101 00:00:05.000000")
    assert later is not None
    assert clock.instant(later) == (us(2032, 1, 1, 5, 0, 5), "date_inferred")
    assert any("UTC-05:00" in sentence for sentence in clock.inferences)


def test_observations_that_are_no_zone_teach_nothing() -> None:
    """Seven minutes beside a quarter of an hour, or 20 hours, is no zone: nothing is inferred."""
    clock = SourceClock()
    clock.observe(us(2031, 3, 9, 11, 7), local(2031, 3, 9, 11))
    clock.observe(us(2031, 3, 9, 11), local(2031, 3, 8, 15))
    assert clock.instant(local(2031, 3, 9, 11))[1] == "zone_assumed"


def test_a_zone_that_was_set_wins_over_evidence() -> None:
    """What the user set is used even when the file hints at another zone."""
    clock = SourceClock("Asia/Kolkata")
    clock.observe(us(2031, 3, 9, 19), local(2031, 3, 9, 11))
    assert clock.instant(local(2031, 3, 9, 11, 30)) == (us(2031, 3, 9, 6), "zone_set")


def test_year_from_the_hint_and_then_from_the_file() -> None:
    """Without any dated line the hint gives the year; a dated line gives it from then on."""
    clock = SourceClock(None, 2029)
    first, second = find(b"I0309 11:15:00.000000"), find(b"I0309 11:16:00.000000")
    assert first is not None
    assert second is not None
    assert clock.instant(first) == (us(2029, 3, 9, 11, 15), "date_inferred")
    clock.instant(local(2031, 3, 9, 11, 15, 30))
    assert clock.instant(second) == (us(2031, 3, 9, 11, 16), "date_inferred")


def test_year_rolls_over_in_both_directions() -> None:
    """December after January is the year before, January after December the year after."""
    clock = SourceClock(None, 2031)
    stamps = [find(text) for text in (b"I1231 23:59:59.000000", b"I0101 00:00:01.000000", b"I1231 23:59:59.500000")]
    found = [clock.instant(stamp)[0] for stamp in stamps if stamp is not None]
    assert found == [us(2031, 12, 31, 23, 59, 59), us(2032, 1, 1, 0, 0, 1), us(2031, 12, 31, 23, 59, 59, 500_000)]


def test_29_february_in_a_year_without_one() -> None:
    """A 29 February read with a hint of 2031 is taken as the 28th."""
    stamp = find(b"I0229 12:00:00.000000")
    assert stamp is not None
    assert SourceClock(None, 2031).instant(stamp) == (us(2031, 2, 28, 12), "date_inferred")
    assert SourceClock(None, 2032).instant(stamp) == (us(2032, 2, 29, 12), "date_inferred")


def test_no_year_and_no_hint_is_no_instant() -> None:
    """Unknown is better than wrong."""
    stamp = find(b"I0309 11:15:00.000000")
    assert stamp is not None
    assert SourceClock().instant(stamp) == (None, "none")


def test_time_of_day_rolls_over_midnight() -> None:
    """A time of day belongs to the day that is nearest to the instant before it."""
    clock = SourceClock()
    times = [find(text) for text in (b"[23:59:50]", b"[00:00:10]", b"[23:59:59]", b"[08:00:00]")]
    assert times[0] is not None
    assert clock.instant(times[0]) == (None, "none")
    clock.instant(local(2031, 3, 9, 23, 59))
    found = [clock.instant(stamp)[0] for stamp in times if stamp is not None]
    assert found == [
        us(2031, 3, 9, 23, 59, 50), us(2031, 3, 10, 0, 0, 10), us(2031, 3, 9, 23, 59, 59), us(2031, 3, 10, 8),
    ]  # fmt: skip
    assert sum("time of day" in sentence for sentence in clock.inferences) == 1


def test_unknown_zone_is_a_usage_error() -> None:
    """A zone nobody knows, or a path, is refused with four parts."""
    for name in ("Mars/Olympus", "../etc/passwd", "", "/etc/localtime"):
        with pytest.raises(UsageError, match="unknown zone"):
            SourceClock(name)


@settings(deadline=None)
@given(st.datetimes(datetime(2001, 1, 1), datetime(2098, 1, 1)), st.sampled_from(["Europe/Paris", "America/New_York"]))
def test_zones_agree_with_the_standard_library(when: datetime, zone: str) -> None:
    """Outside the hour that comes twice every local stamp is converted as zoneinfo does it."""
    first, second = (when.replace(tzinfo=ZoneInfo(zone), fold=fold) for fold in (0, 1))
    if first.utcoffset() == second.utcoffset():
        naive = (when - datetime(1970, 1, 1)) // timedelta(microseconds=1)
        expected = (first.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
        assert SourceClock(zone).instant(Stamp(naive, "local", True, True, "iso")) == (expected, "zone_set")


def test_clock_words_are_those_of_the_vocabulary() -> None:
    """Every word the clock gives is a row of lifecycle.CLOCKS."""
    assert {"exact", "zone_set", "zone_inferred", "zone_assumed", "date_inferred", "none"} <= set(CLOCKS)
