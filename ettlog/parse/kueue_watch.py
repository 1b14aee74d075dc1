"""A watch of Kueue workloads in columns: event, name, active, conditions in Go's print, after a local stamp or not.

One condition entry may be older than what a row before it showed (a late write): it is not believed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ettlog.parse import jsonl, kueue, stamp
from ettlog.parse.gather import BAD_RECORD, IGNORED, MATCHED, TORN, Facts
from ettlog.parse.k8s_object import Story, conditions, micros
from ettlog.parse.parsed import Parsed, ScanOptions

NAME = "kueue_watch"
MOST = 2000
_ROW = re.compile(
    rb"(?:(\d{4}-\d\d-\d\d[ T][\d:.]{8,15})\s+)?(ADDED|MODIFIED|DELETED)\s+(\S{1,300})\s+(true|false|<none>)\s+(.*)\Z"
)
_HEADER = re.compile(rb"(?:\S+ \S+\s+)?EVENT\s+NAME\s+ACTIVE\s+CONDITIONS\s*\Z")
_MAP = re.compile(r"map\[((?:[^\]]|\](?! map\[|\]|\Z))*+)(\]?)")
"""A condition; without its last bracket where the text was cut."""
_KEY = re.compile(r"(?:^| )(lastTransitionTime|message|observedGeneration|reason|status|type):")
_QUARTER = 900 * 1_000_000


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first line whether a file is such a watch."""
    line = head.partition(b"\n")[0].removesuffix(b"\r")[: 1 << 14]
    row = _ROW.match(line)
    return _HEADER.match(line) is not None or (row is not None and row[5].startswith((b"<none>", b"[map[")))


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read the watch. Raise SourceRefusedError like the scanner."""
    facts = Facts(NAME, options)
    reader = _Reader(facts)
    return jsonl.each(path, options, facts, reader.take, reader.finish)


class _Reader:
    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._stories: dict[str, Story] = {}

    def take(self, line: jsonl.Line) -> str:
        if not line.text.strip() or _HEADER.match(line.text):
            return IGNORED
        match = _ROW.match(line.text)
        if match is None:
            return BAD_RECORD if line.ended else TORN
        name, told = match[3].decode("utf-8", "replace"), match[5].decode("utf-8", "replace")
        version = {"metadata": {"name": name}, "spec": {"active": match[4] != b"false"}, "kind": "Workload"}
        version["status"] = {"conditions": list(_conditions(told))}
        story = self._stories.setdefault(name, Story(line.number, version))
        self._compare(story, version, match[1])
        story.see(version, match[2] == b"DELETED")
        if len(self._stories) > MOST:
            self._flush(next(iter(self._stories)))
        return MATCHED

    def _compare(self, story: Story, version: dict[str, Any], local: bytes | None) -> None:
        """Say what was not believed, and how far the clock in front is from that of the conditions."""
        for new in conditions(version):
            if any(old.type == new.type and (old.at or 0) > (new.at or 0) for old in story.marks):
                self._facts.note("a condition older than one seen before it was not believed")
        found = stamp.parse(local) if local else None
        newest = max((new.at for new in conditions(version) if new.at is not None), default=None)
        if found is None or newest is None or len(story.marks) > 1:
            return
        front = self._facts.clock.instant(found)[0]
        if front is not None and (shift := round((front - newest) / _QUARTER) * 900):
            self._facts.note(f"the stamp in front of a row is {shift} s ahead of UTC and is not used")

    def finish(self) -> None:
        for name in list(self._stories):
            self._flush(name)

    def _flush(self, name: str) -> None:
        story = self._stories.pop(name)
        for fields in kueue.rows(story):
            self._facts.alloc(story.line, fields.pop("record"), **fields)


def _conditions(text: str) -> Iterator[dict[str, str]]:
    """Yield the conditions that Go's print of a list of maps holds."""
    for match in _MAP.finditer(text.strip().removeprefix("[")):
        places = list(_KEY.finditer(match[1])) if match[2] else []
        ends = [place.start() for place in places[1:]] + [len(match[1])]
        found = {place[1]: match[1][place.end() : end].strip() for place, end in zip(places, ends, strict=True)}
        if micros(found.get("lastTransitionTime")) is not None and "type" in found:
            yield found
