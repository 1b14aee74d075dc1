"""Reading sources, in this process or in several: one file a task, answers in the order of the tasks."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING

from ettlog import bulk, confine, content, objects, reading, stalls, together
from ettlog.errors import EttlogError
from ettlog.nursery import Hand, Nurse, Single
from ettlog.scratch import scratch
from ettlog.tasks import CHANGED, LOST, PARSED, REJECTED, Answer, Task

if TYPE_CHECKING:
    from ettlog.parse.format import FormatSet

ATTEMPTS = 3
"""How often a source is read that does not stand still."""

HELD_BYTES = 64 << 20
"""Answers that wait for an earlier file may hold so many bytes before no further file is dealt."""


_DEFECTS = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


def _defect(error: BaseException) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}:{place.lineno}"
    return f"a defect of ettlog ({type(error).__name__} at {where}); please report it with a few lines of the file"


def read(task: Task, formats: FormatSet) -> Answer:
    """Read one source; what it holds never raises, what the system refuses comes back as `rejected`.

    A source that changes while it is read is read again; one that never stands still is marked `changed`.
    """
    if objects.is_one(task.path):
        return _fetched(task, formats)
    try:
        for _ in range(ATTEMPTS):
            before = content.stamp(task.path)
            answer = reading.once(task, formats)
            facts = answer.facts
            if answer.state != PARSED or content.stood(task.path, before, facts["bytes"], facts["digest"]):
                return answer
        facts["state"] = CHANGED
        facts["inferences"] += ("it was changed while it was read: what it says may be a mixture",)
        return answer
    except OSError as error:
        return Answer(task.name, REJECTED, reason=error.strerror or type(error).__name__)
    except EttlogError as error:
        return Answer(task.name, REJECTED, reason=error.why)
    except MemoryError:
        return Answer(task.name, REJECTED, reason=f"{LOST[1]} than this process may use")
    except _DEFECTS as error:  # a reader must not raise for what a file holds: one file is lost, and it is said where
        return Answer(task.name, REJECTED, reason=_defect(error))


def _fetched(task: Task, formats: FormatSet) -> Answer:
    """Read an object of an object store: a copy of all of it."""
    try:
        with objects.fetched(task.path) as path:
            return read(replace(task, path=path), formats)
    except EttlogError as error:
        return Answer(task.name, REJECTED, reason=error.why)


def run(
    tasks: Sequence[Task],
    format_dirs: Sequence[Path],
    formats: Callable[[], FormatSet],
    workers: int,
    confined: bool | None = None,
) -> Iterator[Answer]:
    """Read all sources and yield their answers in the order of the tasks.

    One worker reads in this process, and so are objects of an object store read: workers have no network. A worker
    process that dies takes only its own file with it; one huge file is read by several. `formats` loads ettlog's own
    and those of `format_dirs`: it is asked only where this process reads. `confined` says whether other processes must
    read, which give up what they do not need (True), may do so where there are several (None), or give up nothing
    (False).
    """
    remote = any(objects.is_one(task.path) for task in tasks)
    tasks = tasks if remote else together.dealt(tasks, workers)
    alone = workers <= 1 or (len(tasks) <= 1 and all(task.hands == 1 for task in tasks))
    if remote or not tasks or (not confined and alone):
        for task in tasks:
            yield read(task, formats())
        return
    try:
        pool = _Pool(tasks, format_dirs, min(max(1, workers), len(tasks)), fenced=confined is not False)
    except OSError as error:
        raise EttlogError(
            "no process can be started to read the logs", where="--workers", why=error.strerror or str(error),
            todo="allow more processes and open files, or read in this process with --workers 1",
        ) from error  # fmt: skip
    try:
        yield from pool.answers(_refuse if confined else lambda task: read(task, formats()))
    finally:
        pool.stop()


def _refuse(task: Task) -> Answer:
    """Reject a source where no process can be made that would be confined."""
    why = "no confined process could be made to read it; `--confine never` reads it without"
    return Answer(task.name, REJECTED, reason=why)


class _Pool:
    """Workers, each with its own pipe, so that it is known which file a dead one was reading."""

    def __init__(self, tasks: Sequence[Task], format_dirs: Sequence[Path], workers: int, *, fenced: bool) -> None:
        self._tasks, self._dirs = tasks, tuple(format_dirs)
        self._roots = confine.roots([task.path for task in tasks]) if fenced else None
        self._next = 0
        self._done: dict[int, Answer] = {}
        self._watch = stalls.Watch()
        self._stopped: set[int] = set()
        self._served = False
        resource_tracker.ensure_running()  # or it would be made below, and let SIGINT in again
        self._nurse: Nurse | None = None
        self._busy: dict[Connection, tuple[Hand, int | None]] = {}
        self._hire(workers)

    def _hire(self, count: int) -> None:
        """Make workers: one by itself, several by one nurse."""
        hands: Sequence[Hand]
        if count > 1:
            self._nurse = Nurse(serve, self._dirs, self._roots, count)
            hands = self._nurse.twins
        else:
            hands = [Single(serve, self._dirs, self._roots)]
        self._busy |= {hand.pipe: (hand, None) for hand in hands}

    def answers(self, here: Callable[[Task], Answer]) -> Iterator[Answer]:
        """Yield all answers in order; `here` reads a file in this process where no worker can be made."""
        idle: list[Connection] = []
        for index in range(len(self._tasks)):
            while index not in self._done:
                idle = [pipe for pipe in idle if not self._deal(pipe, index)]
                if not self._busy:
                    self._done[index] = here(self._tasks[index])
                    self._next = max(self._next, index + 1)
                    continue
                for pipe in wait([pipe for pipe in self._busy if pipe not in idle], stalls.LOOK_S):
                    assert isinstance(pipe, Connection)
                    if self._collect(pipe):
                        idle.append(pipe)
                if self._watch.due():
                    self._stop_stalled()
            yield self._done.pop(index)

    def _deal(self, pipe: Connection, wanted: int) -> bool:
        """Give a worker its next file; hold back while too much waits behind a slow one."""
        held = sum(answer.weight for answer in self._done.values())
        if self._next >= len(self._tasks) or (held > HELD_BYTES and self._next > wanted):
            return False
        worker = self._busy[pipe][0]
        try:
            pipe.send(self._tasks[self._next])
        except (BrokenPipeError, ConnectionResetError):
            self._bury(pipe, worker, None)  # it died idle: the file goes to another
            return True
        self._busy[pipe] = (worker, self._next)
        self._watch.forget(worker.pid or 0)
        self._next += 1
        return True

    def _stop_stalled(self) -> None:
        """Kill workers that hang over a file; what becomes of it is decided when their pipe closes."""
        for worker, index in self._busy.values():
            pid = worker.pid if index is not None else None
            if pid is not None and pid not in self._stopped and self._watch.stalled(pid):
                self._stopped.add(pid)
                worker.kill()

    def _collect(self, pipe: Connection) -> bool:
        """Take what a worker sent (ready, or an answer); return whether it wants a file."""
        worker, index = self._busy[pipe]
        try:
            answer = _received(pipe)
        except (EOFError, OSError):  # it may have died in the middle of its answer
            self._bury(pipe, worker, index)
            return False
        self._served = True
        if index is not None and answer is not None:
            self._done[index] = answer
            self._busy[pipe] = (worker, None)
        return True

    def _bury(self, pipe: Connection, worker: Hand, index: int | None) -> None:
        """Set the file of a dead worker aside and hire another, unless none ever came up."""
        pipe.close()
        code = worker.end()
        del self._busy[pipe]
        if index is not None:
            reason = f"{LOST[0]} {self._end(worker, code)}"
            self._done[index] = Answer(self._tasks[index].name, REJECTED, reason=reason)
        if self._served and self._next < len(self._tasks):
            self._hire(1)

    def _end(self, worker: Hand, code: int | None) -> str:
        if worker.pid in self._stopped:
            return f"took nothing in for {stalls.STALLED_S:.0f} s and was stopped"
        return f"died ({_death(code)})"

    def stop(self) -> None:
        """End all workers, whatever they do."""
        for worker, _ in self._busy.values():
            worker.kill()
            worker.pipe.close()
        for worker, _ in self._busy.values():
            worker.end()
        if self._nurse is not None:
            self._nurse.stop()


def _send(pipe: Connection, answer: Answer) -> None:
    """Send an answer, its tables one by one and piece by piece: as part of it they would be copied."""
    pipe.send((replace(answer, tables={}), {name: len(data) for name, data in answer.tables.items()}))
    for data in answer.tables.values():
        for piece in bulk.pieces(data):
            pipe.send_bytes(piece)


def _received(pipe: Connection) -> Answer | None:
    """Return what a worker sent: an answer, or nothing where it is ready."""
    told: tuple[Answer, dict[str, int]] | None = pipe.recv()
    if told is None:
        return None
    answer, sizes = told
    answer.tables = {name: bulk.taken(size, pipe.recv_bytes) for name, size in sizes.items()}
    return answer


def _death(code: int | None) -> str:
    if code is None:
        return "nobody saw how"
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def serve(pipe: Connection, format_dirs: tuple[Path, ...], roots: tuple[Path, ...] | None, parent: int) -> None:
    """Read files below `roots` and send what they hold until the pipe closes, able to do little else; or to do anything
    where no roots are given.

    A worker writes nothing, so it may be killed.
    """
    from ettlog import ready
    from ettlog.parse import format as formats_of

    confine.end_with(parent)
    formats = formats_of.load_all(format_dirs) if format_dirs else ready.SHIPPED
    if roots is not None:
        confine.confine(roots, scratch())
    try:
        pipe.send(None)
        while os.getppid() == parent:
            _send(pipe, read(pipe.recv(), formats))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
