"""Several events of one line, several records of one instant: it does not matter who of them comes first."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ettlog import lifecycle
from ettlog.fleet import Fleet
from ettlog.relations import relations
from tests.tables import Log, record, table
from tests.test_partition_properties import KINDS, STATES, facts, mix


def said(dice: random.Random) -> dict[str, Any]:
    """Return what an event line may say beside its kind."""
    return {
        "step": dice.choice([None, dice.randint(0, 40)]),
        "duration_us": dice.choice([None, 60_000_000]),
        "code": dice.choice([None, -15, 0, 1]),
        "cause": dice.choice([None, *lifecycle.CAUSES]),
        "name": dice.choice([None, "x", "y"]),
    }


def crowded(dice: random.Random, number: int) -> Log:
    """Return a log of which every third event line says several things at once, as trainers' lines do."""
    job = dice.choice("pq")
    log = Log(f"log{number}", job_name=job, rank=dice.choice([None, 0, 1]), allocation=dice.choice([None, f"{job}7"]))
    at = dice.uniform(0, 50)
    for _ in range(dice.randint(3, 40)):
        at += dice.choice([0, 0, 1, 2, 5, 20])
        stamp = dice.choice([at, at, at, None])
        if dice.random() < 0.35:
            log.step(stamp, dice.randint(0, 40), dice.choice([None, 1.0]))
            continue
        log.say(stamp, dice.choice(KINDS), **said(dice))
        while dice.random() < 0.35:
            log.line -= 1
            log.say(stamp, dice.choice(KINDS), **said(dice))
    return log


def held(dice: random.Random, number: int) -> dict[str, Any]:
    """Return a record of an allocation that shares its instants with others."""
    raw, submit = dice.choice("pq") + dice.choice("789"), dice.choice([0, 10, 50])
    times: dict[str, Any] = {"submit": submit}
    if dice.random() < 0.8:
        times["start"] = submit + dice.choice([0, 5])
    if dice.random() < 0.7:
        times["end"] = submit + dice.choice([5, 60, 200])
    state = dice.choice(STATES)
    return record(line=number + 2, state=state, id=raw, raw=raw, name=raw[0], gpus=dice.choice([4, 8]), **times)


@pytest.mark.parametrize("seed", [0, 4, 11, 14, 15, 16])
def test_no_relation_depends_on_the_order_of_rows(seed: int) -> None:
    """Every relation, value by value, with the rows of the facts in two orders."""
    dice = random.Random(seed)
    logs = [crowded(dice, number) for number in range(dice.randint(1, 6))]
    records = [held(dice, number) for number in range(dice.randint(0, 8))]
    rows = facts(logs, records)
    one, other = (Fleet.from_tables(**{name: table(mix(each, turn)) for name, each in rows.items()}) for turn in (1, 2))
    for name in relations():
        assert one.table(name).equals(other.table(name)), name
