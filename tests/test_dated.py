"""Instants of dated lines read where the stamp of their like stood: the same as if each were the first one."""

from __future__ import annotations

import pytest

from ettlog.parse import dated
from ettlog.parse import format as formats
from ettlog.parse.clockwork import Clock
from ettlog.parse.dated import DatedLikes
from ettlog.parse.envelope import ENVELOPES
from ettlog.parse.line import LineReader
from ettlog.parse.parsed import Limits
from ettlog.parse.template import NULL
from tests.test_recipe import with_other_digits

FORMATS = formats.load_all()
BODIES = (
    b"iteration 10/100 | lm loss: 1.0E+00",
    b"[2031-04-05 06:07:08] iteration 10/100",
    b"took 00:00:05 since 2031-04-05T06:07:08.123Z",
    b"[after dataloaders are built] datetime: 2031-04-05 06:07:08 ",
    b"Mon Apr 05 06:07:08 2031 | step 7",
    b"Mon Apr 05 06:07:08 1131 | step 7",
    b"06:07:08 epoch 3",
    b"elapsed 06:07:08 of 12:00:00",
    b"1933135628.25 begin",
    b'{"time_ms": 1933135628250}',
    b"04/05/2031 06:07:08 done",
    b"W0405 06:07:08.123000 4242 torch/_dynamo/convert_frame.py:357] [0/0] limit",
    b"no stamp at all 12",
)


def reader(zone: str | None) -> LineReader:
    """Return a reader with a clock of its own: what a stamp means depends on the stamps before it."""
    return LineReader(FORMATS.patterns, Clock(zone, None), Limits().states)


@pytest.mark.parametrize("zone", [None, "Europe/Paris"])
@pytest.mark.parametrize("body", BODIES, ids=lambda body: body[:20].decode())
def test_instants_are_those_of_reading_each_line_anew(body: bytes, zone: str | None) -> None:
    """Behind every prefix, with the same and with other digits, valid and invalid: one clock sees the same instants."""
    likes, first, anew = DatedLikes(), reader(zone), reader(zone)
    told = []
    for prefix in (b"", *(row.sample for row in ENVELOPES)):
        line = prefix + body
        broken = line.replace(b"06:07:08", b"66:77:88")
        for text in (line, *(with_other_digits(line, seed) for seed in range(4)), broken, line + b"\r"):
            instant = likes.instant(text, first)
            assert instant == anew.dated(text), text
            told.append(instant)
    assert any(instant != NULL for instant in told)


def test_four_digits_behind_a_time_are_a_year_on_some_of_its_like_only() -> None:
    """Learnt where they are none, 1131, they are read as the year where they are one: 2031, not the nominal one."""
    likes, clock = DatedLikes(), reader("UTC")
    for _ in range(2):
        likes.instant(b"Mon Apr 05 06:07:08 1131 | step 7", clock)
    assert likes.instant(b"Mon Apr 05 06:07:08 2031 | step 7", clock) == 1933135628_000000


def test_a_line_with_an_impossible_time_has_the_next_stamp() -> None:
    """A place learnt from a valid stamp holds no instant at 31:07:08; the stamp behind it is read, as on any line."""
    likes, clock = DatedLikes(), reader("UTC")
    good = likes.instant(b"x 2031-04-05 06:07:08 y 2031-04-06 00:00:00", clock)
    other = likes.instant(b"x 2031-04-05 31:07:08 y 2031-04-06 00:00:00", clock)
    assert (good, other) == (1933135628_000000, 1933200000_000000)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many different lines come, no more are kept than the limit."""
    monkeypatch.setattr(dated, "KEPT", 8)
    likes, clock = DatedLikes(), reader("UTC")
    for size in range(50):
        likes.instant(b"x" * size + b" 2031-04-05 06:07:08", clock)
    assert len(likes._known) <= 8
