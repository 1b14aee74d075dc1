"""MaxText's metrics file: one JSON line a step with `perf/step_time_seconds`, no clock at all.

Step 0 holds the compile. Step 1 may be only the time to hand the work over, because JAX runs behind its caller: the
times are kept as printed.
"""

from __future__ import annotations

from pathlib import Path

from ettlog.parse import jsonl
from ettlog.parse.gather import BAD_RECORD, IGNORED, MATCHED, NO_CLOCK, Facts
from ettlog.parse.jsonl import Record
from ettlog.parse.parsed import Parsed, ScanOptions

NAME = "maxtext_metrics"
_TIME = "perf/step_time_seconds"
_RATE = "perf/per_device_tflops_per_sec"


def sniff(head: bytes, options: ScanOptions) -> bool:  # noqa: ARG001 - every reader is asked in the same way
    """Tell by its first record whether a file holds metrics of MaxText."""
    record = jsonl.first_record(head)
    return record is not None and "step" in record and any(key.startswith(("perf/", "learning/")) for key in record)


def read(path: Path, options: ScanOptions) -> Parsed:
    """Read a metrics file into steps without an instant; records without a step time (evaluations) are ignored."""
    facts = Facts(NAME, options)

    def take(line: int, record: Record) -> str:
        if _TIME not in record:
            return IGNORED
        step = jsonl.whole(record, "step")
        if step is None or step < 0:
            return BAD_RECORD
        told = {"duration_us": jsonl.micros(record, _TIME), "mflops": jsonl.micros(record, _RATE)}  # 10^6 of 10^12
        facts.step(line, "metrics", NO_CLOCK, step, **told)
        return MATCHED

    return jsonl.read(path, options, facts, take, jsonl.parse)
