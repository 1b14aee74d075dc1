"""Puts together what readers of ranges found in one plain source: the same facts that one reader of all of it finds.

A range is read as if what stands before it had left what its reader guessed. Where the range before it left something
else, it is read again, from what was left: the facts are exact however the guesses turn out, and only the time hangs
on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ettlog.parse.blocks import CHUNK, Reader
from ettlog.parse.engine import Source, engine
from ettlog.parse.facts import Facts, Steps, Undated
from ettlog.parse.format import FormatSet
from ettlog.parse.parsed import Parsed, ScanOptions
from ettlog.parse.pieces import AWAY, BEFORE, Call, PieceReader, Reading, State
from ettlog.parse.ranges import Bytes, Range, ranges
from ettlog.parse.scan import parsed

Latest = Callable[[], State | None]
"""Returns what was left behind the last range that was put in its place."""
Readings = Callable[[PieceReader, Sequence[Range], Latest], Iterator[Reading]]
"""Yields what the ranges hold in their order, each read as if its guess were true."""

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
    whole = _Whole(source, reader.handle, PieceReader(reader.handle, reader.size, source.engine, options))
    missed = 0
    for one, reading in zip(found, readings(whole.pieces, found, lambda: whole.left), strict=False):
        missed += whole.add(one, reading)
        if missed >= MISSES and 2 * missed > one.number:
            break
    for one in found[whole.done :]:
        whole.add(one, whole.pieces.read(one, whole.left))
    return parsed(reader, source, whole.digest(), reader.size, binary=whole.zero)


class _Whole:
    """A source of which the first ranges are put together."""

    def __init__(self, source: Source, handle: int, pieces: PieceReader) -> None:
        from blake3 import blake3

        self.source, self.pieces = source, pieces
        self._handle, self._hash, self._room = handle, blake3(), memoryview(bytearray(CHUNK))
        self.left: State | None = None
        self.zero = False
        self.done = 0

    def digest(self) -> str:
        """Return the BLAKE3 of all bytes of the ranges in hex."""
        return self._hash.hexdigest()

    def add(self, one: Range, reading: Reading) -> bool:
        """Put a range behind those before it; tell whether it had to be read again."""
        wrong = self.left is not None and not _fits(reading, self.left)
        if wrong:
            reading = self.pieces.read(one, self.left)
        if self._hashed(one) != reading.crc:
            raise ChangedError
        self._join(reading)
        self.left, self.done = _left(reading, self.left), self.done + 1
        self.source.clock.source.resume(self.left.clock)
        self.zero = self.zero or reading.zero
        return wrong

    def _hashed(self, one: Range) -> int:
        """Add the bytes of a range to the digest; return their CRC-32."""
        stored = Bytes(self._handle, one.begin, one.end)
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
    elif isinstance(call, Steps):
        facts.add_steps(call._replace(line=call.line + lines))
    elif isinstance(call, Undated):
        moved = np.where(call.place < 0, call.place, call.place + place)
        moved[call.place == BEFORE[1]] = last[1]
        before = np.where(call.before == BEFORE[0], last[0], call.before)
        facts.add_undated(Undated(call.line + lines, moved, before, call.behind))
    else:
        facts.add_events([event._replace(line=event.line + lines) for event in call])
