"""Where the lines of one block lie: counted in one pass, listed only when somebody asks for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
MANY = 2048
"""Lines of a block from which all are listed: to count those between them would take longer."""

PIECE = 1 << 17
"""Bytes that are looked at in one call."""


class Lines:
    """The lines of one block."""

    def __init__(self, data: bytearray, end: int, room: Callable[[int], NDArray[np.bool_]]) -> None:
        """Keep `data[:end]`, whole lines; `room` gives room for truth values: new memory is slow to touch."""
        self._data, self._end, self._room = data, end, room
        self._text = np.frombuffer(data, np.uint8, end)
        self._count: int | None = None

    @cached_property
    def ends(self) -> Ints:
        """Return where all lines end."""
        ends = np.flatnonzero(self._mask())
        self._count = len(ends)
        return ends

    @property
    def count(self) -> int:
        """Return how many lines there are."""
        if self._count is None:
            self.numbers(())
        return self._count or 0

    def at(self, places: Ints) -> Iterator[tuple[int, int, int]]:
        """Yield begin and end of the lines that some places (sorted) are on, each once, and its first place."""
        data, end = self._data, -1
        for place in places.tolist():
            if place > end:
                end = data.find(b"\n", place, self._end)
                yield data.rfind(b"\n", 0, place) + 1, end, place

    def numbers(self, begins: Sequence[int]) -> Sequence[int]:
        """Return the numbers of lines (from 0) that begin at some places, sorted."""
        if "ends" in self.__dict__ or len(begins) > MANY:
            return list(map(int, np.searchsorted(self.ends, np.array(begins, np.int64))))
        numbers, number, count, size = list[int](), 0, np.count_nonzero, len(begins)
        room = self._room(PIECE)  # little room is used again and again: it stays near
        for low in range(0, self._end, PIECE):
            high, done = min(low + PIECE, self._end), 0
            mask = np.equal(self._text[low:high], 10, out=room[: high - low])
            while len(numbers) < size and begins[len(numbers)] < high:
                at = begins[len(numbers)] - low
                number += int(count(mask[done:at]))
                done = at
                numbers.append(number)
            number += int(count(mask[done:]))
        self._count = number
        return numbers

    def _mask(self) -> NDArray[np.bool_]:
        return np.equal(self._text, 10, out=self._room(self._end))
