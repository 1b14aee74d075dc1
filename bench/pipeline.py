"""What bench.ingest measures of ettlog: one ingest of a folder into a lake of its own."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import ettlog.cli  # noqa: F401 - sets what the command sets for the libraries it uses


def main() -> None:
    """Read folder, mode (`events` or `all`) and workers from the command line; print the totals."""
    from ettlog.ingest import IngestOptions, ingest  # as the command does it: workers import this module again

    source, mode, workers = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    options = IngestOptions(workers=workers, steps="none" if mode == "events" else "all")
    with tempfile.TemporaryDirectory() as scratch:
        lake = Path(scratch) / "bench.lake"
        report = ingest([source], lake, options=options)
        size = sum(path.stat().st_size for path in lake.rglob("*") if path.is_file())
    lines = {outcome: count for outcome, count in report.lines.items() if count}
    print(f"{report.events} events, {report.steps} steps, lines {lines}, lake {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
