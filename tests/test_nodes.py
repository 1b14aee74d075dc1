"""Lemon nodes: posteriors against hand computation, and failures given to nodes through the relations."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import ettlog
from ettlog.attribute import lemons
from ettlog.errors import NoDataError
from ettlog.fleet import Fleet
from tests.test_cli import run

DAY = 86_400_000_000
FIRST = 20_000 * DAY


def test_prior_is_that_of_the_moments() -> None:
    """Rates 0, 12, 3 over one day each: pooled 5, between-group variance (25 + 49 + 4 - 2 x 5) / (3 - 1) = 34."""
    found = lemons.prior([0, 12, 3], [1.0, 1.0, 1.0])
    assert found.shape == pytest.approx(25 / 34)
    assert found.weight == pytest.approx(5 / 34)


def test_posterior_of_a_group_by_hand() -> None:
    """Shape 25/34 + 12 over weight 5/34 + 1; p of 12 or more of 15 at one third each is 1 in 550."""
    found = lemons.posterior([0, 12, 3], [1.0, 1.0, 1.0])
    assert found.rate[1] == pytest.approx((25 / 34 + 12) / (5 / 34 + 1))
    # sum over k = 12..15 of C(15, k) 2^(15-k) / 3^15 = (455 x 8 + 105 x 4 + 15 x 2 + 1) / 14,348,907
    assert found.p[1] == pytest.approx(4091 / 14_348_907)
    assert found.q[1] == pytest.approx(3 * 4091 / 14_348_907)
    assert found.p[0] == 1
    assert found.low[1] < found.rate[1] < found.high[1]
    assert 0.5 < found.exceeds[1] < 0.9  # above 10, where its rate is 11.1


def test_groups_alike_have_the_pooled_rate_and_no_lemon() -> None:
    """Five nodes with two losses each differ by nothing: every rate is 2, none exceeds."""
    found = lemons.posterior([2] * 5, [1.0] * 5)
    assert found.rate.tolist() == [2.0] * 5
    assert found.exceeds.tolist() == [0.0] * 5
    assert (found.q > lemons.RATE).all()


def logs(failures: dict[str, int], days: int = 40, ranks: bool = False) -> Fleet:
    """Return a job on nodes n0 to n3 whose starts last a day each; `failures` are the starts lost by node.

    With `ranks` a failure's line has the rank only, and lines of the beginning tell which node a rank is on.
    """
    bad = [node for node, count in failures.items() for _ in range(count)]
    events: list[dict[str, Any]] = []
    for k in range(days):
        at = FIRST + k * DAY

        def say(kind: str, ts: int, launch: int = k + 1, **more: Any) -> None:
            line = len(events) + 1
            events.append(
                {"key": "a", "line": line, "launch": launch, "ts": ts, "clock": "exact", "kind": kind, **more}
            )

        say("launch", at)
        for rank in range(4):
            say("worker_start", at + 1_000_000, rank=rank, node=f"n{rank}")
        if k < len(bad):
            where = {"rank": int(bad[k][1:])} if ranks else {"node": bad[k]}
            say("failure", at + DAY - 2_000_000, cause="cuda_error", **where)
            say("exit_code", at + DAY - 1_000_000, code=-15, node="n3")
        else:
            say("train_end", at + DAY - 1_000_000)
    source = [{"key": "a", "path": "a.log", "stream": "a.log", "part": 0, "job_name": "a", "state": "whole"}]
    names = sorted({name for event in events for name in event})
    event = pa.table({name: [row.get(name) for row in events] for name in names})
    return Fleet.from_tables(source=pa.Table.from_pylist(source), event=event)


@pytest.mark.parametrize("ranks", [False, True])
def test_a_lemon_is_found_by_node_or_by_rank(ranks: bool) -> None:
    """Twelve of fourteen losses on n2, told by its name or by the rank that lives there; victims blame nobody."""
    frame = ettlog.reliability(logs({"n2": 12, "n0": 2}, ranks=ranks), by="node")
    rows = {row["node"]: row for row in frame.iter_rows(named=True)}
    assert {node: row["count"] for node, row in rows.items()} == {"n0": 2, "n1": 0, "n2": 12, "n3": 0}
    assert frame["node"][0] == "n2"
    assert [row["lemon"] for row in rows.values()].count(True) == 1
    assert rows["n2"]["lemon"]
    assert rows["n2"]["node_days"] == pytest.approx(40, abs=0.01)
    assert rows["n2"]["per_1000_node_days"] == pytest.approx(300, rel=1e-3)
    assert rows["n0"]["share"] == pytest.approx(2 / 14)
    assert rows["n0"]["unplaced"] == 0


def test_nodes_alike_are_no_lemons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three losses each: the command says so in its first line, and what P and q are."""
    made = logs(dict.fromkeys(("n0", "n1", "n2", "n3"), 3))
    monkeypatch.setattr(ettlog, "open", lambda _path: made)
    printed = run("reliability", "--by", "node").stdout
    assert "0 lemons of 4 nodes." in printed
    assert "0 lost starts could not be given to a node" in printed


def test_logs_without_nodes_are_refused() -> None:
    """The message says how a path names a node."""
    event = [{"key": "a", "line": 1, "launch": 1, "ts": FIRST, "clock": "exact", "kind": "launch"}]
    event.append({**event[0], "line": 2, "ts": FIRST + DAY, "kind": "train_end"})
    source = [{"key": "a", "path": "a.log", "stream": "a.log", "part": 0, "job_name": "a", "state": "whole"}]
    made = Fleet.from_tables(source=pa.Table.from_pylist(source), event=pa.Table.from_pylist(event))
    with pytest.raises(NoDataError, match="no node is known"):
        ettlog.reliability(made, by="node")
