"""Every relation and every public answer is the same from DuckDB and from Sail, value by value."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

import ettlog
from tests import engines

if TYPE_CHECKING:
    from pathlib import Path

    from ettlog.fleet import Fleet


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> engines.Ask:
    """Return what opens a fixture on both engines, once."""

    @cache
    def opened(name: str) -> tuple[Fleet, Fleet]:
        return engines.both(name, tmp_path_factory.mktemp(name), "sail")

    return opened


@pytest.mark.parametrize("name", engines.WHOLE)
def test_every_relation_is_the_same_on_sail(name: str, ask: engines.Ask) -> None:
    """No relation, public or a step between, differs in a value, a type or a column; of torn and odd logs neither."""
    here, there = ask(name)
    assert not engines.differing(here, there)
    assert here.table("segment").height > 0


def test_a_shifted_clock_moves_the_facts_on_the_engine_too(ask: engines.Ask) -> None:
    """A log whose clock is told to be an hour behind begins an hour later on both engines, and one whose first line is
    of 2005 with the line behind it, ten seconds later; other facts stay."""
    assert not engines.differing(*ask("shifted"), ("_now", "allocation", "launch"))
    told = "SELECT min(first_us) FROM launch WHERE job LIKE $job"
    for job, us in (("finch%", 3_600_000_000), ("robin%", 10_000_000)):
        plain, moved = (ask(name)[side].sql(told, job=job).item() for side, name in enumerate(("tiny", "shifted")))
        assert moved - plain == us


def test_every_answer_is_the_same_on_sail(ask: engines.Ask) -> None:
    """Every public function gives the same frames and sentences over a fleet whose relations Sail computed."""
    assert engines.otherwise(*ask("fleet")) == []


def test_no_public_answer_is_left_out() -> None:
    """The list of what is asked holds every public function that takes a fleet; a snapshot is of relations only."""
    beside = {"EttlogError", "Fleet", "ingest", "merge", "open", "snapshot", "support_bundle"}
    assert set(ettlog.__all__) - beside <= engines.ANSWERS.keys()


def test_a_snapshot_is_not_computed_on_an_engine(ask: engines.Ask, tmp_path: Path) -> None:
    """A snapshot holds its relations already: an engine for it is refused, in four parts."""
    path = tmp_path / "fleet.duckdb"
    ettlog.snapshot(ask("tiny")[0], path)
    with pytest.raises(ettlog.EttlogError, match="snapshot") as found:
        ettlog.open(path, engine="sail")
    assert all((found.value.where, found.value.why, found.value.todo))
