"""One huge source read by several processes: each reads ranges of it, the one that forked them puts what they
found together."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING

from ettlog import confine
from ettlog.nursery import work
from ettlog.tasks import Task

if TYPE_CHECKING:
    from ettlog.parse.blocks import Reader
    from ettlog.parse.format import FormatSet
    from ettlog.parse.parsed import Parsed, ScanOptions
    from ettlog.parse.pieced import Progress
    from ettlog.parse.pieces import PieceReader, Reading
    from ettlog.parse.ranges import Range

LEAST_BYTES = 64 << 20
"""Plain sources below this are read by one process each."""
PACKED_BYTES = 8 << 20
"""Packed sources below this are read by one process each."""
PACKED_BLOCKS = 8
"""Blocks of one range of a packed source: several of them are held in memory."""
BLOCKS = 4
"""Most blocks of one range."""
PACKED = (".gz", ".zst", ".bz2", ".xz")
"""Ends of names of packed sources; one under another name is read by one process below `LEAST_BYTES`."""
UNPACKERS = 4
"""Most threads that unpack one source; one unpacks as fast as two processes read."""
SHARES = 4
"""Ranges that each process should get at least, so that all end at about the same time."""
AHEAD = 1
"""Ranges beyond one for each process that may be read before the one that is waited for."""


def dealt(tasks: Sequence[Task], workers: int) -> list[Task]:
    """Return the tasks, each with how many processes read it: as many as its share in all bytes asks for."""
    if workers < 2:
        return list(tasks)
    sizes = [_size(task) for task in tasks]
    total = sum(sizes)
    hands = [max(1, min(workers, -(-size * workers // max(1, total)))) for size in sizes]
    return [
        replace(task, hands=count) if count > 1 and size >= _least(task.path) else task
        for task, size, count in zip(tasks, sizes, hands, strict=True)
    ]


def _least(path: Path) -> int:
    return PACKED_BYTES if path.suffix in PACKED else LEAST_BYTES


def _size(task: Task) -> int:
    try:
        return task.path.stat().st_size
    except OSError:
        return 0


def scan_open(source: Reader, path: Path, formats: FormatSet, options: ScanOptions, hands: int) -> Parsed:
    """Read an open text source, of which nothing was read yet, by `hands` processes; return what one process does, byte
    for byte.

    Where one of them dies, or the file is written to meanwhile, or lines of a packed one are too long, this process
    reads it alone.
    """
    from ettlog.parse import pieced, scan, unpacked, zones

    if hands < 2 or (source.compressed and options.limits.block < zones.HEAD):
        return scan.scan_open(source, formats, options)
    team = _Team(hands)
    try:
        if source.compressed:
            room = unpacked.Room(hands + AHEAD + 1, min(UNPACKERS, -(-hands // 2)))
            return pieced.scan_packed(source, formats, options, PACKED_BLOCKS, room, team.readings)
        count = max(1, min(BLOCKS, source.size // options.limits.block // (SHARES * hands)))
        return pieced.scan(source, formats, options, count, team.readings)
    except (EOFError, ConnectionError, pieced.ChangedError, unpacked.LongLineError):
        return scan.scan(path, formats, options)
    finally:
        team.stop()


class _Team:
    """Processes forked from this one, which has no thread but its own, each with its own pipe."""

    def __init__(self, hands: int) -> None:
        self._hands = hands
        self._pipes: list[Connection] = []
        self._pids: list[int] = []

    def readings(
        self, pieces: PieceReader, found: Iterator[Range], progress: Progress
    ) -> Iterator[tuple[Range, Reading | None]]:
        """Yield the ranges in their order and what they hold; raise EOFError or ConnectionError where a process
        died."""
        for _ in range(self._hands):
            self._fork(pieces)
        done: dict[int, Reading | None] = {}
        waiting: deque[Range] = deque()
        idle, busy = list(self._pipes), list[Connection]()
        while True:
            while idle and len(waiting) < len(self._pipes) + AHEAD and (one := next(found, None)):
                waiting.append(one)
                if progress.trusts:
                    busy.append(idle.pop())
                    busy[-1].send((one, progress.left))
                else:
                    done[one.number] = None
            if not waiting:
                self.stop()  # what is made of the facts takes as much memory as they do
                return
            if waiting[0].number in done:
                one = waiting.popleft()
                yield one, done.pop(one.number)
            else:
                for ready in wait(busy):
                    assert isinstance(ready, Connection)
                    reading: Reading = ready.recv()
                    done[reading.number] = reading
                    busy.remove(ready)
                    idle.append(ready)

    def _fork(self, pieces: PieceReader) -> None:
        ours, theirs = multiprocessing.Pipe()
        me, pid = os.getpid(), os.fork()
        if not pid:
            ours.close()
            work(partial(_serve, theirs, pieces, me))
        theirs.close()
        self._pipes.append(ours)
        self._pids.append(pid)

    def stop(self) -> None:
        """End all processes, whatever they do."""
        while self._pipes:
            self._pipes.pop().close()
            pid = self._pids.pop()
            os.kill(pid, signal.SIGKILL)  # it is our child: its id is nobody else's before it is waited for
            os.waitpid(pid, 0)


def _serve(pipe: Connection, pieces: PieceReader, parent: int) -> None:
    """Read ranges and send what they hold until the pipe closes."""
    confine.end_with(parent)
    try:
        while True:
            one, known = pipe.recv()
            pipe.send(pieces.read(one, pieces.guess(one, known) if one.number else None))
    except (EOFError, ConnectionError):
        return
