"""Remembers how a line was read, for all lines that differ from it in digits only.

Event lines repeat: a thousand saves, evaluations and timers of one run, and a thousand lines that only look like
events. A line whose regexes treat all digits alike (see uniform.py) is read by them once; what was found, or that
nothing was, holds for every line with the same text around its digits, and only the digits are decoded anew. Never
wrong: where something is not proved, or a digit that matters is another one, the line goes to its regexes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ettlog.parse import clock
from ettlog.parse.decode import Convert, combine, decoder
from ettlog.parse.envelope import Prefix, walk
from ettlog.parse.format import Pattern
from ettlog.parse.line import Found, LineReader
from ettlog.parse.stamp import Stamp
from ettlog.parse.template import NULL, allowed
from ettlog.parse.uniform import ZEROS, prove

KEPT = 8192
"""Most lines remembered."""

MAX_LINE = 1024
"""Longest line in bytes that is remembered."""

_DATE = re.compile(rb"20(?=\d\d-\d\d)")
_CENTURY = b"\x02\x02"
"""Stands for the century of a date; a line that holds such a byte is not remembered."""
_MARK = _CENTURY[:1]
OTHER_DIGITS = (b"00/00/0000", b"[0000000000.")
"""What prefixes look like, their digits zeroed, that do not treat all digits alike beside the century of a date."""


def key(line: bytes) -> bytes:
    """Return a line without its digits; of a date the century stays: prefixes look for it. Nothing of a line that holds
    what stands for a century."""
    if _MARK in line:
        return b""
    zeroed = line.translate(ZEROS)
    at = zeroed.find(b"0000-00")
    if at < 0:
        return zeroed
    if zeroed.find(b"0000-00", at + 1) >= 0:
        return _DATE.sub(_CENTURY, line).translate(ZEROS)
    return zeroed[:at] + _CENTURY + zeroed[at + 2 :] if line[at : at + 2] == b"20" else zeroed


def repeats(line: bytes) -> bool:
    """Tell whether lines like it are remembered."""
    return len(line) <= MAX_LINE and b"\r" not in line and b"\x1b" not in line and _MARK not in line


def digit_literals(literals: Iterable[bytes]) -> re.Pattern[bytes]:
    """Return what finds, in a line with its digits zeroed, that one of the literals with digits in them may be on a
    line like it."""
    zeroed = sorted({one.translate(ZEROS) for one in literals if b"0" in one.translate(ZEROS)})
    return re.compile(b"|".join(map(re.escape, zeroed)) or rb"(?!)")


class Fact(NamedTuple):
    """One match: where it lies in the body, what its pattern always says, and how each column is decoded from a piece
    of the line."""

    pattern: int
    span: tuple[int, int]
    constants: Mapping[str, str | int]
    groups: tuple[tuple[str, Convert, int, int], ...]


class Recipe(NamedTuple):
    """How a line is read: as its like was, or by its regexes where `facts` is None."""

    facts: tuple[Fact, ...] | None
    checks: tuple[tuple[int, bytes], ...] = ()
    """Places of digits that not every digit may take, with those that may."""
    prefix: Prefix = Prefix(0, {})
    timeless: bool = False
    """Neither prefix nor body holds what could be a stamp."""
    plain: bool = False
    """No fact names a stamp: what a line holds is told by its groups, by the rank and node of its prefix, and by the
    stamp that dates it."""


StampOf = Callable[[bytes, bytes], Stamp | None]
"""Returns the stamp that dates a line, given its key; None where its like were not seen."""


class Recipes:
    """Reads event lines of many sources; remembers what it learnt."""

    def __init__(self, patterns: Sequence[Pattern], literals: Sequence[bytes], stamp: StampOf | None = None) -> None:
        """Keep the patterns, the literals by which patterns are chosen, and who knows the stamps of such lines."""
        self._patterns = patterns
        self._stamp: StampOf = stamp or (lambda _name, _line: None)
        self._known: dict[bytes, Recipe] = {}
        self._once: set[bytes] = set()
        self._digits = digit_literals(literals)

    def silent(self, line: bytes, wanted: Sequence[int]) -> bool:
        """Tell whether no line with the same text around its digits holds a literal of events, given the event patterns
        wanted on this one."""
        return not wanted and self._digits.search(line.translate(ZEROS)) is None

    def known(self, line: bytes) -> tuple[bytes, Recipe | None]:
        """Return the key of a line and how its like was read; an empty key where lines like it are not remembered."""
        name = key(line)
        recipe = self._known.get(name)
        if recipe is None:
            return (name if repeats(line) else b""), None
        for at, chars in recipe.checks:
            if line[at] not in chars:
                return b"", None
        return name, recipe

    def learn(self, name: bytes, line: bytes, wanted: Sequence[int], found: Sequence[Found]) -> None:
        """Remember under the key `name` what the regexes of the wanted patterns found on a line, from the second one
        on."""
        if len(self._known) >= KEPT:
            self._known.clear()
        if name in self._once:
            self._known[name] = self._recipe(name, line, wanted, found)
        else:  # most lines of a small log come once: nothing is worth learning of them
            if len(self._once) >= KEPT:
                self._once.clear()
            self._once.add(name)

    def _recipe(self, name: bytes, line: bytes, wanted: Sequence[int], found: Sequence[Found]) -> Recipe:
        proofs = [prove(self._patterns[index].expression) for index in wanted]
        if self._digits.search(line.translate(ZEROS)) or any(part in name for part in OTHER_DIGITS):
            return Recipe(None)
        if not all(proof.usable for proof in proofs):
            return Recipe(None)
        checks = [check for proof in proofs for check in allowed(line, proof)]
        prefix = walk(line)
        body = line[prefix.end :]
        facts = tuple(self._fact(one, body, prefix.end) for one in found)
        timeless = "stamp" not in prefix.spans and not clock.may_be_dated(body)
        plain = not any("stamp" in one.values for one in found)
        plain = plain and not any(group[0] == "stamp" for fact in facts for group in fact.groups)
        return Recipe(facts, tuple(checks), prefix, timeless, plain)

    def _fact(self, found: Found, body: bytes, offset: int) -> Fact:
        pattern = self._patterns[found.pattern]
        match = pattern.regex.search(body)
        assert match is not None
        groups = [
            (*decoder(group), match.start(group) + offset, match.end(group) + offset)
            for group in pattern.groups
            if match[group] is not None
        ]
        return Fact(found.pattern, (found.begin, found.end), pattern.constants, tuple(groups))

    def read(self, recipe: Recipe, name: bytes, line: bytes, reader: LineReader) -> list[Found]:
        """Return what is on a line of a recipe with facts, whose key is `name`."""
        facts, prefix = recipe.facts or (), recipe.prefix
        if recipe.plain:
            if recipe.timeless:
                return [_found(fact, line, prefix, NULL, -1) for fact in facts]
            stamp = self._stamp(name, line)
            if stamp is not None:
                return [_found(fact, line, prefix, *reader.instant(stamp)) for fact in facts]
        peeled = prefix.peeled(line)
        return [
            reader.finish(fact.pattern, _values(fact, line), peeled, 0, fact.span, recipe.timeless) for fact in facts
        ]


def _found(fact: Fact, line: bytes, prefix: Prefix, ts: int, clock: int) -> Found:
    values = _values(fact, line)
    if prefix.spans:
        prefix.tell(line, values)
    return Found(fact.pattern, values, ts, clock, False, 0, *fact.span)


def _values(fact: Fact, line: bytes) -> dict[str, int | str]:
    values: dict[str, int | str] = dict(fact.constants)
    for column, convert, begin, end in fact.groups:
        value = convert(line[begin:end])
        if value is not None:
            values[column] = value
    return combine(values)
