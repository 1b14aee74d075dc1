"""A fleet of hand-made relations, for tests of what is shown rather than of how it was read."""

from __future__ import annotations

from typing import Any

import polars as pl

from ettlog.config import Config
from tests.test_ett import GOLDEN, segments

MINUTE = 60_000_000


class FakeFleet:
    """A fleet that answers from frames."""

    config: Config | None = None
    lake: None = None

    def __init__(self, tables: dict[str, pl.DataFrame]) -> None:
        """Keep the relations by name."""
        self.tables = tables

    def table(self, name: str) -> pl.DataFrame:
        """Return one relation."""
        return self.tables[name]

    def sql(self, query: str, **_: Any) -> pl.DataFrame:
        """Answer a query over the relations."""
        context = pl.SQLContext(self.tables)
        return context.execute(query, eager=True)


def golden_fleet(name: str = "run") -> FakeFleet:
    """Return a fleet of one job: the golden timeline of 300 minutes with one failure."""
    segment = segments(name, GOLDEN).with_columns(evidence=pl.lit("logs/run.log:7"), inferred=pl.lit(value=False))
    start = pl.DataFrame(
        {
            "job": [name, name],
            "k": [0, 1],
            "kind": ["first", "failure"],
            "cluster": ["alpha", "alpha"],
            "launched_at": pl.Series([None, None], dtype=pl.Datetime("us")),
            "end_state": ["failed", "completed"],
            "cause": pl.Series([None, None], dtype=pl.String),
        }
    )
    job = pl.DataFrame(
        {
            "job": [name], "model": ["m7"], "cluster": ["alpha"], "platform": ["h100"], "gpus": [8], "first_us": [0],
            "last_us": [300 * MINUTE], "wall_us": [290 * MINUTE], "starts": [2], "failures": [1], "preemptions": [0],
            "planned": [0], "end_state": ["completed"], "open": [False], "ett": [175 / 290],
        }
    )  # fmt: skip
    event = pl.DataFrame(
        {
            "key": ["k"], "line": [7], "kind": ["worker_start"], "format": ["toy"], "pattern": ["v1"],
            "clock": ["exact"],
        }
    )  # fmt: skip
    source = pl.DataFrame({"key": ["k"], "path": ["logs/run.log"]})
    adrift = pl.DataFrame(schema={"job": pl.String, "k": pl.Int64})
    tables = {"segment": segment, "start": start, "job": job, "event": event, "source": source, "_adrift": adrift}
    return FakeFleet({**tables, "allocation": pl.DataFrame({"job": [name], "id": ["1"]})})


def empty_fleet() -> FakeFleet:
    """Return a fleet whose relations have no row."""
    return FakeFleet({name: frame.clear() for name, frame in golden_fleet().tables.items()})
