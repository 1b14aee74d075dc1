"""Worker processes forked from one that has loaded what all of them need, and does nothing else.

To start Python, map the libraries, load the formats and compile their literals takes half a second of processor time,
as much as 100 MB of logs. The process of the user may have threads and locks, so that it is never forked: another one
is spawned, loads all that once (`ready.py`), has no thread but its own, forks the workers and waits for their ends.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Protocol

from ettlog import confine

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

_MAIN = threading.Lock()
Serve = Callable[[Connection, tuple[Path, ...], tuple[Path, ...] | None, int], None]
"""What a worker does with its pipe, the folders of formats, the folders that it may read and its parent's id."""


def spawned(target: Callable[..., None], *arguments: object) -> SpawnProcess:
    """Start a process that a Ctrl-C does not reach: it is ended by this one."""
    process = multiprocessing.get_context("spawn").Process(target=target, args=arguments, daemon=True)
    masked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with _without_main():
            process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, masked)
    return process


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Let `spawn` not find the program that is run: a worker needs nothing of it, and to run it there would cost time
    and, where it ingests without asking for its name, fail."""
    with _MAIN:
        main = sys.modules["__main__"]
        spec, path = getattr(main, "__spec__", None), main.__dict__.pop("__file__", None)
        main.__spec__ = None
        try:
            yield
        finally:
            main.__spec__ = spec
            if path is not None:
                main.__file__ = path


class Hand(Protocol):
    """One worker process."""

    pipe: Connection

    @property
    def pid(self) -> int | None:
        """Its id, where it came up."""

    def kill(self) -> None:
        """Kill it, whatever it does."""

    def end(self) -> int | None:
        """Wait for its end and return how, as `subprocess` does; None where nobody knows."""


class Single:
    """A worker that was made by itself: in place of one that died, or the only one."""

    def __init__(self, serve: Serve, format_dirs: tuple[Path, ...], roots: tuple[Path, ...] | None) -> None:
        """Start it; what it does is `serve`."""
        self.pipe, theirs = multiprocessing.Pipe()
        self._process = spawned(serve, theirs, format_dirs, roots, os.getpid())
        theirs.close()

    @property
    def pid(self) -> int | None:
        """Return its id, where it came up."""
        return self._process.pid

    def kill(self) -> None:
        """Kill it, whatever it does."""
        self._process.kill()

    def end(self) -> int | None:
        """Wait for its end and return how."""
        self._process.join()
        return self._process.exitcode


class Twin:
    """A worker that was forked with others."""

    def __init__(self, nurse: Nurse, number: int, pipe: Connection) -> None:
        """Name a worker of a nurse, and this process's end of its pipe."""
        self._nurse, self._number, self.pipe = nurse, number, pipe

    @property
    def pid(self) -> int | None:
        """Return its id, where it came up."""
        return self._nurse.pid(self._number)

    def kill(self) -> None:
        """Kill it, whatever it does."""
        self._nurse.kill(self._number)

    def end(self) -> int | None:
        """Wait for its end and return how."""
        return self._nurse.end(self._number)


class Nurse:
    """Some workers and the process that they are forked from."""

    def __init__(self, serve: Serve, format_dirs: tuple[Path, ...], roots: tuple[Path, ...] | None, count: int) -> None:
        """Start them."""
        made = [multiprocessing.Pipe() for _ in range(count)]
        self.twins = [Twin(self, number, ours) for number, (ours, _) in enumerate(made)]
        theirs = [their for _, their in made]
        self._control, control = multiprocessing.Pipe()
        self._process = spawned(tend, control, theirs, serve, format_dirs, roots, os.getpid())
        for pipe in (control, *theirs):
            pipe.close()
        self._pids: list[int] = []
        self._ends: dict[int, int | None] = {}

    def pid(self, number: int) -> int | None:
        """Return the process id of a worker, once it was forked; None where it never was."""
        if not self._pids:
            with contextlib.suppress(EOFError, OSError):
                self._pids = self._control.recv()
        return self._pids[number] if self._pids else None

    def kill(self, number: int) -> None:
        """Kill a worker, whatever it does."""
        pid = self.pid(number)
        if pid is not None and pid not in self._ends:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def end(self, number: int) -> int | None:
        """Wait for a worker to end and return how, as `subprocess` does; None where nobody knows any more."""
        pid = self.pid(number)
        with contextlib.suppress(EOFError, OSError):
            while pid is not None and pid not in self._ends:
                ended, status = self._control.recv()
                self._ends[ended] = os.waitstatus_to_exitcode(status)
        # where nobody tells, it is gone all the same: its id may be another process's soon, and is not killed again
        return self._ends.setdefault(pid, None) if pid is not None else None

    def stop(self) -> None:
        """End all of them."""
        for number in range(len(self.twins)):
            self.kill(number)
        self._process.join()
        self._control.close()


def tend(
    control: Connection,
    pipes: Sequence[Connection],
    serve: Serve,
    format_dirs: tuple[Path, ...],
    roots: tuple[Path, ...] | None,
    parent: int,
) -> None:
    """Fork a worker for each pipe, send their ids, and then who ended how, until all did."""
    confine.end_with(parent)
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # others keep what was freed, as much as was ever held
    os.environ.setdefault("JE_ARROW_MALLOC_CONF", "background_thread:false")  # a thread must not be forked
    from ettlog import ready  # noqa: F401  (what the workers find loaded)

    me, pids = os.getpid(), []
    for pipe in pipes:
        pid = os.fork()
        if not pid:
            for other in (control, *pipes):
                if other is not pipe:
                    other.close()
            work(partial(serve, pipe, format_dirs, roots, me))
        pids.append(pid)
    for pipe in pipes:
        pipe.close()
    with contextlib.suppress(BrokenPipeError):
        control.send(pids)
        for _ in pids:
            control.send(os.wait())


def work(task: Callable[[], None]) -> NoReturn:
    """Do a forked worker's work and end as a process of its own does, without going back to where it was forked."""
    code = 1
    try:
        task()
        code = 0
    except BaseException:  # noqa: BLE001 - as at the end of any program: told, and an exit code
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
