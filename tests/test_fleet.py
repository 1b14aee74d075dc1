"""A fleet answers questions: relations when asked, one SELECT at a time, checks that find what they look for."""

from __future__ import annotations

from functools import cache

import polars as pl
import pytest

from ettlog import database, relations
from ettlog.errors import LakeError, UsageError
from ettlog.fleet import Fleet, schema
from tests.conftest import ROOT
from tests.relations_reference import reference
from tests.tables import Log, fleet, minute, record, table


@pytest.fixture(scope="module")
def one() -> Fleet:
    """Return a fleet of one job with three steps."""
    log = Log()
    log.say(0, "launch")
    for number in (1, 2, 3):
        log.step(number + 1, number, 1)
    log.say(5, "exit_ok")
    return fleet(log)


def test_a_query_sees_the_relations(one: Fleet) -> None:
    """A SELECT over a relation computes it and what it needs."""
    assert one.sql("SELECT job, k, steps FROM start").rows() == [("run", 0, 3)]


def test_a_relation_that_is_asked_for_again_is_the_same_and_nobodys_own(one: Fleet) -> None:
    """What is done to a frame changes no later answer; a large relation is read anew each time."""
    first = one.table("start")
    first.insert_column(0, pl.Series("mine", [1]))
    again = one.table("start")
    assert "mine" not in again.columns
    assert again["steps"].to_list() == [3]
    held = relations.Frames()
    made = iter(pl.DataFrame({"n": range(rows)}) for rows in (2, 3, relations.SMALL + 1, relations.SMALL + 2))
    heights = [held.of(name, lambda: next(made)).height for name in ("a", "a", "b", "b", "c", "c")]
    assert heights == [2, 2, 3, 3, relations.SMALL + 1, relations.SMALL + 2]


def test_a_query_takes_parameters(one: Fleet) -> None:
    """Values reach a query as parameters and never as text of it."""
    hostile = "run'; DROP TABLE event; --"
    assert one.sql("SELECT count(*) FROM start WHERE job = $job", job=hostile).item() == 0
    assert one.sql("SELECT count(*) FROM event").item() == 2


@pytest.mark.parametrize(
    "query",
    [
        "SELECT job, step, state, at FROM checkpoint ORDER BY at",
        "select at, state from checkpoint where at >= timestamp '2020-01-01' -- at the end",
        "SELECT c.at, \"at\" FROM checkpoint AS c WHERE state <> 'at'",
        "SELECT (at AT TIME ZONE 'UTC') FROM checkpoint",
    ],
)
def test_the_column_at_needs_no_quotes(one: Fleet, query: str) -> None:
    """A checkpoint's `at` can be asked for as it is called, although DuckDB 2 reserves the word."""
    assert one.sql(query).width >= 1


def test_explain_is_answered(one: Fleet) -> None:
    """The plain EXPLAIN of one SELECT is a question too."""
    assert one.sql("EXPLAIN SELECT * FROM job").height > 0


REFUSED = """
SELECT 1; SELECT 2
CREATE TABLE x (a INT)
DROP TABLE event
INSERT INTO event SELECT * FROM event
COPY (SELECT 1) TO 'x.csv'
ATTACH 'x.db'
INSTALL httpfs
LOAD httpfs
SET threads = 1
PRAGMA version
EXPLAIN ANALYZE SELECT 1
EXPLAIN DROP TABLE event
CALL pragma_version()
EXPORT DATABASE 'x'
CHECKPOINT
"""

UNANSWERED = """
SELECT * FROM read_text('/etc/hostname')
SELECT * FROM read_csv('/etc/passwd')
SELECT * FROM '/etc/passwd'
SELECT * FROM glob('/*')
SELECT * FROM read_parquet('https://example.org/x.parquet')
SELECT getenv('HOME')
SELECT * FROM no_such_relation
SELECT nothing FROM job
SELEC 1
"""


@pytest.mark.parametrize("query", REFUSED.split("\n"))
def test_anything_but_one_select_is_refused(one: Fleet, query: str) -> None:
    """A question changes nothing and configures nothing."""
    with pytest.raises(UsageError):
        one.sql(query)


@pytest.mark.parametrize("query", UNANSWERED.strip().split("\n"))
def test_what_lies_outside_is_out_of_reach(one: Fleet, query: str) -> None:
    """No file, no network, no environment; the error has its four parts."""
    with pytest.raises(UsageError) as caught:
        one.sql(query)
    assert all((caught.value.what, caught.value.where, caught.value.why, caught.value.todo))


def test_unknown_relations_are_named(one: Fleet) -> None:
    """The error lists the relations there are."""
    with pytest.raises(UsageError, match="segment"):
        one.table("segments")


def test_the_schema_comes_from_the_sql() -> None:
    """Every public column has its type and sentence, and fact tables can be asked for by name."""
    frame = schema()
    assert set(frame["relation"]) == {name for name in relations.relations() if not name.startswith("_")}
    assert frame.filter(pl.col("sentence") == "").is_empty()
    assert schema("step").filter(pl.col("column") == "duration_us")["type"].to_list() == ["BIGINT"]
    with pytest.raises(UsageError):
        schema("nothing")


def test_only_what_is_needed_is_computed() -> None:
    """Asking for one relation leaves the later ones alone."""
    made = fleet(Log())
    made.table("launch")
    with pytest.raises(Exception, match="segment"):
        made.connection.table("segment")


def test_tables_without_columns_are_filled_with_nulls() -> None:
    """A table of few columns is enough; the others are null."""
    made = Fleet.from_tables(source=table([{"key": "a", "path": "a.log"}]))
    assert made.table("source").select("path", "job_name", "rank").rows() == [("a.log", "a.log", None)]


