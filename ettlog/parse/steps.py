"""Reads the step lines of one block: grouped by the literals on them, by template where that is proved, else line by
line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ettlog.parse.cut import Block
from ettlog.parse.engine import Source
from ettlog.parse.extract import CUT, Matched, Pool
from ettlog.parse.facts import Steps
from ettlog.parse.finder import Covered, Rest
from ettlog.parse.likes import BARREN, Taken
from ettlog.parse.line import Found
from ettlog.parse.lines import Lines
from ettlog.parse.template import COLUMNS, MAX_WIDTH, NULL
from ettlog.parse.vector import Rows, select

Ints = NDArray[np.int64]
_EMPTY: Ints = np.zeros(0, np.int64)
NO_ROWS = Rows(_EMPTY, _EMPTY, _EMPTY.astype(np.int8), _EMPTY.astype(np.int16), tuple(_EMPTY for _ in COLUMNS))
_TWINS = (-1, -2, 0, 1)
"""Which dated lines of a lower tier may be about an undated step, by distance: two before, two behind."""


BESIDE = 1000
"""Most lines between an undated step and a dated line about it: what stands further off is about another run's."""
_NEARLY = 0.9
"""Share of the silent lines that may stand for all: to leave a few more of them in costs less than a second copy."""

_AGAIN = CUT - 1
"""Key, less the number of the literal, of lines on which one literal stands several times."""


class ReadLine(Protocol):
    """Reads one line of the block by the regexes of some patterns."""

    def __call__(self, begin: int, end: int, wanted: Sequence[int], *, many: bool) -> list[Found]:
        """Return what the patterns find; `many` allows a pattern several matches."""
        ...


