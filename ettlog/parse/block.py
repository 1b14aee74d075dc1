"""Reads one block of whole lines: events by their regexes, steps by template, instants from neighbours, and every
line counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ettlog.lifecycle import OUTCOMES
from ettlog.parse.carry import DatedLines, Left
from ettlog.parse.cut import Block
from ettlog.parse.engine import Source
from ettlog.parse.facts import Event, Undated
from ettlog.parse.line import Found
from ettlog.parse.lines import Lines
from ettlog.parse.steps import StepLines
from ettlog.parse.template import NULL

Ints = NDArray[np.int64]
MATCHED = OUTCOMES[0]
_EMPTY: Ints = np.zeros(0, np.int64)


class BlockScan:
    """Reads one block."""

    def __init__(self, source: Source, block: Block) -> None:
        """Take a block; nothing is read yet."""
        self.source, self.block = source, block
        self.data, self.end = block.data, block.end
        self.lines = Lines(block.data, block.end, source.mask)
        self.outcome: dict[int, str] = {}
        """Line begin -> outcome, of lines read by regex."""
        self.fast = _EMPTY
        """Where the step lines read by template begin, sorted."""

    def run(self) -> None:
        """Read the block and hand its facts to the source."""
        source = self.source
        steps = StepLines(source, self.block, self.lines, self.read)
        coloured = self.data.find(b"\x1b", 0, self.end) >= 0
        hits = source.engine.finder.event_hits(steps.match(), coloured=coloured)
        source.hits += len(hits)
        events = self._events(hits)
        self.fast = steps.read(source.facts.idle(events))
        self._neighbours([event for event in events if event.ts == NULL], steps)
        source.facts.add_events(events)
        self._account()
        source.place += self.end

    # events

    def _events(self, hits: Ints) -> list[Event]:
        """Read the lines with literals of events on them, in order; what lies beyond the limit of a line is not
        seen."""
        found: list[tuple[int, list[Found]]] = []
        data, limit = memoryview(self.data), self.source.limits.line
        for begin, end, hit in self.lines.at(hits):
            if hit - begin < limit:
                facts = self._event_line(begin, bytes(data[begin : min(end, begin + limit)]))
                if facts:
                    found.append((begin, facts))
        numbers = self.lines.numbers([begin for begin, _ in found])
        patterns, first = self.source.engine.patterns, self.source.n_lines + 1
        return [
            Event(first + number, begin, fact.ts, fact.clock, fact.pattern, fact.values)
            for number, (begin, facts) in zip(numbers, found, strict=True)
            for fact in facts
            if not patterns[fact.pattern].ignore
        ]

    def _event_line(self, begin: int, line: bytes) -> list[Found]:
        """Read one line of events: as its like was read before, else by its regexes."""
        engine = self.source.engine
        end = begin + len(line)
        whole = self.data[end] == 10 and not (end + 1 >= self.end and self.block.sealed)
        name, recipe = engine.recipes.known(line) if whole else (b"", None)
        if recipe is not None and recipe.facts is not None:
            if not recipe.facts:
                return []
            found = engine.recipes.read(recipe, name, line, self.source.reader)
        else:
            wanted = engine.finder.wanted(line)
            found = self.source.reader.read(line.rstrip(b"\r"), wanted, whole=whole) if wanted else []
            if recipe is None and name:
                engine.recipes.learn(name, line, wanted, found)
        if found:
            self._note(begin, found)
        return found

    def read(self, begin: int, end: int, wanted: Sequence[int], *, many: bool) -> list[Found]:
        """Read one line by the regexes of the wanted patterns, and note its outcome."""
        line = bytes(self.data[begin:end])
        whole = self.data[end] == 10 and (end + 1 < self.end or not self.block.sealed)
        found = self.source.reader.read(line.rstrip(b"\r"), wanted, many=many, whole=whole)
        if found:
            self._note(begin, found)
        return found

    def _note(self, begin: int, found: Sequence[Found]) -> None:
        patterns, formats = self.source.engine.patterns, self.source.formats
        if len(found) == 1:
            pattern = patterns[found[0].pattern]
            outcome = "ignored" if pattern.ignore else "bad_time" if found[0].bad_time else MATCHED
            formats[pattern.format] += 1
        else:
            real = [one for one in found if not patterns[one.pattern].ignore]
            outcome = "ignored" if not real else "bad_time" if any(one.bad_time for one in real) else MATCHED
            for name in {patterns[one.pattern].format for one in found}:
                formats[name] += 1
        if self.outcome.get(begin) != MATCHED:
            self.outcome[begin] = outcome

    # instants of undated lines

    def _neighbours(self, events: Sequence[Event], steps: StepLines) -> None:
        """Find the dated lines beside the undated ones, and keep the block's last instant for the next block."""
        source = self.source
        left = Left(steps.rest, steps.clocked)
        dated = DatedLines(self.data, self.end, source.dated, steps.dated, self.lines, source.mask, left)
        if source.facts.waiting:
            first = dated.behind(-1)
            if first != NULL:
                source.facts.next_dated(first)
        at, lines, capped = _undated(events, *steps.undated)
        if len(at):
            near = dated.around(at, capped)
            known = near.before != NULL
            place = np.where(known, near.place + source.place, source.last_place)
            before = np.where(known, near.before, source.last)
            source.facts.add_undated(Undated(lines, place, before, near.behind))
        last, us = dated.before(self.end)
        if us != NULL:
            source.last, source.last_place = us, last + source.place

    # accounting

    def _account(self) -> None:
        """Count the outcome of every line of the block, and look at some that nothing matched."""
        source = self.source
        both = np.array(list(self.outcome), np.int64)
        both = both[self.fast[np.searchsorted(self.fast[:-1], both)] == both] if len(self.fast) else _EMPTY
        self.outcome |= dict.fromkeys(both.tolist(), MATCHED)
        read = Counter(self.outcome.values())
        read[MATCHED] += len(self.fast) - len(both)
        lines = self.lines.count
        read["long"] += self._long_lines()
        if (
            not self.block.whole
            and lines > sum(read.values())
            and self._unread(self.data.rfind(b"\n", 0, self.end - 1) + 1)
        ):
            read["torn"] += 1
        read["unmatched"] += lines - sum(read.values())
        source.lines.update(read)
        self._look()
        source.n_lines += lines

    def _is_fast(self, begin: int) -> bool:
        index = int(np.searchsorted(self.fast, begin))
        return index < len(self.fast) and int(self.fast[index]) == begin

    def _unread(self, begin: int) -> bool:
        return begin not in self.outcome and not self._is_fast(begin)

    def _long_lines(self) -> int:
        """Count the lines beyond the limit that nothing matched: each holds a window without a newline."""
        limit = self.source.limits.line
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
        wanted = min(24 if not self.source.n_lines else 4, self.end // 64 + 1)
        last = -1
        for at in range(0, self.end, max(1, self.end // wanted)):
            low = max(0, at - 4096)
            begin = self.data.rfind(b"\n", low, at) + 1 or low
            if begin > last and self._unread(begin):
                end = self.data.find(b"\n", begin, begin + 1024)
                self.source.unmatched.look(bytes(self.data[begin : end if end >= 0 else begin + 1024]).rstrip(b"\r"))
            last = max(last, begin)


def _undated(events: Sequence[Event], step_at: Ints, step_line: Ints) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Return where undated lines begin, each once, their numbers, and which of them hold a step."""
    numbers = {event.place: event.line for event in events}
    place, line = np.array([*numbers], np.int64), np.array([*numbers.values()], np.int64)
    if not len(step_at):
        return place, line, np.zeros(len(place), bool)
    every = np.concatenate((step_at, place))
    at, which = np.unique(every, return_index=True)
    return at, np.concatenate((step_line, line))[which], np.asarray(which < len(step_at))
