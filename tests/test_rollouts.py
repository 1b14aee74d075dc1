"""Rollouts found in logs: marks that begin, levels that fall, and the registry they are proposed as."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import ettlog
from ettlog import registry
from ettlog.rollouts import Rollouts, rollouts
from ettlog.rollouts_find import switch
from ettlog.windows import instant
from tests.fakes import FakeFleet
from tests.ledgers import SCHEMA, ledger, start
from tests.test_cli import run

DAYS = [f"2026-{month:02d}-{day:02d}" for month in (1, 2, 3) for day in range(1, 25, 2)]
SWITCHED = "2026-02-13"


class Fleet(FakeFleet):
    """A fleet of hand-made relations without a lake."""

    lake = None


def fleet(parts: Any, marks: Any = lambda _day: {}, model: str = "m") -> Fleet:
    """Return one first start a day; `parts` and `marks` map its day to seconds by part, and to cache hits or saves."""
    rows = [start(f"j{day}", model, day, 0, "first", {"step": 1000, **parts(day)}) for day in DAYS]
    names = [f"j{day}" for day in DAYS]
    found = [marks(day) for day in DAYS]
    evidence = [f"logs/{name}.out:1" for name in names]
    return Fleet(
        {
            "ledger": ledger(*rows) if rows else pl.DataFrame(schema=SCHEMA),
            "start": pl.DataFrame({"job": names, "k": [0] * len(names), "evidence": evidence}),
            "compilation": pl.DataFrame(
                {
                    "job": names, "k": [0] * len(names), "hits": [mark.get("hits", 0) for mark in found],
                    "warmth": [mark.get("warmth", "unknown") for mark in found],
                }
            ),
            "checkpoint": pl.DataFrame(
                [(name, 0, state) for name, mark in zip(names, found, strict=True) for state in mark.get("saves", ())],
                schema={"job": pl.String, "k": pl.Int64, "state": pl.String}, orient="row",
            ),
        }
    )  # fmt: skip


def later(day: str) -> bool:
    """Tell whether a day lies at or after the switch."""
    return day >= SWITCHED


def proposed(made: Fleet, **options: Any) -> Rollouts:
    """Return the proposals of a fleet."""
    return rollouts(made, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("flags", "at"),
    [
        ("0001111", 3),
        ("0000101111111", 4),
        ("000000", None),
        ("111111", None),
        ("0101010101", None),
        ("0001", None),
        ("", None),
    ],
)
def test_a_switch_stays_switched(flags: str, at: int | None) -> None:
    """Two starts at least on each side, four of five agreeing; where every other start has the mark there is none."""
    assert switch([flag == "1" for flag in flags]) == at


def test_cache_hits_that_begin_are_a_cache() -> None:
    """From 13 February on every start finds its artefacts: one proposal for compilation at that start's launch."""
    made = fleet(
        lambda _day: {"launch": 60}, lambda day: {"warmth": "warm" if later(day) else "cold", "hits": later(day)}
    )
    row = proposed(made).proposals.row(0, named=True)
    assert (row["name"], row["owner"], row["unit"]) == ("compile-cache", "compiler", "share of starts")
    assert (row["before"], row["after"]) == (0.0, 1.0)
    assert (row["starts_before"], row["starts_after"]) == (18, 18)
    assert row["since"].timestamp() * 1e6 == instant(SWITCHED)
    assert row["evidence"] == f"logs/j{SWITCHED}.out:1"


def test_saves_that_go_on_behind_the_loop_are_asynchronous() -> None:
    """Before, checkpoints were committed only; from the switch on the loop goes on when they are staged."""
    made = fleet(lambda _day: {}, lambda day: {"saves": ["staged", "committed"] if later(day) else ["committed"]})
    assert proposed(made).proposals["name"].to_list() == ["async-save"]


def test_jobs_that_end_without_publishing_publish_elsewhere() -> None:
    """Ends with publishing, then ends with only a teardown."""
    made = fleet(lambda day: {"teardown": 5} if later(day) else {"publish": 1800, "teardown": 5})
    found = proposed(made).proposals
    assert found["name"].to_list() == ["standalone-publishing"]
    assert "publish" in found["parts"][0]


def test_a_fall_of_a_level_is_proposed_with_its_numbers() -> None:
    """Launches of 100 to 102 s fall to 50 to 52 s; a model build that stays the same is not named."""
    made = fleet(lambda day: {"launch": (50 if later(day) else 100) + int(day[-1]) % 3, "model_build": 30})
    row = proposed(made).proposals.row(0, named=True)
    assert (row["name"], row["parts"], row["unit"]) == ("faster-launch", ["launch"], "s per start")
    assert row["before"] == pytest.approx(101, abs=1)
    assert row["after"] == pytest.approx(51, abs=1)


def test_a_rise_is_no_optimization() -> None:
    """The same the other way round proposes nothing, and the text says so."""
    made = proposed(fleet(lambda day: {"launch": (100 if later(day) else 50) + int(day[-1]) % 3}))
    assert made.proposals.is_empty()
    assert "nothing to propose" in made.toml


def test_parts_of_one_component_that_fall_together_are_one_proposal() -> None:
    """Launch and process group halve on one day."""
    made = fleet(lambda day: dict.fromkeys(("launch", "process_group"), 50 if later(day) else 100))
    assert proposed(made).proposals["name"].to_list() == ["faster-launch-process-group"]


def test_a_mark_explains_the_fall_of_its_own_part() -> None:
    """Compile falls because the cache hits: that is one proposal, not two."""
    made = fleet(
        lambda day: {"compile": 100 if later(day) else 900},
        lambda day: {"warmth": "warm" if later(day) else "cold", "hits": later(day)},
    )
    assert proposed(made).proposals["name"].to_list() == ["compile-cache"]


def test_what_is_registered_is_not_proposed_again() -> None:
    """A rollout in the registry two days before the first start that shows it."""
    known = registry.parse(
        "[[optimization]]\nname='mine'\nowner='o'\nparts=['launch']\nrollouts=[{ model='m', since=2026-02-12 }]"
    )
    made = proposed(fleet(lambda day: {"launch": 50 if later(day) else 100}), registry=known)
    assert made.proposals["registered"].to_list() == ["mine"]
    assert "nothing to propose" in made.toml
    assert "1 more are in the registry already: mine" in made.notes[1]


@pytest.mark.parametrize("model", ["plain", 'quo"ted', "gl*b[0]", "b\\ack", "ünïcode"])
def test_the_text_is_a_registry_that_means_that_model_only(model: str) -> None:
    """The proposal is read back as it stands, with names of any kind, and touches no other model."""
    made = proposed(fleet(lambda day: {"launch": 50 if later(day) else 100}, model=model))
    read = registry.parse(made.toml)
    (item,) = read.optimizations
    assert item.name == "faster-launch"
    assert item.boundaries(model, "h100") == [instant(SWITCHED)]
    assert item.boundaries("glob0", "") == []


def test_command_writes_a_registry_or_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a format the text of optimizations.toml; with one the rows."""
    monkeypatch.setattr(ettlog, "open", lambda _path: fleet(lambda day: {"launch": 50 if later(day) else 100}))
    text = run("rollouts", "-q").stdout
    assert registry.parse(text).optimizations[0].owner == "trainer"
    assert "faster-launch" in run("rollouts", "--format", "csv", "-q").stdout.splitlines()[1]
