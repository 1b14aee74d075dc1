"""Measures the ingest of scheduler accounting: `python -m bench.accounting [ROWS]`.

Writes `sacct -P -D` rows of a made-up cluster (each job with a batch and an extern step), ingests them with two workers
and prints rows a second, CPU seconds and the peak memory of the largest process.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ettlog.ingest import IngestOptions, ingest

ROWS = 1_000_000
FILES = 2
HEAD = (
    "JobID|JobIDRaw|Cluster|Partition|User|JobName|State|Submit|Eligible|Start|End|Elapsed|ExitCode|Restarts|NNodes|NCPUS|"
    "ReqTRES|AllocTRES|NodeList\n"
)
WHO = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
BEGIN = datetime(2031, 4, 5, tzinfo=UTC)
STATES = ("COMPLETED", "FAILED", "CANCELLED by 4001", "TIMEOUT", "REQUEUED", "NODE_FAIL")


def rows(first: int, count: int) -> Iterator[str]:
    """Yield rows, three to an attempt: the job, its batch step, its extern step."""
    for number in range(first, first + count // 3):
        submit = BEGIN + timedelta(seconds=number * 7)
        start, held = submit + timedelta(seconds=number % 900), number % 7200 + 60
        end = start + timedelta(seconds=held)
        stamps = "|".join(moment.strftime("%Y-%m-%dT%H:%M:%S") for moment in (submit, submit, start, end))
        gpus = 8 << number % 4
        state = STATES[number % len(STATES)]
        length = f"{held // 3600:02d}:{held // 60 % 60:02d}:{held % 60:02d}"
        tres = f"billing={gpus},cpu={gpus * 12},gres/gpu={gpus},gres/gpu:h9={gpus},node={gpus // 8}"
        nodes = f"m[{number % 512}-{number % 512 + 7}]"
        rest = f"{stamps}|{length}|0:0|{number % 500 == 0:d}|{gpus // 8}|{gpus * 12}|{tres}|{tres}|{nodes}"
        for step in ("", ".batch", ".extern"):
            user = "" if step else f"user{number % 97}"
            yield f"{number}{step}|{number}{step}|moon|big|{user}|pre-{number % 1000}|{state}|{rest}\n"


def write(folder: Path, count: int) -> int:
    """Write the rows into some files; return their bytes."""
    for part in range(FILES):
        with (folder / f"sacct-{part}.txt").open("w", encoding="utf-8") as file:
            file.write(HEAD)
            file.writelines(rows(part * 10_000_000 + 1, count // FILES))
    return sum(path.stat().st_size for path in folder.iterdir())


def main() -> None:
    """Generate, ingest and print the figures."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "logs"
        folder.mkdir()
        size = write(folder, count)
        before, begin = seconds(), time.perf_counter()
        report = ingest([folder], Path(scratch) / "bench.lake", options=IngestOptions(workers=2))
        taken, cpu = time.perf_counter() - begin, seconds() - before
    matched = report.lines.get("matched", 0)
    peak = max(resource.getrusage(who).ru_maxrss for who in WHO) / 1024
    print(f"{matched} rows, {size / 1e6:.0f} MB in {taken:.1f} s: {matched / taken:.0f} rows/s")
    print(f"CPU {cpu:.1f} s, {matched / cpu:.0f} rows per CPU second; peak of one process {peak:.0f} MiB")


def seconds() -> float:
    """Return the CPU seconds of this process and of its ended children."""
    usage = [resource.getrusage(who) for who in WHO]
    return sum(one.ru_utime + one.ru_stime for one in usage)


if __name__ == "__main__":
    main()
