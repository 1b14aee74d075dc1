"""Checkpoint advice from measured stalls and losses, and its silence where little is to be won."""

from __future__ import annotations

from typing import cast

import polars as pl
import pytest

import ettlog
from ettlog.fleet import Fleet
from tests.fakes import FakeFleet
from tests.test_cli import run
from tests.test_ett import MINUTE, Piece, segments

HOURS = 80


def fleet(every: int, stall: int = 1, losses: int = 10) -> Fleet:
    """Return one job of 80 h on 8 GPUs that saves every so many minutes, each with a stall, and is lost some times."""
    rounds = (HOURS * 60 - 1) // (every + stall)
    rest = HOURS * 60 - rounds * (every + stall)
    pieces = (Piece(0, "step", "steady", every), Piece(0, "save_stall", "steady", stall)) * rounds
    segment = segments("run", (*pieces, Piece(0, "step", "steady", rest)))
    instants = [n * (every + stall) * MINUTE + every * MINUTE for n in range(rounds)]
    checkpoint = pl.DataFrame({"step": range(rounds), "at": pl.Series(instants).cast(pl.Datetime("us"))}).with_columns(
        job=pl.lit("run"), k=pl.lit(0, pl.Int64), state=pl.lit("requested")
    )
    none = pl.lit(None, pl.Datetime("us"))
    start = pl.DataFrame({"k": range(losses + 1)}).with_columns(
        job=pl.lit("run"), kind=pl.lit("failure"), cluster=pl.lit("alpha"), cause=pl.lit(None, pl.String),
        end_state=pl.when(pl.col("k") < losses).then(pl.lit("failed")).otherwise(pl.lit("completed")),
        launched_at=none, failed_at=none, ended_at=none, last_step_at=none,
    )  # fmt: skip
    job = pl.DataFrame({"job": ["run"], "model": ["m7"], "cluster": ["alpha"], "platform": ["h100"]})
    return cast("Fleet", FakeFleet({"segment": segment, "start": start, "job": job, "checkpoint": checkpoint}))


def test_hourly_saves_of_a_minute_at_eight_hours() -> None:
    """The exact best interval at a stall of 60 s and an MTTF of 8 h is 1,819.3 s: 7.92 % lost becomes 6.46 %."""
    row = ettlog.advise(fleet(60)).row(0, named=True)
    assert (row["stall_s"], row["interval_s"], row["mttf_hours"]) == pytest.approx((60, 3600, 8))
    assert row["best_s"] == pytest.approx(1819.3, abs=0.1)
    assert row["wasted_now"] == pytest.approx(60 / 3600 + 3600 / 57_600)
    assert row["wasted_then"] == pytest.approx(60 / 1819.3 + 1819.3 / 57_600, abs=1e-6)
    assert row["saved_gpu_hours"] == pytest.approx(row["saved_share"] * HOURS * 8)
    assert row["worth"] is True


def test_range_follows_the_interval_of_the_failure_rate() -> None:
    """Ten losses are 4.80 to 18.39: the range goes with the square root, about .74 to 1.44 times the best."""
    row = ettlog.advise(fleet(60)).row(0, named=True)
    assert row["low_s"] / row["best_s"] == pytest.approx((10 / 18.39) ** 0.5, abs=0.01)
    assert row["high_s"] / row["best_s"] == pytest.approx((10 / 4.795) ** 0.5, abs=0.01)


def test_nothing_is_said_of_a_gain_under_one_percent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Saving every 30 minutes is within the flat part of the curve: no row, and a sentence that says why."""
    made = fleet(30)
    assert ettlog.advise(made)["worth"].to_list() == [False]
    monkeypatch.setattr(ettlog, "open", lambda _path: made)
    assert "1 model within one percent of the best" in run("advise").stdout
    assert "m7" not in run("advise").stdout
    assert "m7" in run("advise", "--all").stdout


@pytest.mark.parametrize(("made", "why"), [((60, 1, 0), "no failure was met"), ((60, 0, 5), "no stall is measured")])
def test_what_is_not_measured_is_not_advised_on(made: tuple[int, int, int], why: str) -> None:
    """Without a failure there is no rate, without a stall no price of a save."""
    row = ettlog.advise(fleet(*made)).row(0, named=True)
    assert row["why"].startswith(why)
    assert (row["best_s"], row["worth"]) == (None, False)


def test_advice_names_the_range(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table has today's interval and the range in place of it."""
    monkeypatch.setattr(ettlog, "open", lambda _path: fleet(60))
    printed = run("advise").stdout
    assert "01:00:00" in printed
    assert "00:30:19" in printed
