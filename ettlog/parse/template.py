"""Learns from one matched step line where its numbers lie, and reads them for all lines of the same template at
once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ettlog.parse import clock as clocks
from ettlog.parse.decode import NUMBERS, TEXTS, UNITS
from ettlog.parse.envelope import Peeled, peel
from ettlog.parse.format import Pattern, fields
from ettlog.parse.uniform import Proof, prove

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Bytes = NDArray[np.uint8]

MAX_WIDTH = 4096
"""Longest line in bytes that is read by template; longer ones go line by line."""

MAX_DIGITS = 15
"""Most digits of one number: sums of digits times powers of ten stay exact in a float64 product."""

NULL = -(1 << 63)
"""Stands for a missing value in integer columns."""

COLUMNS = ("step", "target", "duration_us", "samples", "skipped", "rank", "mflops", "mfu_ppm")
_DIGITS = frozenset(b"0123456789")
_DATE = re.compile(
    rb"(?P<y>\d{4})[-/](?P<mo>\d\d)[-/](?P<d>\d\d)[T _](?P<h>\d\d):(?P<mi>\d\d):(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))?"
)
_CENTURY = re.compile(rb"\d\d(?=\d\d-\d\d)")
_DATE_PARTS = ("y", "mo", "d", "h", "mi", "s", "f")
TIME = re.compile(rb"\d\d:\d\d:\d\d")
_EPOCH = re.compile(rb"^\[?\d{10}\.\d|_ms\": ?\d|^:::MLP")


@dataclass(frozen=True, slots=True)
class Number:
    """Where one decimal number lies: digit columns before and after the point, its unit, its sign."""

    column: str
    head: tuple[int, ...]
    tail: tuple[int, ...]
    unit: int
    sign: int


@dataclass(frozen=True, slots=True)
class Clock:
    """Where a full date lies, and what has to be added to make it the stamp the clock read (its printed zone)."""

    parts: tuple[tuple[int, ...], ...]
    shift: int
    zone: str
    layout: str


@dataclass(frozen=True, slots=True)
class Learnt:
    """What one line taught: everything needed to read its like."""

    pattern: int
    line: bytes
    cover: int
    allowed: tuple[tuple[int, bytes], ...]
    """Columns of digits that not every digit may take, with those that may."""
    numbers: tuple[Number, ...]
    missing: tuple[str, ...]
    """Columns without value."""
    constants: tuple[tuple[str, int], ...]
    clock: Clock | None
    offset: int
    """Where the body begins: what stands before it was read by the envelope."""
    rank: int | None


class Unlearnable(Exception):  # noqa: N818 - no failure: the line is read by its regex alone
    """The line holds something that is not the same for all lines of its template."""


def learn(line: bytes, pattern: Pattern, index: int, *, alone: bool) -> Learnt | None:
    """Learn from a line without its newline; None where it must be read by regex.

    `alone` tells that no other pattern may want the line, so bytes behind the match may stay unread.
    """
    peeled, proof = peel(line), prove(pattern.expression)
    if not proof.usable or len(line) >= MAX_WIDTH or b"\r" in line or line[peeled.offset :] != peeled.body:
        return None
    matches = list(pattern.regex.finditer(peeled.body))
    if len(matches) != 1:
        return None
    try:
        return _learn(line, peeled, matches[0], pattern, index, proof, alone)
    except Unlearnable:
        return None


def _learn(
    line: bytes, peeled: Peeled, match: re.Match[bytes], pattern: Pattern, index: int, proof: Proof, alone: bool
) -> Learnt:
    numbers, missing = _numbers(peeled, match, pattern)
    clock, apart = _clock(line, peeled, match)
    ahead = proof.local and alone and apart and proof.lead != b"" and peeled.body.find(proof.lead) == match.start()
    cover = (peeled.offset + match.end() if ahead else len(line)) + 1
    if not peeled.offset and line[:1].isdigit() and clock is None:
        raise Unlearnable
    digits = allowed(line, proof)
    taught = {number.column for number in numbers} | set(missing)
    constants = tuple(
        (key, value) for key, value in pattern.constants.items() if isinstance(value, int) and key not in taught
    )
    return Learnt(
        index, line, cover, digits, tuple(numbers), tuple(missing), constants, clock, peeled.offset, peeled.rank
    )


def barren(line: bytes) -> Learnt:
    """Return what tells the like of a line on which there is nothing to read; the century of a date stays: prefixes
    look for it."""
    fixed = tuple((at, line[at : at + 1]) for found in _CENTURY.finditer(line) for at in range(*found.span()))
    return Learnt(-1, line, len(line) + 1, fixed, (), (), (), None, 0, None)


def allowed(line: bytes, proof: Proof) -> tuple[tuple[int, bytes], ...]:
    """Return the sensitive columns of a line: a digit of the set may become another of the set, one outside another
    outside."""
    found: dict[int, set[int]] = {}
    for text, chars in proof.sensitive:
        for at in _behind(line, text):
            if line[at : at + 1].isdigit():
                same = chars if line[at] in chars else _DIGITS - chars
                found[at] = found.get(at, set(_DIGITS)) & same
    return tuple((at, bytes(sorted(chars))) for at, chars in sorted(found.items()))


def _behind(line: bytes, text: bytes) -> list[int]:
    found, at = [], line.find(text)
    while at >= 0:
        found.append(at + len(text))
        at = line.find(text, at + 1)
    return found


def _numbers(peeled: Peeled, match: re.Match[bytes], pattern: Pattern) -> tuple[list[Number], list[str]]:
    found, missing = [], []
    values = fields(pattern, match)
    for group in pattern.groups:
        column, unit = UNITS.get(group, (group, 1))
        if match[group] is None or group in TEXTS or group == "stamp":
            continue
        if group not in UNITS and group not in NUMBERS:
            raise Unlearnable  # its value is more than the digits of one number
        number = _number(match[group], peeled.offset + match.start(group), column, unit, group in UNITS)
        if number is None:
            if any(48 <= byte < 58 for byte in match[group]) or column in values:
                raise Unlearnable
            missing.append(column)
        elif column in COLUMNS:
            found.append(number)
    return found, missing


def _number(text: bytes, at: int, column: str, unit: int, decimal: bool) -> Number | None:
    bare = re.fullmatch(rb"(\s*)([-+]?)(\d[\d,]*)(?:(\.)(\d*))?\s*", text)
    if bare is None or (bare[4] and not decimal):
        return None
    head = tuple(at + i for i in range(bare.start(3), bare.end(3)) if text[i] != 44)
    tail = tuple(at + i for i in range(bare.start(5), bare.end(5)))[:9] if bare[4] else ()
    if len(head) > (9 if decimal else MAX_DIGITS):
        raise Unlearnable
    return Number(column, head, tail, unit, -1 if bare[2] == b"-" else 1)


def _clock(line: bytes, peeled: Peeled, match: re.Match[bytes]) -> tuple[Clock | None, bool]:
    """Return where the stamp of the line lies, and whether that is told without reading behind the match."""
    named = match.groupdict().get("stamp")
    own = clocks.parse(named) if named is not None else None
    if peeled.stamp is not None and (own is None or own.zone == "local"):
        at = line.find(peeled.stamp)
        return _place(line, at, at + len(peeled.stamp), clocks.parse(peeled.stamp)), True
    if named is not None:
        at = peeled.offset + match.start("stamp")
        return _place(line, at, at + len(named), own), True
    stamp = clocks.find(peeled.body)
    if stamp is None:
        if clocks.has_clock(peeled.body) or _EPOCH.search(peeled.body):
            raise Unlearnable
        return None, False
    return _place(line, peeled.offset, len(line), stamp), False


def _place(line: bytes, begin: int, end: int, stamp: clocks.Stamp | None) -> Clock:
    found = _DATE.search(line, begin, end)
    first = TIME.search(line, begin, end)
    if (
        stamp is None
        or found is None
        or first is None
        or first.start() != found.start("h")
        or not stamp.year
        or not stamp.date
    ):
        raise Unlearnable
    parts = tuple(tuple(range(*found.span(name))) if found[name] else () for name in _DATE_PARTS)
    plain = clocks.parse(found[0].replace(b"/", b"-").replace(b"_", b" "))
    if plain is None or _behind_date(line, found.end(), end):
        raise Unlearnable
    return Clock((*parts[:6], parts[6][:6]), stamp.us - plain.us, stamp.zone, stamp.layout)


def _behind_date(line: bytes, at: int, end: int) -> bool:
    """Tell whether digits behind the seconds take part in the stamp (an offset, a year): they would differ between
    lines."""
    return re.match(rb" ?(?:[AP]M|[+-]\d\d:?\d\d|(?:[A-Z]{3,4} )?20\d\d\b)", line[at:end]) is not None
