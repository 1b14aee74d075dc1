"""A question may read the relations and nothing else: statements that write, run or reach out are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import ettlog
from ettlog.errors import UsageError
from ettlog.fleet import Fleet
from tests.ingesting import make_logs, run, tree

REFUSED = (
    "INSERT INTO job VALUES (1)",
    "UPDATE job SET model = 'x'",
    "DELETE FROM job",
    "TRUNCATE job",
    "CREATE TABLE t (a INT)",
    "CREATE OR REPLACE VIEW v AS SELECT 1",
    "CREATE MACRO m(a) AS a + 1",
    "CREATE SECRET s (TYPE s3, KEY_ID 'x', SECRET 'y')",
    "CREATE SCHEMA s",
    "DROP VIEW event",
    "ALTER TABLE job ADD COLUMN x INT",
    "COPY (SELECT 1) TO '{lake}/x.csv'",
    "COPY event TO '{lake}/x.parquet' (FORMAT parquet)",
    "COPY job FROM '{lake}/x.csv'",
    "EXPORT DATABASE '{lake}/x'",
    "IMPORT DATABASE '{lake}/x'",
    "ATTACH '{lake}/x.db'",
    "ATTACH ':memory:' AS other",
    "DETACH memory",
    "USE memory",
    "INSTALL httpfs",
    "LOAD httpfs",
    "FORCE INSTALL spatial FROM core_nightly",
    "SET enable_external_access = true",
    "SET memory_limit = '100GB'",
    "RESET memory_limit",
    "PRAGMA database_size",
    "PRAGMA enable_profiling",
    "CALL pragma_version()",
    "CHECKPOINT",
    "VACUUM",
    "ANALYZE",
    "BEGIN",
    "COMMIT",
    "PREPARE p AS SELECT 1",
    "EXECUTE p",
    "DEALLOCATE p",
    "COMMENT ON TABLE job IS 'x'",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{lake}/x.csv'",
    "EXPLAIN ANALYZE SELECT 1",
    "EXPLAIN (ANALYZE) SELECT 1",
    "EXPLAIN /* plain */ ANALYZE SELECT 1",
    "EXPLAIN COPY (SELECT 1) TO '{lake}/x.csv'",
    "EXPLAIN EXPLAIN SELECT 1",
    "WITH x AS (COPY (SELECT 1) TO '{lake}/x.csv') SELECT 1",
    "WITH x AS (SELECT 1), y AS (COPY job TO '{lake}/event/x.parquet') SELECT 1",
    "EXPLAIN WITH x AS (COPY (SELECT 1) TO '{lake}/x.csv') SELECT 1",
    "WITH x AS (DELETE FROM job RETURNING *) SELECT * FROM x",
    "WITH x AS (INSERT INTO job SELECT * FROM job RETURNING *) SELECT * FROM x",
    "WITH x AS (UPDATE job SET model = 'x' RETURNING *) SELECT * FROM x",
    "FROM json_execute_serialized_sql(json_serialize_sql('WITH x AS (COPY job TO ''{lake}/x.csv'') SELECT 1'))",
    "SELECT * FROM Query('SELECT 1')",
    """FROM "query"('SELECT * FROM json_execute_serialized_sql(1)')""",
    "SELECT write_log('x')",
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP VIEW event",
    "PIVOT job ON model USING count(*)",
    "MERGE INTO job USING job AS j ON true WHEN MATCHED THEN DELETE",
    "SELECT '\udcff'",
    "",
    "-- nothing",
)
"""Statements that are no single SELECT and no plain EXPLAIN of one."""

UNREACHABLE = (
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/hostname')",
    "SELECT * FROM read_blob('{lake}/../secret')",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM read_json('/etc/os-release')",
    "SELECT * FROM read_parquet('/tmp/*.parquet')",
    "SELECT * FROM parquet_metadata('/tmp/x.parquet')",
    "SELECT * FROM sniff_csv('/etc/passwd')",
    "SELECT * FROM 'https://example.org/x.csv'",
    "SELECT * FROM read_parquet('s3://bucket/x.parquet')",
    "SELECT * FROM query('COPY (SELECT 1) TO ''{lake}/x.csv''')",
    "SELECT * FROM read_csv('/dev/stdin')",
    "SELECT getenv('HOME')",
)
"""Questions that are a SELECT and would leave the lake."""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a small lake, with a file beside it that nobody may read through it."""
    folder = tmp_path_factory.mktemp("sql")
    (folder / "secret").write_text("do not read me")
    run(make_logs(folder))
    return folder / "lake"


@pytest.fixture(scope="module")
def fleet(lake: Path) -> Iterator[Fleet]:
    """Open it; whatever is asked, its files are the same afterwards."""
    before = tree(lake)
    yield ettlog.open(lake)
    assert tree(lake) == before


def test_there_are_forty_statements() -> None:
    """At least 40 different ones are tried."""
    assert len(set(REFUSED)) == len(REFUSED) >= 40


@pytest.mark.parametrize("statement", REFUSED)
def test_a_statement_that_is_no_question_is_refused(fleet: Fleet, lake: Path, statement: str) -> None:
    """It raises a UsageError and changes nothing; the next question is answered."""
    with pytest.raises(UsageError):
        fleet.sql(statement.format(lake=lake))
    assert fleet.sql("SELECT 1 AS one")["one"].to_list() == [1]


@pytest.mark.parametrize("question", UNREACHABLE)
def test_a_question_cannot_leave_the_lake(fleet: Fleet, lake: Path, question: str) -> None:
    """Files, addresses and the environment outside the lake are out of reach."""
    with pytest.raises(UsageError):
        fleet.sql(question.format(lake=lake))


def test_a_text_that_looks_like_a_statement_is_a_text(fleet: Fleet) -> None:
    """What a query quotes is no part of it, whatever it holds."""
    text = '"type":"COPY_QUERY_NODE" "function_name":"query"'
    assert fleet.sql(f"SELECT '{text}' AS text")["text"].to_list() == [text]


def test_spans_of_time_are_texts(fleet: Fleet) -> None:
    """A difference of two instants, also inside of a list, is an answer like any other; names may come twice."""
    at = "TIMESTAMP '2031-05-06 08:00:00'"
    found = fleet.sql(f"SELECT {at} - TIMESTAMP '2031-05-05 07:58:30' AS d, [INTERVAL 1 DAY] AS e, 5 AS n, 6 AS n")
    assert found.rows() == [("1 day 00:01:30", "[1 day]", 5, 6)]


@pytest.mark.parametrize("question", ["SELECT 1 AS x", "explain select 1 from job", "WITH a AS (SELECT 1) FROM a"])
def test_plain_questions_are_answered(fleet: Fleet, question: str) -> None:
    """One SELECT, the plain EXPLAIN of one, and DuckDB's short forms of it give rows."""
    assert fleet.sql(question).height >= 1
