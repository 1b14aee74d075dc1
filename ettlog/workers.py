"""Reading sources, in this process or in several: one file a task, answers in the order of the tasks."""

from __future__ import annotations

import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ettlog import confine, content, moved, objects, stalls
from ettlog.errors import EttlogError
from ettlog.manifest import GROWN, REPARSED, REPLACED
from ettlog.packing import parquet
from ettlog.schema import PARSER_VERSION, TABLES
from ettlog.scratch import scratch

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

    from ettlog.parse.blocks import Reader as Source
    from ettlog.parse.format import FormatSet
    from ettlog.parse.parsed import Parsed, ScanOptions
    from ettlog.parse.pseudonyms import Pseudonyms
    from ettlog.parse.records import Reader

SAME, PARSED, REJECTED = "same", "parsed", "rejected"
CHANGED = "changed"
ATTEMPTS = 3
"""How often a source is read that does not stand still."""

LOST = ("the process that read it", "it needs more memory")
"""How the reasons begin that tell of a process that could not go on, and not of a file."""

HELD_BYTES = 64 << 20
"""Answers that wait for an earlier file may hold so many bytes before no further file is dealt."""


class Known(NamedTuple):
    """What the lake knows of a path: stored length, BLAKE3 and key of its facts."""

    bytes: int
    digest: str
    key: str
    text: str = ""
    """BLAKE3 of the text, of a compressed source."""


@dataclass(frozen=True)
class Task:
    """One source to read."""

    name: str
    path: Path
    options: ScanOptions
    known: Known | None = None
    record_zone: str | None = None
    """Zone of the local times of self-describing records, where it is not the one of `options`."""
    pseudonyms: bytes | None = None
    """Key of the pseudonyms that stand for names of users, hosts and jobs; without one names stay."""
    gone: tuple[moved.Gone, ...] = ()
    """Logs that are gone, of which this one may be the rotation."""


@dataclass
class Answer:
    """What reading one source gave; `state` is `same` (nothing to do), `parsed` or `rejected` (with its reason)."""

    name: str
    state: str
    reason: str = ""
    key: str = ""
    relation: str | None = None
    was: tuple[str, ...] = ()
    """Names of logs that are gone, and whose bytes this one begins with."""
    facts: dict[str, Any] = field(default_factory=dict)
    """The fields of a manifest line that come from the source itself."""
    rows: dict[str, int] = field(default_factory=dict)
    tables: dict[str, bytes] = field(default_factory=dict)
    """Table -> Parquet file."""

    @property
    def weight(self) -> int:
        """Return about how many bytes this answer holds in memory."""
        return sum(map(len, self.tables.values()))


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
            answer = _read(task, formats)
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


def _read(task: Task, formats: FormatSet) -> Answer:
    from ettlog.parse import named_dates, records
    from ettlog.parse.blocks import open_source

    with open_source(task.path, budget=task.options.limits.output) as source:
        reader = records.reader_of(source, task.options)
        if reader is not None and task.record_zone:
            task = replace(task, options=replace(task.options, zone=task.record_zone))
        known = task.known
        if known is None:
            return _parse(task, source, reader, formats, "", False)
        digest, begins = content.digest_of(task.path, known.bytes, known.digest)
        # A compressed source that was listed before its text was known by itself is read once more.
        told = known.text if digest == known.digest and (known.text or not source.compressed) else None
        readings = named_dates.readings(task.name, task.options)
        keys = (content.key_of(told or digest, formats.fingerprint, one) for one in readings)
        if told is not None and known.key in keys:
            return Answer(task.name, SAME, key=known.key)
        return _parse(task, source, reader, formats, known.digest, begins)


def _parse(task: Task, source: Source, reader: Reader | None, formats: FormatSet, old: str, begins: bool) -> Answer:
    from ettlog.parse import named_dates, records, redaction, scan
    from ettlog.parse.pseudonyms import Pseudonyms

    parsed = reader.read(task.path, task.options) if reader else scan.scan_open(source, formats, task.options)
    if named := named_dates.settled(task.name, task.options, parsed):
        task = replace(task, options=named)
        parsed = reader.read(task.path, task.options) if reader else scan.scan(task.path, formats, task.options)
        parsed.inferences.append("that year stands in the name of the file or of its folder")
    if not parsed.formats and (hint := records.advice(task.path)):
        parsed.inferences.append(hint)
    relation = None
    if old:
        relation = REPARSED if parsed.digest == old else GROWN if begins else REPLACED
    tables = {"event": parsed.events, "step": parsed.steps, "alloc": parsed.allocs}
    names = Pseudonyms(task.pseudonyms) if task.pseudonyms else None
    tables = {
        table: redaction.cleaned(table, facts, names.changes(table) if names else ()) for table, facts in tables.items()
    }
    rows = {table: tables[table].num_rows for table in TABLES}
    return Answer(
        task.name,
        PARSED,
        key=content.key_of(parsed.text or parsed.digest, formats.fingerprint, task.options),
        relation=relation,
        was=moved.begun_with(task.path, task.gone, task.options.limits.output) if task.gone else (),
        facts=_facts(parsed, names) | {"rules": content.rules_of(formats.fingerprint, task.options)},
        rows=rows,
        tables={table: parquet(table, tables[table]) for table in TABLES if rows[table]},
    )


