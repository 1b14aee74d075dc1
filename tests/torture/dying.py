"""Worker processes that die over the files whose names say so, each in its own way."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ettlog import reading, stalls, tasks, workers

if TYPE_CHECKING:
    from ettlog.parse.format import FormatSet


def _fault() -> None:
    ctypes.string_at(0)


def _killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _greedy() -> None:
    bytearray(1 << 44)


def _asleep() -> None:
    while True:
        time.sleep(60)


def _turning() -> None:
    while True:
        pass


DEATHS: dict[str, tuple[Callable[[], None], str]] = {
    "segfault": (_fault, "SIGSEGV"),
    "killed": (_killed, "SIGKILL"),
    "memory": (_greedy, "more memory"),
    "asleep": (_asleep, "took nothing in"),
    "turning": (_turning, "took nothing in"),
}
"""Name of a file -> what the worker that reads it does, and the word by which the account must give the reason."""


def prepare(stalled_s: float) -> None:
    """Let this process's workers die as the names of their files say, and be given up after so many seconds."""
    workers.serve = serve
    stalls.STALLED_S = stalled_s
    stalls.LOOK_S = 0.5


def serve(pipe: Connection, format_dirs: tuple[Path, ...], roots: tuple[Path, ...] | None, parent: int) -> None:
    """Serve like a worker, but for the files that are named after a death."""
    real: Any = reading.once

    def read(task: tasks.Task, formats: FormatSet) -> tasks.Answer:
        name = Path(task.name).stem
        if name in DEATHS:
            DEATHS[name][0]()
        answer: tasks.Answer = real(task, formats)
        return answer

    reading.once = read
    workers.serve = _REAL
    workers.serve(pipe, format_dirs, roots, parent)


_REAL = workers.serve
