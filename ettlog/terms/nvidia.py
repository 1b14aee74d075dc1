"""The goodput ratio of NVIDIA's Cluster Readiness Engine: as its software counts it, and as its design record says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettlog.lifecycle import LOOP_PARTS, SAVE_STALL
from ettlog.terms.base import REPLAY, TTR_STAGES, Given, Term, framed, total, weights

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from ettlog.windows import Window


def ratio(whole: float, lost: float, reschedule: float, resume: float, save: float) -> float:
    """Return (t_w - lost - resume - reschedule - save) / (t_w - reschedule); all in one unit of time."""
    return (whole - lost - resume - reschedule - save) / (whole - reschedule)


def _released(given: Given) -> pl.DataFrame:
    """Return the ratio with lost work counted from the last committed checkpoint to each interruption."""
    import polars as pl

    stalls = given.rows.filter(pl.col("part") == SAVE_STALL).group_by("job")
    saves = dict(stalls.agg((pl.col("end_us") - pl.col("begin_us")).sum()).iter_rows())
    weight = weights(given)
    found = []
    for job, ends in _ends(given.rows).items():
        whole, moved, less = _times(given, job, ends)
        num, den = whole - moved - less - saves.get(job, 0), whole - moved
        if den > 0:
            found.append((job, num * weight[job], den * weight[job]))
    return framed(found)


def _ends(rows: pl.DataFrame) -> dict[str, int]:
    import polars as pl

    return dict(rows.group_by("job").agg(pl.col("end_us").max()).iter_rows())


def _times(given: Given, job: str, end_us: int) -> tuple[int, int, int]:
    """Return t_w, the time of rescheduling, and lost work with the time of resuming, in microseconds of the window."""
    starts = _starts(given, job)
    stepped = [start["step_us"] for start in starts if start["stepped"]]
    if not stepped:
        return 0, 0, 0
    whole = _inside(stepped[0], end_us, given.span)
    moved = less = 0
    commits = _commits(given, job)
    for k, start in enumerate(starts):
        less += _inside(start["begin_us"], start["step_us"], given.span)
        if k + 1 < len(starts):
            broke = start["stop_us"]
            moved += _inside(broke, starts[k + 1]["begin_us"], given.span)
            safe = max((at for at in commits if at <= broke), default=broke)
            less += _inside(safe, broke, given.span)
    return whole, moved, less


def _inside(begin_us: int, end_us: int, span: Window) -> int:
    return max(0, min(end_us, span.until_us) - max(begin_us, span.since_us))


def _starts(given: Given, job: str) -> list[dict[str, int]]:
    """Return the starts of a job: launch, first step line (the end of start-up where none is dated), and stop."""
    import polars as pl

    lined = given.table("start").select("job", "k", line_us=pl.col("first_step_at").dt.epoch("us"))
    phase = given.table("_phase").filter(pl.col("job") == job).join(lined, on=["job", "k"]).sort("k")
    stepped = pl.col("step_end_us").is_not_null()
    return phase.select("begin_us", "stop_us", step_us=pl.coalesce("line_us", "loop_us"), stepped=stepped).to_dicts()


def _commits(given: Given, job: str) -> list[int]:
    import polars as pl

    save = given.table("_save").filter(pl.col("job") == job, pl.col("state") == "committed")
    return list(_known(save["at_us"].to_list()))


def _known(instants: list[int | None]) -> Iterator[int]:
    return (at for at in instants if at is not None)


def _designed(given: Given) -> pl.DataFrame:
    import polars as pl

    resuming = pl.col("stage").is_in(TTR_STAGES) & ~pl.col("part").is_in(LOOP_PARTS)
    wasted = pl.col("part").is_in([REPLAY, SAVE_STALL])
    return total(given.rows.filter(pl.col("allocated")), ~(resuming | wasted), ~resuming)


RELEASED = Term(
    "nvidia",
    "(t_w - lost - resume - reschedule - save) / (t_w - reschedule); t_w from the first step line, lost from the last"
    " commit to the interruption",
    "queue and start-up before the first step in the wall, rescheduling altogether, lost work where no commit is seen;"
    " the first start counts against the ratio though it is not in t_w",
    "NVIDIA Cluster Readiness Engine, GoodputMeasurement",
    _released,
    "no step in the window",
)
DESIGNED = Term(
    "nvidia-adr",
    "(held - replay - recovery to the first step - save stalls) / (held - recovery to the first step)",
    "the first start, shutdown, unknown time: all count as useful; recoveries leave the wall",
    "NVIDIA Cluster Readiness Engine, design record 005",
    _designed,
    "no hardware held in the window",
)
