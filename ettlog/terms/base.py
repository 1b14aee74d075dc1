"""What every definition of a share of useful time is made of: its words, and what it may read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypedDict

from ettlog import lifecycle

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl

    from ettlog.windows import Window

SECOND = 1_000_000
HOUR = 3600 * SECOND
STEP, REPLAY, *_ = lifecycle.LOOP_PARTS
SCHEDULING = lifecycle.PART_BY_NAME["queue"].component
TERMS_OF = {stage.stage: stage.term for stage in lifecycle.STAGES}
TTS_STAGES = [stage for stage, term in TERMS_OF.items() if term == "TTS"]
TTR_STAGES = [stage for stage, term in TERMS_OF.items() if term == "TTR"]


class Inputs(TypedDict, total=False):
    """What some definitions need and no log tells."""

    step_seconds: float | None
    """Reference time of one step in seconds, for `resiliency`; the median of each job's own steps where not given."""
    step_tflop: float | None
    """Work of one step over all GPUs in TFLOP (10^12 operations), for `mfu`; what the log prints where not given."""
    peak_tflops: float | None
    """Peak of one GPU in TFLOP per second, for `mfu`."""
    sliding_hours: float | None
    """Length of the sliding window in hours, for `byterobust-sliding`; 1 where not given."""


class Given(NamedTuple):
    """The relations of the chosen jobs, and the window."""

    rows: pl.DataFrame
    """Segments inside the window, queues included: job, start, component, part, stage, begin_us, end_us, allocated, and
    `gpus`, their weight."""
    lost: pl.DataFrame
    """The same, with a step counted where it was executed last."""
    table: Callable[[str], pl.DataFrame]
    """Any other relation, chosen jobs only."""
    span: Window
    bounded: bool
    """Whether the end of the window was asked for: an open job then lasts until there."""
    weighted: bool
    inputs: Inputs


class Term(NamedTuple):
    """One public definition, and how the timeline gives it."""

    name: str
    over: str
    """Numerator and denominator in words."""
    leaves_out: str
    """What the definition does not see, or counts as useful."""
    source: str
    measure: Callable[[Given], pl.DataFrame]
    """Returns one row per job that has the number: job, `num` and `den` in GPU-microseconds (microseconds where GPUs do
    not weigh)."""
    missing: str
    """Why a job may have no such number."""


def total(rows: pl.DataFrame, num: pl.Expr, den: pl.Expr | None = None) -> pl.DataFrame:
    """Return the sums of the rows for which `num` and `den` hold, per job, as exact integers."""
    import polars as pl

    weighed = (pl.col("end_us") - pl.col("begin_us")).cast(pl.Int128) * pl.col("gpus")
    den = pl.lit(value=True) if den is None else den
    sums = [weighed.filter(num).sum().alias("num"), weighed.filter(den).sum().alias("den")]
    return rows.group_by("job").agg(sums)


def weights(given: Given) -> Mapping[str, int]:
    """Return job -> how much it weighs where a definition knows no moments: the most GPUs it held, or one."""
    import polars as pl

    most = given.rows.group_by("job").agg(pl.col("gpus").max())
    return dict(most.iter_rows())


def framed(rows: list[tuple[str, int, int]]) -> pl.DataFrame:
    """Return rows of job, `num` and `den` as a frame."""
    import polars as pl

    return pl.DataFrame(rows, schema={"job": pl.String, "num": pl.Int128, "den": pl.Int128}, orient="row")


def since_launch(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows from each job's first sign of a trainer on: what comes before is waiting for hardware or hosts."""
    import polars as pl

    begun = pl.col("begin_us").filter(pl.col("component") != SCHEDULING).min().over("job")
    return rows.filter(pl.col("begin_us") >= begun)
