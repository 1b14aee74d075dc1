"""Ingests of small logs that come again and again: what reading a text gave is remembered, all else is done."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import ettlog
from ettlog import moved, reading
from ettlog.ingest import IngestOptions
from ettlog.manifest import GROWN, REPLACED
from ettlog.parse import format as formats_of
from ettlog.parse.format import FormatSet
from ettlog.tasks import Answer, Task

KEPT = 4000
"""Texts of which is kept what reading gave."""
SUFFIXES = (".gz", ".zst")
PARSE = vars(reading)["_parse"]


@functools.cache
def _formats() -> FormatSet:
    return formats_of.load_all(())


_READ: dict[tuple[bytes, str], Answer] = {}
"""What reading gave, by the bytes and the suffix of a file."""


def _read_once(task: Task, source: Any, reader: Any, formats: FormatSet, old: str, begins: bool) -> Answer:
    """Read bytes that were read before from memory: that is not what is tried here, and takes most of the time."""
    key = (task.path.read_bytes(), task.path.suffix if task.path.suffix in SUFFIXES else "")
    if key not in _READ:
        if len(_READ) >= KEPT:
            _READ.clear()
        _READ[key] = PARSE(replace(task, gone=()), source, reader, formats, "", False)
    answer = _READ[key]
    relation = (GROWN if begins else REPLACED) if old else None
    was = moved.begun_with(task.path, task.gone, task.options.limits.output) if task.gone else ()
    return replace(answer, name=task.name, relation=relation, was=was)


def ingest_again(logs: Path, lake: Path) -> None:
    """Ingest a folder; formats are parsed, and each text is read, once in this process."""
    loaded = _formats()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(formats_of, "load_all", lambda *_told: loaded)
        patch.setattr(reading, "_parse", _read_once)
        ettlog.ingest([logs], lake, options=IngestOptions(workers=1))
