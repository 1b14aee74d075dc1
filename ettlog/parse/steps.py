"""Reads the step lines of one block: grouped by the literals on them, by template where that is proved, else line by
line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ettlog.parse.cut import Block
from ettlog.parse.engine import Source
from ettlog.parse.extract import Pool
from ettlog.parse.facts import Steps
from ettlog.parse.finder import Hits
from ettlog.parse.line import Found
from ettlog.parse.template import COLUMNS, NULL
from ettlog.parse.vector import Rows, select

Ints = NDArray[np.int64]
_EMPTY: Ints = np.zeros(0, np.int64)
NO_ROWS = Rows(_EMPTY, _EMPTY, _EMPTY.astype(np.int8), _EMPTY.astype(np.int16), tuple(_EMPTY for _ in COLUMNS))
_TWINS = (-1, -2, 0, 1)
"""Which dated lines of a lower tier may be about an undated step, by distance: two before, two behind."""


_CUT = -2
"""Key of the pool of a last line that may have lost its end: no template may read it."""


class ReadLine(Protocol):
    """Reads one line of the block by the regexes of some patterns."""

    def __call__(self, begin: int, end: int, wanted: Sequence[int], *, many: bool) -> list[Found]:
        """Return what the patterns find; `many` allows a pattern several matches."""
        ...


class StepLines:
    """The step lines of one block."""

    def __init__(
        self,
        source: Source,
        block: Block,
        newline: NDArray[np.bool_],
        read_line: ReadLine,
        idle: frozenset[int] = frozenset(),
    ) -> None:
        """Keep the block, where its newlines are, how to read one line, and the patterns that cannot count in it."""
        self._idle = idle
        self._source, self._block, self._newline, self._read_line = source, block, newline, read_line
        self.undated: tuple[Ints, Ints] = (_EMPTY, _EMPTY)
        """Where undated step lines begin, and their numbers in the source."""

    def read(self, hits: Hits) -> Ints:
        """Read all lines with literals of steps on them; return where those begin that were read by template,
        sorted."""
        if not len(hits.step_at):
            return _EMPTY
        newlines = np.flatnonzero(self._newline)
        rows, fast = self._rows(self._pools(hits, newlines))
        if len(rows.at):
            line = np.searchsorted(newlines, rows.at) + self._source.n_lines + 1
            rows = self._twins(rows)
            self._source.facts.add_steps(Steps(line, rows.ts, rows.clock, rows.pattern, rows.values))
            undated = rows.ts == NULL
            self.undated = rows.at[undated], line[undated]
        return fast

    def _rows(self, pools: Sequence[Pool]) -> tuple[Rows, Ints]:
        source = self._source
        fast: list[Rows] = []
        slow: list[Rows] = []
        for pool in pools:
            found, left = source.engine.steps.read(self._block.data, pool, source.clock)
            fast += found
            for rows in found:  # all of one template, so of one pattern
                if len(rows.at):
                    source.formats[source.engine.patterns[int(rows.pattern[0])].format] += len(rows.at)
            slow += [self._one(int(pool.at[row]), int(pool.end[row]), pool.patterns) for row in left.tolist()]
        joined = _joined([*fast, *slow])
        return select(joined, np.argsort(joined.at, kind="stable")), np.sort(_joined(fast).at)

    def _pools(self, hits: Hits, newlines: Ints) -> list[Pool]:
        """Group the hit lines by the literal found on them."""
        index = np.searchsorted(newlines, hits.step_at)
        first = np.flatnonzero(np.r_[True, index[1:] != index[:-1]])
        count = np.diff(np.r_[first, len(index)])
        end = newlines[index[first]]
        begin = np.where(index[first] > 0, newlines[index[first] - 1] + 1, 0)
        seen = hits.step_at[first] - begin < self._source.limits.line
        end = np.minimum(end, begin + self._source.limits.line)
        key = np.where(count == 1, hits.step_gates[first], -1)
        steps = self._source.engine.finder.steps
        pools = []
        whole = end + 1 < self._block.end if self._block.sealed else np.ones(len(end), bool)
        key = np.where(whole, key, _CUT)
        for one in np.unique(key[seen]).tolist():
            mine = seen & (key == one)
            patterns = steps[one] if one >= 0 else self._source.engine.step_patterns
            ready = tuple(index for index in patterns if index not in self._idle)
            if ready:
                pools.append(Pool(one, ready, begin[mine], end[mine]))
        return pools

    def _one(self, begin: int, end: int, wanted: Sequence[int]) -> Rows:
        if len(wanted) > 1:
            wanted = self._source.engine.finder.wanted_steps(bytes(self._block.data[begin:end]))
        wanted = [index for index in wanted if index not in self._idle]
        if not wanted:
            return NO_ROWS
        found = self._read_line(begin, end, wanted, many=True)
        return Rows(
            np.full(len(found), begin),
            np.array([one.ts for one in found], np.int64),
            np.array([one.clock for one in found], np.int8),
            np.array([one.pattern for one in found], np.int16),
            tuple(np.array([_whole(one.values.get(name)) for one in found], np.int64) for name in COLUMNS),
        )

    def _twins(self, rows: Rows) -> Rows:
        """Give an undated step the instant of a dated line of a lower tier about the same step that stands beside
        it."""
        tiers = self._source.engine.tiers[rows.pattern]
        undated = np.flatnonzero((tiers == 1) & (rows.ts == NULL))
        for tier in self._source.engine.low_tiers:
            dated = np.flatnonzero((tiers == tier) & (rows.ts != NULL))
            before = self._source.twins.get(tier, (_EMPTY, _EMPTY, _EMPTY))
            steps, instants = np.r_[before[0], rows.values[0][dated]], np.r_[before[1], rows.ts[dated]]
            clocks = np.r_[before[2], rows.clock[dated]]
            behind = np.searchsorted(dated, undated) + len(before[0])
            for offset in _TWINS:
                near = behind + offset
                same = (near >= 0) & (near < len(steps)) & (rows.ts[undated] == NULL)
                same[same] = steps[near[same]] == rows.values[0][undated[same]]
                rows.ts[undated[same]] = instants[near[same]]
                rows.clock[undated[same]] = clocks[near[same]]
            self._source.twins[tier] = (steps[-2:], instants[-2:], clocks[-2:])
        return rows


def _joined(parts: Sequence[Rows]) -> Rows:
    if not parts:
        return NO_ROWS
    return Rows(
        np.concatenate([part.at for part in parts]),
        np.concatenate([part.ts for part in parts]),
        np.concatenate([part.clock for part in parts]),
        np.concatenate([part.pattern for part in parts]),
        tuple(np.concatenate([part.values[index] for part in parts]) for index in range(len(COLUMNS))),
    )


def _whole(value: object) -> int:
    return value if isinstance(value, int) else NULL
