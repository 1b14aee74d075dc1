"""Committing what was read or merged: facts and entries in the order of their names, and the account of them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ettlog import discover, lake, manifest, packing, tasks
from ettlog.manifest import SourceEntry

BATCH_FILES = 64
BATCH_BYTES = 32 << 20
BATCH_SECONDS = 2.0
TOP_SHAPES = 20

SKIPPED, DUPLICATE, REJECTED = "skipped", "duplicate", "rejected"
STATES = (manifest.NEW, *manifest.RELATIONS, SKIPPED, DUPLICATE, REJECTED)

_TWIN_FACTS = ("digest", "bytes", "n_lines", "state", "formats", "parser", "rules", "text")
"""What is kept of a duplicate; the facts are those of its twin."""


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


@dataclass
class Committer:
    """Takes answers in order, writes their facts and lists them, some files at a time."""

    writer: lake.Writer
    report: IngestReport
    weight: int = 0
    held: int = 0
    flushed: float = field(default_factory=time.monotonic)

    def take(self, answers: Iterable[tasks.Answer]) -> None:
        """Commit all answers; raise LakeError where the lake cannot be written."""
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

    def _account(self, answer: tasks.Answer) -> None:
        if answer.state == tasks.REJECTED:
            self.report.files.append(FileReport(answer.name, REJECTED, answer.reason))
        elif answer.state == tasks.PARSED:
            self._add(answer)
        else:
            entry = self.writer.state.current[answer.name]
            self.report.files.append(FileReport(answer.name, SKIPPED, claimed=_claimed(entry)))

    def _add(self, answer: tasks.Answer) -> None:
        old = self.writer.state.current.get(answer.name)
        entry = self._entry(answer, old)
        if old is None or _alike(entry, old) != old:
            if old is not None and old.key != entry.key:
                entry = self._handed_on(entry, old)
            for path in entry.was:
                gone = self.writer.state.current[path]
                self._promote(gone, self._twins(gone, entry.was))
            self.writer.add(entry)
        # The same entry again means that only its data files were damaged: they are written anew.
        self.writer.publish(answer.key, answer.tables)
        self.weight += answer.weight
        self._count(entry, DUPLICATE if entry.op == manifest.DUPLICATE else entry.relation or manifest.NEW)

    def _entry(self, answer: tasks.Answer, old: SourceEntry | None) -> SourceEntry:
        chain: dict[str, Any] = {}
        if old is not None and old.key != answer.key:
            chain = {"supersedes": old.key, "relation": answer.relation or manifest.REPLACED}
        was = tuple(path for path in answer.was if path in self.writer.state.current)
        if was and old is None:
            chain = {"supersedes": self.writer.state.current[was[-1]].key, "relation": manifest.GROWN}
        if was:
            chain["was"] = was
        twin = self.writer.state.owners.get(answer.key)
        if twin is not None and twin != answer.name:
            kept = {name: answer.facts[name] for name in _TWIN_FACTS}
            return SourceEntry(manifest.DUPLICATE, answer.name, answer.key, of=twin, **kept, **chain)
        files = {table: packing.describe(data, answer.rows[table]) for table, data in sorted(answer.tables.items())}
        return SourceEntry(manifest.ADD, answer.name, answer.key, files=files, **answer.facts, **chain)

    def _handed_on(self, entry: SourceEntry, old: SourceEntry) -> SourceEntry:
        """Let a copy stand for the older facts of a path; where these are damaged, let the log that grew stand for it.

        Nobody else has the bytes of such a copy, unless it is still there: then it is read again, as any log.
        """
        twins = self._twins(old, entry.was)
        if twins and entry.relation == manifest.GROWN and self.writer.broken(old):
            return replace(entry, was=(*entry.was, *(one.path for one in twins)))
        self._promote(old, twins)
        return entry

    def _twins(self, old: SourceEntry, gone: tuple[str, ...]) -> list[SourceEntry]:
        """Return the duplicates of facts that a path stands for, by path, without those that are gone."""
        if self.writer.state.owners.get(old.key) != old.path:
            return []
        return [one for one in self.writer.state.duplicates(old.key) if one.path not in gone]

    def _promote(self, old: SourceEntry, twins: list[SourceEntry]) -> None:
        """Let the first duplicate, if any, of facts that are about to be superseded stand for them from now on."""
        if twins:
            self.writer.add(standing(old, twins[0]))

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


def _alike(entry: SourceEntry, old: SourceEntry) -> SourceEntry:
    """Return an entry with the history of an older one of its path."""
    return replace(entry, supersedes=old.supersedes, relation=old.relation, of=old.of, was=old.was)


def standing(old: SourceEntry, twin: SourceEntry) -> SourceEntry:
    """Return the entry with which a duplicate takes over the facts of the path that stood for it so far."""
    own = {"path": twin.path, "digest": twin.digest, "bytes": twin.bytes, "text": twin.text, "state": twin.state}
    return replace(old, supersedes=None, relation=None, was=(), **own)  # type: ignore[arg-type]


def _claimed(entry: SourceEntry) -> bool:
    return bool(entry.formats) or not entry.n_lines
