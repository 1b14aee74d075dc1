"""Literals without which no line can match a regex."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ettlog.parse.envelope import peel
from ettlog.parse.finder import STEP
from ettlog.parse.format import load_all
from ettlog.parse.needles import needles
from ettlog.parse.scan import ScanOptions, scan

LETTERS = st.text("abc:", min_size=1, max_size=5)
Part = tuple[str, str]
"""A piece of a regex and a text that it matches."""


def plain(text: str) -> Part:
    """Return a piece that matches one text only."""
    return re.escape(text), text


def either(one: Part, other: Part) -> Part:
    """Return a choice whose first way is taken."""
    return f"(?:{one[0]}|{other[0]})", one[1]


def several(part: Part) -> Part:
    """Return a piece that stands twice."""
    return f"(?:{part[0]})+", part[1] * 2


def missing(part: Part) -> Part:
    """Return a piece that may stand, and does not."""
    return f"(?:{part[0]})?", ""


def behind(one: Part, other: Part) -> Part:
    """Return two pieces one behind the other."""
    return one[0] + other[0], one[1] + other[1]


VAGUE: list[Part] = [(r"\d+", "17"), ("[ab]", "b"), ("[^b]", "x"), (r"\b", ""), ("(?!zz)", "")]
LEAVES = LETTERS.map(plain) | st.sampled_from(VAGUE)
PARTS = st.recursive(
    LEAVES,
    lambda part: st.one_of(
        st.builds(either, part, part), st.builds(several, part), st.builds(missing, part), st.builds(behind, part, part)
    ),
    max_leaves=12,
)


@given(PARTS)
def test_every_match_holds_a_literal(part: Part) -> None:
    """Whatever choices, repeats and options a regex has: a text that it matches holds one of its literals."""
    regex, text = part[0].encode(), part[1].encode()
    if re.fullmatch(regex, text):
        found = needles(regex)
        assert not found or any(one in text for one in found)
        assert all(found)


@pytest.mark.parametrize(
    ("expression", "literals"),
    [
        (rb"abc (?P<step>\d+) of defgh", (b" of defgh",)),
        (rb"(?:ab)?cdef", (b"abcdef", b"cdef")),
        (rb"\[(?P<name>ab)cd\]e+f", (b"[abcd]e",)),
        (rb"^(?:Saved checkpoint|Checkpoint saved) to \d", (b"Checkpoint saved to ", b"Saved checkpoint to ")),
        (rb"[Ss]aved(?! not) it", (b"Saved it", b"saved it")),
        (rb"x|\d", ()),
        (rb"(?i)abc", ()),
    ],
)
def test_the_literals_that_a_match_cannot_do_without(expression: bytes, literals: tuple[bytes, ...]) -> None:
    """Of each way through a regex the longest run of bytes that are certain; none where one way has none."""
    assert needles(expression) == literals


def test_a_regex_of_many_ways_keeps_what_they_share() -> None:
    """Four choices of three have 81 ways: they are gaps, and the text behind them is certain."""
    assert needles(rb"(?:ab|cd|ef)" * 4 + rb" finished") == (b" finished",)


def test_literals_are_cut_where_a_byte_may_be_written_in_another_way() -> None:
    """A quote, and what is not ASCII, may be escaped in what wraps a line."""
    assert needles(rb'"event": "saved it"', plain=True) == (b"saved it",)
    assert needles("saved → to the disk".encode(), plain=True) == (b" to the disk",)


def test_samples_of_all_events_hold_their_literals() -> None:
    """Each shipped pattern's samples, without their envelope, hold one of the literals of its regex."""
    seen = 0
    for pattern in load_all().patterns:
        for sample in pattern.samples:
            lines = [state.strip(b"\r") for state in sample.line.encode().split(b"\r")]
            text = b"\r".join([*lines, *(peel(line).body for line in lines)])
            for one in (True, False):
                found = needles(pattern.expression, plain=one)
                assert not found or any(literal in text for literal in found), pattern.name
            seen += pattern.kind != STEP
    assert seen > 600


@pytest.mark.parametrize("coloured", [b"Saving checkpoint at step 500", b"Saving \x1b[1mcheckpoint\x1b[0m at step 500"])
def test_a_colour_inside_a_literal_hides_no_event(coloured: bytes, tmp_path: Path) -> None:
    """A word that a console paints is read as one that it does not."""
    path = tmp_path / "train.log"
    path.write_bytes(b"2026-01-05 10:00:00 - INFO - [process=0] " + coloured + b"\n" * 2)
    assert scan(path, load_all(), ScanOptions()).events.num_rows == 1
