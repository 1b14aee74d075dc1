"""Stamps read by the shape of an earlier one are what the layouts make of them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettlog.parse import stamp
from ettlog.parse.stamp_like import LONGEST, Printed

STAMPS = (
    "2031-03-09T11:15:30.123", "2031-03-09T11:15:30.123456Z", "2031-03-09T11:15:30+01:00", "2031/03/09 11:15:30",
    "2031-03-09 11:15:30,123 UTC", "20310309-11:15:30", "Mon Mar 09 11:15:30 2031", "Mon Mar  9 11:15:30 2031",
    "Mon Mar 09 11:15:30", "04/05 06:07:08", "04/05/2031 06:07:08 PM", "W0309 11:15:30.123000", "[06:07:08.123]",
    "06:07:08", "1931234567.25", "2031-03-09 11:15:30 2031", " 2031-03-09 11:15:30", "2031-03-09 11:15:30 4 of 7",
    "2031-03-09 11:15:30" + " " * LONGEST + "5",
)  # fmt: skip
"""One of each layout, and some with more around them."""


@st.composite
def printed(draw: st.DrawFn) -> str:
    """Return a stamp of which some digits are others."""
    text = [*draw(st.sampled_from(STAMPS))]
    places = [at for at, mark in enumerate(text) if mark.isdigit()]
    for at in draw(st.lists(st.sampled_from(places), max_size=4)):
        text[at] = draw(st.sampled_from("0123456789"))
    return "".join(text)


@settings(deadline=None)
@given(st.lists(printed(), min_size=1, max_size=12), st.booleans())
def test_stamps_are_what_the_layouts_say(texts: list[str], encoded: bool) -> None:
    """Whatever stamps were read before, each is read as if it were the first one, as text or as bytes."""
    reader = Printed()
    for text in [*texts, *texts]:
        assert reader.parse(text.encode() if encoded else text) == stamp.parse(text)


def test_second_stamp_of_a_day_is_read_without_the_layouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The layouts are asked once for each shape and day."""
    reader, real = Printed(), stamp.parse
    asked: list[bytes | str] = []

    def counted(text: bytes | str) -> stamp.Stamp | None:
        asked.append(text)
        return real(text)

    monkeypatch.setattr(stamp, "parse", counted)
    days = ["2031-03-09T11:15:30.123", "2031-03-09T11:15:31.004", "2031-03-10T00:00:00.000", "2031-03-10T23:59:59.999"]
    assert [reader.parse(text) for text in days] == [real(text) for text in days]
    assert asked == [b"2031-03-09T11:15:30.123", b"2031-03-10T00:00:00.000"]
