"""How much one JSON record may hold: looked at before it is parsed, so that no depth and no width costs anything."""

from __future__ import annotations

import re

_MARKS = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[{\]}:]', re.DOTALL)
"""A string as a whole, a bracket, or a colon behind a key."""


def within(text: bytes, depth: int, keys: int) -> bool:
    """Tell whether a record nests at most `depth` objects and lists and has at most `keys` keys in all.

    Nearly every record is let through by counting bytes; only one with many brackets or colons is walked.
    """
    if text.count(b"{") + text.count(b"[") <= depth and text.count(b":") <= keys:
        return True
    level = found = 0
    for mark in _MARKS.finditer(text):
        first = mark[0][:1]
        level += (first in b"[{") - (first in b"]}")
        found += first == b":"
        if level > depth or found > keys:
            return False
    return True
