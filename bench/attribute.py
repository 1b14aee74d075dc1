"""Measure `ettlog attribute` on a large lake: `python -m bench.attribute --models 500 --steps 5000`.

The lake is written directly, without logs: one source a job, several starts with their compiles, saves, failures and
restores, and one row a step; half a year, and an optimization that rolls out model by model and halves compilation.
With the defaults it holds 500 models, 4,000 jobs and about 20 million events and steps.
"""

from __future__ import annotations

import argparse
import hashlib
import resource
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ettlog import lake as lakes
from ettlog import manifest, packing
from ettlog.schema import PARSER_VERSION, TABLES, arrow_schema
from ettlog.windows import instant, moment

if TYPE_CHECKING:
    from numpy.random import Generator

SECOND = 1_000_000
DAY = 86_400 * SECOND
BEGIN, DAYS = instant("2026-01-01"), 181
STARTS, SAVE_EVERY = 4, 500
STEP = 12 * SECOND
CONFIG = b'[paths]\ntemplates = ["{model}/{job}.log"]\n'


def build(folder: Path, models: int, jobs: int, steps: int) -> int:
    """Write a lake and its registry; return the rows of events and steps."""
    rng = np.random.default_rng(1)
    rows, text = 0, ""
    with lakes.writer(folder) as writer:
        for model in range(models):
            since = BEGIN + int(rng.uniform(0.3, 0.7) * DAYS) * DAY
            text += f"  {{ model = 'm{model:03d}', since = {moment(since):%Y-%m-%d} }},\n"
            for job in range(jobs):
                begin = BEGIN + int((job + rng.random()) / jobs * (DAYS - 7)) * DAY
                rows += _source(writer, f"m{model:03d}/m{model:03d}-{job}.log", _job(rng, begin, since, steps))
            writer.flush()
        head = "[[optimization]]\nname = 'cache'\nowner = 'compiler'\ncomponents = ['compilation']\nrollouts = [\n"
        writer.keep_copy("optimizations.toml", f"{head}{text}]\n".encode())
        writer.keep_copy("ettlog.toml", CONFIG)
        writer.flush()
    return rows


def _job(rng: Generator, at: int, since: int, steps: int) -> dict[str, list[dict[str, Any]]]:
    """Return the events and steps of a job of several starts, each a failure but the last."""
    events: list[dict[str, Any]] = []
    runs: list[dict[str, Any]] = []
    line, done, each = 0, 0, steps // STARTS

    def say(kind: str, ts: int, **more: Any) -> None:
        nonlocal line
        line += 1
        events.append({"line": line, "launch": k + 1, "ts": ts, "kind": kind, **more})

    for k in range(STARTS):
        say("launch", at)
        say("world", at + SECOND, world=64)
        if k:
            say("restore_end", at + 200 * SECOND, duration_us=100 * SECOND, step=done)
            say("resume", at + 201 * SECOND, step=done)
        took = int(rng.lognormal(6.5, 0.4) * (0.5 if at >= since else 1.0)) * SECOND
        at += 300 * SECOND + took
        say("compile", at, duration_us=took)
        say("train_start", at)
        runs.append({"first": line + 1, "launch": k + 1, "begin": at, "step": done + 1, "count": each})
        line += each
        saved = range(done + SAVE_EVERY - done % SAVE_EVERY, done + each + 1, SAVE_EVERY)
        for step in saved:
            line += 1
            events.append(
                {"line": line, "launch": k + 1, "ts": at + (step - done) * STEP, "kind": "save_commit", "step": step}
            )
        at += each * STEP
        say(*(("failure", at + 60 * SECOND) if k < STARTS - 1 else ("train_end", at)))
        done, at = max([done, *saved]), at + 600 * SECOND
    return {"event": events, "step": runs}


def _source(writer: lakes.Writer, path: str, job: dict[str, list[dict[str, Any]]]) -> int:
    event = _table("event", {name: [row.get(name) for row in job["event"]] for name in _names(job["event"])})
    runs = job["step"]
    number = np.concatenate([np.arange(run["count"]) for run in runs])
    of = np.repeat(np.arange(len(runs)), [run["count"] for run in runs])
    first, launch, begin, step = (
        np.array([run[name] for run in runs])[of] for name in ("first", "launch", "begin", "step")
    )
    columns = {"line": first + number, "launch": launch, "ts": begin + (number + 1) * STEP, "step": step + number}
    steps = _table("step", {**columns, "duration_us": np.full(len(number), STEP)})
    key = hashlib.sha256(path.encode()).hexdigest()[:32]
    data = {name: packing.parquet(name, table) for name, table in (("event", event), ("step", steps))}
    writer.publish(key, data)
    lines: int = event.num_rows + steps.num_rows
    files = {name: packing.describe(data[name], table.num_rows) for name, table in (("event", event), ("step", steps))}
    stamps = [row["ts"] for row in job["event"]]
    writer.add(
        manifest.SourceEntry(
            manifest.ADD, path, key=key, digest=key, bytes=100 * lines, lines={"matched": lines}, n_lines=lines,
            files=files, formats={"bench": lines}, state="whole", first_us=min(stamps), last_us=max(stamps),
            clock="exact", parser=PARSER_VERSION,
        )
    )  # fmt: skip
    return lines


def _names(rows: list[dict[str, Any]]) -> list[str]:
    return sorted({name for row in rows for name in row})


def _table(name: str, columns: dict[str, Any]) -> pa.Table:
    schema = arrow_schema(name)
    size = len(columns["line"])
    words = {"clock": ["exact"] * size, "format": ["bench"] * size, "pattern": ["v1"] * size}
    given = {**{column.name: pa.nulls(size) for column in TABLES[name]}, **words, **columns}
    arrays = [value if isinstance(value := given[field.name], pa.Array) else pa.array(value) for field in schema]
    return pa.table([array.cast(field.type) for array, field in zip(arrays, schema, strict=True)], schema=schema)


def measure(folder: Path) -> None:
    """Attribute six months of the lake from its opening on; print the seconds of each step."""
    import ettlog

    began, cpu = time.perf_counter(), time.process_time()

    def lap(what: str) -> None:
        nonlocal began, cpu
        now, used = time.perf_counter(), time.process_time()
        print(f"  {what:34s} {now - began:7.1f} s wall {used - cpu:7.1f} s CPU", flush=True)
        began, cpu = now, used

    fleet = ettlog.open(folder)
    lap("open")
    fleet.shape("segment")
    lap("relations up to segment")
    fleet.shape("ledger")
    lap("ledger")
    found = ettlog.attribute(fleet, window="6mo")
    lap("attribute, 400 replicates")
    row = found.credit.row(0, named=True)
    bounds = "no interval" if row["low"] is None else f"{row['low']:,.0f} to {row['high']:,.0f}"
    print(f"  {row['optimization']} {row['tier']}: {row['saved_gpu_hours']:,.0f} GPU-hours ({bounds})")
    print(f"  peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB")


def main() -> None:
    """Build the lake, unless one is given, and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=8, help="jobs of a model")
    parser.add_argument("--steps", type=int, default=5000, help="steps of a job")
    parser.add_argument("--lake", type=Path, help="folder of the lake, kept; by default a temporary one")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.lake or Path(scratch) / "bench.lake"
        if not folder.exists():
            began = time.process_time()
            rows = build(folder, given.models, given.jobs, given.steps)
            print(
                f"{rows:,} events and steps of {given.models} models written, {time.process_time() - began:.0f} s CPU"
            )
        measure(folder)


if __name__ == "__main__":
    main()
