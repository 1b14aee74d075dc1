"""One timeline, many answers: the definitions of useful time that others publish, counted on the same segments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from ettlog.errors import NoDataError, UsageError
from ettlog.terms import ett_views, ettr, goodput, nvidia, outside, utilisation
from ettlog.terms.base import HOUR, Given, Inputs, Term

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from ettlog.ett import Selection, Timeline
    from ettlog.fleet import Fleet

TERMS: tuple[Term, ...] = (
    ett_views.ETT, ett_views.FORMULA, ett_views.FIRST_STEP, goodput.GOODPUT, goodput.RUNTIME, ettr.ETTR,
    ettr.CUMULATIVE, ettr.SLIDING, ettr.MEGASCALE, nvidia.RELEASED, nvidia.DESIGNED, outside.RESILIENCY,
    utilisation.MFU, utilisation.PRINTED,
)  # fmt: skip
"""Every definition, in the order they are shown."""
BY = ("model", "job", "cluster", "platform")
"""Groupings of jobs: a definition that looks at a whole job cannot divide one."""
BY_START = ("_steady", "_rate")
"""Relations that know starts by their number over all jobs, and no job."""
COLUMNS = ("value", "numerator_hours", "denominator_hours", "jobs", "left_out", "definition", "leaves_out", "source")


def named(terms: str | Sequence[str]) -> list[Term]:
    """Return the definitions that names stand for: `all`, a name, or the first word of several.

    Raises:
        UsageError: a name is not known.
    """
    names = [terms] if isinstance(terms, str) else list(terms)
    for name in names:
        if name != "all" and not any(_means(name, term) for term in TERMS):
            raise UsageError(
                f"{name!r} is not known here",
                where="terms",
                why=f"the definitions are {', '.join(term.name for term in TERMS)}",
                todo="name some of these, or all",
            )
    return [term for term in TERMS if any(_means(name, term) for name in names)]


def _means(name: str, term: Term) -> bool:
    return name in ("all", term.name) or term.name.startswith(f"{name}-")


def terms(
    fleet: Fleet,
    terms: str | Sequence[str] = "all",
    *,
    by: str | None = None,
    weight: str = "gpu",
    mean: str = "ratio-of-sums",
    inputs: Inputs | None = None,
    **selection: Unpack[Selection],
) -> pl.DataFrame:
    """Return the same jobs counted by each definition, one row per definition and group of `by`.

    Columns: `term`; the key of `by`; `value` (between 0 and 1; null where no job has the number, below 0 where a
    definition subtracts more than its wall); `numerator_hours` and `denominator_hours` (GPU-hours, or hours without
    weight); `jobs` counted and jobs `left_out`; `definition`, `leaves_out`, `source` in words. Only jobs of which a
    trainer's log shows a start count, so that all definitions speak of the same ones.

    Args:
        fleet: an open lake.
        terms: names of `TERMS`, the first word of several of them, or `all`.
        by: one of `BY`.
        weight, mean: as in `conventions.WORDS`; all other conventions are fixed by each definition.
        inputs: what some definitions need and no log tells.
        selection: window and filters, as in `ett`.

    Raises:
        UsageError: a name, grouping or convention is not known.
        NoDataError: no job with a trainer's log is left.
    """
    import polars as pl

    from ettlog.conventions import settle

    chosen = named(terms)
    if by is not None and by not in BY:
        raise UsageError(f"{by!r} is not known here", where="by", why=f"it takes {', '.join(BY)}", todo="use one")
    rules = settle({"weight": weight, "mean": mean, "basis": "submitted"})
    given = _given(fleet, selection, rules, inputs or {})
    job = given.rows.select("job", *([by] if by and by != "job" else [])).unique()
    parts = [summed(term, term.measure(given), job, by, mean=rules["mean"]) for term in chosen]
    return pl.concat(parts, how="vertical_relaxed")


def _given(fleet: Fleet, selection: Selection, rules: dict[str, str], inputs: Inputs) -> Given:
    import polars as pl

    from ettlog import ett_lost, ett_sums
    from ettlog.ett import load, matching, period

    timeline = load(fleet)
    span = period(timeline, selection)
    names = set(matching(timeline.job, selection.get("jobs"), selection.get("models")))
    logged = sorted(names & set(timeline.start["job"].to_list()))

    def table(name: str) -> pl.DataFrame:
        return fleet.table(name).filter(pl.col("job").is_in(logged)) if name not in BY_START else fleet.table(name)

    def rows(segment: pl.DataFrame) -> pl.DataFrame:
        kept = timeline._replace(segment=segment.filter(pl.col("job").is_in(logged)))
        return ett_sums.rows(kept, span, rules).with_columns(pl.col("allocated").fill_null(value=False))

    found = rows(timeline.segment)
    if found.is_empty():
        raise _nothing(timeline)
    moved = rows(ett_lost.moved(fleet, timeline.segment.filter(pl.col("job").is_in(logged))))
    return Given(found, moved, table, span, selection.get("until") is not None, rules["weight"] == "gpu", inputs)


def _nothing(timeline: Timeline) -> NoDataError:
    return NoDataError(
        "no job with a trainer's log is left to count",
        where="relation start",
        why=f"of {timeline.job.height} jobs of this lake none was chosen that a trainer's log shows in this window",
        todo="widen the window, or see `ettlog jobs` for what the lake holds",
    )


def summed(term: Term, found: pl.DataFrame, job: pl.DataFrame, by: str | None, *, mean: str) -> pl.DataFrame:
    """Return the rows of one definition: a ratio of sums, or the mean of the jobs' ratios, per group."""
    import polars as pl

    joined = job.join(found.filter(pl.col("den") > 0), on="job", how="left")
    num, den = pl.col("num").cast(pl.Float64), pl.col("den").cast(pl.Float64)
    value = num.sum() / den.sum() if mean == "ratio-of-sums" else (num / den).mean()
    counted = pl.col("den").is_not_null().sum().cast(pl.Int64)
    sums = [
        pl.when(counted > 0).then(value).alias("value"),
        (pl.col("num").sum().cast(pl.Float64) / HOUR).alias("numerator_hours"),
        (pl.col("den").sum().cast(pl.Float64) / HOUR).alias("denominator_hours"),
        counted.alias("jobs"),
        (pl.len().cast(pl.Int64) - counted).alias("left_out"),
    ]
    frame = joined.group_by(by).agg(sums).sort(by, nulls_last=True) if by else joined.select(sums)
    words = {"term": term.name, "definition": term.over, "leaves_out": term.leaves_out, "source": term.source}
    told = frame.with_columns(pl.lit(text).alias(key) for key, text in words.items())
    return told.select("term", *([by] if by else []), *COLUMNS)
