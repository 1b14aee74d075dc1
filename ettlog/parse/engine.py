"""What is made once for a set of formats and used for many sources, and what is known of one source while it is
read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ettlog.parse.clockwork import Clock
from ettlog.parse.extract import StepReader
from ettlog.parse.facts import Facts
from ettlog.parse.finder import Finder
from ettlog.parse.format import FormatSet, Pattern
from ettlog.parse.line import LineReader
from ettlog.parse.parsed import ALL, ScanOptions
from ettlog.parse.shapes import Unmatched
from ettlog.parse.template import NULL

Ints = NDArray[np.int64]


class Engine:
    """The literals and the templates of a set of formats."""

    def __init__(self, patterns: Sequence[Pattern], steps: str) -> None:
        """Build the literal search, and prove the regexes of step patterns; `steps` as in ScanOptions."""
        self.patterns = patterns
        self.finder = Finder(patterns, steps=steps == ALL)
        self.steps = StepReader(patterns)
        self.tiers = np.array([one.tier for one in patterns] or [1])
        self.low_tiers = sorted({one.tier for one in patterns if one.tier > 1})
        self.step_patterns = tuple(sorted({index for row in self.finder.steps for index in row}))


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
        self.facts = Facts(engine.patterns)
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
        self.twins: dict[int, tuple[Ints, Ints, Ints]] = {}
        """Tier -> steps, instants and clocks of its last dated lines."""
