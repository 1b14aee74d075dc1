"""One attempt as several records tell of it: what was seen of a job so far, and what has been written down already."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

from ettlog.parse.sacct_lines import Repeats

MOST = 200_000
"""Jobs that are remembered while their end is awaited; the one not heard of for longest is given up first."""

T = TypeVar("T")


class Waiting(OrderedDict[str, T], Generic[T]):
    """Jobs whose end is awaited, the one heard of last behind; `given_up` holds those there was no room for."""

    def __init__(self, most: int = MOST) -> None:
        """Hold at most `most` jobs."""
        super().__init__()
        self._most = most

    def heard(self, name: str, job: T) -> T | None:
        """Keep what is known of a job; return one that there is no room for any more."""
        self[name] = job
        self.move_to_end(name)
        return self.popitem(last=False)[1] if len(self) > self._most else None


class Attempts:
    """Attempts that were written down, to know another record about the same one."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._repeats = Repeats()

    def again(self, *key: object) -> bool:
        """Tell whether an attempt of this key was seen before, and remember it."""
        return self._repeats(repr(key).encode("utf-8", "replace"))
