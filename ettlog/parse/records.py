"""Self-describing input: readers that know a file by its head and read it without formats."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ettlog.parse import blocks, sacct
from ettlog.parse.parsed import Parsed, ScanOptions

HEAD = 1 << 16
"""Bytes of text a reader is shown to know its input by."""


class Reader(NamedTuple):
    """One reader: `sniff(head, options)` tells whether it knows the input, `read(path, options)` reads it."""

    name: str
    sniff: Callable[[bytes, ScanOptions], bool]
    read: Callable[[Path, ScanOptions], Parsed]


READERS: tuple[Reader, ...] = (Reader(sacct.NAME, sacct.sniff, sacct.read),)


def reader_for(path: Path, options: ScanOptions) -> Reader | None:
    """Return the first reader that knows a source by its head, or None; raise SourceRefusedError like the scanner."""
    with blocks.open_source(path) as source:
        head = source.read_all(HEAD)
    return next((reader for reader in READERS if reader.sniff(head, options)), None)
