"""What a ROW to explain means: a job, a start, a part of one, a moment, a row of `ett`, or a row of `attribute`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ettlog.conventions import GROUPINGS
from ettlog.errors import UsageError
from ettlog.jobs import named

if TYPE_CHECKING:
    import polars as pl

    from ettlog.fleet import Fleet

CREDIT_KEYS = ("optimization", "tier")
KEYS = (*GROUPINGS, *CREDIT_KEYS)
EXAMPLE = (
    "write for example llama@1@replay, llama@2026-03-02T08:47, model=llama,component=compilation,"
    " or optimization=mega-cache,tier=cascade"
)


class Chosen(NamedTuple):
    """The segments a row rests on, and what the row is in words."""

    segment: pl.DataFrame
    told: str
    whole: bool
    """Whether the row sums segments, so that the largest come first."""


def choose(fleet: Fleet, row: str) -> Chosen:
    """Return the segments that a row means.

    Raises:
        UsageError: the row is of no known form, or means nothing in this lake.
    """
    found = _keyed(fleet, row) if "=" in row else _of_job(fleet, row)
    if found.segment.is_empty():
        raise UsageError(
            f"{row!r} names no segment", where="ROW", why=f"nothing in this lake is {found.told}",
            todo="see `ettlog timeline JOB` and `ettlog ett --by ...` for what there is",
        )  # fmt: skip
    return found


def _of_job(fleet: Fleet, row: str) -> Chosen:
    import polars as pl

    job, *rest = row.split("@")
    if len(rest) > 2 or (len(rest) == 2 and not rest[0].isdigit()):
        raise _unreadable(row)
    name = named(fleet, job)
    frame = fleet.table("segment").filter(pl.col("job") == name)
    told = f"job {name}"
    if rest and not rest[0].isdigit():
        return Chosen(_at(frame, rest[0], row), f"{told} at {rest[0]}", whole=False)
    if rest:
        frame, told = frame.filter(pl.col("start") == int(rest[0])), f"start {rest[0]} of {told}"
    if len(rest) == 2:
        frame, told = frame.filter(pl.col("part") == rest[1]), f"{rest[1]} of {told}"
    return Chosen(frame, told, whole=False)


def _at(frame: pl.DataFrame, stamp: str, row: str) -> pl.DataFrame:
    import polars as pl

    from ettlog.windows import instant

    if not stamp[:1].isdigit():
        raise _unreadable(row)
    at_us = instant(stamp, where="ROW")
    return frame.filter(pl.col("begin_us") <= at_us, pl.col("end_us") > at_us)


def _keyed(fleet: Fleet, row: str) -> Chosen:
    """Return the segments of a group of `ett`, or of what an optimization works on; hardware held only."""
    import polars as pl

    from ettlog import ett_sums
    from ettlog.conventions import settle
    from ettlog.ett import configured, load, period

    pairs = _pairs(row)
    timeline = load(fleet)
    rules = settle(configured(fleet, {}))
    rows = ett_sums.rows(timeline, period(timeline, {}), rules)
    for key, value in pairs.items():
        if key in CREDIT_KEYS:
            continue
        rows = _periodic(rows, key, value) if key in ett_sums.PERIODS else rows.filter(pl.col(key) == value)
    if "optimization" in pairs:
        rows = rows.filter(pl.col("part").is_in(_works_on(fleet, pairs["optimization"])))
    if "tier" in pairs:
        rows = _in_tier(rows, pairs["tier"])
    keys = ["job", "start", "part", "begin_us"]
    mine = fleet.table("segment").join(rows.select(keys), on=keys, how="semi", nulls_equal=True)
    told = ", ".join(f"{key} {value}" for key, value in pairs.items())
    return Chosen(mine, f"{told} (basis {rules['basis']}, all events)", whole=True)


def _pairs(row: str) -> dict[str, str]:
    pairs = {}
    for piece in row.split(","):
        key, _, value = (part.strip() for part in piece.partition("="))
        if key not in KEYS or not value:
            raise _unreadable(row)
        pairs[key] = value
    return pairs


def _periodic(rows: pl.DataFrame, key: str, value: str) -> pl.DataFrame:
    """Return rows that touch a week or a month; a week is named by its Monday, a month as 2026-03."""
    import polars as pl

    from ettlog import ett_sums

    every = ett_sums.PERIODS[key]
    begin = pl.from_epoch("begin_us", time_unit="us").dt.truncate(every).dt.date()
    end = pl.from_epoch(pl.col("end_us") - 1, time_unit="us").dt.truncate(every).dt.date()
    wanted = pl.lit(value if value.count("-") > 1 else f"{value}-01").str.to_date(strict=False)
    return rows.filter(begin <= wanted, end >= wanted)


def _works_on(fleet: Fleet, name: str) -> list[str]:
    """Return the parts that an optimization of the lake's registry works on."""
    from ettlog import registry

    text = registry.text_in_force(fleet.config, fleet.lake)
    read = registry.parse(text[0], kind=text[1]) if text else registry.EMPTY
    known = {item.name: item.parts for item in read.optimizations}
    if name not in known:
        raise UsageError(
            f"there is no optimization {name!r}", where="ROW",
            why=f"the lake's registry has {', '.join(sorted(known)) or 'none'}",
            todo="see `ettlog attribute` for the names",
        )  # fmt: skip
    return sorted(known[name])


def _in_tier(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    import polars as pl

    from ettlog.attribute.tiers import COUNTS, TIERS, UNCLAIMED, UNKNOWN, tier
    from ettlog.lifecycle import PARTS

    if name not in TIERS:
        raise UsageError(
            f"there is no tier {name!r}", where="ROW", why=f"tiers are {', '.join(TIERS)}", todo="use one of these"
        )
    if name in UNCLAIMED and name not in (*COUNTS, UNKNOWN):
        raise UsageError(
            f"a row of tier {name!r} rests on no segments of its own", where="ROW",
            why="it is a difference between periods or models, to which all of their segments add",
            todo="explain what it compares: model=NAME, week=MONDAY or month=2026-03",
        )  # fmt: skip
    roles = {part.part: part.role for part in PARTS}
    named_rows = rows.with_columns(pl.col("part").replace_strict(roles).alias("role"), kind=pl.col("start-kind"))
    if name in COUNTS:  # how often starts are made: what each of them costs
        return named_rows.filter(tier().is_in(COUNTS[name]))
    return named_rows.filter(tier() == name)


def _unreadable(row: str) -> UsageError:
    return UsageError(
        f"{row!r} is not a row to explain",
        where="ROW",
        why=f"a row is JOB, JOB@START, JOB@START@PART, JOB@MOMENT, or KEY=VALUE,... with keys {', '.join(KEYS)}",
        todo=EXAMPLE,
    )
