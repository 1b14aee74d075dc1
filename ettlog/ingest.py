"""From log files to facts: finds the sources, has them read, and commits what they hold in the order of their names."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ettlog import config as config_of
from ettlog import discover, lake, manifest, workers
from ettlog.config import Config
from ettlog.manifest import SourceEntry

if TYPE_CHECKING:
    from ettlog.parse.format import FormatSet
    from ettlog.parse.parsed import ScanOptions

    Reader = Callable[[Sequence[workers.Task], Sequence[Path], FormatSet, int], Iterator[workers.Answer]]

BATCH_FILES = 64
BATCH_BYTES = 32 << 20
BATCH_SECONDS = 2.0
SMALL_BYTES = 16 << 20
"""Below so many stored bytes, one process reads everything."""
TOP_SHAPES = 20

SKIPPED, DUPLICATE, REJECTED, UNCLAIMED = "skipped", "duplicate", "rejected", "unclaimed"
STATES = (manifest.NEW, *manifest.RELATIONS, SKIPPED, DUPLICATE, REJECTED)


_TWIN_FACTS = ("digest", "bytes", "n_lines", "state", "formats", "parser")
"""What is kept of a duplicate; the facts are those of its twin."""


@dataclass(frozen=True)
class IngestOptions:
    """How to ingest; every field has a sensible default."""

    workers: int = 0
    """Processes that read files; 0 means one for each core this process may use, and one for little work."""
    steps: str = "all"
    """`all`, or `none` to keep the events of a run's life only."""
    label: str | None = None
    """Name that stands for the root in the sources' names, in place of its own."""
    zone: str | None = None
    """IANA zone of stamps without one; stands above the configuration."""
    year: int | None = None
    """Year of stamps without one."""
    sacct_fields: tuple[str, ...] = ()
    """Fields of `sacct` output that was written without a header."""
    sacct_delimiter: str | None = None
    format_dirs: tuple[Path, ...] = ()
    """Folders with further format files."""
    depth: int = 0
    """Folders inside each other that are looked into; 0 takes the configuration's number."""
    config: Config | None = None
    """The configuration; without it the one of the working folder, of the root or of the lake is read."""
    patience_s: float = 60.0
    """How long to wait for another ingest of the same lake."""
    reader: Reader | None = None
    """What reads the sources in the place of `workers.run`; `ettlog.engine.reading.reader` makes one."""


class Progress(NamedTuple):
    """How far an ingest is: counted in files, and in the stored bytes of the files that are done."""

    files: int
    files_total: int
    bytes: int
    bytes_total: int
    name: str


class FileReport(NamedTuple):
    """What became of one file; `state` is one of STATES, `why` the reason of a rejected one."""

    name: str
    state: str
    why: str = ""
    claimed: bool = True


@dataclass
class IngestReport:
    """The closing account of an ingest.

    `lines`, `formats`, `events`, `steps` and `records` count what the files read by this ingest hold; files skipped
    because nothing changed add nothing to them. `rows` counts scheduler records, `inferences` pairs a file's name with
    a sentence.
    """

    files: list[FileReport] = field(default_factory=list)
    not_read: list[discover.Skipped] = field(default_factory=list)
    lines: Counter[str] = field(default_factory=Counter)
    n_lines: int = 0
    events: int = 0
    steps: int = 0
    records: int = 0
    formats: Counter[str] = field(default_factory=Counter)
    inferences: list[tuple[str, str]] = field(default_factory=list)
    shapes: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    copies: list[str] = field(default_factory=list)
    """Names of the configuration and registry files that were taken from the root into the lake."""
    sources: int = 0
    """Sources in the lake after this ingest."""

    @property
    def states(self) -> dict[str, int]:
        """Return how many files are in each state, in the order of STATES."""
        counts = Counter(file.state for file in self.files)
        return {state: counts[state] for state in STATES if counts[state]}

    @property
    def unclaimed(self) -> list[str]:
        """Return the names of the files in which no format knew a line."""
        return [file.name for file in self.files if not file.claimed]

    @property
    def rejected(self) -> list[FileReport]:
        """Return the files that could not be read."""
        return [file for file in self.files if file.state == REJECTED]

    @property
    def unmatched(self) -> list[tuple[str, int]]:
        """Return the most frequent shapes of lines that no pattern matched, with their counts."""
        return sorted(self.shapes.items(), key=lambda item: (-item[1], item[0]))[:TOP_SHAPES]


