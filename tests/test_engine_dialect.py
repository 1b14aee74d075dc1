"""What DuckDB and Spark read differently is mended: each rewrite shown on Sail, with and without it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from ettlog import database
from ettlog.engine import dialect, session
from ettlog.relations import checks, relations

if TYPE_CHECKING:
    from ettlog.engine.session import Session

BIG = 9_000_000_000_000_000_001
TRAPS: dict[str, tuple[str, Any]] = {
    "nulls are last": ("SELECT row_number() OVER (ORDER BY x) AS n, x FROM t ORDER BY 1", [(1, 1), (2, 2), (3, None)]),
    "whole numbers are divided as such": (f"SELECT {BIG} // 3 AS n", [(3_000_000_000_000_000_000,)]),
    "a negative quotient is cut toward zero": ("SELECT -7 // 2 AS n", [(-3,)]),
    "min_by skips null values": ("SELECT min_by(y, x) AS y FROM u", [("b",)]),
    "max_by skips null values": ("SELECT max_by(y, x) AS y FROM u", [("b",)]),
    "max_by skips conditions that are null": ("SELECT max_by(y = 'b' OR x IS NULL, x) AS y FROM u", [(True,)]),
    "a named window may stand before a minus": (
        "SELECT lead(x) OVER w - x AS n FROM t WINDOW w AS (ORDER BY x) ORDER BY x", [(1,), (None,), (None,)]
    ),
    "products are added beyond 64 bits": (
        f"SELECT sum({BIG // 2} * x) // 1000 AS n FROM (SELECT 1 AS x UNION ALL SELECT 2) AS v",
        [(13_500_000_000_000_000,)],
    ),
    "products are of 128 bits": (
        f"SELECT CAST(sum(CAST({BIG} AS HUGEINT) * x) // 9 AS BIGINT) AS n FROM (SELECT 4 AS x UNION ALL SELECT 5) v",
        [(BIG,)],
    ),
    "halves go to even numbers": ("SELECT CAST(round_even(CAST(2.5 AS DOUBLE), 0) AS BIGINT) AS n", [(2,)]),
    "an end is the end of the text": (
        "SELECT regexp_replace('a/b' || chr(10), '[^/]*$', '') AS n, regexp_matches('a' || chr(10), '^a$') AS m",
        [("a/", False)],
    ),
    "a regex is replaced at its first match": ("SELECT regexp_replace('a/b', '[^/]*$', '') AS n", [("a/",)]),
}  # fmt: skip
"""Query for DuckDB and its rows, reckoned by hand; `t` holds 1, 2 and null, `u` (1, null), (2, 'b') and (3, null)."""
TABLES = {"t": "SELECT 1 AS x UNION ALL SELECT 2 UNION ALL SELECT NULL"}
TABLES["u"] = "SELECT 1 AS x, CAST(NULL AS STRING) AS y UNION ALL SELECT 2, 'b' UNION ALL SELECT 3, NULL"


@pytest.fixture(scope="module")
def sail() -> Iterator[Session]:
    """Yield a session on Sail with the two tables."""
    with session.connect("sail") as opened:
        for name, query in TABLES.items():
            opened.spark.sql(query).createOrReplaceTempView(name)
        yield opened


def rows(sail: Session, query: str) -> list[tuple[Any, ...]]:
    """Return the rows that Sail answers."""
    return [tuple(row.values()) for row in sail.spark.sql(query).toArrow().to_pylist()]


@pytest.mark.parametrize("trap", TRAPS)
def test_both_dialects_give_the_same(trap: str, sail: Session) -> None:
    """DuckDB and Sail, given the translation, both answer what was reckoned by hand."""
    query, expected = TRAPS[trap]
    connection = database.connect(None)
    for name, made in TABLES.items():
        connection.execute(f"CREATE TEMP TABLE {name} AS {made.replace('STRING', 'VARCHAR')}")
    assert connection.execute(query).fetchall() == expected
    assert rows(sail, dialect.to_spark(query)) == expected


def test_stamps_keep_no_zone(sail: Session) -> None:
    """`make_timestamp` gives a stamp without a zone, on whatever clock the session runs."""
    sail.spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        found = sail.spark.sql(dialect.to_spark("SELECT make_timestamp(1) AS at")).toArrow()
    finally:
        sail.spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert str(found.schema.field("at").type) == "timestamp[us]"
    assert found["at"][0].as_py().isoformat() == "1970-01-01T00:00:00.000001"


@pytest.mark.parametrize("rewrite", dialect.REWRITES, ids=lambda one: one.__name__)
def test_every_rewrite_is_needed(rewrite: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any one of the rewrites some query here would be asked in another text."""
    queries = [query for query, _ in TRAPS.values()] + [relations()["start"].query]
    whole = [dialect.to_spark(query) for query in queries]
    monkeypatch.setattr(dialect, "REWRITES", tuple(one for one in dialect.REWRITES if one is not rewrite))
    dialect.to_spark.cache_clear()
    assert any(text != dialect.to_spark(query) for text, query in zip(whole, queries, strict=True))
    dialect.to_spark.cache_clear()


def test_spark_reads_every_text() -> None:
    """Nothing is sent that Sail reads and Spark refuses: `b IS NULL IS NULL`, and the name `w-x` in `OVER w - x`."""
    texts = [dialect.to_spark(one.query) for one in (*relations().values(), *checks().values())]
    assert not [text for text in texts if re.search(r"IS NULL IS NULL|OVER \w+ -", text)]


FORBIDDEN = (
    "asof join", "pivot", "qualify", "generate_series", "percentile_cont", "quantile_cont", "date_diff", "epoch(",
    "time_bucket", "group by all", "order by all", "unnest", "lateral", "list(", "columns(",
)  # fmt: skip


@pytest.mark.parametrize("name", [*relations(), *checks()])
def test_sql_keeps_to_what_all_engines_run(name: str) -> None:
    """No relation and no check uses a construct that Spark or Sail lacks, or reads as something else."""
    text = {**relations(), **checks()}[name].query.lower()
    code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--"))
    assert not [word for word in FORBIDDEN if word in code]