def _facts(parsed: Parsed, names: Pseudonyms | None = None) -> dict[str, Any]:
    from ettlog.parse.redaction import redact_text, stored

    hints = {name: stored(str(value)) for name, value in parsed.hints.items()}
    sentences = [names.sentence(text, hints) if names else text for text in parsed.inferences]

    return {
        "digest": parsed.digest,
        "text": parsed.text,
        "bytes": parsed.n_bytes,
        "lines": {outcome: count for outcome, count in parsed.lines.items() if count},
        "n_lines": parsed.n_lines,
        "formats": {name: count for name, count in parsed.formats.items() if count},
        "state": parsed.state,
        "inferences": tuple(map(redact_text, sentences)),
        "unmatched": {} if names else dict(parsed.unmatched),  # a shape holds the words of its line
        "hints": names.hints(hints) if names else hints,
        "first_us": parsed.first_us,
        "last_us": parsed.last_us,
        "clock": parsed.clock,
        "parser": PARSER_VERSION,
    }


def run(
    tasks: Sequence[Task],
    format_dirs: Sequence[Path],
    formats: FormatSet,
    workers: int,
    confined: bool | None = None,
) -> Iterator[Answer]:
    """Read all sources and yield their answers in the order of the tasks.

    One worker reads in this process, and so are objects of an object store read: workers have no network. A worker
    process that dies takes only its own file with it. `confined` says whether other processes must read, which give up
    what they do not need (True), may do so where there are several (None), or give up nothing (False).
    """
    remote = any(objects.is_one(task.path) for task in tasks)
    if remote or not tasks or (not confined and (workers <= 1 or len(tasks) <= 1)):
        for task in tasks:
            yield read(task, formats)
        return
    pool = _Pool(tasks, format_dirs, min(max(1, workers), len(tasks)), fenced=confined is not False)
    try:
        yield from pool.answers(_refuse if confined else lambda task: read(task, formats))
    finally:
        pool.stop()


def _refuse(task: Task) -> Answer:
    """Reject a source where no process can be made that would be confined."""
    why = "no confined process could be made to read it; `--confine never` reads it without"
    return Answer(task.name, REJECTED, reason=why)


class _Worker(NamedTuple):
    process: SpawnProcess
    pipe: Connection


class _Pool:
    """Workers made by `spawn`, each with its own pipe, so that it is known which file a dead one was reading."""

    def __init__(self, tasks: Sequence[Task], format_dirs: Sequence[Path], workers: int, *, fenced: bool) -> None:
        self._tasks, self._dirs = tasks, tuple(format_dirs)
        self._roots = confine.roots([task.path for task in tasks]) if fenced else None
        self._next = 0
        self._busy: dict[Connection, tuple[_Worker, int | None]] = {}
        self._done: dict[int, Answer] = {}
        self._watch = stalls.Watch()
        self._stopped: set[int] = set()
        self._served = False
        resource_tracker.ensure_running()  # or it would be made below, and let SIGINT in again
        for _ in range(workers):
            self._hire()

    def _hire(self) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs, self._dirs, self._roots, os.getpid()), daemon=True)
        masked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()  # a worker is ended by this process, never by the Ctrl-C that reaches both
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, masked)
        theirs.close()
        self._busy[ours] = (_Worker(process, ours), None)

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
        self._watch.forget(worker.process.pid or 0)
        self._next += 1
        return True

    def _stop_stalled(self) -> None:
        """Kill workers that hang over a file; what becomes of it is decided when their pipe closes."""
        for worker, index in self._busy.values():
            pid = worker.process.pid
            if index is not None and pid is not None and pid not in self._stopped and self._watch.stalled(pid):
                self._stopped.add(pid)
                worker.process.kill()

    def _collect(self, pipe: Connection) -> bool:
        """Take what a worker sent (ready, or an answer); return whether it wants a file."""
        worker, index = self._busy[pipe]
        try:
            answer = pipe.recv()
        except (EOFError, ConnectionResetError):
            self._bury(pipe, worker, index)
            return False
        self._served = True
        if index is not None:
            self._done[index] = answer
            self._busy[pipe] = (worker, None)
        return True

    def _bury(self, pipe: Connection, worker: _Worker, index: int | None) -> None:
        """Set the file of a dead worker aside and hire another, unless none ever came up."""
        pipe.close()
        worker.process.join()
        del self._busy[pipe]
        if index is not None:
            reason = f"{LOST[0]} {self._end(worker.process)}"
            self._done[index] = Answer(self._tasks[index].name, REJECTED, reason=reason)
        if self._served and self._next < len(self._tasks):
            self._hire()

    def _end(self, process: SpawnProcess) -> str:
        if process.pid in self._stopped:
            return f"took nothing in for {stalls.STALLED_S:.0f} s and was stopped"
        return f"died ({_death(process.exitcode)})"

    def stop(self) -> None:
        """End all workers, whatever they do."""
        for worker, _ in self._busy.values():
            worker.pipe.close()
            worker.process.terminate()
        for worker, _ in self._busy.values():
            worker.process.join()


def _death(code: int | None) -> str:
    if code is not None and code < 0:
        return signal.Signals(-code).name
    return f"exit code {code}"


def serve(pipe: Connection, format_dirs: tuple[Path, ...], roots: tuple[Path, ...] | None, parent: int) -> None:
    """Read files below `roots` and send what they hold until the pipe closes, able to do little else; or to do anything
    where no roots are given.

    A worker writes nothing, so it may be killed.
    """
    from ettlog.parse import format as formats_of
    from ettlog.parse import redaction, scan  # noqa: F401  (libraries map their memory before it is bounded)

    confine.end_with(parent)
    formats = formats_of.load_all(format_dirs)
    if roots is not None:
        confine.confine(roots, scratch())
    try:
        pipe.send(None)
        while os.getppid() == parent:
            pipe.send(read(pipe.recv(), formats))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
