"""Lines read as their like was read: the same facts as by their regexes, whatever their digits."""

from __future__ import annotations

import random
import re
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from ettlog.lifecycle import CLOCKS
from ettlog.parse import envelope, recipe
from ettlog.parse import format as formats
from ettlog.parse.clockwork import Clock
from ettlog.parse.dated import DatedLikes
from ettlog.parse.engine import engine
from ettlog.parse.envelope import ENVELOPES
from ettlog.parse.finder import STEP
from ettlog.parse.format import Pattern
from ettlog.parse.line import Found, LineReader
from ettlog.parse.parsed import ALL, Limits

FORMATS = formats.load_all()
EVENTS = [one for one in FORMATS.patterns if one.kind != STEP]
PREFIXES = [b"", b"[rank3]:", b" 7: ", b"2031-04-05T06:07:08Z ", b"[1,3]<stdout>:[2031-04-05 06:07:08,123] [INFO] "]


def reader() -> LineReader:
    """Return a reader with a clock of its own: what a stamp means depends on the stamps before it."""
    return LineReader(FORMATS.patterns, Clock("UTC", 2031), Limits().states)


def by_regex(line: bytes) -> list[Found]:
    """Read a line by its regexes."""
    wanted = engine(FORMATS, ALL).finder.wanted(line)
    return reader().read(line, wanted) if wanted else []


def by_recipe(recipes: recipe.Recipes, line: bytes) -> list[Found]:
    """Read a line as the scanner does, learning from it what it may."""
    name, known = recipes.known(line)
    if known is not None and known.facts is not None:
        return recipes.read(known, name, line, reader())
    found = by_regex(line)
    if known is None and name:
        recipes.learn(name, line, engine(FORMATS, ALL).finder.wanted(line), found)
    return found


def with_other_digits(line: bytes, seed: int) -> bytes:
    """Return a line with other digits; of dates and times valid ones."""
    dice = random.Random(seed)
    line = re.sub(
        rb"20\d\d-\d\d-\d\d",
        lambda _: b"20%02d-%02d-%02d" % (dice.randrange(25, 35), dice.randrange(1, 13), dice.randrange(1, 29)),
        line,
    )
    line = re.sub(
        rb"\d\d:\d\d:\d\d",
        lambda _: b"%02d:%02d:%02d" % (dice.randrange(24), dice.randrange(60), dice.randrange(60)),
        line,
    )
    return re.sub(rb"(?<![\d:-])\d+(?![\d:-])", lambda m: bytes(dice.choice(b"0123456789") for _ in m[0]), line)


@pytest.mark.parametrize("pattern", EVENTS, ids=lambda one: f"{one.format}-{one.name}")
def test_what_is_remembered_of_a_line_holds_for_its_like(pattern: Pattern) -> None:
    """Every sample of every pattern, behind prefixes and with other digits, is read as its regexes read it."""
    recipes = recipe.Recipes(FORMATS.patterns, engine(FORMATS, ALL).finder.literals, DatedLikes().stamp)
    for sample in pattern.samples:
        for prefix in PREFIXES:
            line = prefix + sample.line.encode()
            for seed, text in enumerate((line, line, line, *(with_other_digits(line, seed) for seed in range(6)))):
                assert by_recipe(recipes, text) == by_regex(text), (seed, text)


def test_a_stamp_that_is_known_by_its_like_dates_the_event() -> None:
    """Of an event behind a dated prefix the instant is that of its own stamp, and its clock has a word."""
    recipes = recipe.Recipes(FORMATS.patterns, engine(FORMATS, ALL).finder.literals, DatedLikes().stamp)
    told = []
    for minute in range(4):
        line = b"[2031-04-05 06:%02d:08,250] [INFO] saving checkpoint at iteration   1000 to /data/ckpt" % minute
        told += [(one.ts, one.clock) for one in by_recipe(recipes, line)]
    start = 1_933_135_208_250_000  # 2031-04-05T06:00:08.25Z
    assert [ts for ts, _ in told] == [start + 60_000_000 * minute for minute in range(4)]
    assert {CLOCKS[clock] for _, clock in told} == {"zone_set"}


def test_lines_are_remembered_from_the_second_one_on() -> None:
    """A save seen twice is known at the third time, with its new step and its new path."""
    recipes = recipe.Recipes(FORMATS.patterns, engine(FORMATS, ALL).finder.literals)
    lines = [b"saving checkpoint at iteration   %4d to /data/run1/ckpt" % step for step in (1000, 2000, 3000)]
    known = [recipes.known(line)[1] is not None or by_recipe(recipes, line) is None for line in lines]
    assert known == [False, False, True]
    assert [one.values["step"] for one in by_recipe(recipes, lines[2])] == [3000]


def test_a_digit_that_matters_is_not_passed_over() -> None:
    """`Received 2 death signal` is a keyboard interrupt, 15 is another signal: one is never read as the other."""
    recipes = recipe.Recipes(FORMATS.patterns, engine(FORMATS, ALL).finder.literals)
    agent = b"[2031-04-05 06:07:08,123] torch.distributed.elastic.agent.server.api: [WARNING] "
    nine = agent + b"Received 9 death signal, shutting down workers"
    two = nine.replace(b"Received 9", b"Received 2")
    for line in (nine, nine, nine, two, two, two, nine):
        assert by_recipe(recipes, line) == by_regex(line)
    assert by_regex(nine) != by_regex(two)


def test_memory_of_lines_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many different lines come, no more are kept than the limit."""
    monkeypatch.setattr(recipe, "KEPT", 8)
    recipes = recipe.Recipes(FORMATS.patterns, ())
    for name in range(100):
        line = b"x" * name
        for _ in range(2):
            recipes.learn(line, line, (), [])
    assert len(recipes._known) <= 8 and len(recipes._once) <= 8


ODD = {"nanotron", "ucx"}
"""Prefixes whose lines are never remembered."""


@pytest.mark.parametrize("row", ENVELOPES, ids=lambda one: one.name)
def test_prefixes_treat_all_digits_alike(row: envelope.Envelope) -> None:
    """Beside the century of a date no prefix names a digit or a part of the ten: lines are remembered by that."""
    regex = envelope._expand(row.regex).replace(rb"20\d\d-\d\d", b"")
    odd = _partial(_parser.parse(regex))
    line = recipe.key(row.sample)
    assert (row.name in ODD) == odd
    if odd:
        assert any(part in line for part in recipe.OTHER_DIGITS)


def _partial(tree: Any) -> bool:
    """Tell whether a parsed regex holds a literal digit, or a set of some of them."""
    digits = set(range(48, 58))
    for code, value in tree:
        if code is op.LITERAL and value in digits:
            return True
        if code is op.IN:
            named = {item for kind, item in value if kind is op.LITERAL} | {
                item for kind, span in value if kind is op.RANGE for item in range(span[0], span[1] + 1)
            }
            if named & digits and not named >= digits:
                return True
        parts = value if isinstance(value, tuple | list) else ()
        if any(_partial(part) for part in _trees(parts)):
            return True
    return False


def _trees(parts: Any) -> list[Any]:
    """Return the parsed regexes inside an element."""
    found = []
    for part in parts:
        if isinstance(part, _parser.SubPattern):
            found.append(part)
        elif isinstance(part, tuple | list):
            found += _trees(part)
    return found
