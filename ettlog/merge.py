"""Merging lakes: what several processes or hosts read becomes the lake that one ingest of it all would have made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ettlog import held as held_sources
from ettlog import lake as lakes
from ettlog import manifest, shards, tasks
from ettlog.beginnings import beginnings, begins, rotated
from ettlog.commit import REJECTED, Committer, FileReport, IngestReport
from ettlog.errors import LakeError, UsageError
from ettlog.held import Held
from ettlog.lake import Lake, Writer
from ettlog.manifest import GROWN, REPARSED, REPLACED, SourceEntry

_FACTS = (
    "digest", "bytes", "lines", "n_lines", "formats", "state", "inferences", "unmatched", "hints", "first_us",
    "last_us", "clock", "parser", "rules", "text",
)  # fmt: skip
"""The fields of a manifest line that come from the source itself."""


@dataclass
class _Parts:
    """What all lakes to be merged hold."""

    lakes: list[Lake]
    sources: dict[str, Held] = field(default_factory=dict)
    came: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    """Path and key of facts -> key of the facts they superseded, and how they are related to these."""
    was: dict[str, list[Held]] = field(default_factory=dict)
    """Path -> sources that are the beginnings of this one, which are left out."""


def merge(
    parts: Sequence[Path | str],
    lake_path: Path | str,
    *,
    mixed: bool = False,
    patience_s: float = 60.0,
    progress: Callable[[int, int], None] | None = None,
) -> IngestReport:
    """Bring what other lakes hold into a lake, in the order of the sources' names; merging again changes no byte.

    Without `parts` the lake's own shards are merged. Into a new lake this gives the bytes that one ingest of all logs
    gives; into an old one what one ingest of them into that lake gives. `mixed` lets lakes differ in parsers, formats,
    options and settings. `progress` is told sources done and sources in all. Raise UsageError where the lake is merged
    into itself, LakeError for lakes that do not fit together, are damaged, or are shards that have not all ended.
    """
    folder = Path(lake_path)
    found = _collect([Lake.open(path) for path in _folders([Path(part) for part in parts], folder)])
    report = IngestReport()
    copies = {name: _copy(name, found, mixed) for name in (lakes.CONFIG_NAME, lakes.REGISTRY_NAME)}
    if not mixed:
        _refuse_other_rules(found.sources.values())
    with lakes.writer(folder, patience_s) as writer:
        if not mixed:
            _refuse_other_rules([*found.sources.values(), *_rest(folder, writer, found)])
        report.problems.extend(writer.state.problems)
        report.copies.extend(name for name, data in copies.items() if data and writer.keep_copy(name, data))
        _leave_beginnings(found, [*found.sources.values(), *_rest(folder, writer, found)])
        Committer(writer, report).take(_answers(found, writer, progress))
        unread = [item for one in found.lakes for item in shards.rejected(one.path)]
        report.files.extend(FileReport(name, REJECTED, why) for name, why in sorted(unread))
        report.sources = len(writer.state.owners)
    return report


def _folders(parts: Sequence[Path], out: Path) -> list[Path]:
    """Return the lakes to open: those named, and for one that is in shards only, its shards."""
    if not parts:
        found = shards.complete(out)
        if not found:
            raise LakeError(
                "there is nothing to merge",
                where=str(out),
                why="no lake is named, and this one has no shards",
                todo="name the lakes to merge, or make shards with `ettlog ingest LOGS --shard i/N`",
            )
        return found
    for part in parts:
        if part.resolve() == out.resolve():
            raise UsageError(
                "a lake cannot be merged into itself",
                where=str(part),
                why="it is named as a part and as the lake to be made",
                todo="name another with --lake; to merge its shards, name no part",
            )
    return [folder for part in parts for folder in _lakes_of(part)]


def _lakes_of(part: Path) -> list[Path]:
    return [part] if (part / manifest.NAME).is_file() else shards.complete(part) or [part]


def _collect(opened: list[Lake]) -> _Parts:
    found = _Parts(opened)
    for one in opened:
        found.came.update(manifest.chains(one.path / manifest.NAME))
    every = [Held(one, entry) for one in opened for entry in one.state.current.values()]
    for held in every:
        path = held.entry.path
        found.sources[path] = _newer(found.sources.get(path, held), held, found, every)
    return found


def _newer(one: Held, other: Held, found: _Parts, every: Sequence[Held]) -> Held:
    """Return the later of two readings of one file; raise LakeError where they are of two files of one name.

    A file of which another one is the rotation was there before the file that has its name now.
    """
    if one.entry.key == other.entry.key:
        return one
    both = ((one, other), (other, one))
    for old, new in both:
        if _relation(old.entry, new.entry, found):
            return new
    for old, new in both:
        if begins(old, new) or rotated(old, every):
            return new
    raise LakeError(
        "two lakes hold different sources of one name",
        where=one.entry.path,
        why=f"its bytes, formats or options in {one.lake.path} are not those in {other.lake.path}",
        todo="ingest one of the two again with another --as LABEL, or leave one lake out",
    )


def _relation(old: SourceEntry, new: SourceEntry, found: _Parts) -> str:
    """Return how newer facts of a path came from older ones, nothing where no lake saw that."""
    key, seen, steps = new.key, set[str](), set[str]()
    while (new.path, key) in found.came and key not in seen:
        seen.add(key)
        key, relation = found.came[new.path, key]
        steps.add(relation)
        if key == old.key:
            return next(one for one in (REPLACED, GROWN, REPARSED) if one in steps)
    return ""


def _rest(folder: Path, writer: Writer, found: _Parts) -> list[Held]:
    """Return what the lake to be made holds and keeps."""
    mine = Lake(folder, writer.state)
    return [Held(mine, entry) for path, entry in writer.state.current.items() if path not in found.sources]


def _refuse_other_rules(held: Iterable[Held]) -> None:
    """Refuse what one ingest cannot have made: facts of several parsers, sets of formats, or options."""
    made: dict[tuple[int, str], Held] = {}
    for one in held:
        made.setdefault((one.entry.parser, one.entry.rules), one)
    if len(made) < 2:
        return
    (first, one), (second, other) = list(made.items())[:2]
    raise LakeError(
        "these lakes were not made in the same way",
        where=f"{one.lake.path}: {one.entry.path}; {other.lake.path}: {other.entry.path}",
        why=f"they were read with other {_difference(first, second)}",
        todo="ingest with the same ettlog, formats and options again; where logs are gone, --mixed keeps their facts",
    )


def _difference(one: tuple[int, str], other: tuple[int, str]) -> str:
    if one[0] != other[0]:
        return f"parsers (version {one[0]} and {other[0]})"
    return "format files" if one[1].split(".")[0] != other[1].split(".")[0] else "options, such as --steps"


def _copy(name: str, found: _Parts, mixed: bool) -> bytes | None:
    """Return the configuration or registry of the lakes; raise LakeError where they carry different ones.

    A configuration shaped the facts of its lake, so that a lake without one differs from a lake with one.
    """
    held = [(one.path, _bytes(one.path / name)) for one in found.lakes if one.state.current]
    told = [item for item in held if item[1] is not None]
    compared = held if name == lakes.CONFIG_NAME else told
    other = next((item for item in compared if item[1] != compared[0][1]), None)
    if other is not None and not mixed:
        raise LakeError(
            f"these lakes carry different copies of {name}",
            where=f"{compared[0][0] / name}; {other[0] / name}",
            why="one ingest has one, for all its logs",
            todo=f"ingest all logs again with the same {name} beside them, or take the first one with --mixed",
        )
    return told[0][1] if told else None


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _leave_beginnings(found: _Parts, sources: Sequence[Held]) -> None:
    """Leave out what was read before it grew and was renamed: the later reading holds all of it."""
    found.was = beginnings(sources)
    for old in (one for olds in found.was.values() for one in olds):
        if old.entry.path in found.sources and found.sources[old.entry.path].entry.key == old.entry.key:
            del found.sources[old.entry.path]


def _answers(found: _Parts, writer: Writer, progress: Callable[[int, int], None] | None) -> Iterator[tasks.Answer]:
    for number, path in enumerate(sorted(found.sources), 1):
        yield _answer(path, found, writer)
        if progress is not None:
            progress(number, len(found.sources))


def _answer(path: str, found: _Parts, writer: Writer) -> tasks.Answer:
    """Return what reading a source would have given, out of the lake that holds it."""
    held, old = found.sources[path], writer.state.current.get(path)
    key = held.entry.key
    owner = writer.state.owners.get(key)
    sound = owner is not None and not writer.broken(writer.state.current[owner])
    if old is not None and old.key == key and sound:
        return tasks.Answer(path, tasks.SAME, key=key)
    relation = None
    if old is not None and old.key != key:
        relation = _relation(old, held.entry, found) or _by_facts(Held(Lake(writer.path, writer.state), old), held)
    if not relation and old is not None and old.key != key:
        return tasks.Answer(path, tasks.SAME, key=old.key)
    full = held_sources.full(held)
    was = (one.entry for one in found.was.get(path, ()))
    return tasks.Answer(
        path,
        tasks.PARSED,
        key=key,
        relation=relation,
        was=tuple(one.path for one in was if one.key == writer.state.current.get(one.path, held.entry).key),
        facts={name: getattr(full.entry, name) for name in _FACTS},
        rows={table: file.rows for table, file in full.entry.files.items()},
        tables={} if sound and owner != path else held_sources.tables(full),
    )


def _by_facts(old: Held, new: Held) -> str:
    """Return how another reading of a path is related to what is there, nothing where it is an earlier one."""
    if old.entry.digest == new.entry.digest:
        return REPARSED
    if begins(old, new):
        return GROWN
    return "" if begins(new, old) else REPLACED
