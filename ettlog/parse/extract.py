"""Reads step lines by the thousand: a template learnt from one line is verified on all lines of a block and read by
numpy.

Never wrong: a line is taken by a template only when every byte that its match depends on is equal up to digits for
digits (see uniform.py); every other line goes to its regexes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ettlog.parse.format import Pattern
from ettlog.parse.template import MAX_WIDTH, Learnt, learn
from ettlog.parse.uniform import ZEROS, prove
from ettlog.parse.vector import Template

Ints = NDArray[np.int64]

CUT = -2
KEPT = 256
"""Most templates remembered for one pool of lines."""


class Pool(NamedTuple):
    """Lines of one block that the same literals were found on."""

    key: int
    """The one literal found; -1 where several were, `CUT` for a last line that may have lost its end, less where one
    literal was found several times."""
    patterns: tuple[int, ...]
    """Patterns the lines may belong to."""
    at: Ints
    """Where the lines begin."""
    end: Ints
    """Where they end: the index of the newline."""


class Matched(NamedTuple):
    """Lines of a pool that one template fits."""

    template: Template
    rows: Ints
    """Their indices in the pool."""
    numbers: Ints
    """What `Template.match` read on them, one column a line."""


class _Known(NamedTuple):
    """Templates learnt for one pool: by the line without its digits, and those that end before their lines do."""

    whole: dict[bytes, list[Template]]
    local: list[Template]
    hopeless: set[bytes]
    """Lines without their digits of which nothing could be learnt: their like go to their regexes at once."""


class StepReader:
    """Reads the step lines of one source block by block; remembers the templates it learnt."""

    def __init__(
        self,
        patterns: Sequence[Pattern],
        silent: Callable[[bytes], bool],
        learnt: Callable[[Template, Pool], None] = lambda _template, _pool: None,
    ) -> None:
        """Keep the patterns; `silent` tells of a line that no line like it holds a literal of events, `learnt` is told
        of each new template and the pool of the line it was learnt from."""
        self.patterns, self._silent = patterns, silent
        self._known: dict[int, _Known] = {}
        self._learnt = learnt

    def match(self, block: bytearray, pool: Pool) -> tuple[list[Matched], Ints]:
        """Return what the templates read on the lines of a pool, and the indices of the lines left for their regexes.

        Each round takes a line from the middle of those left (the first ones are often of a rare kind), finds or
        learns its template, and reads all lines of that template.
        """
        left: Ints = np.arange(len(pool.at))
        if pool.key == CUT:  # no template may read it
            return [], left
        found: list[Matched] = []
        slow: list[int] = []
        rounds = _Rounds()
        while len(left) and rounds.worth(len(left)):
            middle, before = len(left) // 2, len(left)
            row = int(left[middle])
            line = bytes(block[pool.at[row] : pool.end[row]])
            for template in self._templates(line, pool):
                left = self._apply(template, block, pool, left, found)
                if len(left) <= middle or int(left[middle]) != row:
                    break
            else:
                slow.append(row)
                left = np.delete(left, middle)
            rounds.note(before - len(left))
        return found, np.sort(np.concatenate([left, np.array(slow, np.int64)]))

    def _templates(self, line: bytes, pool: Pool) -> Iterator[Template]:
        """Yield the known templates that may read a line, then one learnt from it."""
        known = self._known.setdefault(pool.key, _Known({}, [], set()))
        plain = line.translate(ZEROS)
        old = [*known.whole.get(plain, ()), *(one for one in known.local if plain.startswith(one.plain))]
        yield from [one for one in old if one.learnt.pattern in pool.patterns]
        if len(line) >= MAX_WIDTH or plain in known.hopeless:
            return
        template = self._learn(line, pool)
        if template is None:
            if len(known.hopeless) < KEPT:
                known.hopeless.add(plain)
            return
        if len(known.whole) + len(known.local) >= KEPT:
            known.whole.clear()
            known.local.clear()
        if template.whole:
            known.whole.setdefault(plain, []).append(template)
        else:
            known.local.append(template)
        self._learnt(template, pool)
        yield template

    def _apply(self, template: Template, block: bytearray, pool: Pool, left: Ints, found: list[Matched]) -> Ints:
        which = np.arange(len(left))
        if template.whole:  # all lines of it are equally long
            which = np.flatnonzero(pool.end[left] - pool.at[left] == len(template.learnt.line))
        fits, numbers = template.match(block, pool.at[left[which]])
        if not numbers.shape[1]:
            return left
        keep = np.ones(len(left), bool)
        keep[which[fits]] = False
        found.append(Matched(template, left[~keep], numbers))
        return left[keep]

    def _learn(self, line: bytes, pool: Pool) -> Template | None:
        wanted = [index for index in pool.patterns if self.patterns[index].anchor in line]
        alone = pool.key >= 0 and len(pool.patterns) == 1
        learnt = [learn(line, self.patterns[index], index, alone=alone) for index in wanted]
        hits = [one for one in learnt if one is not None]
        if len(hits) != 1 or self._others(line, wanted, hits[0]):
            return None
        template = Template(hits[0])
        template.silent = template.whole and self._silent(line)
        return template

    def _others(self, line: bytes, wanted: Sequence[int], hit: Learnt) -> bool:
        """Tell whether another pattern matches the line too, or none can say for sure that it does not on lines like
        it."""
        body = line[hit.offset :]
        others = [self.patterns[index] for index in wanted if index != hit.pattern]
        return any(not prove(one.expression).usable or one.regex.search(body) for one in others)


class _Rounds:
    """Decides whether learning another template pays: a round costs about as much as reading a fraction of its lines
    by regex."""

    def __init__(self) -> None:
        self._taken: list[int] = []

    def note(self, taken: int) -> None:
        self._taken.append(taken)

    def worth(self, left: int) -> bool:
        """Tell whether the last rounds took enough lines, out of `left`, to go on."""
        last = self._taken[-6:]
        return len(last) < 6 or sum(last) >= 6 * (10 + left // 40)
