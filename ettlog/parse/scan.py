"""Turns one text source into facts: blocks of lines, one literal pass, regexes on hit lines, step lines by the thousand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ettlog.lifecycle import OUTCOMES
from ettlog.parse.blocks import Reader, SourceRefusedError, open_source
from ettlog.parse.carry import TAIL, DatedLines
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
_EMPTY: Ints = np.zeros(0, np.int64)
_TWINS = (-1, -2, 0, 1)
"""Which dated lines of a lower tier may be about an undated step, by distance: two before, two behind."""



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


def _engine(formats: FormatSet, steps: str) -> _Engine:
    key = (formats.fingerprint, len(formats.patterns), steps)
    if key not in _ENGINES:
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
        return _Scan(_engine(formats, options.steps), options).run(reader)


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
        events, steps = self.facts.tables(self.clock.settle())
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
        self.outcome: dict[int, str] = {}
        """Line begin -> outcome, of lines read by regex."""

    def run(self) -> None:
        scan = self.scan
        hits = scan.engine.finder.find(memoryview(self.data)[: self.end])
        scan.hits += len(hits.at) + len(hits.step_at)
        events = self._events(hits)
        rows, undated_steps = self._steps(hits)
        self._neighbours([event for event in events if event.ts == NULL], undated_steps)
        scan.facts.add_events(events)
        self._account(rows.at if rows is not None else _EMPTY)
        scan.place += self.end

    # events

    def _events(self, hits: Hits) -> list[Event]:
        """Read the lines with literals of events on them, in order."""
        found: list[Event] = []
        counted, line = 0, self.scan.n_lines + 1
        for begin, end, gates in self._lines(hits):
            line += self.data.count(b"\n", counted, begin)
            counted = begin
            owners = self.scan.engine.finder.events
            wanted = owners[gates[0]] if len(gates) == 1 else sorted({index for gate in gates for index in owners[gate]})
            facts = self._read(begin, end, wanted, many=False)
            for fact in facts:
                if not self.scan.engine.patterns[fact.pattern].ignore:
                    found.append(Event(line, begin, fact.ts, fact.clock, fact.pattern, fact.values))
        return found

    def _lines(self, hits: Hits) -> list[tuple[int, int, list[int]]]:
        """Return (begin, end, literals) of the lines the hits are on; what lies beyond the limit of a line is not seen."""
        found: list[tuple[int, int, list[int]]] = []
        limit, begin, end, size = self.scan.limits.line, 0, -1, 0
        for gate, at in zip(hits.gates.tolist(), hits.at.tolist(), strict=True):
            if at < end:
                if at < begin + size:
                    found[-1][2].append(gate)
                continue
            low = max(0, at - limit)
            begin = self.data.rfind(b"\n", low, at) + 1 or low
            if begin == low and low:
                end = at  # further inside a line than its limit
                continue
            end = self.data.find(b"\n", at, self.end)
            size = min(end - begin, limit)
            found.append((begin, begin + size, [gate]))
        return found

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
        outcome = "ignored" if not real else "bad_time" if any(one.bad_time for one in real) else "matched"
        if self.outcome.get(begin) != "matched":
            self.outcome[begin] = outcome
        for name in {patterns[one.pattern].format for one in found}:
            self.scan.formats[name] += 1

    # steps

    def _steps(self, hits: Hits) -> tuple[Rows | None, Ints]:
        """Read step lines; return the rows and where the undated ones begin."""
        if not len(hits.step_at):
            return None, _EMPTY
        newlines = np.flatnonzero(np.frombuffer(self.data, np.uint8, self.end) == 10)
        rows = self._step_rows(hits, newlines)
        if rows is None:
            return None, _EMPTY
        line = np.searchsorted(newlines, rows.at) + self.scan.n_lines + 1
        rows = self._twins(rows)
        self.scan.facts.add_steps(Steps(line, rows.ts, rows.clock, rows.pattern, rows.values))
        return rows, rows.at[rows.ts == NULL]

    def _step_rows(self, hits: Hits, newlines: Ints) -> Rows | None:
        parts: list[Rows] = []
        for pool in self._pools(hits, newlines):
            found, left = self.scan.engine.steps.read(self.data, pool, self.scan.clock)
            parts += found
            for rows in found:
                names, counts = np.unique(rows.pattern, return_counts=True)
                for index, count in zip(names.tolist(), counts.tolist(), strict=True):
                    self.scan.formats[self.scan.engine.patterns[index].format] += count
            slow = [self._slow(int(pool.at[row]), int(pool.end[row]), pool.patterns) for row in left.tolist()]
            parts += [row for row in slow if row is not None]
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

    def _neighbours(self, events: Sequence[Event], steps: Ints) -> None:
        scan = self.scan
        at = np.unique(np.concatenate([np.array([event.place for event in events], np.int64), steps]))
        if len(at) or scan.facts.waiting:
            dated = DatedLines(self.data, 0, self.end, scan.reader.dated)
        else:
            begin = self.data.find(b"\n", max(0, self.end - TAIL), self.end - 1) + 1
            dated = DatedLines(self.data, begin, self.end, scan.reader.dated)
        if scan.facts.waiting:
            first = dated.first()
            if first != NULL:
                scan.facts.next_dated(first)
        if len(at):
            near = dated.around(at)
            known = near.before != NULL
            place = np.where(known, near.place + scan.place, scan.last_place)
            newlines = _line_numbers(self.data, at) + scan.n_lines
            scan.facts.add_undated(Undated(newlines, place, np.where(known, near.before, scan.last), near.behind))
        place, us = dated.last()
        if us != NULL:
            scan.last, scan.last_place = us, place + scan.place

    # accounting

    def _account(self, step_lines: Ints) -> None:
        """Count the outcome of every line of the block, and look at some that nothing matched."""
        scan = self.scan
        lines = self.data.count(b"\n", 0, self.end)
        read = Counter(self.outcome.values())
        by_template = np.unique(step_lines)
        if self.outcome and len(by_template):
            known = np.array([begin for begin, outcome in self.outcome.items() if outcome == "matched"], np.int64)
            other = [begin for begin, outcome in self.outcome.items() if outcome != "matched"]
            for begin in np.array(other, np.int64)[np.isin(other, by_template)].tolist() if other else ():
                read[self.outcome[begin]] -= 1
            read["matched"] += len(by_template) - int(np.isin(by_template, known).sum())
        else:
            read["matched"] += len(by_template)
        left = lines - sum(read.values())
        long = self._long_lines(by_template)
        read["long"] += long
        if not self.block.whole and left - long > 0 and self._last_unread(by_template):
            read["torn"] += 1
        read["unmatched"] += lines - sum(read.values())
        scan.lines.update(read)
        self._look(by_template)
        scan.n_lines += lines

    def _last_unread(self, step_lines: Ints) -> bool:
        begin = self.data.rfind(b"\n", 0, self.end - 1) + 1
        return begin not in self.outcome and begin not in step_lines

    def _long_lines(self, step_lines: Ints) -> int:
        """Count the lines beyond the limit that nothing matched: each holds a window without a newline."""
        limit = self.scan.limits.line
        if self.block.clipped:
            return int(0 not in self.outcome and 0 not in step_lines)
        window, found, at = limit // 2, 0, 0
        while at + window < self.end:
            if self.data.find(b"\n", at, at + window) < 0:
                begin = self.data.rfind(b"\n", 0, at) + 1
                end = self.data.find(b"\n", at, self.end)
                if end - begin > limit:
                    found += begin not in self.outcome and begin not in step_lines
                at = end
            at += window
        return found

    def _look(self, step_lines: Ints) -> None:
        """Look at a few lines, evenly spread; more of them in the first block."""
        wanted = min(64 if not self.scan.n_lines else 4, self.end // 64 + 1)
        seen = set(self.outcome)
        last = -1
        for at in range(0, self.end, max(1, self.end // wanted)):
            begin = self.data.rfind(b"\n", max(0, at - 4096), at) + 1 or max(0, at - 4096)
            if begin <= last:
                continue
            last = begin
            if begin not in seen and (not len(step_lines) or step_lines[min(np.searchsorted(step_lines, begin), len(step_lines) - 1)] != begin):
                end = self.data.find(b"\n", begin, min(self.end, begin + 1024))
                self.scan.unmatched.look(bytes(self.data[begin : end if end >= 0 else begin + 1024]).rstrip(b"\r"))


def _whole(value: object) -> int:
    return value if isinstance(value, int) else NULL


def _line_numbers(data: bytearray, at: Ints) -> Ints:
    """Return the numbers of the lines that begin at `at` (sorted), from 1 in this block."""
    counts, before = np.zeros(len(at), np.int64), 0
    for index, begin in enumerate(at.tolist()):
        counts[index] = data.count(b"\n", before, begin)
        before = begin
    return np.cumsum(counts) + 1


def _hints(events: object) -> dict[str, str]:
    return {}