@cache
def failing() -> dict[str, Fleet]:
    """Return for every check a fleet in which it must find something."""
    quiet, later = Log("a"), Log("b")
    for log, at in ((quiet, 0), (later, 100)):
        log.say(at, "launch")
        log.say(at + 1, "failure")
    saver = Log()
    saver.say(0, "launch")
    saver.step(1, 1)
    saver.say(1, "save_request", step=1)
    above = Log()
    above.say(0, "launch")
    above.say(1, "save_commit", step=5)
    above.say(2, "failure", cause="oom")
    above.say(3, "launch")
    above.say(4, "resume", step=9)
    above.step(5, 10)
    inside = Log(allocation="7")
    inside.say(11, "launch")
    inside.say(12, "exit_ok")
    early, late = Log("a", allocation="7"), Log("b", allocation="8")
    early.say(0, "launch")
    early.say(20, "exit_ok")
    late.say(10, "launch")
    late.say(30, "failure")
    return {
        "unknown_within_budget": fleet(quiet, later),
        "starts_commit_checkpoints": fleet(saver),
        "restored_was_committed": fleet(above),
        "allocations_have_logs": fleet(inside, alloc=[
            record(submit=0, start=10, end=13), record(line=3, submit=13, start=15, end=19),
        ]),
        "lines_within_allocation": fleet(inside, alloc=[record(submit=0, start=1, end=2)]),
        "starts_in_order": fleet(early, late),
        "durations_not_negative": fleet(inside, alloc=[record(submit=0, start=10, end=5)]),
        "lines_add_up": Fleet.from_tables(
            source=table([{"key": "a", "path": "a.log", "n_lines": 3}]),
            line=table([{"key": "a", "path": "a.log", "outcome": "matched", "lines": 2}]),
        ),
    }  # fmt: skip


FAILING = (
    "unknown_within_budget", "starts_commit_checkpoints", "restored_was_committed", "allocations_have_logs",
    "lines_within_allocation", "starts_in_order", "durations_not_negative", "lines_add_up",
)  # fmt: skip


@pytest.mark.parametrize("name", FAILING)
def test_a_check_finds_what_it_looks_for(name: str) -> None:
    """Facts that break a rule give a row of the check that guards it."""
    found = failing()[name].check().filter(pl.col("check") == name)
    assert found.height == 1
    assert found.select("subject", "detail", "sentence").null_count().row(0) == (0, 0, 0)


@pytest.mark.parametrize(
    ("name", "relation", "change"),
    [
        ("segments_tile_wall", "segment", "DELETE FROM segment WHERE part = 'step'"),
        ("segments_tile_wall", "segment", "UPDATE segment SET end_us = end_us + 1"),
        ("starts_end_after_begin", "_start", "UPDATE _start SET ended_us = ended_us - 3600000000"),
    ],
)
def test_a_check_finds_a_broken_relation(name: str, relation: str, change: str) -> None:
    """What no facts can bring about is brought about by hand: the check guards the code itself."""
    log = Log()
    log.say(0, "launch")
    for number in (1, 2, 3):
        log.step(number + 1, number, 1)
    log.say(5, "exit_ok")
    made = fleet(log)
    assert made.check().filter(pl.col("level") == "error", pl.col("check") == name).is_empty()
    made.table(relation)
    made.connection.execute(change)
    assert made.check().filter(pl.col("check") == name).height == 1


def test_every_check_is_shown_to_fail() -> None:
    """No check is without a case that makes it return a row."""
    assert set(relations.checks()) == {*FAILING, "segments_tile_wall", "starts_end_after_begin"}


def test_checks_pass_on_a_sound_fleet(one: Fleet) -> None:
    """Sound facts give no finding."""
    assert one.check().is_empty()


def test_a_document_that_quotes_a_log_makes_no_job() -> None:
    """Steps quoted in prose stay facts of their file, and no job's time."""
    quoted = Log(state="document")
    quoted.say(0, "launch")
    quoted.step(1, 7, 1)
    told = fleet(quoted)
    assert told.table("job").is_empty()
    assert told.sql("SELECT step FROM step").item() == 7


def test_instants_are_integers_of_microseconds(one: Fleet) -> None:
    """Instants leave the relations as whole microseconds since 1970."""
    assert one.table("segment")["begin_us"].to_list()[0] == minute(0)
    assert one.table("segment").schema["begin_us"] == pl.Int64


def test_the_reference_of_the_relations_is_up_to_date() -> None:
    """docs/relations.md is what the SQL's own comments say; `python -m tests.relations_reference` writes it anew."""
    assert (ROOT / "docs/relations.md").read_text(encoding="utf-8") == reference()


def test_relations_that_do_not_fit_into_memory_say_what_to_do() -> None:
    """A query that needs more than the limit, and cannot leave it on disk, ends with an error in four parts."""
    connection = database.connect(None, memory_mib=8)
    with pytest.raises(LakeError) as caught:
        database.make(connection, "much", "SELECT list(range) AS every FROM range(5000000)")
    assert caught.value.where == "relation much"
    assert "--memory-limit" in caught.value.todo and "--spill" in caught.value.todo


def test_a_number_that_is_too_large_is_an_error_in_four_parts() -> None:
    """A relation whose numbers leave 64 bits is no defect of the program: it says which one, and where to look."""
    with pytest.raises(LakeError, match="too large to compute with") as caught:
        database.make(database.connect(None), "wide", "SELECT 9223372036854775807 * x AS n FROM range(2, 4) AS r(x)")
    assert caught.value.where == "relation wide"
    assert "Overflow" in caught.value.why
