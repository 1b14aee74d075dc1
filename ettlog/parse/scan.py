"""Turns one text source into facts: blocks of lines, one literal pass, regexes on hit lines, step lines by the
thousand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from ettlog.lifecycle import KIND_BY_NAME, OUTCOMES
from ettlog.parse import columns, zones
from ettlog.parse.block import BlockScan
from ettlog.parse.blocks import Reader, SourceRefusedError, open_source
from ettlog.parse.cut import SLACK, Block, blocks
from ettlog.parse.engine import Source, engine
from ettlog.parse.event_table import EventTable
from ettlog.parse.format import FormatSet
from ettlog.parse.parsed import Limits, Parsed, ScanOptions

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Limits", "Parsed", "ScanOptions", "scan"]

_SCHEDULER = {kind.kind for kind in KIND_BY_NAME.values() if kind.meaning.startswith("the scheduler")}
_ALLOCATION = re.compile(r"(\d{1,12}(?:[_+]\d{1,6})?)(?:\.\w+)?")


def scan(path: Path, formats: FormatSet, options: ScanOptions) -> Parsed:
    """Read one text source, plain or compressed, and return its facts; memory does not grow with lines, only with
    facts.

    Never raises for what the bytes hold; a path that is no readable regular file gives the state `refused`.
    Raises UsageError for an unknown zone.
    """
    try:
        reader = open_source(path, budget=options.limits.output)
    except SourceRefusedError as error:
        return _nothing("refused", [f"{error.what}: {error.why}"])
    with reader:
        return scan_open(reader, formats, options)


def scan_open(reader: Reader, formats: FormatSet, options: ScanOptions) -> Parsed:
    """Read a text source that is open already, of which nothing was read yet; else like `scan`."""
    source = Source(engine(formats, options.steps), options)
    if options.zone is None and options.limits.block < zones.HEAD:  # what is learnt must not hang on the blocks
        zones.learn(reader.peek(zones.HEAD), source.clock.source)
    return _read(reader, source, learns=options.zone is None and options.limits.block >= zones.HEAD)


def _nothing(state: str, inferences: list[str]) -> Parsed:
    events, steps, allocs = (columns.empty(name) for name in ("event", "step", "alloc"))
    return Parsed(events, steps, allocs, dict.fromkeys(OUTCOMES, 0), 0, 0, "", state=state, inferences=inferences)


def _read(reader: Reader, source: Source, *, learns: bool) -> Parsed:
    binary = False

    def learn(text: memoryview) -> None:
        zones.learn(text[: zones.HEAD], source.clock.source)

    with source.engine.room(source, source.limits.block + SLACK) as room:
        for block in blocks(reader, source.limits.block, source.limits.line, room, learn if learns else None):
            binary = binary or (not source.n_lines and _has_zero(block, source.limits.line))
            BlockScan(source, block).run()
    return parsed(reader, source, reader.digest(), reader.n_bytes, binary=binary)


def parsed(reader: Reader, source: Source, digest: str, n_bytes: int, *, binary: bool) -> Parsed:
    """Return what a source holds of which all blocks were read: `n_bytes` stored bytes of this digest.

    `binary` tells of a zero byte in its first line.
    """
    events, steps = source.facts.tables(*source.clock.settle())
    return Parsed(
        events=events,
        steps=steps,
        allocs=columns.empty("alloc"),
        lines={name: source.lines[name] for name in OUTCOMES},
        n_lines=source.n_lines,
        n_bytes=n_bytes,
        digest=digest,
        text=reader.text_digest(),
        formats=dict(sorted(source.formats.items())),
        state=_state(reader, source, binary=binary),
        inferences=[*source.clock.source.inferences, *([reader.torn] if reader.torn else []), *reader.swollen()],
        unmatched=source.unmatched.shapes(),
        sampled=source.unmatched.samples,
        first_us=source.clock.first,
        last_us=source.clock.last,
        clock=source.clock.word,
        hints=_hints(events),
    )


def _has_zero(block: Block, size: int) -> bool:
    return block.data.find(b"\0", 0, min(block.end, size)) >= 0


def _state(reader: Reader, source: Source, *, binary: bool) -> str:
    if reader.torn:
        return "torn"
    if not source.n_lines:
        return "empty"
    return "binary" if binary and not source.hits else "whole"


def _hints(events: pa.Table | EventTable) -> dict[str, str]:
    """Return the allocation that the scheduler's own lines name, if it is one."""
    found: set[str] = set()
    for batch in events.batches() if isinstance(events, EventTable) else events.to_batches():
        if _SCHEDULER.isdisjoint(batch["kind"].dictionary.to_pylist()):
            return {}
        rows = zip(batch["kind"].to_pylist(), batch["name"].to_pylist(), strict=True)
        named = (_ALLOCATION.fullmatch(name) for kind, name in rows if kind in _SCHEDULER and name)
        found.update(match[1] for match in named if match)
    return {"allocation": found.pop()} if len(found) == 1 else {}
