"""Lemon nodes: which node a lost start failed on, how long each node was in use, and which fail beyond chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ettlog.errors import NoDataError
from ettlog.lifecycle import LOST_ENDS, RECOVERY_KINDS

if TYPE_CHECKING:
    import polars as pl

    from ettlog.ett import Timeline
    from ettlog.fleet import Fleet
    from ettlog.windows import Window

DAY_US = 86_400_000_000
PER = 1000
"""Rates are per so many node-days."""
_SEEN = """
SELECT DISTINCT m.job, m.k, m.rank, coalesce(m.node, s.node) AS node
FROM mark AS m JOIN source AS s ON s.key = m.key AND s.path = m.path
WHERE coalesce(m.node, s.node) IS NOT NULL
"""
# processes that a launcher or a scheduler stopped (-15, -9 and the shell's 128 + 15, 128 + 9) are victims, not culprits
_SIGNS = """
SELECT m.job, m.k, m.rank, coalesce(m.node, s.node) AS node, m.at_us, m.path, m.line
FROM mark AS m
JOIN source AS s ON s.key = m.key AND s.path = m.path
JOIN lifecycle_kind AS l ON l.kind = m.kind
WHERE l.end_state IN ('failed', 'node_failure') AND coalesce(m.code, 1) NOT IN (0, -15, -9, 143, 137)
  AND coalesce(m.cause, '') NOT IN ('sigterm', 'sigint')
"""


def nodes(fleet: Fleet, timeline: Timeline, span: Window, names: list[str]) -> pl.DataFrame:
    """Return one row per node seen in the logs, the most surely bad first.

    Columns: `node`; `jobs` and `starts` it was seen in; `count`, the starts lost on it; `share` of all that could be
    given to a node; `node_days` in use; `per_1000_node_days` with exact bounds `low` and `high`; `shrunk` (rate drawn
    toward that of all nodes) with `shrunk_low`, `shrunk_high`; `exceeds`, the posterior probability that the node
    fails more than twice as often as all; `p` and `q` of so many losses by chance; `lemon` where q is at most .05.
    `unplaced` repeats on every row how many lost starts name no node. Raises NoDataError where no log names nodes.

    A lost start is given to the node of its first sign of failure: the node on the line, else that of the line's rank,
    as other lines of the start tell it; else the only node of the start. Preemptions are no node's doing.
    """
    import polars as pl

    seen = fleet.sql(_SEEN).filter(pl.col("job").is_in(names))
    starts = _starts(timeline, span)
    used = seen.select("job", "k", "node").unique().join(starts, on=["job", "k"]).filter(pl.col("us") > 0)
    if used.is_empty():
        raise NoDataError(
            "no node is known here", where="relation mark, column node",
            why="no line of a start with a known duration names the node that wrote it",
            todo="name nodes in log paths: a template with {node} in ettlog.toml, [paths]",
        )  # fmt: skip
    lost = starts.filter(pl.col("lost") & pl.col("job").is_in(names))
    blamed = _blamed(lost, fleet.sql(_SIGNS), seen)
    return _table(used, blamed)


def _starts(timeline: Timeline, span: Window) -> pl.DataFrame:
    """Return job, k, us (in use inside the window) and whether the start was lost to a failure inside it."""
    import polars as pl

    stamp = {name: pl.col(name).cast(pl.Datetime("us")).dt.epoch("us") for name in ("launched_at", "last_step_at")}
    ended = pl.coalesce([pl.col(name).cast(pl.Datetime("us")).dt.epoch("us") for name in ("ended_at", "failed_at")])
    end = pl.coalesce(ended, stamp["last_step_at"])
    begin = stamp["launched_at"]
    inside = pl.min_horizontal(end, pl.lit(span.until_us)) - pl.max_horizontal(begin, pl.lit(span.since_us))
    failures = [state for state, kind in LOST_ENDS.items() if kind == RECOVERY_KINDS[0]]
    held = (end >= span.since_us) & (end < span.until_us)
    return timeline.start.select(
        "job", "k", us=inside.clip(lower_bound=0), lost=pl.col("end_state").is_in(failures) & held.fill_null(value=True)
    )


def _blamed(lost: pl.DataFrame, signs: pl.DataFrame, seen: pl.DataFrame) -> pl.DataFrame:
    """Return job, k and node of the lost starts; node is null where no line tells."""
    import polars as pl

    ranks = seen.drop_nulls("rank").group_by("job", "k", "rank").agg(pl.col("node").min().alias("home"))
    told = signs.join(ranks, on=["job", "k", "rank"], how="left").with_columns(node=pl.coalesce("node", "home"))
    first = told.drop_nulls("node").sort("at_us", "path", "line", nulls_last=True).group_by("job", "k").agg(
        pl.col("node").first()
    )  # fmt: skip
    each = seen.group_by("job", "k").agg(pl.col("node").n_unique().alias("many"), pl.col("node").first().alias("only"))
    alone = each.filter(pl.col("many") == 1).select("job", "k", "only")
    joined = lost.join(first, on=["job", "k"], how="left").join(alone, on=["job", "k"], how="left")
    return joined.select("job", "k", node=pl.coalesce("node", "only"))


def _table(used: pl.DataFrame, blamed: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    from ettlog.attribute import lemons
    from ettlog.attribute.reliability import garwood

    sums = used.group_by("node").agg(
        pl.col("job").n_unique().alias("jobs"), pl.len().alias("starts"), (pl.col("us").sum() / DAY_US).alias("days")
    )
    counts = blamed.drop_nulls("node").group_by("node").agg(pl.len().cast(pl.Int64).alias("count"))
    frame = sums.join(counts, on="node", how="left").with_columns(pl.col("count").fill_null(0)).sort("node")
    number, days = frame["count"].to_list(), frame["days"].to_list()
    found = lemons.posterior(number, days)
    exact = [garwood(k, x) for k, x in zip(number, days, strict=True)]
    whole = sum(number)
    columns: dict[str, Any] = {
        "share": [k / whole if whole else None for k in number], "node_days": days,
        "per_1000_node_days": [PER * one.estimate for one in exact], "low": [PER * one.low for one in exact],
        "high": [PER * one.high for one in exact], "shrunk": PER * found.rate, "shrunk_low": PER * found.low,
        "shrunk_high": PER * found.high, "exceeds": found.exceeds, "p": found.p, "q": found.q,
        "lemon": found.q <= lemons.RATE, "unplaced": blamed["node"].null_count(),
    }  # fmt: skip
    made = frame.select("node", "jobs", "starts", "count").with_columns(
        **{name: pl.lit(value) if isinstance(value, int) else pl.Series(name, value) for name, value in columns.items()}
    )
    return made.sort("q", "count", "node", descending=[False, True, False])
