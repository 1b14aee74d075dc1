"""What tests of dialects share: lines in, facts out."""

from __future__ import annotations

from pathlib import Path

from ettlog.parse import format as formats
from ettlog.parse.parsed import Parsed, ScanOptions
from ettlog.parse.scan import scan

FORMATS = formats.load_all()


def read(folder: Path, *lines: str) -> Parsed:
    """Return what all shipped formats read from a log of these lines."""
    path = folder / "train.log"
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return scan(path, FORMATS, ScanOptions())
