"""Proves for a regex which bytes of a line decide its match, so that one match can stand for all lines of the same
template.

Two lines have the same template when they are equal byte by byte after every digit became the same digit. A regex
that treats all ten digits alike (`\\d`, `[0-9.]`, `[^|]`, no literal digit) gives both lines the same spans:
exchanging digits is an automorphism of the language. A literal digit or a set such as `[1-9]` breaks this only where
it can stand; if a literal text must stand before it, the digits behind that text in the line are `sensitive`: they
must stay inside, or outside, the set.
"""

from __future__ import annotations

import functools
import re
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

_DIGITS = frozenset(b"0123456789")
ZEROS = bytes(48 if 48 <= byte < 58 else byte for byte in range(256))
"""Translation that makes every digit a zero."""
_ALL = frozenset(range(256))
_CATEGORIES = {
    op.CATEGORY_DIGIT: _DIGITS,
    op.CATEGORY_SPACE: frozenset(b" \t\n\r\f\v"),
    op.CATEGORY_WORD: frozenset(c for c in range(128) if chr(c).isalnum() or c == 95),
}
_NEGATED = {
    op.CATEGORY_NOT_DIGIT: op.CATEGORY_DIGIT,
    op.CATEGORY_NOT_SPACE: op.CATEGORY_SPACE,
    op.CATEGORY_NOT_WORD: op.CATEGORY_WORD,
}
_PLAIN_FLAGS = re.NOFLAG
_MAX = op.MAXREPEAT


class Proof(NamedTuple):
    """What is known about a regex."""

    usable: bool
    """Equal templates give equal matches."""
    local: bool
    """The match depends on no byte behind the one after its end, if `lead` does not stand before it."""
    lead: bytes
    """Literal every match begins with; empty when there is none."""
    sensitive: tuple[tuple[bytes, frozenset[int]], ...]
    """Literals, each with the digits that may stand behind it: of a digit there it matters whether it is one of
    these."""


NOTHING = Proof(False, False, b"", ())


class _Item(NamedTuple):
    chars: frozenset[int]
    low: int
    high: int


class _UnusableError(Exception):
    """The regex has a part about which nothing is proved."""


@functools.cache
def prove(expression: bytes) -> Proof:
    """Return what is known about a bytes regex without flags; `usable` is false where nothing is proved."""
    tree = _parser.parse(expression)
    walk = _Walk()
    try:
        if tree.state.flags & ~_PLAIN_FLAGS:
            return NOTHING
        walk.sequence(tree)
    except _UnusableError:
        return NOTHING
    local = not walk.loose and _one_path(walk.items)
    return Proof(
        True, local, bytes(_lead(walk.items)), tuple(sorted(walk.sensitive, key=lambda one: (one[0], sorted(one[1]))))
    )


class _Walk:
    """Walks a parsed regex; collects its items when it is one plain sequence, and the sensitive literals."""

    def __init__(self) -> None:
        self.items: list[_Item] = []
        self.loose = False
        """It has optional groups, branches, look-around or anchors: no plain sequence."""
        self.sensitive: set[tuple[bytes, frozenset[int]]] = set()
        self._before = b""

    def sequence(self, tree: Any) -> None:
        for code, value in tree:
            self._element(code, value)

    def _element(self, code: Any, value: Any) -> None:
        if code in (op.LITERAL, op.NOT_LITERAL, op.IN, op.ANY):
            self._one(_chars(code, value), 1, 1, code is op.LITERAL)
        elif code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            self._repeat(*value)
        elif code is op.SUBPATTERN:
            if value[1] or value[2]:
                raise _UnusableError
            self.sequence(value[3])
        elif code is op.BRANCH:
            self._branch(value[1])
        elif code is op.AT:
            self.loose = True
        elif code in (op.ASSERT, op.ASSERT_NOT):
            self._apart(value[1])
        elif code is op.ATOMIC_GROUP:
            self._apart(value)
        else:
            raise _UnusableError

    def _one(self, chars: frozenset[int], low: int, high: int, literal: bool) -> None:
        part = chars & _DIGITS
        if part and part != _DIGITS:
            if not self._before:
                raise _UnusableError
            self.sensitive.add((self._before, part))
        self.items.append(_Item(chars, low, high))
        self._before = self._before + bytes(chars) if literal else b""

    def _repeat(self, low: int, high: int, inner: Any) -> None:
        if len(inner) == 1 and inner[0][0] in (op.LITERAL, op.NOT_LITERAL, op.IN, op.ANY):
            chars = _chars(*inner[0])
            if chars & _DIGITS and not chars >= _DIGITS and (low, high) != (1, 1):
                raise _UnusableError
            self._one(chars, low, high, False)
        elif (low, high) == (1, 1):
            self.sequence(inner)
        else:
            self._apart(inner)

    def _branch(self, branches: Any) -> None:
        before = self._before
        for branch in branches:
            self._before = before
            self._apart(branch, before)

    def _apart(self, tree: Any, before: bytes = b"") -> None:
        self.loose = True
        self._before = before
        self.sequence(tree)
        self._before = b""


def _chars(code: Any, value: Any) -> frozenset[int]:
    if code is op.LITERAL:
        return frozenset((value,))
    if code is op.NOT_LITERAL:
        return _ALL - {value}
    if code is op.ANY:
        return _ALL - {10}
    found: set[int] = set()
    negate = False
    for kind, item in value:
        if kind is op.NEGATE:
            negate = True
        elif kind is op.LITERAL:
            found.add(item)
        elif kind is op.RANGE:
            found.update(range(item[0], item[1] + 1))
        else:
            found |= _category(item)
    return _ALL - found if negate else frozenset(found)


def _category(name: Any) -> frozenset[int]:
    if name in _NEGATED:
        return _ALL - _CATEGORIES[_NEGATED[name]]
    if name not in _CATEGORIES:
        raise _UnusableError
    return _CATEGORIES[name]


def _one_path(items: list[_Item]) -> bool:
    """Tell whether a start position leaves one way through: no repeat shares a byte with what may follow it."""
    for index, item in enumerate(items):
        if item.low == item.high:
            continue
        for after in items[index + 1 :]:
            if item.chars & after.chars:
                return False
            if after.low:
                break
    return True


def _lead(items: list[_Item]) -> bytes:
    found = bytearray()
    for item in items:
        if len(item.chars) != 1 or (item.low, item.high) != (1, 1) or item.chars & _DIGITS:
            break
        found += bytes(item.chars)
    return bytes(found)
