"""Measures ettlog beside peers on the same files, in one run: `python -m bench.peers --python PEERS/bin/python`.

PEERS is a virtual environment with the peers (`pip install drain3 pygrok tlparse ml-goodput-measurement`); one that is
not there is left out. Each peer does its own work on what it reads: drain3 mines templates, pygrok matches six
patterns, tlparse renders compile records, the calculator of ml-goodput-measurement computes the goodput of entries.
ettlog does all of its own on the same file: it reads it into a lake with all formats loaded (of entries it computes the
goodput, too). CPU seconds, start-up included. A last row, where ripgrep is there, is what counting the lines that any
shipped pattern matches costs on the same trainer lines: nobody who looks for all of them can be much faster.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bench import generate
from bench.ingest import measure, ripgrep

BASE = 1_933_135_600
DRAIN3 = """
import logging, sys
from drain3 import TemplateMiner
miner = TemplateMiner()
for line in open(sys.argv[1], errors="replace"):
    miner.add_log_message(line.rstrip())
"""
PYGROK = """
import sys
from pygrok import Grok
patterns = [Grok(text) for text in (
    "iteration +%{INT:step}/ +%{INT:target}", "saving checkpoint at iteration +%{INT:step}",
    "successfully saved checkpoint", "loading checkpoint from %{NOTSPACE:path}", "Traceback", "NCCL (WARN|INFO)")]
for line in open(sys.argv[1], errors="replace"):
    for one in patterns:
        if one.match(line):
            break
"""
CALCULATOR = """
import datetime, json, os, sys, tempfile
os.chdir(tempfile.mkdtemp())
from ml_goodput_measurement.src import goodput
entries = [json.loads(line) for line in open(sys.argv[1])]
class Reader:
    def read_cloud_logging_entries(self, *bounds):
        return entries, None
calculator = goodput.GoodputCalculator("job", "log", cloud_logger=Reader(), cache_dir=os.getcwd())
print(calculator.get_job_goodput(include_badput_breakdown=True)[0])
"""
GOODPUT = """
import sys, tempfile, ettlog
from pathlib import Path
lake = Path(tempfile.mkdtemp()) / "peers.lake"
ettlog.ingest([sys.argv[1]], lake)
print(ettlog.terms(ettlog.open(lake), "goodput")["value"].to_list())
"""
INGEST = """
import sys, tempfile, ettlog
from pathlib import Path
ettlog.ingest([sys.argv[1]], Path(tempfile.mkdtemp()) / "peers.lake")
"""


class Contest(NamedTuple):
    """One peer: what it needs, how it and ettlog are run on a file, and how the file is written."""

    name: str
    module: str
    theirs: str
    ours: str
    write: Callable[[Path, int], int]
    """Writes a file of about so many records and returns their number."""


def text(path: Path, lines: int) -> int:
    """Write trainer lines."""
    data = b"".join(generate.text(number, 1_000_000) for number in range(max(1, lines // 4000)))
    kept = data.split(b"\n")[:lines]
    path.write_bytes(b"\n".join(kept) + b"\n")
    return len(kept)


def entries(path: Path, steps: int) -> int:
    """Write the entries of a job that restarts every tenth of its steps, ten steps behind."""
    told = [json.dumps(entry) for entry in _entries(steps)]
    path.write_text("\n".join(told) + "\n")
    return len(told)


def _entries(steps: int) -> Iterator[dict[str, object]]:
    now, step = float(BASE), 0
    for start in range(10):
        yield {"job_name": "job", "job_start_time": now}
        for phase, seconds in (("tpu_init", 20), ("training_prep", 30), ("data_loading", 5)):
            yield {"job_name": "job", f"{phase}_start_time": now}
            now += seconds
            yield {"job_name": "job", f"{phase}_end_time": now}
        step = max(0, step - 10)
        while step < (start + 1) * steps // 10:
            yield {"job_name": "job", "step_count": step, "step_start_time": now}
            now, step = now + 2, step + 1
    yield {"job_name": "job", "job_end_time": now}


def trace(path: Path, compiles: int) -> int:
    """Write compile records as torch does under TORCH_TRACE."""
    lines = []
    for frame in range(compiles):
        clock = f"{frame // 3600 % 24:02d}:{frame // 60 % 60:02d}:{frame % 60:02d}.250000"
        head = f"V0309 {clock} 4242 torch/_dynamo/utils.py:12]"
        where = {"rank": 0, "frame_id": frame, "frame_compile_id": 0, "attempt": 0}
        stack = [{"line": 10, "name": "forward", "filename": 0}]
        lines.append(f"{head} {json.dumps({'dynamo_start': {'stack': stack}, **where})}")
        metrics = {"co_name": "forward", "start_time": BASE + frame, "entire_frame_compile_time_s": 0.75}
        lines.append(f"{head} {json.dumps({'compilation_metrics': metrics, **where})}")
    path.write_text("\n".join(lines) + "\n")
    return len(lines)


CONTESTS = (
    Contest("drain3", "drain3", DRAIN3, INGEST, text),
    Contest("pygrok, six patterns", "pygrok", PYGROK, INGEST, text),
    Contest("tlparse", "", "tlparse", INGEST, trace),
    Contest("ml-goodput-measurement, its own entries", "ml_goodput_measurement", CALCULATOR, GOODPUT, entries),
)


def rows(python: Path, folder: Path, records: int) -> Iterator[str]:
    """Measure every peer that is there, and ripgrep, and yield a table row each."""
    for number, one in enumerate(CONTESTS):
        path = folder / f"peer{number}" / "peer.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        count = one.write(path, records // 10 if one.write is trace else records)
        command = _command(one, python, path, folder)
        if command is not None:
            yield _row(one.name, count, command, [sys.executable, "-c", one.ours, str(path)])
    program = shutil.which("rg")
    if program:
        path = folder / "counted" / "peer.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        command = ripgrep(program, path.parent, "all", 1, packed=False, union=True)
        yield _row("ripgrep -c, all patterns", text(path, records), command, [sys.executable, "-c", INGEST, str(path)])


def _row(name: str, count: int, their: Sequence[str], our: Sequence[str]) -> str:
    theirs, ours = measure(their), measure(our)
    return (
        f"| {name} | {count:,} | {theirs.cpu:.2f} | {theirs.peak_mib:.0f} | {ours.cpu:.2f} | "
        f"{ours.peak_mib:.0f} | {theirs.cpu / ours.cpu:.1f} |"
    )


def _command(one: Contest, python: Path, path: Path, folder: Path) -> Sequence[str] | None:
    """Return how a peer is run on a file, or None where it is not installed."""
    if one.module:
        there = subprocess.run([str(python), "-c", f"import {one.module}"], capture_output=True, check=False)
        return [str(python), "-c", one.theirs, str(path)] if there.returncode == 0 else None
    program = python.parent / one.theirs
    return (
        [str(program), str(path), "-o", str(folder / "out"), "--overwrite", "--no-browser"]
        if program.exists()
        else None
    )


def main() -> None:
    """Read the options and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="Python with the peers")
    parser.add_argument("--records", type=int, default=100_000, help="records a file; a tenth of them for tlparse")
    parser.add_argument("--data", type=Path, default=Path(__file__).parent / "data")
    options = parser.parse_args()
    print("| peer | records | its CPU s | its MiB | ettlog CPU s | ettlog MiB | ratio |\n|---|---|---|---|---|---|---|")
    for row in rows(options.python, options.data, options.records):
        print(row, flush=True)


if __name__ == "__main__":
    main()
