"""`ettlog attribute` reads like a finding: the headline, what it rests on, the table, the notes."""

from __future__ import annotations

import json

import polars as pl
import pytest

import ettlog
from ettlog.attribute import Attribution
from tests.fakes import golden_fleet
from tests.test_cli import run

ROWS = (
    # optimization, owner, tier, saved, share, points, bound, low, high, executions, a day, since the rollout
    ("warm-cache", "compiler", "direct", 100.0, 0.2, 1.0, 0.0, 90.0, 110.0, 40, 2.0, 110.0),
    ("warm-cache", "compiler", "cascade", 350.0, 0.7, 3.5, 300.0, 310.0, 390.0, 120, 6.0, 370.0),
    ("", "", "failure_count", 50.0, 0.1, 0.5, 0.0, None, None, None, None, None),
)
NAMES = (
    "optimization",
    "owner",
    "tier",
    "saved_gpu_hours",
    "share",
    "points",
    "bound_gpu_hours",
    "low",
    "high",
    "executions",
    "per_day_gpu_hours",
    "since_rollout_gpu_hours",
)
HEADER = {
    "points": 5.0, "ett_before": 0.70, "ett_after": 0.75, "saved_gpu_hours": 500.0, "models": 1, "jobs": 7,
    "starts": 30,
    "since": "2026-01-01T00:00:00+00:00", "until": "2026-07-01T00:00:00+00:00",
    "window": "6mo back from the newest event",
    "basis": "work", "basis_text": "per effective GPU-hour", "aggregation": "ratio of sums", "method": "das_gupta",
    "interval": "95 %", "nof": 3.0, "factor": 4.0, "factor_low": 3.5, "factor_high": 4.6,
    "factor_method": "exact Poisson",
    "optimizations": 1, "seed": 0, "chain": "between rollouts", "baseline": "all before", "split": "by Shapley",
}  # fmt: skip


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """Let the command find a hand-made attribution, and keep what it was asked."""
    credit = pl.DataFrame(ROWS, schema=NAMES, orient="row").with_columns(
        model=pl.lit("all"), method=pl.lit("das_gupta"), evidence=pl.lit("C"), note=pl.lit("")
    )
    empty = pl.DataFrame()
    found = Attribution(credit, empty, empty, empty, HEADER, ("one thing to know",))
    calls: list[dict[str, object]] = []

    def attribute(_fleet: object, **options: object) -> Attribution:
        calls.append(options)
        return found

    monkeypatch.setattr(ettlog, "open", lambda _path: golden_fleet())
    monkeypatch.setattr(ettlog, "attribute", attribute)
    return calls


@pytest.mark.usefixtures("asked")
def test_finding_begins_with_its_headline() -> None:
    """The first sentence says how far ETT moved and what that is worth; the second who won it, and where."""
    first, second, third, fourth, *_ = run("attribute").stdout.splitlines()
    assert first == (
        "ETT rose by 5.0 points, 70.0 % to 75.0 %: 500.0 GPU-hours of overhead saved, over 1 model, 7 jobs, 30 starts."
    )
    sums = "450.0 GPU-hours, 350.0 of them in recoveries"
    assert second == f"Optimizations saved {sums}; what nobody may claim added 50.0."
    assert third == (
        "Run-rate in each model's last period: 8.00 GPU-hours saved a day; cumulative since the rollouts: 480.0."
    )
    assert fourth == "window: [2026-01-01 00:00:00, 2026-07-01 00:00:00) UTC, 6mo back from the newest event"


@pytest.mark.usefixtures("asked")
def test_table_ends_with_the_whole_and_names_rows_of_nobody() -> None:
    """Rows that no optimization may claim are called so, and the last row is the measured change."""
    lines = run("attribute").stdout.splitlines()
    nobody = next(line for line in lines if "failure_count" in line)
    assert nobody.startswith("(nobody)")
    whole = next(line for line in lines if line.startswith("all "))
    assert whole.split() == ["all", "500.0", "100.0", "+5.00"]


@pytest.mark.usefixtures("asked")
def test_cascade_above_its_bound_is_said() -> None:
    """A measured cascade that exceeds its bound is a note, not a silent row."""
    assert "350 GPU-hours, is above its bound of 300" in run("attribute").stdout


@pytest.mark.usefixtures("asked")
def test_credit_sums_by_owner() -> None:
    """--by owner adds the tiers of one owner; the rest keeps its tier."""
    rows = json.loads(run("attribute", "--by", "owner", "--format", "json", "-q").stdout)["rows"]
    assert {row["owner"]: row["saved_gpu_hours"] for row in rows} == {"compiler": 450.0, "failure_count": 50.0}


@pytest.mark.usefixtures("asked")
def test_without_registry_it_says_how_to_name_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a registry nothing can be credited, and a note says what to write."""
    monkeypatch.setitem(HEADER, "optimizations", 0)
    assert "write optimizations.toml" in run("attribute").stdout


@pytest.mark.usefixtures("asked")
def test_the_factor_is_a_measured_number_with_bounds() -> None:
    """1 + NoF is printed with its interval, how that was had, and how many jobs stand behind it."""
    factor = next(line for line in run("attribute").stdout.splitlines() if line.startswith("NoF: "))
    assert "4.00 x direct (1 + NoF: 3.50 to 4.60, exact Poisson, n = 7)" in factor


@pytest.mark.usefixtures("asked")
def test_header_fits_a_terminal() -> None:
    """No sentence above the table is longer than 120 characters, and the table is not either."""
    above, _, below = run("attribute").stdout.partition("note:")
    assert max(len(line) for line in above.splitlines()) <= 120
    assert "one thing to know" in below


def test_options_reach_the_library_function(asked: list[dict[str, object]]) -> None:
    """Window, edges and basis go to `ettlog.attribute` as they were given."""
    run("attribute", "--window", "3mo", "--until", "2026-06-01", "--basis", "wall")
    assert asked[0].items() >= {"registry": None, "window": "3mo", "until": "2026-06-01", "basis": "wall"}.items()
    run("attribute", "--baseline", "pre-rollout", "--chain", "none", "--method", "lmdi", "--cluster", "week")
    assert asked[1].items() >= {"baseline": "pre-rollout", "chain": "none", "method": "lmdi", "cluster": "week"}.items()
