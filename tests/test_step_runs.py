"""Stretches of steps, and instants that only rise, are those that a plain loop over the lines finds."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

import pytest

from ettlog.fleet import Fleet
from tests.tables import Log, fleet
from tests.test_portions import held, ramps

Row = dict[str, Any]


def runs(asked: Fleet) -> list[tuple[Any, ...]]:
    """Return the stretches of steps, found piece by piece in the order of the steps."""
    paused = {(row["gid"], row["pass"], row["step"]) for row in asked.table("_pause").to_dicts()}
    starts = {row["gid"]: (row["job"], row["k"]) for row in asked.table("_placed").to_dicts()}
    paths = {row["no"]: row["path"] for row in asked.table("_stream").to_dicts()}
    passes = defaultdict[tuple[int, int], list[Row]](list)
    for row in asked.table("_piece").sort("first_step").to_dicts():
        row["unsure"] |= (row["gid"], row["pass"], row["last_step"]) in paused
        passes[row["gid"], row["pass"]].append(row)
    found = []
    for (gid, _), pieces in passes.items():
        groups: list[list[Row]] = []
        for before, piece in pairwise([None, *pieces]):
            assert piece is not None
            near = before is not None and before["last_step"] == piece["first_step"] - 1
            like = ("step", piece["before_us"], False)
            if before is not None and near:
                like = (before["nature"], before["end_us"], before["unsure"])
            piece["before_end"] = like[1]
            goes_on = piece["begin_us"] is not None and (piece["nature"], piece["begin_us"], piece["unsure"]) == like
            if groups and goes_on:
                groups[-1].append(piece)
            else:
                groups.append([piece])
        for group, behind in zip(groups, [*groups[1:], None], strict=True):
            first, last = group[0], group[-1]
            until = behind[0]["first_step"] - 1 if behind else last["last_step"]
            ended = behind[0]["before_end"] if behind else last["end_us"]
            begin = first["begin_us"]
            if begin is None and until > first["last_step"]:
                begin = first["end_us"]
            inferred = first["unsure"] or not all(piece["dated"] for piece in group)
            said = f"{paths[first['no']]}:{first['line']}"
            steps = (first["first_step"], until, until - first["first_step"] + 1)
            found.append((*starts[gid], first["nature"], begin, ended, *steps, inferred, said))
    return sorted(found, key=repr)


@pytest.mark.parametrize("seed", range(3))
def test_stretches_are_those_of_a_loop_over_the_pieces(seed: int) -> None:
    """Steps that are repeated, lost, late, without an instant or copied: the same stretches."""
    asked = fleet(*ramps(seed), alloc=held(seed))
    assert sorted(asked.table("step_run").rows(), key=repr) == runs(asked)


def test_repeated_steps_with_a_gap_between_them_are_two_stretches() -> None:
    """A line covers a million steps at most: a jump over more among repeated steps leaves a gap, and ends a stretch."""
    log = Log("a")
    log.say(0, "launch")
    for at, step in enumerate([1, 2, 3_000_000, 3_000_001], 1):
        log.step(at, step)
    log.say(5, "failure")
    log.say(6, "launch")
    for at, step in enumerate([1, 2, 2_500_000, 2_500_001, 3_000_001, 3_000_002], 7):
        log.step(at, step)
    log.say(13, "train_end")
    asked = fleet(log)
    again = asked.table("step_run").filter(k=1).sort("first_step")
    assert again["nature"].to_list() == ["replay", "replay", "step"]
    assert again["first_step"].to_list() == [1, 1_500_001, 3_000_002]
    assert sorted(asked.table("step_run").rows(), key=repr) == runs(asked)


@pytest.mark.parametrize("seed", range(3))
def test_the_line_before_has_the_latest_instant_of_all_before(seed: int) -> None:
    """Of starts without copies, in the order of the steps: whether instants rise, fall or are missing."""
    asked, best = fleet(*ramps(seed)), dict[int, int | None]()
    walked = asked.table("_walk").sort("gid", "step", "no", "line").to_dicts()
    copied = {row["gid"] for row in walked if row["step"] == row["step_before"]}
    known = {(row["gid"], row["no"], row["line"]): row for row in asked.table("_line").to_dicts()}
    for row in (row for row in walked if row["gid"] not in copied):
        before = best.get(row["gid"])
        instants = [at for at in (before, row["at_us"]) if at is not None]
        line = known[row["gid"], row["no"], row["line"]]
        best[row["gid"]] = max(instants, default=None)
        assert (line["before_us"], line["at_us"]) == (before, best[row["gid"]])
    assert best
