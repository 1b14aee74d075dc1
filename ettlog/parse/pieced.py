"""Puts together what readers of ranges found in one source: the same facts that one reader of all of it finds.

A range is read as if what stands before it had left what its reader guessed. Where the range before it left something
else, it is read again, from what was left: the facts are exact however the guesses turn out, and only the time hangs
on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, islice
from typing import Protocol

import numpy as np

from ettlog.parse.blocks import CHUNK, Reader
from ettlog.parse.engine import Source, engine
from ettlog.parse.facts import Facts, Steps, Undated
from ettlog.parse.format import FormatSet
from ettlog.parse.parsed import Parsed, ScanOptions
from ettlog.parse.pieces import AWAY, BEFORE, Call, Opens, PieceReader, Reading, State, Text
from ettlog.parse.ranges import Bytes, Range, ranges
from ettlog.parse.scan import parsed
from ettlog.parse.unpacked import Room, Unpacked


class Progress(Protocol):
    """How far the ranges are put together."""

    left: State | None
    """What was left behind the last range that was put in its place."""
    trusts: bool
    """Guesses have been right more often than not."""


Readings = Callable[[PieceReader, Iterator[Range], Progress], Iterator[tuple[Range, Reading | None]]]
"""Yields the ranges in their order and what they hold, read as if a guess were true; None where that is not trusted."""

MISSES = 3
"""Wrong guesses, more than half of all, after which guessing is given up: one reader is as fast."""


class ChangedError(Exception):
    """The bytes of the source are no longer those that were read."""


def scan(reader: Reader, formats: FormatSet, options: ScanOptions, count: int, readings: Readings) -> Parsed:
    """Read an open plain source in ranges of `count` blocks; return what `scan.scan` does.

    Raise ChangedError where the file was written to meanwhile, but for what was added to its end.
    """
    found = ranges(reader.handle, reader.size, options.limits.block, count)
    source = Source(engine(formats, options.steps), options)
    opens = partial(Bytes, reader.handle)
    whole = _Whole(source, PieceReader(opens, reader.size, source.engine, options), opens)
    for one, reading in readings(whole.pieces, iter(found), whole):
        whole.add(one, reading)
    return parsed(reader, source, whole.digest(), reader.size, binary=whole.zero)


def scan_packed(
    reader: Reader, formats: FormatSet, options: ScanOptions, count: int, room: Room, readings: Readings
) -> Parsed:
    """Read an open packed source like `scan`; `readings` asks for at most `room.slots` ranges before the first of them
    is put in its place, and forks no more once it asked for the second.

    Raise LongLineError for a line longer than a block.
    """
    text = Unpacked(reader, options.limits.block, count, room)
    found = text.ranges()
    try:
        first = list(islice(found, 1))
        source = Source(engine(formats, options.steps), options)
        whole = _Whole(source, PieceReader(text.open, text.size, source.engine, options))
        for one, reading in readings(whole.pieces, chain(first, found), whole):
            whole.add(one, reading)
    finally:
        text.close()
    return parsed(reader, source, reader.digest(), reader.n_bytes, binary=whole.zero)


class _Whole:
    """A source of which the first ranges are put together."""

    def __init__(self, source: Source, pieces: PieceReader, stored: Opens | None = None) -> None:
        from blake3 import blake3

        self.source, self.pieces = source, pieces
        self.left: State | None = None
        self.zero = False
        self.trusts = True
        self._missed = 0
        self._stored, self._hash, self._room = stored, blake3(), memoryview(bytearray(CHUNK))

    def digest(self) -> str:
        """Return the BLAKE3 of all bytes of the ranges in hex."""
        return self._hash.hexdigest()

    def add(self, one: Range, reading: Reading | None) -> None:
        """Put a range behind those before it; read it again where its reader guessed wrong."""
        if reading is None or (self.left is not None and not _fits(reading, self.left)):
            self._missed += reading is not None
            self.trusts = self.trusts and (self._missed < MISSES or 2 * self._missed <= one.number)
            reading = self.pieces.read(one, self.left)
        if self._stored is not None:
            crc = self._hashed(self._stored(one.begin, one.end))
            if crc is None or crc != reading.crc:
                raise ChangedError
        self._join(reading)
        self.left = _left(reading, self.left)
        self.source.clock.source.resume(self.left.clock)
        self.zero = self.zero or reading.zero

    def _hashed(self, stored: Text) -> int | None:
        """Add bytes to the digest; return their CRC-32."""
        while got := stored.readinto(self._room):
            self._hash.update(self._room[:got])
        return stored.crc

    def _join(self, one: Reading) -> None:
        source = self.source
        facts, lines, place = source.facts, source.n_lines, source.place
        if one.number:
            lines, place = lines - AWAY, place - AWAY
        for call in one.calls:
            _tell(facts, call, lines, place, (source.last, source.last_place))
        for line in one.looked:
            source.unmatched.look(line)
        source.lines.update(one.lines)
        source.formats.update(one.formats)
        source.n_lines += one.n_lines
        source.place += one.size
        source.hits += one.hits
        source.clock.add(one.told)
        if one.last != BEFORE:
            source.last, source.last_place = one.last[0], one.last[1] + (place if one.last[1] >= 0 else 0)


def _fits(reading: Reading, left: State) -> bool:
    """Tell whether a range was read as if `left` stood before it, as far as that could matter."""
    guess = reading.guess
    if guess is None or guess[1:] != left[1:]:
        return False
    return guess.clock == left.clock if reading.asks_clock else guess.clock[2:] == left.clock[2:]


def _left(reading: Reading, before: State | None) -> State:
    """Return what a range leaves, given what stood before it."""
    left = reading.left
    if before is None or not reading.keeps_clock:
        return left
    clock = left.clock._replace(last=before.clock.last, last_local=before.clock.last_local)
    return left._replace(clock=clock)


def _tell(facts: Facts, call: Call, lines: int, place: int, last: tuple[int, int]) -> None:
    """Tell the facts of a source what a reader of a range told, whose lines and places are counted from its begin;
    `last` are instant and place of the last dated line before it."""
    if isinstance(call, int):
        facts.next_dated(call)
    elif isinstance(call, list):
        facts.add_events([event._replace(line=event.line + lines) for event in call])
    elif isinstance(found := call.unfolded(), Steps):
        facts.add_steps(found._replace(line=found.line + lines))
    else:
        moved = np.where(found.place < 0, found.place, found.place + place)
        moved[found.place == BEFORE[1]] = last[1]
        before = np.where(found.before == BEFORE[0], last[0], found.before)
        facts.add_undated(Undated(found.line + lines, moved, before, found.behind))
