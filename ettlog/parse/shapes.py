"""Shows lines nobody understood without showing what they hold: shapes to count, redacted samples to look at."""

from __future__ import annotations

import functools
import re
from collections import Counter
from typing import Any

from ettlog.parse.redaction import redact
from ettlog.parse.uniform import ZEROS

MAX_SHAPES = 64
"""Most distinct shapes kept for one source."""

MAX_SAMPLES = 20
SAMPLE_BYTES = 512
_SHAPE_BYTES = 160

_MASKS: tuple[tuple[re.Pattern[bytes], bytes], ...] = (
    (re.compile(rb"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"), b"<uuid>"),
    (re.compile(rb"\b0x[0-9a-fA-F]+\b|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b"), b"<hex>"),
    (re.compile(rb"\b(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z\d]{16,}\b"), b"<id>"),
    (re.compile(rb"(?<![\w.])~?(?:/[\w.@+=-]+){2,}/?"), b"<path>"),
    (re.compile(rb"[-+]?\d[\d.,]*(?:[eE][-+]?\d+)?"), b"<n>"),
    (re.compile(rb"(?:<n>[ :,;xX/|-]*){2,}"), b"<n>.. "),
    (re.compile(rb"\s+"), b" "),
)


def shape(line: bytes) -> str:
    """Return a line with numbers, hex, paths and identifiers masked; lines of one print statement share it."""
    return _masked(line[:_SHAPE_BYTES].translate(ZEROS))


@functools.lru_cache(4096)
def _masked(text: bytes) -> str:
    """Return the shape of a text in which every digit is a zero: no mask tells digits apart, and few texts are left."""
    text = redact(text)
    for regex, mask in _MASKS:
        text = regex.sub(mask, text)
    return _shown(text.strip())[:_SHAPE_BYTES]


def sample(line: bytes) -> str:
    """Return a redacted line of at most 512 bytes, fit to be printed."""
    return _shown(redact(line[:SAMPLE_BYTES]))


def _shown(text: bytes) -> str:
    decoded = text.decode("utf-8", "replace")
    if decoded.isprintable():
        return decoded
    return "".join(mark if mark.isprintable() or mark == "\t" else "�" for mark in decoded)


class Unmatched:
    """Counts shapes of the unmatched lines that are looked at, and keeps the first line of each of the first
    shapes."""

    def __init__(self) -> None:
        """Start with nothing seen."""
        self._counts: Counter[str] = Counter()
        self._first: list[bytes] = []

    def look(self, line: bytes) -> None:
        """Take one unmatched line; shapes beyond twice the number kept make room by dropping the rarest."""
        if not line.strip():
            return
        key = shape(line)
        if key not in self._counts and len(self._first) < MAX_SAMPLES:
            self._first.append(line[:SAMPLE_BYTES])
        self._counts[key] += 1
        if len(self._counts) > 2 * MAX_SHAPES:
            self._counts = Counter(self.shapes())

    def samples(self) -> list[str]:
        """Return the first lines of the first shapes, redacted: that takes longer than to look at them."""
        return list(map(sample, self._first))

    def shapes(self) -> dict[str, int]:
        """Return the most frequent shapes with their counts, most frequent first, equal ones by name."""
        ranked: list[tuple[str, Any]] = sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))
        return dict(ranked[:MAX_SHAPES])
