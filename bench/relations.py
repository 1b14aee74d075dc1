"""Measure how relations are made and read again, over lakes of several sizes: `python -m bench.relations`.

    python -m bench.relations --rows 1 4 16 --memory 4GiB      (millions of rows)

The lakes are written directly, without logs (see bench/attribute.py): 5,000 steps a job, eight jobs a model. Each
measurement is a process of its own. `first` makes every relation and keeps it, `again` is the next command. The growth
exponent is the slope of log CPU seconds over log rows: 1 is linear.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import attribute

JOBS, STEPS = 8, 5_000


def assemble(folder: Path, memory: str) -> dict[str, float]:
    """Open a lake, have its ledger, and return seconds of the wall and of the CPU, and the peak memory in MiB."""
    from ettlog import config, fleet

    began, used = time.perf_counter(), time.process_time()
    rows = fleet.open(folder, config.load(flags={"limits.memory": memory})).table("ledger").height
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"wall": time.perf_counter() - began, "cpu": time.process_time() - used, "peak": peak, "rows": rows}


def measure(folder: Path, memory: str) -> dict[str, float]:
    """Run `assemble` in a process of its own."""
    command = [sys.executable, "-m", "bench.relations", "--lake", str(folder), "--memory", memory]
    found: dict[str, float] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return found


def slope(points: list[tuple[float, float]]) -> float:
    """Return the slope of the line through the logarithms of points, by least squares."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    mean = [sum(values) / len(logs) for values in zip(*logs, strict=True)]
    over = sum((x - mean[0]) * (y - mean[1]) for x, y in logs)
    return float(over / sum((x - mean[0]) ** 2 for x, _ in logs))


def table(sizes: list[float], memory: str) -> None:
    """Make a lake of each size in millions of rows, measure it, and print a row of Markdown."""
    print("| rows | first, wall s | first, CPU s | CPU s per million | peak MiB | again, wall s | again, CPU s |")
    print("|---|---|---|---|---|---|---|")
    points: list[tuple[float, float]] = []
    for millions in sizes:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "bench.lake"
            rows = attribute.build(folder, max(1, round(millions * 1e6 / JOBS / STEPS)), JOBS, STEPS)
            first, again = measure(folder, memory), measure(folder, memory)
        points.append((float(rows), first["cpu"]))
        print(
            f"| {rows:,} | {first['wall']:.1f} | {first['cpu']:.1f} | {first['cpu'] / rows * 1e6:.2f} | "
            f"{first['peak']:,.0f} | {again['wall']:.2f} | {again['cpu']:.2f} |",
            flush=True,
        )
    if len(points) > 1:
        print(f"\ngrowth exponent of CPU seconds: {slope(points):.2f}; memory limit {memory}")


def main() -> None:
    """Measure the sizes asked for, or, as a process of such a measurement, one lake."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, nargs="+", default=[1, 4, 16], help="sizes in millions of rows")
    parser.add_argument("--memory", default="1GiB", help="limit of memory, as for `ettlog --memory-limit`")
    parser.add_argument("--lake", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.lake:
        print(json.dumps(assemble(given.lake, given.memory)))
    else:
        table(given.rows, given.memory)


if __name__ == "__main__":
    main()
