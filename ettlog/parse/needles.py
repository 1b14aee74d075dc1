"""Literals of which a line must hold one if a regex is to match it: the longest that its text makes certain.

Of a regex with choices in it each way through has a literal of its own: `(?:Saved checkpoint|Checkpoint saved) to ` is
looked for by two of them, and the word they share, which logs are full of, by nobody.
"""

from __future__ import annotations

import functools
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

WAYS = 8
"""Most ways through a regex that are followed one by one."""

_CHOICES = 2
"""Most bytes of a set that are followed one by one."""

_GAP = b"\n"
"""Stands in a way for what is not certain."""

_PLAIN = bytes(10 if byte in b'"\\<>&' or not 32 <= byte < 127 else byte for byte in range(256))
"""Translation that makes a gap of bytes which what wraps lines may write in another way."""


def needles(expression: bytes, *, plain: bool = False) -> tuple[bytes, ...]:
    """Return literals of which every text that a bytes regex matches holds one, sorted; none where nothing is certain.

    With `plain` they are made of bytes alone that stand for themselves in JSON and in HTML, too.
    """
    longest = {max((way.translate(_PLAIN) if plain else way).split(_GAP), key=len) for way in _of(expression)}
    return tuple(sorted(longest)) if all(longest) else ()


@functools.lru_cache(maxsize=8192)
def _of(expression: bytes) -> tuple[bytes, ...]:
    """Return the ways through a regex; none with flags."""
    tree = _parser.parse(expression)
    return () if tree.state.flags else tuple(_ways(tree))


def _ways(tree: Any) -> list[bytes]:
    """Return the ways through a part of a regex: what is certain of each, with gaps."""
    ways = [b""]
    for code, value in tree:
        more = _element(code, value)
        more = more if len(ways) * len(more) <= WAYS else [_GAP]
        ways = list(dict.fromkeys(one + other for one in ways for other in more))
    return ways


def _element(code: Any, value: Any) -> list[bytes]:
    if code is op.LITERAL:
        return [bytes((value,))]
    if code in (op.AT, op.ASSERT, op.ASSERT_NOT):
        return [b""]  # they take nothing of the text
    if code is op.SUBPATTERN and not value[1] and not value[2]:
        return _ways(value[3])
    if code is op.ATOMIC_GROUP:
        return _ways(value)
    if code is op.BRANCH:
        return [way for branch in value[1] for way in _ways(branch)]
    if code is op.IN and len(value) <= _CHOICES and all(kind is op.LITERAL for kind, _ in value):
        return [bytes((byte,)) for _, byte in value]
    if code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
        return _repeated(*value)
    return [_GAP]


def _repeated(low: int, high: int, inner: Any) -> list[bytes]:
    if not low:
        return [b"", *_ways(inner)] if high == 1 else [_GAP]
    ways = _ways(inner)
    return ways if high == 1 else [way + _GAP for way in ways]
