"""The columns of the lake's fact tables: name, type, unit and a sentence each. The Parquet schemas are made from these rows."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

LAKE_VERSION = 1
"""Version of the layout of the lake: table columns and manifest fields."""

PARSER_VERSION = 2
"""Version of what the parsers make of the same bytes; part of every source key."""


class Column(NamedTuple):
    """One column of a fact table."""

    name: str
    type: str
    """`int64`, `int32`, `string` or `word` (a string of few values, dictionary-encoded)."""
    meaning: str


EVENT: tuple[Column, ...] = (
    Column("line", "int64", "line number in the source, from 1"),
    Column("launch", "int32", "number of the launch inside the source, from 1; 0 before the first launch line"),
    Column("ts", "int64", "instant in microseconds since 1970 UTC; null without any clock"),
    Column("clock", "word", "how the instant was had (lifecycle.CLOCKS)"),
    Column("kind", "word", "what the line says (lifecycle.KINDS)"),
    Column("format", "word", "name of the format that read it"),
    Column("pattern", "word", "name of the pattern, which is the dialect's version"),
    Column("rank", "int32", "rank that wrote the line, where it says so"),
    Column("node", "word", "node that wrote the line, where it says so"),
    Column("step", "int64", "step the line speaks of, numbered as printed"),
    Column("target", "int64", "last step the run aims at"),
    Column("duration_us", "int64", "duration printed on the line, in microseconds"),
    Column("world", "int32", "world size, or GPUs, printed on the line"),
    Column("code", "int32", "exit code; a negative one is a signal number"),
    Column("cause", "word", "cause of a failure (lifecycle.CAUSES)"),
    Column("name", "string", "what it is about: checkpoint path, timer name, allocation id; at most 256 characters"),
)

STEP: tuple[Column, ...] = (
    Column("line", "int64", "line number in the source, from 1"),
    Column("launch", "int32", "number of the launch inside the source, from 1; 0 before the first launch line"),
    Column(
        "ts", "int64", "instant at which the line was written, in microseconds since 1970 UTC; null without any clock"
    ),
    Column("clock", "word", "how the instant was had (lifecycle.CLOCKS)"),
    Column("format", "word", "name of the format that read it"),
    Column("pattern", "word", "name of the pattern, which is the dialect's version"),
    Column("rank", "int32", "rank that wrote the line, where it says so"),
    Column("step", "int64", "step number as printed"),
    Column("target", "int64", "last step the run aims at, where printed"),
    Column("duration_us", "int64", "printed duration of one step, in microseconds"),
    Column("samples", "int64", "samples consumed so far, where printed"),
    Column("skipped", "int32", "steps of this line that were executed and not applied, where printed"),
    Column("mflops", "int64", "rate of one GPU in millions of floating-point operations a second, where printed"),
    Column(
        "mfu_ppm", "int64", "model FLOPs utilisation in millionths of the peak that the program believes, where printed"
    ),
)

ALLOC: tuple[Column, ...] = (
    Column("line", "int64", "line number in the source, from 1"),
    Column("record", "word", "what the record is about (RECORDS)"),
    Column("cluster", "word", "cluster name, where the record has it"),
    Column("id", "string", "job id as printed (array and het forms kept)"),
    Column("raw", "string", "plain job id: the key of an attempt together with cluster and submit"),
    Column("name", "string", "job name"),
    Column("user", "word", "user name, where the record has it"),
    Column("partition", "word", "partition or queue"),
    Column("state", "word", "state as written, without `by <uid>`"),
    Column("reason", "word", "reason as written"),
    Column("submit_us", "int64", "submission in microseconds since 1970 UTC"),
    Column("eligible_us", "int64", "the job could have started"),
    Column("start_us", "int64", "hardware was given; null when it never was"),
    Column("ready_us", "int64", "the job's own processes ran: containers up, prolog and image done"),
    Column("end_us", "int64", "hardware was given back; null while it is held"),
    Column("clock", "word", "how the instants were had (lifecycle.CLOCKS)"),
    Column(
        "elapsed_us", "int64", "time held as printed, without suspension: all there is where the record has no instants"
    ),
    Column("suspended_us", "int64", "time suspended inside the allocation"),
    Column("nodes", "int32", "nodes held"),
    Column("gpus", "int32", "GPUs held, counted once"),
    Column("gpus_requested", "int32", "GPUs asked for, not proof of any got"),
    Column("exit_code", "int32", "exit code"),
    Column("exit_signal", "int32", "signal that ended it"),
    Column("restarts", "int32", "restarts counted by the scheduler"),
    Column("task", "string", "task, pod, container or object inside the job that the record is about"),
    Column("node", "word", "node it was placed on, where it is one"),
    Column("cpus", "int32", "processors held"),
    Column("gpu_milli", "int64", "GPUs held in thousandths, where the source shares GPUs between jobs"),
    Column("gpu_us", "int64", "GPU time as printed, in microseconds"),
    Column("count", "int64", "jobs or happenings that the record stands for; null for one"),
)

RECORDS: dict[str, str] = {
    "job": "one attempt of a job",
    "step": "a step of a job, or a run of a container: its hardware is the job's",
    "task": "a part of a job that holds hardware of its own: a pod, a task of a trace; the job is the sum of its tasks",
    "mark": "a condition or an event of a job or task: `state` at `start_us`, last at `end_us`, `count` times",
    "run": "a run time that names no job",
    "capacity": "hardware that is there, held or not",
    "use": "hardware held at `start_us` by all jobs together; `count` jobs",
    "summary": "`count` jobs at once, as a publisher added them up",
}
"""What a row of the `alloc` table can be about: the values of `record`. Only jobs and tasks hold hardware."""

MOST_GPUS = 1_000_000
"""GPUs of one job or allocation; who prints more is not believed. The SQL of the relations holds these numbers too."""
MOST_STEP_US = 864_000_000_000
"""Duration of one step, ten days; what is printed beyond is not believed."""

TABLES: dict[str, tuple[Column, ...]] = {"event": EVENT, "step": STEP, "alloc": ALLOC}


@lru_cache
def arrow_schema(table: str) -> pa.Schema:
    """Return the Parquet schema of a fact table; field metadata holds each column's sentence."""
    import pyarrow as pa

    types = {
        "int64": pa.int64(),
        "int32": pa.int32(),
        "string": pa.string(),
        "word": pa.dictionary(pa.int32(), pa.string()),
    }
    return pa.schema(
        [pa.field(column.name, types[column.type], metadata={"meaning": column.meaning}) for column in TABLES[table]]
    )
