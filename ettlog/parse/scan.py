"""Turns one text source into facts: blocks of lines, one literal pass, regexes on hit lines, step lines by the thousand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ettlog.lifecycle import OUTCOMES
from ettlog.parse import zones
from ettlog.parse.blocks import Reader, SourceRefusedError, open_source
from ettlog.parse.carry import DatedLines
from ettlog.parse.clockwork import Clock
from ettlog.parse.cut import Block, blocks
from ettlog.parse.extract import Pool, Rows, StepReader
from ettlog.parse.facts import Event, Facts, Steps, Undated
from ettlog.parse.finder import Finder, Hits
from ettlog.parse.format import FormatSet, Pattern
from ettlog.parse.line import Found, LineReader
from ettlog.parse.parsed import ALL, Limits, Parsed, ScanOptions
from ettlog.parse.shapes import Unmatched
from ettlog.parse.template import COLUMNS, NULL
from ettlog.schema import arrow_schema

__all__ = ["Limits", "Parsed", "ScanOptions", "scan"]

Ints = NDArray[np.int64]
MATCHED = OUTCOMES[0]
_EMPTY: Ints = np.zeros(0, np.int64)
_TWINS = (-1, -2, 0, 1)
"""Which dated lines of a lower tier may be about an undated step, by distance: two before, two behind."""

_PIECE = 1 << 14
"""Bytes from which numpy counts newlines faster than bytes.count."""



class _Engine:
    """What is made once for a set of formats and used for many sources."""

    def __init__(self, patterns: Sequence[Pattern], steps: str) -> None:
        self.patterns = patterns
        self.finder = Finder(patterns, steps=steps == ALL)
        self.steps = StepReader(patterns)
        self.tiers = np.array([one.tier for one in patterns] or [1])
        self.low_tiers = sorted({one.tier for one in patterns if one.tier > 1})
        self.step_patterns = tuple(sorted({index for row in self.finder.steps for index in row}))


_ENGINES: dict[tuple[str, int, str], _Engine] = {}
_MOST_ENGINES = 4


def _engine(formats: FormatSet, steps: str) -> _Engine:
    key = (formats.fingerprint, len(formats.patterns), steps)
    if key not in _ENGINES:
        if len(_ENGINES) >= _MOST_ENGINES:
            _ENGINES.clear()
        _ENGINES[key] = _Engine(formats.patterns, steps)
    return _ENGINES[key]


def scan(path: Path, formats: FormatSet, options: ScanOptions) -> Parsed:
    """Read one text source, plain or compressed, and return its facts; memory does not grow with lines, only with facts.

    Never raises for what the bytes hold; a path that is no readable regular file gives the state `refused`.
    Raises UsageError for an unknown zone.
    """
    try:
        reader = open_source(path, budget=options.limits.output)
    except SourceRefusedError as error:
        return _nothing("refused", [f"{error.what}: {error.why}"])
    with reader:
        one = _Scan(_engine(formats, options.steps), options)
        if options.zone is None:
            zones.learn(_head(path), one.clock.source)
        return one.run(reader)


def _head(path: Path) -> bytes:
    """Return the first text of a source; it is opened once more, so that what is learnt does not hang on the size of blocks."""
    with open_source(path) as reader:
        return reader.read_all(zones.HEAD)


def _nothing(state: str, inferences: list[str]) -> Parsed:
    tables = [arrow_schema(name).empty_table() for name in ("event", "step", "alloc")]
    return Parsed(*tables, dict.fromkeys(OUTCOMES, 0), 0, 0, "", state=state, inferences=inferences)


class _Scan:
    """The state of reading one source."""

    def __init__(self, engine: _Engine, options: ScanOptions) -> None:
        self.engine, self.limits = engine, options.limits
        self.clock = Clock(options.zone, options.year_hint)
        self.reader = LineReader(engine.patterns, self.clock, options.limits.states)
        self.facts = Facts(engine.patterns)
        self.unmatched = Unmatched()
        self.lines: Counter[str] = Counter()
        self.formats: Counter[str] = Counter()
        self.n_lines = 0
        self.place = 0
        self.last = NULL
        self.last_place = -1
        self.twins: dict[int, tuple[Ints, Ints, Ints]] = {}
        self.hits = 0
        self.binary = False

    def run(self, reader: Reader) -> Parsed:
        for block in blocks(reader, self.limits.block, self.limits.line):
            if not self.n_lines:
                self.binary = b"\0" in block.data[: min(block.end, 1 << 16)]
            _BlockScan(self, block).run()
        digest = reader.digest()
        events, steps = self.facts.tables(*self.clock.settle())
        state = "torn" if reader.torn else "empty" if not self.n_lines else "whole"
        if self.binary and not self.hits and state == "whole":
            state = "binary"
        notes = [*self.clock.source.inferences, *([reader.torn] if reader.torn else [])]
        return Parsed(
            events, steps, arrow_schema("alloc").empty_table(), {name: self.lines[name] for name in OUTCOMES}, self.n_lines,
            reader.n_bytes, digest, dict(sorted(self.formats.items())), state, notes, self.unmatched.shapes(),
            self.unmatched.samples, self.clock.first, self.clock.last, self.clock.word, _hints(events),
        )  # fmt: skip


class _BlockScan:
    """Reads one block."""

    def __init__(self, scan: _Scan, block: Block) -> None:
        self.scan, self.block = scan, block
        self.data, self.end = block.data, block.end
        self.newline = np.frombuffer(block.data, np.uint8, block.end) == 10
        self.outcome: dict[int, str] = {}
        """Line begin -> outcome, of lines read by regex."""
        self.fast = _EMPTY
        """Where the step lines read by template begin, sorted."""

    def run(self) -> None:
        scan = self.scan
        hits = scan.engine.finder.find(memoryview(self.data)[: self.end])
        scan.hits += len(hits.at) + len(hits.step_at)
        events = self._events(hits)
        undated_steps = self._steps(hits)
        self._neighbours([event for event in events if event.ts == NULL], undated_steps)
        scan.facts.add_events(events)
        self._account()
        scan.place += self.end

    # events

    def _events(self, hits: Hits) -> list[Event]:
        """Read the lines with literals of events on them, in order."""
        found: list[Event] = []
        counted, line = 0, self.scan.n_lines + 1
        patterns, finder = self.scan.engine.patterns, self.scan.engine.finder
        for begin, end in self._lines(hits.at.tolist()):
            wanted = finder.wanted(bytes(self.data[begin:end]))
            if not wanted:
                continue
            line += self._newlines(counted, begin)
            counted = begin
            for fact in self._read(begin, end, wanted, many=False):
                if not patterns[fact.pattern].ignore:
                    found.append(Event(line, begin, fact.ts, fact.clock, fact.pattern, fact.values))
        return found

    def _lines(self, hits: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield where the lines begin and end that hits are on; what lies beyond the limit of a line is not seen."""
        limit, end = self.scan.limits.line, -1
        for at in hits:
            if at < end:
                continue
            low = max(0, at - limit)
            begin = self.data.rfind(b"\n", low, at) + 1
            end = self.data.find(b"\n", at, self.end)
            if begin or not low:
                yield begin, min(end, begin + limit)

    def _read(self, begin: int, end: int, wanted: Sequence[int], *, many: bool) -> list[Found]:
        line = bytes(self.data[begin:end])
        whole = (self.block.whole and not self.block.clipped and self.data[end] == 10) or end + 1 < self.end
        found = self.scan.reader.read(line.rstrip(b"\r"), wanted, many=many, whole=whole)
        if found:
            self._note(begin, found)
        return found

    def _note(self, begin: int, found: Sequence[Found]) -> None:
        patterns = self.scan.engine.patterns
        real = [one for one in found if not patterns[one.pattern].ignore]
        outcome = "ignored" if not real else "bad_time" if any(one.bad_time for one in real) else MATCHED
        if self.outcome.get(begin) != MATCHED:
            self.outcome[begin] = outcome
        for name in {patterns[one.pattern].format for one in found}:
            self.scan.formats[name] += 1

    # steps

    def _steps(self, hits: Hits) -> tuple[Ints, Ints]:
        """Read step lines; return where the undated ones begin, and their line numbers."""
        newlines = np.flatnonzero(self.newline) if len(hits.step_at) else _EMPTY
        rows = self._step_rows(hits, newlines) if len(hits.step_at) else None
        if rows is None:
            return _EMPTY, _EMPTY
        line = np.searchsorted(newlines, rows.at) + self.scan.n_lines + 1
        rows = self._twins(rows)
        self.scan.facts.add_steps(Steps(line, rows.ts, rows.clock, rows.pattern, rows.values))
        undated = rows.ts == NULL
        return rows.at[undated], line[undated]

    def _step_rows(self, hits: Hits, newlines: Ints) -> Rows | None:
        parts: list[Rows] = []
        fast = [_EMPTY]
        for pool in self._pools(hits, newlines):
            found, left = self.scan.engine.steps.read(self.data, pool, self.scan.clock)
            parts += found
            fast += [rows.at for rows in found]
            for rows in found:  # all of one template, so of one pattern
                if len(rows.at):
                    self.scan.formats[self.scan.engine.patterns[rows.pattern[0]].format] += len(rows.at)
            slow = [self._slow(int(pool.at[row]), int(pool.end[row]), pool.patterns) for row in left.tolist()]
            parts += [row for row in slow if row is not None]
        self.fast = np.sort(np.concatenate(fast))
        if not parts:
            return None
        joined = Rows(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in ("at", "ts", "clock", "pattern")),
            tuple(np.concatenate([part.values[i] for part in parts]) for i in range(len(COLUMNS))),
        )
        order = np.argsort(joined.at, kind="stable")
        return Rows(*(column[order] for column in joined[:4]), tuple(column[order] for column in joined.values))

    def _pools(self, hits: Hits, newlines: Ints) -> list[Pool]:
        """Group the hit lines by the literal found on them."""
        index = np.searchsorted(newlines, hits.step_at)
        first = np.flatnonzero(np.r_[True, index[1:] != index[:-1]])
        count = np.diff(np.r_[first, len(index)])
        end = newlines[index[first]]
        begin = np.where(index[first] > 0, newlines[index[first] - 1] + 1, 0)
        seen = hits.step_at[first] - begin < self.scan.limits.line
        end = np.minimum(end, begin + self.scan.limits.line)
        key = np.where(count == 1, hits.step_gates[first], -1)
        steps = self.scan.engine.finder.steps
        pools = []
        for one in np.unique(key[seen]).tolist():
            mine = seen & (key == one)
            pools.append(Pool(one, steps[one] if one >= 0 else self.scan.engine.step_patterns, begin[mine], end[mine]))
        return pools

    def _slow(self, begin: int, end: int, wanted: Sequence[int]) -> Rows | None:
        found = self._read(begin, end, wanted, many=True)
        if not found:
            return None
        number = [[_whole(one.values.get(name)) for one in found] for name in COLUMNS]
        return Rows(
            np.full(len(found), begin), np.array([one.ts for one in found], np.int64),
            np.array([one.clock for one in found], np.int8), np.array([one.pattern for one in found], np.int16),
            tuple(np.array(column, np.int64) for column in number),
        )  # fmt: skip

    def _twins(self, rows: Rows) -> Rows:
        """Give an undated step the instant of a dated line of a lower tier about the same step that stands beside it."""
        tiers = self.scan.engine.tiers[rows.pattern]
        undated = np.flatnonzero((tiers == 1) & (rows.ts == NULL))
        for tier in self.scan.engine.low_tiers:
            dated = np.flatnonzero((tiers == tier) & (rows.ts != NULL))
            before = self.scan.twins.get(tier, (_EMPTY, _EMPTY, _EMPTY))
            steps, instants = np.r_[before[0], rows.values[0][dated]], np.r_[before[1], rows.ts[dated]]
            clocks = np.r_[before[2], rows.clock[dated]]
            behind = np.searchsorted(dated, undated) + len(before[0])
            for offset in _TWINS:
                near = behind + offset
                same = (near >= 0) & (near < len(steps)) & (rows.ts[undated] == NULL)
                same[same] = steps[near[same]] == rows.values[0][undated[same]]
                rows.ts[undated[same]] = instants[near[same]]
                rows.clock[undated[same]] = clocks[near[same]]
            self.scan.twins[tier] = (steps[-2:], instants[-2:], clocks[-2:])
        return rows

    # instants of undated lines

    def _neighbours(self, events: Sequence[Event], steps: tuple[Ints, Ints]) -> None:
        """Find the dated lines beside the undated ones, and keep the block's last instant for the next block."""
        scan = self.scan
        dated = DatedLines(self.data, self.end, scan.reader.dated)
        if scan.facts.waiting:
            first = dated.behind(-1)
            if first != NULL:
                scan.facts.next_dated(first)
        facts = {event.place: event.line for event in events} | dict(zip(steps[0].tolist(), steps[1].tolist(), strict=True))
        if facts:
            at = np.array(sorted(facts), np.int64)
            near = dated.around(at, np.isin(at, steps[0]))
            known = near.before != NULL
            place = np.where(known, near.place + scan.place, scan.last_place)
            before = np.where(known, near.before, scan.last)
            lines = np.array([facts[begin] for begin in at.tolist()], np.int64)
            scan.facts.add_undated(Undated(lines, place, before, near.behind))
        place, us = dated.before(self.end)
        if us != NULL:
            scan.last, scan.last_place = us, place + scan.place

    def _newlines(self, begin: int, end: int) -> int:
        """Return the number of newlines in a piece of the block, the fastest way for its size."""
        if end - begin < _PIECE:
            return self.data.count(b"\n", begin, end)
        return int(np.count_nonzero(self.newline[begin:end]))

    # accounting

    def _account(self) -> None:
        """Count the outcome of every line of the block, and look at some that nothing matched."""
        scan = self.scan
        for begin in [begin for begin, outcome in self.outcome.items() if outcome != MATCHED]:
            if self._is_fast(begin):
                self.outcome[begin] = MATCHED
        read = Counter(self.outcome.values())
        read[MATCHED] += len(self.fast) - sum(self._is_fast(begin) for begin in self.outcome)
        lines = int(np.count_nonzero(self.newline))
        read["long"] += self._long_lines()
        if not self.block.whole and lines > sum(read.values()) and self._unread(self.data.rfind(b"\n", 0, self.end - 1) + 1):
            read["torn"] += 1
        read["unmatched"] += lines - sum(read.values())
        scan.lines.update(read)
        self._look()
        scan.n_lines += lines

    def _is_fast(self, begin: int) -> bool:
        index = int(np.searchsorted(self.fast, begin))
        return index < len(self.fast) and int(self.fast[index]) == begin

    def _unread(self, begin: int) -> bool:
        return begin not in self.outcome and not self._is_fast(begin)

    def _long_lines(self) -> int:
        """Count the lines beyond the limit that nothing matched: each holds a window without a newline."""
        limit = self.scan.limits.line
        if self.block.clipped:
            return int(self._unread(0))
        window, found, at = limit // 2, 0, 0
        while at + window < self.end:
            if self.data.find(b"\n", at, at + window) < 0:
                begin, end = self.data.rfind(b"\n", 0, at) + 1, self.data.find(b"\n", at, self.end)
                found += end - begin > limit and self._unread(begin)
                at = end
            at += window
        return found

    def _look(self) -> None:
        """Look at a few lines, evenly spread; more of them in the first block."""
        wanted = min(24 if not self.scan.n_lines else 4, self.end // 64 + 1)
        last = -1
        for at in range(0, self.end, max(1, self.end // wanted)):
            low = max(0, at - 4096)
            begin = self.data.rfind(b"\n", low, at) + 1 or low
            if begin > last and self._unread(begin):
                end = self.data.find(b"\n", begin, begin + 1024)
                self.scan.unmatched.look(bytes(self.data[begin : end if end >= 0 else begin + 1024]).rstrip(b"\r"))
            last = max(last, begin)


def _whole(value: object) -> int:
    return value if isinstance(value, int) else NULL


def _hints(events: object) -> dict[str, str]:
    return {}
