"""Runs at other sizes: by hand from a fleet of round numbers, and against a simulation failure by failure."""

from __future__ import annotations

import math
from typing import cast

import numpy as np
import polars as pl
import pytest

import ettlog
from ettlog.errors import NoDataError, UsageError
from ettlog.fleet import Fleet
from tests.fakes import FakeFleet
from tests.test_cli import run
from tests.test_ett import Piece, segments, timeline


def fleet(failures: int = 4, saves: int = 3) -> Fleet:
    """Return a job of 8 GPUs: starts of half an hour, loops of 19.5 hours with a save every two, lost four times."""
    pieces = [Piece(0, "compile", "first_start", 30), Piece(0, "step", "steady", 1170)]
    for k in range(1, failures + 1):
        pieces += [
            Piece(k, "hang", "recovery", 30),
            Piece(k, "replay", "recovery", 60),
            Piece(k, "step", "steady", 1110),
        ]
    kinds = ("first", *["failure"] * failures)
    made = timeline({"a": ("m7", segments("a", tuple(pieces)))}, kinds)
    state = pl.when(pl.col("k") < failures).then(pl.lit("failed")).otherwise(pl.lit("completed"))
    blank = {name: pl.lit(None, pl.Datetime("us")) for name in ("failed_at", "ended_at", "last_step_at")}
    start = made.start.with_columns(end_state=state, cause=pl.lit(None, pl.String), **blank)
    at = pl.Series([0, 7_200_000_000, 14_400_000_000], dtype=pl.Int64).cast(pl.Datetime("us"))[:saves]
    checkpoint = pl.DataFrame({"job": "a", "k": 0, "step": list(range(saves)), "state": "committed", "at": at})
    tables = {"segment": made.segment, "start": start, "job": made.job, "checkpoint": checkpoint}
    return cast("Fleet", FakeFleet(tables))


def test_time_to_failure_is_inverse_to_the_size() -> None:
    """Four losses in 100 hours on 8 GPUs: one in 25 hours there, one in 2.5 on 80; the interval is Garwood's."""
    frame = ettlog.at_scale(fleet(), [8, 80], work_hours=100)
    assert frame["mttf_hours"].to_list() == pytest.approx([25, 2.5])
    # 4 events: 1.09 to 10.24
    assert 100 / frame["mttf_low_hours"][0] == pytest.approx(10.24, abs=0.01)
    assert 100 / frame["mttf_high_hours"][0] == pytest.approx(1.09, abs=0.01)
    assert frame["start_hours"][0] == pytest.approx(0.5)
    assert frame["save_hours"][0] == pytest.approx(2)


def test_expected_ett_is_what_a_simulation_shows() -> None:
    """Runs of 24 h on 80 GPUs simulated failure by failure: MTTF 2.5 h, starts of .5 h, saves every 2 h."""
    row = ettlog.at_scale(fleet(), [80], work_hours=24).row(0, named=True)
    assert row["expected_ett"] == pytest.approx(simulated(24, 2, 0.5, 2.5), rel=0.01)
    assert row["ett_low"] < row["expected_ett"] < row["ett_high"]
    assert row["losses"] == pytest.approx(24 / row["expected_ett"] / 2.5)


def test_without_failures_a_run_loses_its_start_only() -> None:
    """On one GPU of a thousand a failure comes every 200 h: a run of an hour is about one of 1.5."""
    row = ettlog.at_scale(fleet(), [1], work_hours=1).row(0, named=True)
    exact = 1 / (200 * (math.exp(1.5 / 200) - 1))
    assert row["expected_ett"] == pytest.approx(exact)


def simulated(work: float, save: float, start: float, mttf: float) -> float:
    """Return the ETT of 4,000 runs: each stretch between saves is begun anew until no failure strikes in it."""
    rng = np.random.default_rng(2)
    wall = 0.0
    for _ in range(4_000):
        done, need, fails = 0.0, start, rng.exponential(mttf)
        while done < work:
            if fails < need + save:
                wall, need, fails = wall + fails, start, rng.exponential(mttf)
            else:
                wall, fails, need, done = wall + need + save, fails - need - save, 0.0, done + save
    return 4_000 * work / wall


def test_what_is_not_measured_is_refused() -> None:
    """No failure, no two saves in one start, or a size that is none."""
    with pytest.raises(NoDataError, match="nothing to foretell"):
        ettlog.at_scale(fleet(failures=0), [8])
    with pytest.raises(NoDataError, match="nothing to foretell"):
        ettlog.at_scale(fleet(saves=1), [8])
    with pytest.raises(UsageError):
        ettlog.at_scale(fleet(), [0])


def test_command_states_what_the_forecast_rests_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The header has the measured start-up and save interval, the notes what is assumed."""
    monkeypatch.setattr(ettlog, "open", lambda _path: fleet())
    printed = run("reliability", "--at", "8,1_024", "--work", "100").stdout
    assert "modelled: 100 h of training; a start takes 0.50 h (mean of 4" in printed
    assert "a save every 120 min" in printed
    assert "1,024" in printed
    assert run("reliability", "--at", "many").exit_code == 2
