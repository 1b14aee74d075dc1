"""What the logs of a fleet do not say, how many GPU-hours rest on that, and what would make them say it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ettlog.lifecycle import LOOP_PARTS, PART_BY_NAME, PARTS, SAVE_STALL, START_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from ettlog.fleet import Fleet

STEP, REPLAY, ABANDONED, *_ = LOOP_PARTS
EXCESS = next(part.part for part in PART_BY_NAME.values() if "estimate" in part.meaning)
QUEUE, PLACEMENT = (part.part for part in PARTS if part.component == PART_BY_NAME["queue"].component)
GAP, OTHER = PART_BY_NAME["gap"].part, PART_BY_NAME["other"].part
MOST_US = 10**18
"""GPU time of one segment beyond which it is not believed: thirty thousand years of a GPU."""
COLUMNS = ("unsaid", "subject", "detail", "gpu_us", "todo")


class Facts(NamedTuple):
    """The relations that are looked at; `segment` has GPU time as `gpu_us`, unknown GPUs weighing one."""

    segment: pl.DataFrame
    start: pl.DataFrame
    job: pl.DataFrame
    checkpoint: pl.DataFrame
    allocation: pl.DataFrame
    source: pl.DataFrame


class Unsaid(NamedTuple):
    """One thing that logs may fail to say; `find` returns how many (with their noun) and the GPU time at stake."""

    name: str
    detail: str
    todo: str
    find: Callable[[Facts], tuple[int, str, int]]


def unsaid(fleet: Fleet) -> pl.DataFrame:
    """Return what the logs do not say, one row per such thing found, the most GPU time at stake first.

    Columns: `unsaid` (its name), `subject` (how many of what), `detail` (what follows from it), `gpu_us` (GPU time that
    rests on it, microseconds; unknown GPUs weigh one), `todo` (what to change in the logging or in what is collected).
    """
    import polars as pl

    from ettlog.tables import count

    facts = _facts(fleet)
    rows = []
    for item in UNSAID:
        number, noun, gpu_us = item.find(facts)
        if number:
            rows.append((item.name, count(number, noun), item.detail, gpu_us, item.todo))
    schema = {name: pl.Int64 if name == "gpu_us" else pl.String for name in COLUMNS}
    return pl.DataFrame(rows, schema=schema, orient="row").sort("gpu_us", "unsaid", descending=[True, False])


def _facts(fleet: Fleet) -> Facts:
    import polars as pl

    names = ("segment", "start", "job", "checkpoint", "allocation", "source")
    frames = {name: fleet.table(name) for name in names}
    us = (pl.col("end_us") - pl.col("begin_us")).cast(pl.Int128) * pl.col("gpus").fill_null(1)
    frames["segment"] = frames["segment"].with_columns(us.clip(upper_bound=MOST_US).cast(pl.Int64).alias("gpu_us"))
    return Facts(**frames)


def _spent(facts: Facts, *, parts: tuple[str, ...] = (), jobs: pl.Series | None = None) -> int:
    """Return the GPU time of some parts (all of them without any) of some jobs."""
    import polars as pl

    frame = facts.segment
    if parts:
        frame = frame.filter(pl.col("part").is_in(parts))
    if jobs is not None:
        frame = frame.filter(pl.col("job").is_in(jobs.implode()))
    return int(frame["gpu_us"].sum())


def _without_commit(facts: Facts) -> tuple[int, str, int]:
    import polars as pl

    saved = facts.checkpoint.filter(pl.col("state") == "committed").select("job", "k").unique()
    bare = facts.start.filter(pl.col("steps") > 0).join(saved, on=["job", "k"], how="anti")
    return bare.height, "start", _spent(facts, parts=(REPLAY, ABANDONED), jobs=bare["job"].unique())


def _without_end(facts: Facts) -> tuple[int, str, int]:
    import polars as pl

    starts = facts.start.filter(pl.col("kind") == START_KINDS[-1], pl.col("k") > 0).select("job", start="k")
    mine = facts.segment.join(starts, on=["job", "start"]).filter(pl.col("stage") == "restart")
    return starts.height, "restart", int(mine["gpu_us"].sum())


def _unlogged(facts: Facts) -> tuple[int, str, int]:
    import polars as pl

    logged = facts.start["job"].unique()
    bare = facts.job.filter(~pl.col("job").is_in(logged.implode()))["job"]
    held = facts.segment.filter(pl.col("allocated"), pl.col("job").is_in(bare.implode()))
    return held["job"].n_unique(), "job", int(held["gpu_us"].sum())


def _gaps(facts: Facts) -> tuple[int, str, int]:
    import polars as pl

    logged = facts.start["job"].unique()
    gaps = facts.segment.filter(pl.col("part") == GAP, pl.col("job").is_in(logged.implode()))
    return gaps["job"].n_unique(), "job", int(gaps["gpu_us"].sum())


def _unscheduled(facts: Facts) -> tuple[int, str, int]:
    import polars as pl

    known = facts.allocation["job"].unique()
    bare = facts.start.filter(~pl.col("job").is_in(known.implode()))["job"].unique()
    return bare.len(), "job", _spent(facts, parts=(GAP, PLACEMENT), jobs=bare)


def _undated(facts: Facts) -> tuple[int, str, int]:
    import polars as pl

    bare = facts.job.filter(pl.col("first_us").is_null())
    return bare.height, "job", 0


def _unzoned(facts: Facts) -> tuple[int, str, int]:
    import polars as pl

    local = facts.source.filter(pl.col("clock") == "zone_assumed")
    return local.height, "file", _spent(facts, parts=(QUEUE, PLACEMENT, GAP), jobs=local["job_name"].unique())


def _unsized(facts: Facts) -> tuple[int, str, int]:
    import polars as pl

    bare = facts.job.filter(pl.col("gpus").is_null(), pl.col("starts") > 0)["job"]
    return bare.len(), "job", _spent(facts, jobs=bare)


def _estimated(part: str) -> Callable[[Facts], tuple[int, str, int]]:
    """Return a finder of inferred segments of one part."""

    def find(facts: Facts) -> tuple[int, str, int]:
        import polars as pl

        found = facts.segment.filter(pl.col("part") == part, pl.col("inferred"))
        return found.select("job", "start").n_unique(), "start", int(found["gpu_us"].sum())

    return find


def _undivided(facts: Facts) -> tuple[int, str, int]:
    import polars as pl

    found = facts.segment.filter(pl.col("part") == OTHER)
    return found.select("job", "start").n_unique(), "start", int(found["gpu_us"].sum())


UNSAID: tuple[Unsaid, ...] = (
    Unsaid(
        "no_commit_line",
        "no line shows that a checkpoint became usable: what a failure loses is an upper bound",
        "log when a save is committed by all ranks (Megatron does at INFO), or ingest the checkpoint events",
        _without_commit,
    ),
    Unsaid(
        "no_end_line",
        "the log before just stops: the restart is called neither failure nor planned, and stands with TTS",
        "keep stderr and the launcher's exit code in the log, and ingest the scheduler's records (sacct -D -P)",
        _without_end,
    ),
    Unsaid(
        "no_trainer_log",
        "only the scheduler knows them: all of their time is unknown",
        "ingest their logs; a file named after the job (slurm-%j.out), or paths.templates in ettlog.toml, joins them",
        _unlogged,
    ),
    Unsaid(
        "time_without_evidence",
        "parts of their wall have no line: they are unknown",
        "collect the logs of every start and every allocation, rotated parts too; see ettlog timeline JOB for where",
        _gaps,
    ),
    Unsaid(
        "no_scheduler_record",
        "queue is invisible, and whether hardware was held between starts is inferred",
        "ingest accounting of the same weeks: sacct -D -P -o ALL, kubectl get -o json, or what the scheduler has",
        _unscheduled,
    ),
    Unsaid(
        "no_clock",
        "no line is dated: they have steps and no wall",
        "put a timestamp with its zone in front of each line (logging format %(asctime)s, or a shipper that stamps)",
        _undated,
    ),
    Unsaid(
        "no_zone",
        "stamps without a zone are read as UTC: queue and placement move if they are local",
        "set clock.zone, or clock.zones by path, in ettlog.toml; better: log with an offset",
        _unzoned,
    ),
    Unsaid(
        "no_gpu_count",
        "they weigh one GPU",
        "ingest accounting with AllocTRES, or print the world size at start-up",
        _unsized,
    ),
    Unsaid(
        "no_compile_line",
        "what the first step took beyond a steady one is an estimate of compiling",
        "set TORCH_TRACE, or TORCH_LOGS=+dynamo, on one rank at least",
        _estimated(EXCESS),
    ),
    Unsaid(
        "no_save_end",
        "no line tells when the loop went on after a save: its stall ends where the next step's work begins",
        "log when a save returns to the loop, beside when it is committed",
        _estimated(SAVE_STALL),
    ),
    Unsaid(
        "undivided_start_up",
        "start-up that no line divides: it cannot be given to a part",
        "log dated marks: rendezvous, process group, model built, data ready, training begins",
        _undivided,
    ),
)
"""Everything that is looked for."""
