"""Spark users load logs, or a lake, as a table; Sail runs the same data source in the tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ettlog import fleet
from ettlog.engine import session
from ettlog.engine.source import FACTS, EttlogSource
from ettlog.errors import UsageError
from ettlog.ingest import ingest
from tests.engines import FIXTURES

LOGS = FIXTURES / "tiny/logs"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the lake of the tiny fixture."""
    path = tmp_path_factory.mktemp("source") / "lake"
    ingest([LOGS], path)
    return path


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """Yield a session that knows the data source."""
    with session.connect("sail") as opened:
        opened.spark.dataSource.register(EttlogSource)
        yield opened.spark


def loaded(spark: Any, path: Path | str, **options: str) -> Any:
    """Return a table of a path as a polars frame, in the order of all its columns."""
    import polars as pl

    frame = pl.from_arrow(spark.read.format("ettlog").options(**options).load(str(path)).toArrow())
    assert isinstance(frame, pl.DataFrame)
    return frame.sort(frame.columns)


@pytest.mark.parametrize("table", FACTS)
def test_facts_of_logs_are_those_of_the_lake(table: str, spark: Any, lake: Path) -> None:
    """Each fact table loaded from the logs holds the rows of the lake, the log's name in the place of its key."""
    opened = fleet.open(lake)
    expected = opened.table(table).join(opened.table("source").select("key", "path"), on="key").drop("key")
    got = loaded(spark, LOGS, table=table)
    assert got.height > 0
    assert got.equals(expected.select(got.columns).sort(got.columns))
    assert loaded(spark, lake, table=table).equals(got)


@pytest.mark.parametrize("table", ["job", "start", "segment", "source"])
def test_relations_come_from_a_lake_and_from_logs(table: str, spark: Any, lake: Path) -> None:
    """A relation is the same from the lake, from its logs, and as ettlog has it, stamps and flags too."""
    expected = fleet.open(lake).table(table)
    got = loaded(spark, lake, table=table)
    assert got.equals(expected.select(got.columns).sort(got.columns))
    assert loaded(spark, LOGS, table=table).equals(got)


def test_a_glob_names_some_logs(spark: Any) -> None:
    """A glob loads the files that fit it, with their names in their folder."""
    got = loaded(spark, f"{LOGS}/finch*.out", table="event")
    assert set(got["path"]) == {"logs/finch-7b-501001.out"}


def test_sql_reads_a_view(spark: Any, lake: Path) -> None:
    """`CREATE TEMPORARY VIEW ... USING ettlog` makes a table that SQL can ask."""
    spark.sql(f"CREATE TEMPORARY VIEW told USING ettlog OPTIONS (path '{lake}', table 'job')")
    assert spark.sql("SELECT sum(starts) AS n FROM told").toArrow()["n"][0].as_py() == (
        fleet.open(lake).sql("SELECT sum(starts) AS n FROM job").item()
    )


@pytest.mark.parametrize("options", [{"path": str(LOGS), "tabel": "job"}, {"table": "job"}])
def test_what_cannot_be_loaded_is_told(options: dict[str, str]) -> None:
    """An option that is none, or no path, is a usage error that lists the options."""
    with pytest.raises(UsageError, match="cannot be loaded") as told:
        EttlogSource(options).schema()
    assert "zone" in told.value.todo


def test_an_unknown_table_is_told() -> None:
    """A table that is neither a fact table nor a relation is a usage error that lists the relations."""
    with pytest.raises(UsageError, match="no relation `jbo`"):
        EttlogSource({"path": str(LOGS), "table": "jbo"}).schema()
