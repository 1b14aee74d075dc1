"""What is made once for a set of formats and used for many sources, and what is known of one source while it is
read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from ettlog.parse.book import Book
from ettlog.parse.clockwork import Clock
from ettlog.parse.dated import DatedLikes
from ettlog.parse.duds import Duds
from ettlog.parse.extract import StepReader
from ettlog.parse.facts import Facts
from ettlog.parse.finder import Finder
from ettlog.parse.format import FormatSet, Pattern
from ettlog.parse.likes import Likes
from ettlog.parse.line import LineReader
from ettlog.parse.parsed import ALL, ScanOptions
from ettlog.parse.recipe import KEPT, MAX_LINE, Recipes, digit_literals
from ettlog.parse.shapes import Unmatched
from ettlog.parse.template import NULL
from ettlog.parse.uniform import ZEROS

Ints = NDArray[np.int64]


class Engine:
    """The literals and the templates of a set of formats."""

    def __init__(self, patterns: Sequence[Pattern], steps: str) -> None:
        """Build the literal search; `steps` as in ScanOptions."""
        self.patterns = patterns
        self.finder = Finder(patterns, steps=steps == ALL)
        self.book = Book(patterns)
        self.dated = DatedLikes()
        self.recipes = Recipes(patterns, self.finder.literals, self.dated.stamp)
        self.duds = Duds(patterns)
        self._gate_digits = digit_literals(self.finder.step_literals)
        self.likes = Likes(self._anchored)
        self.steps = StepReader(
            patterns, lambda line: self.recipes.silent(line, self.finder.wanted(line)), self.likes.add
        )
        self.tiers = self.book.tiers
        self.low_tiers = sorted({one.tier for one in patterns if one.tier > 1})
        self._rooms: list[tuple[bytearray, NDArray[np.bool_]]] = []
        self._wanted_steps: dict[bytes, tuple[int, ...]] = {}
        self.step_patterns = tuple(sorted({index for row in self.finder.steps for index in row}))

    @contextmanager
    def room(self, source: Source, size: int) -> Iterator[bytearray]:
        """Lend a source a buffer of `size` bytes, and room for truth values, that an earlier one may have used: new
        memory is slow to touch."""
        mine, source.truths = self._rooms.pop() if self._rooms else (bytearray(), source.truths)
        if len(mine) != size:
            mine = bytearray(size)
        try:
            yield mine
        finally:
            self._rooms.append((mine, source.truths))

    def _anchored(self, line: bytes) -> tuple[int, ...] | None:
        name = line.translate(ZEROS)
        if self.duds.digits.search(name) or self._gate_digits.search(name):
            return None
        return self.wanted_steps(line)

    def learn_dud(self, names: set[bytes], name: bytes, line: bytes, wanted: tuple[int, ...]) -> None:
        """Learn of a line on which the wanted patterns of steps found nothing; where nobody can find anything on it,
        its like are taken before any search."""
        anchored = self._anchored(line) if self.duds.learn(names, name, line, wanted) else None
        silent = anchored is not None and self.recipes.silent(line, self.finder.wanted(line))
        if anchored is not None and silent and self.duds.barren(line, anchored):
            self.likes.add_barren(line)

    def wanted_steps(self, line: bytes) -> tuple[int, ...]:
        """Return the step patterns whose anchors are on a line; of lines that differ in digits only it is told once."""
        if len(line) > MAX_LINE:
            return tuple(self.finder.wanted_steps(line))
        name = line.translate(ZEROS)
        found = self._wanted_steps.get(name)
        if found is None:
            found = tuple(self.finder.wanted_steps(line))
            if self.duds.digits.search(name) is None and len(self._wanted_steps) < KEPT:
                self._wanted_steps[name] = found
        return found


_ENGINES: dict[tuple[str, int, str], Engine] = {}
_MOST_ENGINES = 4


def engine(formats: FormatSet, steps: str) -> Engine:
    """Return the engine of a set of formats, made at the first call; what it learns from one source helps the next."""
    key = (formats.fingerprint, len(formats.patterns), steps)
    if key not in _ENGINES:
        if len(_ENGINES) >= _MOST_ENGINES:
            _ENGINES.clear()
        _ENGINES[key] = Engine(formats.patterns, steps)
    return _ENGINES[key]


class Source:
    """What is known of one source while its blocks are read."""

    def __init__(self, engine: Engine, options: ScanOptions) -> None:
        """Start before the first block; raises UsageError for an unknown zone."""
        self.engine, self.limits = engine, options.limits
        self.clock = Clock(options.zone, options.year_hint)
        self.reader = LineReader(engine.patterns, self.clock, options.limits.states)
        self.facts = Facts(engine.book)
        self.unmatched = Unmatched()
        self.lines: Counter[str] = Counter()
        """Outcome -> lines."""
        self.formats: Counter[str] = Counter()
        """Format -> lines."""
        self.n_lines = 0
        self.hits = 0
        """Literals found."""
        self.place = 0
        """Bytes of text before the block at hand."""
        self.last, self.last_place = NULL, -1
        """Instant and place of the last dated line before the block at hand."""
        self.truths = np.empty(0, bool)
        """Room for truth values."""
        self.twins: dict[int, tuple[Ints, Ints, Ints, Ints]] = {}
        """Tier -> steps, instants, clocks and numbers of its last dated lines."""

    def dated(self, line: bytes) -> int:
        """Return the instant of any line in microseconds UTC, or NULL."""
        return self.engine.dated.instant(line, self.reader)

    def mask(self, size: int) -> NDArray[np.bool_]:
        """Return room for `size` truth values, the same one for every block: new memory is slow to touch."""
        if len(self.truths) < size:
            self.truths = np.empty(size, bool)
        return self.truths[:size]
