"""The identities listed in docs/hostile.md each have a test that exists; and the partition, three ways."""

from __future__ import annotations

import itertools
import re
from importlib import import_module

import polars as pl

from ettlog import lifecycle
from tests.conftest import ROOT
from tests.test_partition_properties import drawn

LISTED = re.findall(r"^\| (.+?) \| `(test_\w+)::(test_\w+)` \|$", (ROOT / "docs/hostile.md").read_text(), re.MULTILINE)
RANK = {part.part: (part.priority, part.part) for part in lifecycle.PARTS}


def test_at_least_25_identities_are_listed_and_each_has_its_test() -> None:
    """Every named test is there under this very name, and no identity stands twice."""
    assert len(LISTED) >= 25
    assert len({said for said, _, _ in LISTED}) == len(LISTED)
    missing = [
        name for _, module, name in LISTED if not callable(getattr(import_module(f"tests.{module}"), name, None))
    ]
    assert missing == []


Span = tuple[str, str, int, int]
Sums = dict[tuple[str, str], int]


def by_python(spans: list[Span], walls: dict[str, tuple[int, int]]) -> Sums:
    """Return microseconds by job and part: each piece between two edges is the part of the highest priority over it."""
    sums: Sums = {}
    for job, (first, last) in walls.items():
        mine = [span for span in spans if span[0] == job]
        edges = sorted({first, last, *(min(max(at, first), last) for span in mine for at in span[2:])})
        for low, high in itertools.pairwise(edges):
            over = [part for _, part, begin, end in mine if begin <= low and end >= high]
            part = max(over, key=RANK.__getitem__, default=lifecycle.PARTS[-1].part)
            sums[job, part] = sums.get((job, part), 0) + high - low
    return sums


def by_polars(spans: list[Span], walls: dict[str, tuple[int, int]]) -> Sums:
    """Return the same by joins of frames."""
    shape = {"job": pl.String, "part": pl.String, "begin": pl.Int64, "end": pl.Int64}
    ranks = pl.DataFrame(
        [(part, n) for n, part in enumerate(sorted(RANK, key=RANK.__getitem__))], ["part", "rank"], orient="row"
    )
    wall = pl.DataFrame(
        [(job, *both) for job, both in walls.items()],
        {"job": pl.String, "first": pl.Int64, "last": pl.Int64},
        orient="row",
    )
    held = pl.DataFrame(spans, shape, orient="row").join(wall, on="job").join(ranks, on="part")
    cuts = (
        pl.concat(
            [
                wall.select("job", at="first"),
                wall.select("job", at="last"),
                *(
                    held.select("job", at=pl.col(side).clip(pl.col("first"), pl.col("last")))
                    for side in ("begin", "end")
                ),
            ]
        )
        .unique()
        .sort("job", "at")
        .with_columns(high=pl.col("at").shift(-1).over("job"))
        .drop_nulls()
    )
    over = cuts.join(held, on="job", how="left").filter(
        pl.col("begin").is_null() | ((pl.col("begin") <= pl.col("at")) & (pl.col("end") >= pl.col("high")))
    )
    best = over.sort("rank", nulls_last=False).group_by("job", "at", "high").agg(pl.col("part").last())
    whole = cuts.join(best, on=["job", "at", "high"], how="left").with_columns(
        pl.col("part").fill_null(lifecycle.PARTS[-1].part)
    )
    rows = whole.group_by("job", "part").agg(us=(pl.col("high") - pl.col("at")).sum()).rows()
    return {(job, part): us for job, part, us in rows if us}


def test_three_ways_to_the_partition_agree() -> None:
    """Microseconds by job and part: from the SQL, from a loop over the raw spans, and from frames of Polars."""
    for _, made in drawn():
        spans: list[Span] = made.table("span").select("job", "part", "begin_us", "end_us").rows()
        walls = {
            job: (first, last)
            for job, first, last in made.table("job").select("job", "first_us", "last_us").rows()
            if first is not None and last > first
        }
        segment = made.table("segment").group_by("job", "part").agg(us=(pl.col("end_us") - pl.col("begin_us")).sum())
        sql = {(job, part): us for job, part, us in segment.select("job", "part", "us").rows()}
        assert sql == by_python(spans, walls) == by_polars(spans, walls)
