"""Takes the step lines of a block that are known already, before anything is looked for in it.

Most lines of a log are steps, and most steps are like those of the block before. A line that a whole template fits has
the same text around its digits as the line the template was learnt from; where no literal of steps holds a digit that
could stand there, it also has the same literals. So it belongs to the same pool, and need not be searched for them.

Lines that only look like steps are taken so, too: progress bars of other work, of which each holds ten literals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ettlog.parse.extract import CUT, Matched, Pool
from ettlog.parse.template import MAX_WIDTH, barren
from ettlog.parse.uniform import ZEROS
from ettlog.parse.vector import Template

Ints = NDArray[np.int64]
_EMPTY: Ints = np.zeros(0, np.int64)

KEPT = 2048
"""Most templates remembered."""
BARREN = CUT - (1 << 20)
"""Key of the lines that only look like steps."""
MISSES = 3
"""Lines of one length in one block whose like is not known before the others are left to the search."""
FEW = 4
"""Lines of one length in one block that are not worth a look."""


class Like(NamedTuple):
    """A whole template, the pool its lines belong to, and the patterns whose anchors are on them."""

    template: Template
    key: int
    patterns: tuple[int, ...]


class Taken(NamedTuple):
    """Lines of one template in one block."""

    pool: Pool
    matched: list[Matched]
    left: Ints


class Likes:
    """Remembers whole templates by the line they were learnt from, its digits zeroed."""

    def __init__(self, anchored: Callable[[bytes], tuple[int, ...] | None]) -> None:
        """`anchored` returns the step patterns whose anchors are on a line, or None where a line that differs in digits
        only may hold other literals of steps."""
        self._anchored = anchored
        self._known: dict[bytes, list[Like]] = {}
        self._lengths: set[int] = set()
        self._count = 0

    def add(self, template: Template, pool: Pool) -> None:
        """Remember a template that was learnt from a line of a pool, if its lines can be taken without a search."""
        line = template.learnt.line
        patterns = self._anchored(line) if template.whole else None
        if patterns is not None and set(patterns) <= set(pool.patterns):
            self._keep(Like(template, pool.key, patterns))

    def add_barren(self, line: bytes) -> None:
        """Remember a line that holds neither step nor event, nor does any line like it."""
        if len(line) < MAX_WIDTH:
            template = Template(barren(line))
            template.silent = True
            self._keep(Like(template, BARREN, ()))

    def _keep(self, like: Like) -> None:
        line = like.template.learnt.line
        if self._count >= KEPT:
            self._known.clear()
            self._lengths.clear()
            self._count = 0
        self._known.setdefault(line.translate(ZEROS), []).append(like)
        self._lengths.add(len(line))
        self._count += 1

    def take(self, block: bytearray, begin: Ints, end: Ints, idle: frozenset[int]) -> Iterator[Taken]:
        """Yield the lines of known templates, of those that begin and end at the given places; none of patterns that
        are idle."""
        if not self._count:
            return
        size = np.minimum(end - begin, MAX_WIDTH).astype(np.uint16)
        order = np.argsort(size, kind="stable")
        cuts = np.flatnonzero(np.diff(size[order], prepend=-1, append=-1))
        for low, high in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            if high - low >= FEW and int(size[order[low]]) in self._lengths:
                yield from self._of_length(block, begin, end, order[low:high], idle)

    def _of_length(self, block: bytearray, begin: Ints, end: Ints, left: Ints, idle: frozenset[int]) -> Iterator[Taken]:
        misses = 0
        while len(left) and misses < MISSES:
            middle = len(left) // 2
            row = int(left[middle])
            name = bytes(block[begin[row] : end[row]]).translate(ZEROS)
            for like in self._known.get(name, ()):
                if not idle.isdisjoint(like.patterns):
                    continue
                fits, numbers = like.template.match(block, begin[left])
                if numbers.shape[1]:
                    every = numbers.shape[1] == len(left)
                    mine, left = (left, left[:0]) if every else (left[fits], left[~fits])
                    pool = Pool(like.key, like.patterns, begin[mine], end[mine])
                    yield Taken(pool, [Matched(like.template, np.arange(len(mine)), numbers)], _EMPTY)
                if len(left) <= middle or int(left[middle]) != row:
                    break
            else:
                misses += 1
                left = np.delete(left, middle)
