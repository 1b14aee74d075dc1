"""Input of one record a line: bounded lines, hostile JSON as a counted `bad_record`, fields as exact numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ettlog.parse.blocks import Reader, open_source
from ettlog.parse.gather import BAD_RECORD, IGNORED, LONG, TORN, Facts
from ettlog.parse.parsed import Limits, Parsed, ScanOptions
from ettlog.parse.record_limits import within

MAX_LINE = Limits().record
"""Longest line of a reader that is not told another bound, in bytes; a longer one is counted as `long`."""

CHUNK = 1 << 20
SECOND = 1_000_000
_INT64 = (1 << 63) - 1
_BOM = b"\xef\xbb\xbf"

Record = Mapping[str, Any]
Take = Callable[[int, Record], str]
"""Takes the number of a line and its record, adds what it says, and returns the outcome of the line."""


class Line(NamedTuple):
    """One line without its end."""

    number: int
    text: bytes
    """At most the bound of bytes; less than the line where `long`."""
    long: bool
    ended: bool
    """A newline follows: false only for the last line of a file that was cut, or is still being written."""


def lines(source: Reader, most: int = MAX_LINE) -> Iterator[Line]:
    """Yield the lines of a source; memory stays flat whatever the length of a line."""
    room, rest, number, dropping = memoryview(bytearray(CHUNK)), b"", 0, False
    while got := source.readinto(room):
        *whole, rest = (rest + bytes(room[:got])).split(b"\n")
        for text in whole:
            number += 1
            long = dropping or len(text) > most
            yield Line(number, text[:most].removesuffix(b"\r") if long or text[-1:] == b"\r" else text, long, True)
            dropping = False
        if len(rest) > most:
            rest, dropping = rest[:most], True
    if rest:
        yield Line(number + 1, rest, dropping, False)


class BlockReader(Protocol):
    """What puts the lines of a record together: `line` takes one, `close` ends the record that is open."""

    facts: Facts

    def line(self, line: Line) -> None:
        """Take one line."""

    def close(self) -> None:
        """End the record that is open."""


def blocks(path: Path, options: ScanOptions, reader: BlockReader, most: int) -> Parsed:
    """Give each line of a source, cut at `most` bytes, to a reader. Raise SourceRefusedError like the scanner."""
    with open_source(path, budget=options.limits.output) as source:
        for line in lines(source, most):
            reader.line(line)
        reader.close()
        return reader.facts.parsed(source)


def each(
    path: Path,
    options: ScanOptions,
    facts: Facts,
    take: Callable[[Line], str],
    finish: Callable[[], None] | None = None,
    most: int | None = None,
) -> Parsed:
    """Read a file line by line: `take` adds what a line says and returns its outcome; lines of more than `most` bytes
    (by default the limit of a record) are counted.

    `finish` is called behind the last line. Raises SourceRefusedError like the scanner.
    """
    with open_source(path, budget=options.limits.output) as source:
        for line in lines(source, most or options.limits.record):
            facts.count(LONG if line.long else take(line), line.text)
        if finish is not None:
            finish()
        return facts.parsed(source)


def read(
    path: Path,
    options: ScanOptions,
    facts: Facts,
    take: Take,
    parse: Callable[[bytes], Record | None],
    finish: Callable[[], None] | None = None,
    known: Callable[[int, bytes], str | None] | None = None,
) -> Parsed:
    """Read a file of one record a line: `parse` makes a record of a line or None, `take` makes rows of a record.

    `known` is shown each line first: it takes one that it knows and returns the outcome, else None. `finish` is called
    behind the last line. A last line without newline that is no record is `torn`. Raises SourceRefusedError like the
    scanner.
    """
    with open_source(path, budget=options.limits.output) as source:
        for line in lines(source, options.limits.record):
            outcome = None if known is None or line.long else known(line.number, line.text)
            facts.count(outcome or _outcome(line, take, parse, options.limits), line.text)
        if finish is not None:
            finish()
        return facts.parsed(source)


def _outcome(line: Line, take: Take, parse: Callable[[bytes], Record | None], limits: Limits) -> str:
    if line.long:
        return LONG
    text = line.text.removeprefix(_BOM) if line.number == 1 else line.text
    if not text.strip():
        return IGNORED
    record = parse(text) if within(text, limits.depth, limits.keys) else None
    if record is None:
        return BAD_RECORD if line.ended else TORN
    return take(line.number, record)


class _TwiceError(ValueError):
    """A key stands twice in one object: which value counts is not known."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _TwiceError
    return found


def parse(text: bytes) -> dict[str, Any] | None:
    """Return the JSON object a line is; None for anything else.

    That is: no JSON, nested too deep, a number of thousands of digits, a key that stands twice in one object. NaN
    and infinities are let through, because trainers write them for a loss; as a field they have no value.
    """
    try:
        found = json.loads(text.decode("utf-8"))
        # as many colons behind quotes as keys and no quote before a blank: no key is lost; else look at each object
        if isinstance(found, dict) and (text.count(b'":') != len(found) or b'" ' in text or b'"\t' in text):
            found = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def unwrap(record: Record) -> Record:
    """Return the payload of a record exported from Cloud Logging, or the record itself."""
    inner = record.get("jsonPayload")
    return inner if isinstance(inner, dict) else record


def object_in(record: Record, key: str) -> Record:
    """Return the object under a key; an empty one where there is none."""
    found = record.get(key)
    return found if isinstance(found, dict) else {}


def text(record: Record, key: str) -> str | None:
    """Return the text under a key, or None."""
    found = record.get(key)
    return found if isinstance(found, str) and found else None


def whole(record: Record, key: str) -> int | None:
    """Return the whole number under a key (17, 17.0, "17"); None for anything else and beyond 64 bits."""
    found = record.get(key)
    if type(found) is int:  # most numbers are: the rest takes longer
        return found if -_INT64 <= found <= _INT64 else None
    if isinstance(found, str) and len(found) <= 20 and found.strip().lstrip("+-").isascii():
        found = int(found) if found.strip().lstrip("+-").isdigit() else None
    if isinstance(found, float) and found.is_integer():
        found = int(found)
    return found if isinstance(found, int) and not isinstance(found, bool) and -_INT64 <= found <= _INT64 else None


def micros(record: Record, key: str, unit_us: int = SECOND) -> int | None:
    """Return the number under a key times its unit in whole microseconds; None for what is no finite 64-bit
    number.
    """
    found = record.get(key)
    if isinstance(found, str) and len(found) <= 40:
        try:
            found = float(found)
        except ValueError:
            return None
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
        return None
    value = found * unit_us if isinstance(found, int) else round(found * unit_us)
    return value if -_INT64 <= value <= _INT64 else None


def first_record(head: bytes) -> dict[str, Any] | None:
    """Return the first record of a file by its head, for a reader that looks whether it knows it."""
    for line in head.removeprefix(_BOM).split(b"\n", 64)[:64]:
        if line.strip():
            return parse(line) if line.lstrip()[:1] == b"{" else None
    return None
