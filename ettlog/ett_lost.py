"""The other convention of waste: a step counts where it was executed last, and what was lost is the waste."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from ettlog import portions
from ettlog.lifecycle import LOOP_PARTS, PART_BY_NAME, STAGES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ettlog.fleet import Fleet

STEP, REPLAY, *_ = LOOP_PARTS
STEADY = STAGES[3].stage


class Run(NamedTuple):
    """A stretch of executed steps of one start."""

    k: int
    begin_us: int
    end_us: int
    first_step: int
    last_step: int


def moved(fleet: Fleet, segment: pl.DataFrame) -> pl.DataFrame:
    """Return `move` of the segments of some jobs of a fleet, with every step placed by its own line."""
    jobs = segment["job"].unique()
    runs = fleet.table("step_run").filter(pl.col("job").is_in(jobs.implode()))
    again = runs.filter(pl.col("nature") == REPLAY)["job"].unique()
    if again.is_empty():
        return segment
    runs = runs.filter(pl.col("job").is_in(again.implode()))
    placed = fleet.table("_placed").filter(pl.col("job").is_in(again.implode())).select("job", "k", "gid")
    rest = segment.filter(~pl.col("job").is_in(again.implode()))
    made = [rest] + [_of_part(part, segment, runs, placed) for part in portions.parts(fleet)]
    return pl.concat(made).sort("job", "begin_us")


def _of_part(part: Fleet, segment: pl.DataFrame, runs: pl.DataFrame, placed: pl.DataFrame) -> pl.DataFrame:
    """Return `move` of the segments of the jobs of a portion: the step lines of all jobs are too many at once."""
    lines = part.table("_piece").join(placed, on="gid")
    mine = part.table("_placed")["job"].unique().implode()
    here, ran = (frame.filter(pl.col("job").is_in(mine)) for frame in (segment, runs))
    return move(here.filter(pl.col("job").is_in(ran["job"].unique().implode())), ran, lines)


def move(segment: pl.DataFrame, step_run: pl.DataFrame, piece: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return `segment` with waste moved from replays to the steps that were replayed.

    A step that was executed more than once counts where it was executed last. `piece` holds the time of the steps of
    each line; inside a line, and inside a run of steps without it, the time of a step is interpolated. Columns, tiling
    and wall time per job stay as they are; segments that were cut are marked inferred.
    """
    stepped = pl.col("part").is_in([STEP, REPLAY])
    lines = _lines(piece) if piece is not None else {}
    lost = {job: list(_lost(runs, lines.get(job))) for job, runs in _runs(step_run).items()}
    pieces = [
        {**row, **piece}
        for row in segment.filter(stepped).iter_rows(named=True)
        for piece in _cut(row["begin_us"], row["end_us"], lost.get(row["job"], []))
    ]
    moved = pl.DataFrame(pieces, schema=segment.schema, infer_schema_length=None)
    return pl.concat([segment.filter(~stepped), moved]).sort("job", "begin_us")


def _ordered(step_run: pl.DataFrame) -> pl.DataFrame:
    known = step_run.filter(pl.col("nature").is_in([STEP, REPLAY])).drop_nulls(["first_step", "last_step"])
    return known.select("job", *Run._fields).sort("job", "k", "begin_us", maintain_order=True)


def _runs(step_run: pl.DataFrame) -> dict[str, list[Run]]:
    found: dict[str, list[Run]] = {}
    for job, *run in _ordered(step_run).iter_rows():
        found.setdefault(job, []).append(Run(*run))
    return found


def _lines(piece: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return the lines of each job: they may be millions, of which few are asked for."""
    return {str(key[0]): lines for key, lines in _ordered(piece).partition_by("job", as_dict=True).items()}


def _lost(runs: Sequence[Run], lines: pl.DataFrame | None) -> Iterator[tuple[int, int]]:
    """Yield the instants between which each run executed steps that a later start executed again."""
    for run in runs:
        later = [other for other in runs if other.k > run.k]
        if not later:
            continue
        first = max(run.first_step, min(other.first_step for other in later))
        last = min(run.last_step, max(other.last_step for other in later))
        if first <= last:
            yield _at(_of(run, lines, first), first), _at(_of(run, lines, last), last + 1)


def _of(run: Run, lines: pl.DataFrame | None, step: int) -> Run:
    """Return the first line of a run that tells of a step; the run itself where none does."""
    if lines is None:
        return run
    inside = pl.col("begin_us").is_between(run.begin_us, run.end_us)
    tells = (pl.col("first_step") <= step) & (pl.col("last_step") >= step)
    found = lines.filter((pl.col("k") == run.k) & inside & tells).head(1)
    return Run(*found.select(Run._fields).row(0)) if found.height else run


def _at(run: Run, step: int) -> int:
    """Return the instant at which a step of a run began, as far as the run tells."""
    steps = run.last_step - run.first_step + 1
    return run.begin_us + (run.end_us - run.begin_us) * (step - run.first_step) // steps


def _cut(begin: int, end: int, lost: list[tuple[int, int]]) -> Iterator[dict[str, object]]:
    """Yield the pieces of one segment of steps, each either lost or training."""
    edges = sorted({begin, end, *(edge for span in lost for edge in span if begin < edge < end)})
    for low, high in pairwise(edges):
        wasted = any(since <= low and high <= until for since, until in lost)
        part = REPLAY if wasted else STEP
        piece: dict[str, object] = {"part": part, "component": PART_BY_NAME[part].component, "stage": STEADY}
        piece |= {"begin_us": low, "end_us": high}
        if len(edges) > 2:
            piece["inferred"] = True
        yield piece
