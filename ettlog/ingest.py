"""From log files to facts: finds the sources, has them read, and commits what they hold in the order of their names."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ettlog import aliases, confine, discover, guard, lake, listed, moved, shards, workers
from ettlog import config as config_of
from ettlog.commit import STATES, Committer, FileReport, IngestReport
from ettlog.config import Config
from ettlog.manifest import SourceEntry
from ettlog.tasks import Answer, Known, Task

if TYPE_CHECKING:
    from ettlog.parse.format import FormatSet
    from ettlog.parse.parsed import ScanOptions

    Reader = Callable[[Sequence[Task], Sequence[Path], Callable[[], FormatSet], int], Iterator[Answer]]

SMALL_BYTES = 16 << 20
"""Below so many stored bytes, one process reads everything."""

__all__ = ["STATES", "FileReport", "IngestOptions", "IngestReport", "Progress", "find", "ingest", "scan_options"]


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
    files: tuple[Path, ...] | None = None
    """The files to read, in place of a look through the roots; names begin with the root that a file lies in."""
    shard: shards.Shard | None = None
    """Read this share of the files, into a lake of its own inside the lake, for `merge`."""
    group_readable: bool = False
    """Let the group of the lake's folder read it, from now on."""
    pseudonyms: bytes | None = None
    """Secret key of the pseudonyms that stand for names of users, hosts and jobs; a lake has one key or none."""
    patience_s: float = 60.0
    """How long to wait for another ingest of the same lake."""
    confine: str = confine.AUTO
    """When logs are read in processes that can do nothing else: `always`, `never`, or `auto`, which is where there are
    many, or any of them belongs to another user."""
    reader: Reader | None = None
    """What reads the sources in the place of `workers.run`; `ettlog.engine.reading.reader` makes one."""


class Progress(NamedTuple):
    """How far an ingest is: counted in files, and in the stored bytes of the files that are done."""

    files: int
    files_total: int
    bytes: int
    bytes_total: int
    name: str


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
    if options.reader is not None and options.pseudonyms is not None:
        aliases.refuse_engine()
    folder, paths = Path(lake_path), [Path(root) for root in roots]
    own = discover.own_files(paths)
    copy = own.get(lake.CONFIG_NAME, _copy_of(lake.CONFIG_NAME, folder, options.shard))
    settings = options.config or config_of.load(lake_copy=copy)
    found = find(paths, folder, options, settings)
    if options.pseudonyms:
        found.files.sort(key=lambda file: aliases.name(file.name, options.pseudonyms))
    copies = {name: _own_bytes(name, path) for name, path in sorted(own.items())}
    folders = format_sets.folders(settings.format_dirs, options.format_dirs)
    formats = functools.cache(functools.partial(formats_of.load_all, folders))
    if folders:
        formats()  # a mistake in one of them is told before anything is written
    report = IngestReport(not_read=found.skipped)
    with _writer(folder, options) as writer:
        if options.group_readable:
            guard.share_with_group(folder)
        aliases.refuse_other(writer.state, folder, options.pseudonyms)
        report.problems.extend(writer.state.problems)
        report.copies.extend(name for name, data in copies.items() if writer.keep_copy(name, data))
        gone = moved.Missing()
        if options.files is None:  # a list does not tell what is gone
            gone = moved.missing(writer.state, found, paths, options.label, options.pseudonyms)
        tasks = [_task(file, writer, settings, options, gone) for file in found.files]
        count = options.workers or _workers_for(found.files)
        answers = (options.reader or _reader(options.confine, found.files))(tasks, folders, formats, count)
        Committer(writer, report).take(_watched(answers, found.files, progress))
        report.sources = len(writer.state.owners)
        if options.shard is not None:
            rejected = [(file.name, file.why) for file in report.rejected]
            shards.end(writer.path, options.shard, rejected, gone.names() & writer.state.current.keys())
    return report