class StepLines:
    """The step lines of one block."""

    def __init__(self, source: Source, block: Block, lines: Lines, read_line: ReadLine) -> None:
        """Keep the block, its lines, and how to read one line."""
        self._source, self._block, self._lines, self._read_line = source, block, lines, read_line
        self._matched: list[Taken] = []
        self._barren: list[Taken] = []
        self._waiting: list[Pool] = []
        self.undated: tuple[Ints, Ints] = (_EMPTY, _EMPTY)
        """Where undated step lines begin, and their numbers in the source."""
        self.dated: tuple[Ints, Ints] = (_EMPTY, _EMPTY)
        """Where step lines begin whose instant is that of the first stamp on them, and the instants."""
        self.rest = Rest(memoryview(block.data)[: block.end], Covered(_EMPTY, _EMPTY))
        """What is left of the block beside the lines on which no event can be."""

    def clocked(self) -> Ints:
        """Return where lines begin that whole templates read and that hold a time of day, whether it counts or not."""
        every = ((pool, one) for pool, matched, _ in [*self._matched, *self._barren] for one in matched)
        timed = [pool.at[one.rows] for pool, one in every if one.template.whole and one.template.timed]
        return np.concatenate([_EMPTY, *timed])

    def match(self) -> Rest:
        """Find the step lines and match them with templates; return the text on which events can be.

        What cannot count yet for want of a line of its trainer waits: that line may be in this block.
        """
        self.rest = self._match()
        return self.rest

    def _match(self) -> Rest:
        engine, text = self._source.engine, memoryview(self._block.data)[: self._block.end]
        if not engine.step_patterns:
            return Rest(text, Covered(_EMPTY, _EMPTY))
        idle = self._source.facts.idle(())
        if self._source.limits.line >= MAX_WIDTH:
            begin, end = _lines(self._lines.ends)
            last = len(end) - self._block.sealed  # that line may have lost its end
            for like in engine.likes.take(self._block.data, begin[:last], end[:last], idle):
                (self._barren if like.pool.key == BARREN else self._matched).append(like)
        known, taken = [*self._matched, *self._barren], len(self._matched)
        rest = Rest(text, _covered(known, silent=False))
        gates, at = engine.finder.step_hits(rest)
        self._source.hits += len(at) + len(rest.covered.begin)
        for pool in self._pools(gates, at) if len(at) else ():
            if idle.isdisjoint(pool.patterns):
                self._matched.append(Taken(pool, *engine.steps.match(self._block.data, pool)))
            else:
                self._waiting.append(pool)
        if _silent(known) and not any(one.matched for one in self._matched[taken:]):
            return rest
        covered = _covered([*self._matched, *self._barren], silent=True)
        return rest if _most(rest.covered, covered) else Rest(text, covered)

    def read(self, idle: frozenset[int]) -> Ints:
        """Read all step lines but of the patterns that cannot count in this block; return where those begin that were
        read by template, sorted."""
        for pool in self._waiting:
            ready = tuple(index for index in pool.patterns if index not in idle)
            if ready:
                pool = pool._replace(patterns=ready)
                self._matched.append(Taken(pool, *self._source.engine.steps.match(self._block.data, pool)))
        if not self._matched:
            return _EMPTY
        rows, fast = self._rows(idle)
        if len(rows.at):
            line = np.searchsorted(self._lines.ends, rows.at) + self._source.n_lines + 1
            self.dated = self._dated(rows, fast)
            rows = self._twins(rows, line)
            self._source.facts.add_steps(Steps(line, rows.ts, rows.clock, rows.pattern, rows.values))
            undated = rows.ts == NULL
            self.undated = rows.at[undated], line[undated]
        return fast

    def _rows(self, idle: frozenset[int]) -> tuple[Rows, Ints]:
        fast, slow = list[Rows](), list[tuple[int, Found]]()
        rest = {number: [left] for number, (_, _, left) in enumerate(self._matched)}
        # the clock sees templates by their first lines: what it makes of half a stamp hangs on the one before
        every = [(number, one) for number, (_, matched, _) in enumerate(self._matched) for one in matched]
        for number, one in sorted(every, key=lambda pair: int(self._matched[pair[0]].pool.at[pair[1].rows[0]])):
            good, rows = self._by_template(self._matched[number].pool, one)
            fast.append(rows)
            rest[number].append(one.rows[~good])
        for number, (pool, _, _) in enumerate(self._matched):
            slow += self._slow(pool, np.sort(np.concatenate(rest[number])), idle)
        joined = _joined([*fast, _slow_rows(slow)] if slow else fast)
        if not (joined.at[1:] > joined.at[:-1]).all():
            joined = select(joined, np.argsort(joined.at, kind="stable"))
        return joined, np.sort(np.concatenate([_EMPTY, *(r.at for r in fast)])) if slow else joined.at

    def _by_template(self, pool: Pool, one: Matched) -> tuple[NDArray[np.bool_], Rows]:
        source = self._source
        good, rows = one.template.rows(one.numbers, pool.at[one.rows], source.clock)
        if len(rows.at):
            source.formats[source.engine.patterns[one.template.learnt.pattern].format] += len(rows.at)
        return good, rows

    def _dated(self, rows: Rows, fast: Ints) -> tuple[Ints, Ints]:
        own = (rows.ts != NULL) & ~self._source.engine.book.stamped[rows.pattern]
        if len(fast):
            own &= fast[np.minimum(np.searchsorted(fast, rows.at), len(fast) - 1)] == rows.at
        else:
            own[:] = False
        return rows.at[own], rows.ts[own]

    def _pools(self, gates: Ints, at: Ints) -> list[Pool]:
        """Group the hit lines by the literal found on them."""
        newlines = self._lines.ends
        index = np.searchsorted(newlines, at)
        first = np.flatnonzero(np.concatenate(([True], index[1:] != index[:-1])))
        count = np.diff(first, append=len(index))
        end = newlines[index[first]]
        begin = np.where(index[first] > 0, newlines[index[first] - 1] + 1, 0)
        seen = at[first] - begin < self._source.limits.line
        end = np.minimum(end, begin + self._source.limits.line)
        key = np.where(count == 1, gates[first], -1)
        same = np.minimum.reduceat(gates, first) == np.maximum.reduceat(gates, first)
        key = np.where((count > 1) & same, _AGAIN - gates[first], key)
        steps = self._source.engine.finder.steps
        pools = []
        whole = end + 1 < self._block.end if self._block.sealed else np.ones(len(end), bool)
        key = np.where(whole, key, CUT)
        for one in np.unique(key[seen]).tolist():
            mine = seen & (key == one)
            gate = _AGAIN - one if one <= _AGAIN else one
            patterns = steps[gate] if gate >= 0 else self._source.engine.step_patterns
            pools.append(Pool(one, patterns, begin[mine], end[mine]))
        return pools

    def _slow(self, pool: Pool, rows: Ints, idle: frozenset[int]) -> Iterator[tuple[int, Found]]:
        """Read lines of a pool by the regexes of those patterns whose anchors are on them; most hold none."""
        engine, text = self._source.engine, memoryview(self._block.data)
        wanted = tuple(index for index in pool.patterns if index not in idle)
        silent, chosen = engine.duds.of(wanted), frozenset(wanted)
        for begin, end in zip(pool.at[rows].tolist(), pool.end[rows].tolist(), strict=True):
            line = bytes(text[begin:end])
            name = engine.duds.name(line)
            if name in silent:
                continue
            ready = tuple(index for index in engine.wanted_steps(line) if index in chosen)
            every = self._read_line(begin, end, ready, many=True) if ready else []
            yield from ((begin, found) for found in every)
            # of a line whose end is not seen, a match that touches it does not count: it says nothing of whole ones
            if not every and pool.key != CUT and text[end] == 10:
                engine.learn_dud(silent, name, line, ready)

    def _twins(self, rows: Rows, line: Ints) -> Rows:
        """Give an undated step the instant of a dated line of a lower tier about the same step that stands beside it,
        given the numbers of their lines."""
        tiers = self._source.engine.tiers[rows.pattern]
        undated = np.flatnonzero((tiers == 1) & (rows.ts == NULL))
        for tier in self._source.engine.low_tiers if len(undated) or tiers.max(initial=1) > 1 else ():
            if tier not in self._source.twins and not (tiers == tier).any():
                continue
            dated = np.flatnonzero((tiers == tier) & (rows.ts != NULL))
            before = self._source.twins.get(tier, (_EMPTY, _EMPTY, _EMPTY, _EMPTY))
            if not len(undated):
                dated = dated[-2:]  # nobody asks for more, and the next block for no more either
            steps = np.concatenate((before[0], rows.values[0][dated]))
            instants = np.concatenate((before[1], rows.ts[dated]))
            clocks: Any = np.concatenate((before[2], rows.clock[dated]))
            lines = np.concatenate((before[3], line[dated]))
            behind = np.searchsorted(dated, undated) + len(before[0])
            lent = np.zeros(len(steps), bool)
            for offset in _TWINS if len(undated) else ():
                near = behind + offset
                same = (near >= 0) & (near < len(steps)) & (rows.ts[undated] == NULL)
                same[same] = steps[near[same]] == rows.values[0][undated[same]]
                same[same] = np.abs(lines[near[same]] - line[undated[same]]) <= BESIDE
                if offset < 0:
                    lent[near[same]] = True
                else:  # a line before the next start's first step is about that one, not about what the last start did
                    same[same] = ~lent[near[same]]
                rows.ts[undated[same]] = instants[near[same]]
                rows.clock[undated[same]] = clocks[near[same]]
            self._source.twins[tier] = (steps[-2:], instants[-2:], clocks[-2:], lines[-2:])
        return rows


