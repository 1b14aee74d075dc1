"""Which processes have stopped to read: a worker that takes nothing in for ten minutes hangs over its file."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import NamedTuple

STALLED_S = 600.0
"""Seconds without a byte read after which a worker is taken to hang."""
LOOK_S = 5.0
"""Seconds between two looks at the workers."""


PAUSE_S = 60.0
"""Seconds between two looks after which time is counted anew: who looks was stopped, and the workers may have been."""


class _Seen(NamedTuple):
    taken: int
    since: float
    looked: float


class Watch:
    """What each process had read when it was last seen to read more."""

    def __init__(self) -> None:
        """Begin to know no process."""
        self._seen: dict[int, _Seen] = {}
        self._looked = -math.inf

    def due(self) -> bool:
        """Tell whether LOOK_S have passed since it was last time to look."""
        now = time.monotonic()
        if now - self._looked < LOOK_S:
            return False
        self._looked = now
        return True

    def forget(self, pid: int) -> None:
        """Begin anew with a process, which has been given other work."""
        self._seen.pop(pid, None)

    def stalled(self, pid: int) -> bool:
        """Tell whether a process has read nothing for STALLED_S; False where the system does not tell what it reads."""
        taken, now = _taken(pid), time.monotonic()
        if taken is None:
            return False
        before = self._seen.get(pid)
        goes_on = before is not None and before.taken == taken and now - before.looked <= PAUSE_S
        since = before.since if before is not None and goes_on else now
        self._seen[pid] = _Seen(taken, since, now)
        return now - since > STALLED_S


def _taken(pid: int) -> int | None:
    """Return how many bytes a process has asked the system for so far (Linux: `rchar` of its I/O account)."""
    try:
        lines = Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith("rchar")), None)
