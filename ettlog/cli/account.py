"""The closing account of an ingest: what became of every file and every line, and what was inferred."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ettlog.errors import EttlogError
from ettlog.facts import authorities
from ettlog.lifecycle import OUTCOMES
from ettlog.sink import display
from ettlog.tables import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ettlog.ingest import IngestOptions, IngestReport
    from ettlog.manifest import SourceEntry
    from ettlog.shards import Shard

FEW = 5
"""How many names or shapes are shown of each sort; -v shows all."""


def account(report: IngestReport, lake: Path, *, verbose: int, shard: Shard | None = None) -> Iterator[str]:
    """Yield the lines of the account of an ingest or a merge, and the next command to type."""
    few = 10**6 if verbose else FEW
    holder = "the lake" if shard is None else f"shard {shard}"
    yield f"files     {_counts(report.states) or 'none'}; {holder} holds {report.sources:,}"
    if report.n_lines:
        yield f"lines     {report.n_lines:,}: {_counts({name: report.lines[name] for name in OUTCOMES})}"
        yield f"facts     {report.events:,} events, {report.steps:,} step lines, {report.records:,} scheduler records"
    if report.formats:
        yield f"formats   {_counts(_most(report.formats))}"
    if shard is None:  # the jobs of a shard lack what the other shards hold
        yield from _jobs(lake)
    yield from _inferences(report.inferences, few)
    yield from _some("rejected", [f"{file.name}: {file.why}" for file in report.rejected], few)
    yield from _some("not read", [f"{skipped.name}: {skipped.why}" for skipped in report.not_read], few)
    yield from _some("unclaimed", report.unclaimed, few, "no format knows a line of these files")
    yield from _some(
        "unmatched",
        [f"{number:,} x {shape}" for shape, number in report.unmatched],
        few,
        "most frequent shapes of the lines looked at that no format knows",
    )
    if report.unmatched:
        yield "          `ettlog format new LOG` proposes a format for such lines; see docs/tutorial_dialect.md"
    yield from _some("problems", report.problems, few)
    yield f"next      {_next(report, lake) if shard is None else _merge(lake)}"


def would_read(roots: Sequence[Path], lake: Path, options: IngestOptions) -> Iterator[str]:
    """Yield what an ingest would do with each file, reading none."""
    from ettlog.config import load
    from ettlog.ingest import find

    found = find(roots, lake, options, options.config or load())
    lake = lake if options.shard is None else options.shard.lake(lake)
    known = {entry.path: entry.bytes for entry in _listed(lake)} if (lake / "manifest.jsonl").exists() else {}
    for file in found.files:
        state = "new" if file.name not in known else "same size" if known[file.name] == file.bytes else "changed"
        yield f"{state}\t{file.bytes}\t{display(file.name)}"
    for skipped in found.skipped:
        yield f"not read\t\t{display(skipped.name)}: {display(skipped.why)}"


def _listed(lake: Path) -> list[SourceEntry]:
    from ettlog.lake import Lake

    opened = Lake.open(lake)
    return [*opened.sources(), *opened.duplicates()]


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {display(name)}" for name, number in counts.items() if number)


def _most(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _jobs(lake: Path) -> Iterator[str]:
    import ettlog

    try:
        fleet = ettlog.open(lake)
        jobs, starts = fleet.table("job").height, fleet.table("start").height
    except EttlogError as error:
        yield f"jobs      none: {display(error.what)}"
        return
    yield f"jobs      {count(jobs, 'job')}, {count(starts, 'start')} in the lake"
    if fleet.lake is not None and fleet.config is not None:
        yield from _identity(authorities(fleet.lake, fleet.config))


def _identity(found: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Yield on what authority files were given to jobs: what a template or a line does not say is inferred."""
    told = [
        f"{name.removesuffix('_name')} by {' or '.join(f'{authority} ({by[authority]:,})' for authority in sorted(by))}"
        for name, by in sorted(found.items(), key=lambda item: (item[0] != "job_name", item[0]))
        if name != "part"
    ]
    if told:
        yield f"identity  {'; '.join(told)}"


def _inferences(pairs: Iterable[tuple[str, str]], few: int) -> Iterator[str]:
    files = Counter(sentence for _, sentence in pairs)
    yield from _some(
        "inferred", [f"{sentence} ({count(number, 'file')})" for sentence, number in files.most_common()], few
    )


def _some(title: str, items: Sequence[str], few: int, meaning: str = "") -> Iterator[str]:
    """Yield a title with the number of items, then the first few of them."""
    if not items:
        return
    yield f"{title:<9} {len(items):,}{f': {meaning}' if meaning else ''}"
    for item in items[:few]:
        yield f"          {display(item)}"
    if len(items) > few:
        yield f"          and {len(items) - few:,} more; -v shows all"


def _next(report: IngestReport, lake: Path) -> str:
    option = "" if str(lake) == "ettlog.lake" else f" --lake {lake}"
    return f"ettlog ett --by model{option}" if report.sources else f"ettlog ingest FOLDER{option}, with logs in it"


def _merge(lake: Path) -> str:
    return f"ettlog merge --lake {lake}, when all shards have ended"
