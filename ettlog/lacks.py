"""What a lake does not hold, what that hides, and what would make it known: a sentence each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettlog.tables import count

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    import polars as pl

    from ettlog.fleet import Fleet

NO_FILE = "No file was read: `ettlog ingest LOGS` reads a folder of logs."
NO_JOB = (
    "No file told of a job. Ingest the stdout of trainers, or a scheduler's records; a dialect that no format knows "
    "can be taught (docs/formats.md)."
)
NO_SCHEDULER = (
    "No scheduler accounting was read: queue, placement and ends that only the scheduler sees stay unknown. Ingest the "
    "output of `sacct -P --format=ALL` (or of another scheduler) beside the logs."
)
NO_TRAINER = (
    "No trainer log was read: starts, steps, checkpoints and so ETT stay unknown. Ingest the stdout of the trainer and "
    "its launcher beside the accounting."
)
NO_REGISTRY = "No optimizations.toml was read: nothing can be credited. docs/attribution.md shows its few lines."


def lacks(fleet: Fleet, jobs: Collection[str] | None = None, *, registry: bool = False) -> Iterator[str]:
    """Yield what is missing for all jobs, or for those named; with `registry`, also that of optimizations."""
    if not jobs and fleet.table("job").is_empty():
        yield NO_FILE if fleet.table("source").is_empty() else NO_JOB
        return
    if _of(fleet, "allocation", jobs).is_empty():
        yield NO_SCHEDULER
    if _of(fleet, "start", jobs).is_empty():
        yield NO_TRAINER
    if registry and fleet.lake is not None and fleet.lake.registry_path is None:
        yield NO_REGISTRY
    yield from _open(_of(fleet, "job", jobs))


def _of(fleet: Fleet, relation: str, jobs: Collection[str] | None) -> pl.DataFrame:
    frame = fleet.table(relation)
    return frame if jobs is None else frame.filter(frame["job"].is_in(list(jobs)))


def _open(job: pl.DataFrame) -> Iterator[str]:
    number = int(job["open"].sum() or 0)
    if number and number == job.height:
        who = "The job is" if number == 1 else "All jobs are"
        yield (
            f"{who} still open: counted up to the newest event; what is not saved yet counts as trained. Ingest again "
            "when more is written."
        )
    elif number:
        yield f"{count(number, 'job')} of {job.height:,} still open: counted up to the newest event."