def _lines(newlines: Ints) -> tuple[Ints, Ints]:
    """Return where the lines of a block begin and end."""
    begin = np.empty(len(newlines), np.int64)
    begin[:1] = 0
    begin[1:] = newlines[:-1] + 1
    return begin, newlines


def _covered(taken: Sequence[Taken], *, silent: bool) -> Covered:
    """Return the lines that templates read; with `silent` those only on which no event can be."""
    every = [(pool, one) for pool, matched, _ in taken for one in matched if one.template.silent or not silent]
    if not every:
        return Covered(_EMPTY, _EMPTY)
    begin = np.concatenate([pool.at[one.rows] for pool, one in every])
    end = np.concatenate([pool.end[one.rows] for pool, one in every]) + 1
    order = np.argsort(begin)
    return Covered(begin[order], end[order])


def _silent(taken: Sequence[Taken]) -> bool:
    """Tell whether no event can be on any of some lines."""
    return all(one.template.silent for _, matched, _ in taken for one in matched)


def _most(some: Covered, silent: Covered) -> bool:
    """Tell whether some covered lines are silent and nearly all of the silent ones."""
    if not len(silent.begin) or not len(some.begin):
        return len(silent.begin) == len(some.begin)
    if int((some.end - some.begin).sum()) < _NEARLY * int((silent.end - silent.begin).sum()):
        return False
    return bool((silent.begin[np.searchsorted(silent.begin[:-1], some.begin)] == some.begin).all())


def _slow_rows(found: Sequence[tuple[int, Found]]) -> Rows:
    """Return what was read line by line as rows."""
    return Rows(
        np.array([begin for begin, _ in found], np.int64),
        np.array([one.ts for _, one in found], np.int64),
        np.array([one.clock for _, one in found], np.int8),
        np.array([one.pattern for _, one in found], np.int16),
        tuple(np.array([_whole(one.values.get(name)) for _, one in found], np.int64) for name in COLUMNS),
    )


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