def _copy_of(name: str, folder: Path, shard: shards.Shard | None) -> Path:
    """Return where the copy of a configuration lies: in the lake, or in that of the shard before the first merge."""
    in_lake = folder / name
    return in_lake if shard is None or in_lake.is_file() else shard.lake(folder) / name


def find(roots: Sequence[Path], folder: Path, options: IngestOptions, settings: Config) -> discover.Found:
    """Return the files that an ingest reads: found in the roots or listed, of its shard where it has one.

    Raise UsageError for roots that do not exist, for two files of one name, and for listed files outside of the roots.
    """
    if options.files is None:
        depth = options.depth or settings.number("limits.depth") or discover.MAX_DEPTH
        found = discover.discover(roots, folder, options.label, depth, settings.number("limits.files") or 0)
    else:
        found = listed.find(options.files, roots, options.label)
    shard = options.shard
    if shard is not None:
        found.files[:] = [file for file in found.files if shard.holds(file.name)]
        found.skipped[:] = [item for item in found.skipped if shard.holds(item.name)]
    return found


@contextlib.contextmanager
def _writer(folder: Path, options: IngestOptions) -> Iterator[lake.Writer]:
    """Open the lake for writing; for a shard its own one, which says when its ingest has ended."""
    if options.shard is None:
        with lake.writer(folder, options.patience_s) as writer:
            yield writer
        return
    lake.make(folder)
    own = options.shard.lake(folder)
    with lake.writer(own, options.patience_s) as writer:
        shards.begin(own)
        yield writer


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


def _reader(when: str, files: Sequence[discover.LogFile]) -> Reader:
    """Return what reads these files: in confined processes where that is asked for, or where strangers own any."""
    confined = {confine.ALWAYS: True, confine.NEVER: False}.get(when)
    if when == confine.AUTO and confine.strange(file.path for file in files):
        confined = True
    return functools.partial(workers.run, confined=confined)


def _task(
    file: discover.LogFile, writer: lake.Writer, settings: Config, options: IngestOptions, gone: moved.Missing
) -> Task:
    name = aliases.name(file.name, options.pseudonyms)
    entry = writer.state.current.get(name)
    known = None
    if entry is not None:
        sound = not writer.broken(_owner(entry, writer))
        known = Known(entry.bytes, entry.digest, entry.key, entry.text, sound)
    zone = None if options.zone else settings.text("sacct.zone")
    return Task(
        name, file.path, scan_options(file.name, settings, options), known, zone, options.pseudonyms, gone.of(name)
    )


def _owner(entry: SourceEntry, writer: lake.Writer) -> SourceEntry:
    """Return the entry whose facts stand for this one."""
    return writer.state.current[writer.state.owners[entry.key]] if entry.key in writer.state.owners else entry


LIMITS = {
    "line": "line_bytes", "output": "output_bytes", "record": "record_bytes", "depth": "record_depth",
    "keys": "record_keys",
}  # fmt: skip
"""Bounds of a scan, and the keys below `limits` that set them."""


def scan_options(name: str, settings: Config, options: IngestOptions) -> ScanOptions:
    """Return how one source is read: flags stand above the configuration, its zone globs above its general zone."""
    from ettlog.parse.parsed import Limits, ScanOptions

    limits = {field: settings.number(f"limits.{key}") or 0 for field, key in LIMITS.items()}
    return ScanOptions(
        steps=options.steps,
        zone=options.zone or settings.zone_of(name),
        year_hint=options.year or settings.number("clock.year"),
        sacct_fields=tuple(options.sacct_fields) or settings.sacct_fields or None,
        sacct_delimiter=options.sacct_delimiter or settings.text("sacct.delimiter"),
        limits=Limits(**limits),
    )


def _watched(
    answers: Iterable[Answer], files: Sequence[discover.LogFile], progress: Callable[[Progress], None] | None
) -> Iterator[Answer]:
    total, done = sum(file.bytes for file in files), 0
    for number, (answer, file) in enumerate(zip(answers, files, strict=True), 1):
        yield answer
        done += file.bytes
        if progress is not None:
            progress(Progress(number, len(files), done, total, file.name))
