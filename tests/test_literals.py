"""Two ways of looking for literals: both find the lines that a search one by one finds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ettlog.parse import finder
from ettlog.parse import literals as searches
from ettlog.parse.envelope import peel
from ettlog.parse.format import load_all
from ettlog.parse.gates import MAX_GATES, MIN_RARE, minimal, rare_ends

WORDS = st.lists(st.text("abc", min_size=1, max_size=4).map(str.encode), min_size=1, max_size=8, unique=True)


def lines_with(text: bytes, literals: list[bytes]) -> set[int]:
    """Return the numbers of the lines on which a literal stands, by looking for each one."""
    return {number for number, line in enumerate(text.split(b"\n")) if any(one in line for one in literals)}


def lines_of(text: bytes, found: searches.Hits) -> set[int]:
    """Return the numbers of the lines that hits are on."""
    return {text.count(b"\n", 0, at) for at in found.at.tolist()}


@pytest.mark.parametrize("search", [searches.AhoCorasick, searches.Hyperscan, searches.Overlapping])
@given(text=st.text("abc\n", max_size=200).map(str.encode), literals=WORDS)
def test_every_line_with_a_literal_is_found(search: type, text: bytes, literals: list[bytes]) -> None:
    """Whatever overlaps or hides in another: the lines found are those that a plain search finds, in order."""
    found = search(literals).find(memoryview(text))
    assert lines_of(text, found) == lines_with(text, literals)
    assert found.at.tolist() == sorted(found.at.tolist())
    for number, at in zip(found.number.tolist(), found.at.tolist(), strict=True):
        assert text[at : at + len(literals[number])] == literals[number]


@pytest.mark.parametrize("search", [searches.AhoCorasick, searches.Hyperscan])
def test_more_literals_than_one_pass_takes(search: type) -> None:
    """With three times as many literals as one automaton should hold, each is still found, under its own number."""
    literals = [b"word%03dx" % number for number in range(3 * MAX_GATES)]
    text = memoryview(b"\n".join(reversed(literals)))
    assert search(literals).find(text).number.tolist() == list(reversed(range(len(literals))))


@given(text=st.text("abc\n", max_size=200).map(str.encode), literals=WORDS)
def test_every_literal_is_found_where_that_is_asked(text: bytes, literals: list[bytes]) -> None:
    """With the extra or without: all that stand in the text, those inside others too."""
    with pytest.MonkeyPatch.context() as patch:
        for found in ("hyperscan", None):
            patch.setattr(searches, "find_spec", lambda _name, found=found: found)
            numbers = searches.every(literals).find(memoryview(text)).number.tolist()
            assert {literals[number] for number in numbers} == {one for one in literals if one in text}


def test_hyperscan_is_taken_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the other search serves, and finds the lines with anchors of events too; without patterns
    nothing is compiled."""
    patterns = load_all().patterns
    events = [index for index, one in enumerate(patterns) if one.kind != finder.STEP]
    fast = finder.event_search(patterns)
    assert isinstance(fast, searches.Hyperscan)
    assert isinstance(finder.event_search([]), searches.AhoCorasick)
    monkeypatch.setattr(searches, "find_spec", lambda _name: None)
    slow = finder.event_search(patterns)
    assert isinstance(slow, searches.AhoCorasick)
    lines = [sample.line.encode() for one in patterns for sample in one.samples]
    text = b"\n".join(lines)
    anchored = {number for number, line in enumerate(lines) if any(patterns[one].anchor in line for one in events)}
    bodies = [peel(line).body for line in lines]
    matched = {
        number for number, one in enumerate(bodies) if any(patterns[index].regex.search(one) for index in events)
    }
    assert len(matched) > 400
    assert matched <= lines_of(text, fast.find(memoryview(text)))
    assert len(anchored) > 400
    assert anchored <= lines_of(text, slow.find(memoryview(text)))


def test_anchors_alone_can_be_looked_for() -> None:
    """Where literals may be broken by colours every line with an anchor of an event is found."""
    patterns = load_all().patterns
    anchors = [one.anchor for one in patterns if one.kind != finder.STEP]
    text = b"\n".join(anchors)
    assert lines_of(text, finder.event_search(patterns, long=False).find(memoryview(text))) == set(range(len(anchors)))


def test_what_makes_the_search_fast_is_no_hit() -> None:
    """Hyperscan is given one literal more than was asked for: it is never reported."""
    literals = [b"word%03dx" % number for number in range(200)]
    text = b"word007x \x01\x02\x03 word199x"
    found = searches.Hyperscan(literals).find(memoryview(text))
    assert (found.number.tolist(), found.at.tolist()) == ([7, 199], [0, 13])


def test_a_literal_ends_where_the_text_is_rare() -> None:
    """Of an anchor that ends as every line does so much is left as ends otherwise; one that is rare, or as short as
    may be, stays whole."""
    text = b"iteration 1 | iteration 2 | iteration 3"
    assert rare_ends([b"last iteration", b"saved to disk", b"iteration"], text) == [
        b"iteration", b"last ite", b"saved to disk",
    ]  # fmt: skip


@given(anchors=WORDS, text=st.text("abc", max_size=60).map(str.encode))
def test_each_anchor_begins_with_a_literal_that_is_looked_for(anchors: list[bytes], text: bytes) -> None:
    """Whatever the text, a line with an anchor on it holds a literal, and none is cut below the least size."""
    found = rare_ends([one * 4 for one in anchors], text)
    assert all(any(one in anchor * 4 for one in found) for anchor in anchors)
    assert all(len(one) >= min(MIN_RARE, 4 * min(map(len, anchors))) for one in found)


@given(anchors=st.lists(st.text("ab", max_size=6).map(str.encode), max_size=10))
def test_fewest_literals_are_those_that_hold_no_other(anchors: list[bytes]) -> None:
    """Every anchor contains one of them, and they are the anchors in which no other anchor stands."""
    alone = {one for one in anchors if not any(other in one for other in anchors if other != one)}
    assert minimal(anchors) == sorted(alone)
