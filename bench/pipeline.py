"""What bench.ingest measures of ettlog: scan every file of a folder and write its tables as Parquet, in one or more processes."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

Totals = tuple[int, int, int, int]


def run(paths: Sequence[Path], mode: str, folder: Path) -> Totals:
    """Scan files and write their tables; return lines, matched lines, events and steps."""
    import pyarrow.parquet as pq

    from ettlog.parse.format import load_all
    from ettlog.parse.scan import ScanOptions, scan

    formats = load_all()
    options = ScanOptions(steps="none" if mode == "events" else "all")
    totals = (0, 0, 0, 0)
    for path in paths:
        parsed = scan(path, formats, options)
        for name, table in (("event", parsed.events), ("step", parsed.steps)):
            if table.num_rows:
                codec = "none" if table.nbytes < 1 << 20 else "zstd"
                pq.write_table(table, folder / f"{name}-{path.name}.parquet", compression=codec, store_schema=False)
        found = (parsed.n_lines, parsed.lines["matched"], parsed.events.num_rows, parsed.steps.num_rows)
        totals = tuple(map(sum, zip(totals, found, strict=True)))  # type: ignore[assignment]
    return totals


def main() -> None:
    """Read folder, mode and workers from the command line; print the totals."""
    source, mode, workers = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    paths = sorted(path for path in source.iterdir() if path.is_file())
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if workers == 1:
            totals = run(paths, mode, folder)
        else:
            bins = [paths[start :: 4 * workers] for start in range(4 * workers)]
            with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
                parts = list(pool.map(run, bins, [mode] * len(bins), [folder] * len(bins)))
            totals = tuple(map(sum, zip(*parts, strict=True)))  # type: ignore[assignment]
        size = sum(path.stat().st_size for path in folder.iterdir())
    print("lines {}, matched {}, events {}, steps {}".format(*totals) + f", Parquet {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
