"""Whatever a log says, in whatever order: segments tile the wall exactly, and the same facts give the same answer."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ettlog import lifecycle
from ettlog.fleet import Fleet
from tests.examples import few
from tests.tables import Log, fleet, record, table

SLOW = settings(max_examples=few(15), deadline=None, suppress_health_check=[HealthCheck.too_slow])
Soup = tuple[list[Log], list[dict[str, Any]]]
KINDS = [kind.kind for kind in lifecycle.KINDS]
STATES = ["COMPLETED", "FAILED", "TIMEOUT", "PREEMPTED", "NODE_FAIL", "RUNNING", "CANCELLED", "REQUEUED", "odd"]

stamps = st.one_of(st.none(), st.integers(0, 300).map(float))
lines = st.tuples(
    st.sampled_from(KINDS), stamps, st.one_of(st.none(), st.integers(0, 40)), st.one_of(st.none(), st.integers(0, 90)),
    st.sampled_from([None, -15, -9, 0, 1]), st.sampled_from([None, *lifecycle.CAUSES]),
)  # fmt: skip


def soup_log(key: str, rows: list[Any], **source: Any) -> Log:
    """Return a log of arbitrary lines; every third one is a step."""
    log = Log(key, **source)
    for kind, at, step, minutes, code, cause in rows:
        if kind == "step" or (step or 1) % 3 == 0:
            log.step(at, step or 0, minutes)
        else:
            took = None if minutes is None else minutes * 1_000_000
            log.say(at, kind, step=step, duration_us=took, code=code, cause=cause)
    return log


@st.composite
def soups(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Soup:
    """Draw up to ten logs of four jobs and up to eight scheduler records."""
    logs = []
    for n in range(draw(st.integers(1, 10))):
        job = draw(st.sampled_from("pqrs"))
        who = {"rank": draw(st.sampled_from([None, 0, 1])), "allocation": draw(st.sampled_from([None, f"{job}7"]))}
        logs.append(soup_log(f"log{n}", draw(st.lists(lines, max_size=25)), job_name=job, **who))
    records = []
    for n in range(draw(st.integers(0, 8))):
        submit, wait, held = draw(st.integers(0, 100)), draw(st.integers(0, 50)), draw(st.integers(0, 200))
        raw = draw(st.sampled_from("pqrs")) + draw(st.sampled_from("78"))
        times: dict[str, Any] = {"submit": submit}
        if draw(st.booleans()):
            times["start"] = submit + wait
        if draw(st.booleans()):
            times["end"] = submit + wait + held
        records.append(
            record(line=n + 2, state=draw(st.sampled_from(STATES)), id=raw, raw=raw, name=raw[0], gpus=4, **times)
        )
    return logs, records


@functools.cache
def drawn() -> list[tuple[Soup, Fleet]]:
    """Return soups and the fleets over them: every property is held against the same ones, each computed once."""
    found: list[tuple[Soup, Fleet]] = []

    @SLOW
    @given(soups())
    def draw(soup: Soup) -> None:
        found.append((soup, fleet(*soup[0], alloc=soup[1])))

    draw()
    return found


def assert_tiles(made: Fleet) -> None:
    """Hold the partition against the wall of each job, without the code's own check."""
    segment = made.table("segment").sort("job", "begin_us")
    walls = {
        row["job"]: (row["first_us"], row["last_us"], row["wall_us"]) for row in made.table("job").iter_rows(named=True)
    }
    for (job,), part in segment.group_by("job"):
        part = part.sort("begin_us")
        begins, ends = part["begin_us"].to_list(), part["end_us"].to_list()
        assert all(end > begin for begin, end in zip(begins, ends, strict=True))
        assert begins[1:] == ends[:-1]
        assert (begins[0], ends[-1], ends[-1] - begins[0]) == walls[str(job)]
    empty = {job for job, (first, last, _) in walls.items() if first is None or first == last}
    assert set(segment["job"].to_list()) == set(walls) - empty


def test_segments_tile_the_wall_exactly() -> None:
    """Random lines, undated ones and clocks running backwards included, leave no gap and no overlap."""
    assert len(drawn()) >= 15
    for soup, made in drawn():
        assert_tiles(made)
        found = made.check().filter(pl.col("level") == "error", pl.col("check") != "starts_end_after_begin")
        assert found.is_empty(), facts(*soup)


def test_the_order_of_rows_does_not_matter() -> None:
    """Shuffled fact tables give the same segments, starts and ledger to the last microsecond."""
    for seed, (soup, plain) in enumerate(drawn()):
        shuffled = Fleet.from_tables(**{name: table(mix(rows, seed)) for name, rows in facts(*soup).items()})
        for name in ("segment", "start", "ledger", "checkpoint", "step_run", "span"):
            assert plain.table(name).equals(shuffled.table(name)), (name, facts(*soup))


def facts(logs: list[Log], records: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of the fact tables of a fleet."""
    sources = [log.source for log in logs] + (
        [{"key": "s", "path": "logs/s.sacct", "state": "whole"}] if records else []
    )
    return {
        "source": sources,
        "event": [row for log in logs for row in log.events],
        "step": [row for log in logs for row in log.steps],
        "alloc": records,
    }


def mix(rows: list[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    """Return rows in another order."""
    mixed = list(rows)
    random.Random(seed).shuffle(mixed)
    return mixed


@pytest.mark.parametrize("seed", range(2))
def test_asking_twice_changes_nothing(seed: int) -> None:
    """The same facts give the same relations in another fleet, and in the same one again."""
    dice = random.Random(seed)
    rows = [
        (dice.choice(KINDS), float(dice.randrange(300)), dice.randrange(40), dice.randrange(90), None, None)
        for _ in range(120)
    ]
    first, second = fleet(soup_log("a", rows)), fleet(soup_log("a", rows))
    for name in first.relations():
        assert first.table(name).equals(second.table(name)), name
        assert first.table(name).equals(first.table(name)), name


def test_each_moment_is_the_part_of_the_highest_priority() -> None:
    """Looked at one by one, every moment is what the raw spans over it say, so a higher part never loses time."""
    rank = {part.part: (part.priority, part.part) for part in lifecycle.PARTS}
    for _, made in drawn():
        spans = made.table("span").select("job", "part", "begin_us", "end_us").rows()
        for job, part, begin, end in made.table("segment").select("job", "part", "begin_us", "end_us").rows():
            mine = [span for span in spans if span[0] == job and span[2] < end and span[3] > begin]
            edges = sorted({begin, end, *(edge for span in mine for edge in span[2:] if begin < edge < end)})
            for low in edges[:-1]:
                over = [span[1] for span in mine if span[2] <= low < span[3]]
                assert part == max(over, key=rank.__getitem__, default=lifecycle.PARTS[-1].part)


def test_both_groupings_add_up_to_the_wall() -> None:
    """By component and by stage the ledger has the same microseconds as the wall."""
    for _, made in drawn():
        walls = {job: us for job, us in made.table("job").select("job", "wall_us").rows() if us}
        for key in ("component", "stage"):
            sums: dict[str, int] = {}
            for job, _, us in made.table("ledger").group_by("job", key).agg(pl.col("us").sum()).rows():
                sums[job] = sums.get(job, 0) + us
            assert sums == walls