def ingest(
    roots: Sequence[Path | str],
    lake_path: Path | str,
    *,
    options: IngestOptions | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> IngestReport:
    """Bring logs into a lake: new and changed sources are read, all others left alone; running again changes no byte.

    Whatever number of workers: same logs, same bytes. Raise UsageError for roots, configuration or formats that cannot
    be used, LakeError when the lake cannot be written. A file that cannot be read is reported, and the rest goes on.
    """
    from ettlog.parse import format as formats_of
    from ettlog.parse import format_sets

    options = options or IngestOptions()
    folder = Path(lake_path)
    paths = [Path(root) for root in roots]
    own = discover.own_files(paths)
    settings = options.config or config_of.load(lake_copy=own.get(lake.CONFIG_NAME, folder / lake.CONFIG_NAME))
    depth = options.depth or settings.number("limits.depth") or discover.MAX_DEPTH
    found = discover.discover(paths, folder, options.label, depth)
    copies = {name: _own_bytes(name, path) for name, path in sorted(own.items())}
    folders = format_sets.folders(settings.format_dirs, options.format_dirs)
    formats = formats_of.load_all(folders)
    report = IngestReport(not_read=found.skipped)
    with lake.writer(folder, options.patience_s) as writer:
        report.problems.extend(writer.state.problems)
        report.copies.extend(name for name, data in copies.items() if writer.keep_copy(name, data))
        tasks = [_task(file, writer, settings, options) for file in found.files]
        count = options.workers or _workers_for(found.files)
        answers = (options.reader or workers.run)(tasks, folders, formats, count)
        _Committer(writer, report).take(_watched(answers, found.files, progress))
        report.sources = len(writer.state.owners)
    return report


def _own_bytes(name: str, path: Path) -> bytes:
    """Read a configuration or registry that lies beside the logs; raise UsageError when it cannot be used."""
    data = config_of.read_bytes(path)
    if name == lake.CONFIG_NAME:
        config_of.parse(data, path)
    return data


def _workers_for(files: Sequence[discover.LogFile]) -> int:
    """Return one process for each core this one may use; little work is done sooner than a process is made."""
    if sum(file.bytes for file in files) < SMALL_BYTES:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _task(file: discover.LogFile, writer: lake.Writer, settings: Config, options: IngestOptions) -> workers.Task:
    entry = writer.state.current.get(file.name)
    known = None
    if entry is not None and not writer.broken(_owner(entry, writer)):
        known = workers.Known(entry.bytes, entry.digest, entry.key)
    zone = None if options.zone else settings.text("sacct.zone")
    return workers.Task(file.name, file.path, scan_options(file.name, settings, options), known, zone)


def _owner(entry: SourceEntry, writer: lake.Writer) -> SourceEntry:
    """Return the entry whose facts stand for this one."""
    return writer.state.current[writer.state.owners[entry.key]] if entry.key in writer.state.owners else entry


def scan_options(name: str, settings: Config, options: IngestOptions) -> ScanOptions:
    """Return how one source is read: flags stand above the configuration, its zone globs above its general zone."""
    from ettlog.parse.parsed import Limits, ScanOptions

    line, output = settings.number("limits.line_bytes"), settings.number("limits.output_bytes")
    assert line is not None and output is not None  # both have defaults
    return ScanOptions(
        steps=options.steps,
        zone=options.zone or settings.zone_of(name),
        year_hint=options.year or settings.number("clock.year"),
        sacct_fields=tuple(options.sacct_fields) or settings.sacct_fields or None,
        sacct_delimiter=options.sacct_delimiter or settings.text("sacct.delimiter"),
        limits=Limits(line=line, output=output),
    )


def _watched(
    answers: Iterable[workers.Answer], files: Sequence[discover.LogFile], progress: Callable[[Progress], None] | None
) -> Iterator[workers.Answer]:
    total, done = sum(file.bytes for file in files), 0
    for number, (answer, file) in enumerate(zip(answers, files, strict=True), 1):
        yield answer
        done += file.bytes
        if progress is not None:
            progress(Progress(number, len(files), done, total, file.name))


@dataclass
class _Committer:
    """Takes answers in order, writes their facts and lists them, some files at a time."""

    writer: lake.Writer
    report: IngestReport
    weight: int = 0
    held: int = 0
    flushed: float = field(default_factory=time.monotonic)

    def take(self, answers: Iterable[workers.Answer]) -> None:
        for answer in answers:
            self._account(answer)
            self.held += 1
            late = time.monotonic() - self.flushed > BATCH_SECONDS
            if late or self.held >= BATCH_FILES or self.weight >= BATCH_BYTES:
                self._flush()
        self._flush()

    def _flush(self) -> None:
        self.writer.flush()
        self.weight, self.held, self.flushed = 0, 0, time.monotonic()

    def _account(self, answer: workers.Answer) -> None:
        if answer.state == workers.REJECTED:
            self.report.files.append(FileReport(answer.name, REJECTED, answer.reason))
        elif answer.state == workers.PARSED:
            self._add(answer)
        else:
            entry = self.writer.state.current[answer.name]
            self.report.files.append(FileReport(answer.name, SKIPPED, claimed=_claimed(entry)))

    def _add(self, answer: workers.Answer) -> None:
        old = self.writer.state.current.get(answer.name)
        entry = self._entry(answer, old)
        if old is None or replace(entry, supersedes=old.supersedes, relation=old.relation, of=old.of) != old:
            if old is not None and old.key != entry.key:
                self._promote(old)
            self.writer.add(entry)
        # The same entry again means that only its data files were damaged: they are written anew.
        self.writer.publish(answer.key, answer.tables)
        self.weight += answer.weight
        self._count(entry, DUPLICATE if entry.op == manifest.DUPLICATE else entry.relation or manifest.NEW)

    def _entry(self, answer: workers.Answer, old: SourceEntry | None) -> SourceEntry:
        chain: dict[str, Any] = {}
        if old is not None and old.key != answer.key:
            chain = {"supersedes": old.key, "relation": answer.relation or manifest.REPLACED}
        twin = self.writer.state.owners.get(answer.key)
        if twin is not None and twin != answer.name:
            kept = {name: answer.facts[name] for name in _TWIN_FACTS}
            return SourceEntry(manifest.DUPLICATE, answer.name, answer.key, of=twin, **kept, **chain)
        files = {table: lake.describe(data, answer.rows[table]) for table, data in sorted(answer.tables.items())}
        return SourceEntry(manifest.ADD, answer.name, answer.key, files=files, **answer.facts, **chain)

    def _promote(self, old: SourceEntry) -> None:
        """Let the first duplicate of facts that are about to be superseded stand for them from now on."""
        if self.writer.state.owners.get(old.key) != old.path:
            return
        twins = [entry for entry in self.writer.state.duplicates() if entry.key == old.key]
        if twins:
            self.writer.add(replace(old, path=twins[0].path, supersedes=None, relation=None))

    def _count(self, entry: SourceEntry, state: str) -> None:
        report = self.report
        report.files.append(FileReport(entry.path, state, claimed=_claimed(entry)))
        if state == DUPLICATE:
            return
        report.lines.update(entry.lines)
        report.n_lines += entry.n_lines
        report.formats.update(entry.formats)
        rows = {table: file.rows for table, file in entry.files.items()}
        report.events += rows.get("event", 0)
        report.steps += rows.get("step", 0)
        report.records += rows.get("alloc", 0)
        report.inferences.extend((entry.path, sentence) for sentence in entry.inferences)
        report.shapes.update(entry.unmatched)


def _claimed(entry: SourceEntry) -> bool:
    return bool(entry.formats) or not entry.n_lines
