"""ETTR and its kin: productive time over wall time, with the queue, without it, over one hour, or by counted steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettlog.terms.base import HOUR, STEP, Given, Term, framed, since_launch, total, weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl


def _ettr(given: Given) -> pl.DataFrame:
    import polars as pl

    return total(given.rows, pl.col("part") == STEP)


def _cumulative(given: Given) -> pl.DataFrame:
    import polars as pl

    return total(given.rows.filter(pl.col("allocated")), pl.col("part") == STEP)


def worst(productive: Sequence[tuple[int, int]], begin_us: int, end_us: int, length_us: int) -> int | None:
    """Return the least productive time in any window of `length_us` inside [begin_us, end_us]; None where none fits.

    `productive` holds disjoint intervals in order, all in microseconds. The productive time of a sliding window is
    piecewise linear in its place, so its least value lies where an edge of the window meets the edge of an interval.
    """
    if end_us - begin_us < length_us:
        return None
    edges = {edge for interval in productive for edge in interval}
    starts = {begin_us, end_us - length_us, *edges, *(edge - length_us for edge in edges)}
    marks, sums = [begin_us], [0]
    for low, high in productive:
        marks += [low, high]
        sums += [sums[-1], sums[-1] + high - low]
    return min(
        _until(marks, sums, start + length_us) - _until(marks, sums, start)
        for start in starts
        if begin_us <= start <= end_us - length_us
    )


def _until(marks: list[int], sums: list[int], at_us: int) -> int:
    """Return the productive time before an instant."""
    from bisect import bisect_right

    place = bisect_right(marks, at_us) - 1
    grows = place + 1 < len(sums) and sums[place + 1] > sums[place]
    return sums[place] + (at_us - marks[place] if grows else 0)


def _sliding(given: Given) -> pl.DataFrame:
    import polars as pl

    length = round((given.inputs.get("sliding_hours") or 1) * HOUR)
    rows, weight = since_launch(given.rows).sort("job", "begin_us"), weights(given)
    found = []
    for (job,), part in rows.group_by("job", maintain_order=True):
        steps = part.filter(pl.col("part") == STEP).select("begin_us", "end_us").rows()
        least = worst(steps, part["begin_us"][0], part["end_us"][-1], length)
        if least is not None:
            found.append((str(job), least * weight[str(job)], length * weight[str(job)]))
    return framed(found)


def _megascale(given: Given) -> pl.DataFrame:
    """Return new steps times the median time of a step, over the time with hardware held."""
    import polars as pl

    held = total(given.rows.filter(pl.col("allocated")), pl.lit(value=False)).drop("num")
    weight = {(job, start): gpus for job, start, gpus in given.rows.select("job", "start", "gpus").iter_rows()}
    sums: dict[str, int] = {}
    for job, k, begin, end, steps, steady in _paced(given).iter_rows():
        inside = min(end, given.span.until_us) - max(begin, given.span.since_us)
        if inside > 0:
            sums[job] = sums.get(job, 0) + steps * steady * inside // (end - begin) * weight.get((job, k), 1)
    return framed([(job, num, 0) for job, num in sums.items()]).drop("den").join(held, on="job")


def _paced(given: Given) -> pl.DataFrame:
    """Return job, k, begin_us, end_us, steps and the median time of a step of every stretch of new steps."""
    import polars as pl

    paces = given.table("_placed").select("job", "k", "gid").join(given.table("_steady"), on="gid")
    stretch = given.table("step_run").filter(pl.col("nature") == STEP, pl.col("end_us") > pl.col("begin_us"))
    joined = stretch.join(paces, on=["job", "k"]).drop_nulls("steady_us")
    return joined.select("job", "k", "begin_us", "end_us", "steps", "steady_us")


ETTR = Term(
    "ettr",
    "steps on new data / first submission to last release, queues included",
    "how fast a step is; the queue counts as loss here, so a busy cluster lowers it",
    "Meta RSC (arXiv 2410.21680): effective training time ratio of a job run",
    _ettr,
    "no time in the window",
)
CUMULATIVE = Term(
    "byterobust",
    "steps on new data / time with hardware held, from the start on",
    "time without hardware; how fast a step is",
    "ByteRobust (arXiv 2509.16293): cumulative ETTR",
    _cumulative,
    "no hardware held in the window",
)
SLIDING = Term(
    "byterobust-sliding",
    "steps on new data in the worst sliding window of each job / its length (1 h unless --sliding-hours)",
    "all other hours; jobs shorter than the window",
    "ByteRobust (arXiv 2509.16293): sliding-window ETTR, its lowest point",
    _sliding,
    "the job is shorter than the sliding window",
)
MEGASCALE = Term(
    "megascale",
    "new steps x median time of a step / time with hardware held",
    "slow steps: a step that took longer than the median counts as the median, the rest as loss",
    "MegaScale (arXiv 2402.15627): effective training time rate",
    _megascale,
    "fewer than three timed steps, or no hardware held",
)
