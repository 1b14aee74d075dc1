"""Reads ranges of one source in any order: each as if what stands before it had been read.

What a block is read like hangs on little of what came before: the last instants, the steps beside them, the year, the
zone, the trainers seen. A reader of a range guesses that from what was known at some earlier place and the lines right
before the range; it says what it guessed, so that whoever puts the ranges together can tell whether that was right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from ettlog.parse import zones
from ettlog.parse.block import BlockScan
from ettlog.parse.book import Book
from ettlog.parse.clock import ClockState, SourceClock
from ettlog.parse.clockwork import Told
from ettlog.parse.cut import SLACK, blocks
from ettlog.parse.engine import Engine, Source
from ettlog.parse.facts import Event, Facts, Steps, Undated
from ettlog.parse.folded import Folded, folded
from ettlog.parse.parsed import ScanOptions
from ettlog.parse.ranges import Range
from ettlog.parse.shapes import Unmatched
from ettlog.parse.steps import BESIDE
from ettlog.parse.template import NULL

AWAY = 1 << 40
"""Where lines and bytes of a range are counted from that is not the first: nobody knows how many stand before it."""

BEFORE = (NULL + 1, -2)
"""Stands for instant and place of the last dated line before a range: they are handed on, and nothing else."""


NEAR = 1 << 18
"""Bytes before a range that its guess is made from: what a line lends to another rarely stands further off, and a
wrong guess costs time only."""


Call = list[Event] | Folded | int
"""What is told to the facts of a source: events, steps or undated lines, or the instant of the next dated line."""


Twins = dict[int, tuple[tuple[int, ...], ...]]
"""Tier -> step, instant, clock and number of its last dated lines, counted back from the next line; as far as they
stand beside that."""


class State(NamedTuple):
    """What the blocks of a source leave to the next one, but for the last dated line."""

    clock: ClockState
    twins: Twins
    waiting: bool
    idle: frozenset[int]
    """Step patterns that cannot count yet, for want of a line of their trainer."""


@dataclass
class Reading:
    """What one range holds, and the states before (None: the begin of the source) and behind it."""

    number: int
    guess: State | None
    left: State
    last: tuple[int, int]
    """Instant and place of the last dated line, or `BEFORE`."""
    asks_clock: bool
    """It was asked what the last instant before this range was."""
    keeps_clock: bool
    """No stamp in this range was turned into an instant."""
    calls: list[Call]
    looked: list[bytes]
    lines: Counter[str]
    formats: Counter[str]
    n_lines: int
    size: int
    """Bytes of text in its blocks."""
    hits: int
    told: Told
    zero: bool
    """There is a zero byte in the first line of the source."""
    crc: int | None
    """CRC-32 of the bytes, where they could change."""


class Recorder(Facts):
    """Stands for the facts of a source while a range is read: keeps what is told."""

    def __init__(self, book: Book) -> None:
        """Start with nothing."""
        super().__init__(book)
        self.calls: list[Call] = []
        self.needy = frozenset(book.needs.needy)
        """Needy patterns without a line that bears them out."""

    def idle(self, events: Sequence[Event]) -> frozenset[int]:
        """Return the step patterns that cannot count in a block whose events these are."""
        return self.needy - self._borne(events)

    def _borne(self, events: Sequence[Event]) -> set[int]:
        bears = self.book.needs.bears
        return {needy for event in events for needy in bears.get(event.pattern, ())}

    def add_events(self, events: Sequence[Event]) -> None:
        """Keep the events of one block."""
        self.needy -= self._borne(events)
        if events:
            self.calls.append(list(events))

    def add_steps(self, steps: Steps) -> None:
        """Keep the steps of one block."""
        if len(steps.line):
            self.calls.append(folded(steps))

    def add_undated(self, undated: Undated) -> None:
        """Keep the neighbours of the undated lines of one block."""
        if len(undated.line):
            self.calls.append(folded(undated))
        self.waiting = self.waiting or bool((undated.behind == NULL).any())

    def next_dated(self, us: int) -> None:
        """Keep the first dated line behind those that wait for it."""
        self.calls.append(us)
        self.waiting = False


class Looked(Unmatched):
    """Keeps the unmatched lines that are looked at."""

    def __init__(self) -> None:
        """Start with nothing seen."""
        super().__init__()
        self.lines: list[bytes] = []

    def look(self, line: bytes) -> None:
        """Keep one unmatched line."""
        self.lines.append(line)


class Text(Protocol):
    """Bytes of a range."""

    @property
    def crc(self) -> int | None:
        """CRC-32 of what was read, where it could change."""

    def readinto(self, target: memoryview) -> int:
        """Fill `target` as far as the bytes go and return the number; 0 only at the end."""
        ...


Opens = Callable[[int, int], Text]
"""Returns the bytes of a source between two places."""


class Watched(SourceClock):
    """A clock that knows whether it was asked for the last instant before it had one of its own."""

    _own = asked = False

    def resume(self, state: ClockState) -> None:
        """Go on from where another clock of this source stood."""
        super().resume(state)
        self._own = self.asked = False

    @property
    def state(self) -> ClockState:
        """Return what a clock must know that is to go on from here."""
        asked, state = self.asked, super().state
        self.asked = asked
        return state

    @property
    def keeps(self) -> bool:
        """Tell whether it has no instant of its own."""
        return not self._own

    def _get(self, name: str) -> int | None:
        self.asked = self.asked or not self._own
        found: int | None = self.__dict__.get(name)
        return found

    def _set(self, name: str, us: int | None) -> None:
        self._own = True
        self.__dict__[name] = us

    _last = property(lambda self: self._get("utc"), lambda self, us: self._set("utc", us))
    _last_local = property(lambda self: self._get("local"), lambda self, us: self._set("local", us))


class PieceReader:
    """Reads ranges of one open source."""

    def __init__(self, opens: Opens, size: int, engine: Engine, options: ScanOptions) -> None:
        """Keep what opens the bytes between two places; the first `size` bytes are the begin of the source, its first
        block at least."""
        self._opens, self._size, self._engine, self._options = opens, size, engine, options

    def read(self, one: Range, before: State | None) -> Reading:
        """Read a range as if the one before it had left `before`; the first one begins the source."""
        source, facts, looked = self._source(before if one.number else None)
        if not one.number:
            source.place = source.n_lines = 0
            self._learn(source)
        text, zero = self._blocks(source, one.begin, one.end)
        base = AWAY if one.number else 0
        clock = source.clock.source
        assert isinstance(clock, Watched)
        return Reading(
            one.number, before if one.number else None, _state(source, facts), (source.last, source.last_place),
            clock.asked, clock.keeps, facts.calls, looked.lines,
            source.lines, source.formats, source.n_lines - base, source.place - base, source.hits,
            source.clock.take(), zero, text.crc,
        )  # fmt: skip

    def guess(self, one: Range, known: State | None) -> State:
        """Return what the range before this one probably leaves, given what was left at some earlier place, or
        nothing."""
        if known is None:
            known = self._opening()
        source, facts, _ = self._source(known._replace(twins={}))
        self._blocks(source, self._near(one), one.begin)
        return _state(source, facts)

    def _near(self, one: Range) -> int:
        """Return where the last lines before a range begin, `NEAR` bytes of them at most; its block where none does."""
        if one.begin - one.before <= NEAR:
            return one.before
        room = memoryview(bytearray(NEAR))
        got = self._opens(one.begin - NEAR, one.begin).readinto(room)
        newline = bytes(room[: got - 1]).find(b"\n") if got else -1
        return one.before if newline < 0 else one.begin - NEAR + newline + 1

    def _opening(self) -> State:
        """Return what the first block of the source leaves."""
        source, facts, _ = self._source(None)
        source.place = source.n_lines = 0
        self._learn(source)
        self._blocks(source, 0, min(self._options.limits.block, self._size), most=1)
        return _state(source, facts)

    def _source(self, given: State | None) -> tuple[Source, Recorder, Looked]:
        source = Source(self._engine, self._options)
        source.facts, source.unmatched = facts, looked = Recorder(self._engine.book), Looked()
        source.place = source.n_lines = AWAY
        source.clock.source = Watched(self._options.zone, self._options.year_hint, nominal=True)
        if given is not None:
            _restore(source, facts, given)
        return source, facts, looked

    def _learn(self, source: Source) -> None:
        if self._options.zone is None:
            head = min(zones.HEAD, self._size)
            room = memoryview(bytearray(head))
            zones.learn(room[: self._opens(0, head).readinto(room)], source.clock.source)

    def _blocks(self, source: Source, begin: int, end: int, most: int | None = None) -> tuple[Text, bool]:
        """Read the blocks of some bytes, all or the first ones; tell whether the source begins with a line with a zero
        in it."""
        text, limits, zero = self._opens(begin, end), source.limits, False
        with self._engine.room(source, limits.block + SLACK) as room:
            for number, block in enumerate(blocks(text, limits.block, limits.line, room)):
                if number == most:
                    break
                zero = zero or (not source.n_lines and block.data.find(b"\0", 0, min(block.end, limits.line)) >= 0)
                BlockScan(source, block).run()
        return text, zero


def _state(source: Source, facts: Recorder) -> State:
    twins: Twins = {}
    for tier, (steps, instants, clocks, lines) in source.twins.items():
        back = source.n_lines + 1 - lines
        rows = zip(steps, instants, clocks, back, strict=True)
        near = tuple(tuple(map(int, row)) for row in rows if row[-1] <= BESIDE)
        if near:
            twins[tier] = near
    return State(source.clock.source.state, twins, facts.waiting, facts.needy)


def _restore(source: Source, facts: Recorder, given: State) -> None:
    source.clock.source.resume(given.clock)
    source.last, source.last_place = BEFORE
    for tier, near in given.twins.items():
        steps, instants, clocks, back = np.array(near, np.int64).T
        source.twins[tier] = steps, instants, clocks, source.n_lines + 1 - back
    facts.waiting, facts.needy = given.waiting, given.idle
