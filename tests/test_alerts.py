"""Alerts: series, changes of level with their p, budgets that burn, their rollouts, and what is said of them."""

from __future__ import annotations

import re
from datetime import date, timedelta
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

import ettlog
from ettlog import registry
from ettlog.alerts import burn, found, levels, match, series
from ettlog.config import Config, parse
from ettlog.errors import UsageError
from ettlog.fleet import Fleet
from ettlog.lifecycle import PARTS
from tests import ledgers
from tests.fakes import FakeFleet
from tests.test_cli import run
from tests.test_ett import Piece, segments

OWNERS = {part.part: part.owner for part in PARTS}
FIRST = date(2026, 1, 1)
BEFORE, AFTER = 60, 40
"""Days before and after the change of the fleets below."""
MINUTE = burn.MINUTE


def noise(day: int) -> int:
    """Return a number from -7 to 7 that looks like chance and has no trend."""
    return (day * 7 + day * day * 5) % 15 - 7


def ledger(models: dict[str, tuple[int, int]], part: str = "launch", gpus: int = 1) -> pl.DataFrame:
    """Return a fleet with one start a day and model, whose part takes the first seconds before the change, then the
    second ones."""
    rows = [
        ledgers.start(
            f"{model}-{day}", model, str(FIRST + timedelta(days=day)), 0, "first",
            {part: seconds[day >= BEFORE] + noise(day), "step": 10_000}, gpus=gpus,
        )
        for model, seconds in models.items()
        for day in range(BEFORE + AFTER)
    ]  # fmt: skip
    return ledgers.ledger(*rows)


def rollouts(parts: str, since: str = "2026-03-03") -> registry.Registry:
    """Return a registry of one optimization."""
    return registry.parse(
        f"[[optimization]]\nname='cache'\nowner='x'\nparts=['{parts}']\nrollouts=[{{since={since}}}]\n"
    )


def only(frame: pl.DataFrame, known: registry.Registry = registry.EMPTY) -> dict[str, Any]:
    """Return the one change that a ledger shows."""
    rows, _ = found(frame, OWNERS, known)
    assert len(rows) == 1
    return rows[0]


def test_a_rise_is_a_regression_of_its_owner_with_its_size() -> None:
    """100 to 150 s on 2 GPUs from day 60 on, 40 starts: 100 GPU-seconds more each, 4,000 / 3,600 GPU-hours in all."""
    row = only(ledger({"a": (100, 150)}, gpus=2))
    assert (row["kind"], row["fires"], row["owner"], row["component"], row["per"]) == (
        "regression", True, "trainer", "trainer_init", "cold start",
    )  # fmt: skip
    assert row["since_us"] == series.DAY * (FIRST + timedelta(days=BEFORE) - date(1970, 1, 1)).days
    assert row["before"] == pytest.approx(200, abs=2)
    assert row["after"] == pytest.approx(300, abs=2)
    assert row["lost_gpu_hours"] == pytest.approx(4000 / 3600, abs=0.05)
    assert row["events"] == AFTER


def test_a_fall_is_confirmed_by_a_rollout_that_declares_the_part() -> None:
    """Day 60 is 2 March; the rollout of 3 March declares the part, so it is its effect."""
    row = only(ledger({"a": (150, 100)}), rollouts("launch"))
    assert (row["kind"], row["fires"], row["rollout"]) == ("confirmed effect", False, "cache")


def test_a_fall_beside_a_rollout_of_other_parts_is_an_unregistered_win() -> None:
    """The rollout is named, and that it does not declare the part."""
    row = only(ledger({"a": (150, 100)}), rollouts("compile"))
    assert (row["kind"], row["rollout"], row["declares"]) == ("unregistered win", "cache", False)


def test_a_rollout_weeks_away_is_not_blamed() -> None:
    """Of 1 April and a change on 2 March that is placed to the day, neither has to do with the other."""
    row = only(ledger({"a": (100, 150)}), rollouts("launch", "2026-04-01"))
    assert (row["kind"], row["rollout"]) == ("regression", "")


def test_a_change_of_the_whole_fleet_is_told_once() -> None:
    """Six models that rise together are one row that counts them; one that rises alone is its own."""
    row = only(ledger(dict.fromkeys("abcdef", (100, 150))))
    assert (row["model"], row["models"]) == (series.FLEET, 6)
    alone = only(ledger({**dict.fromkeys("abcde", (100, 100)), "f": (100, 200)}))
    assert (alone["model"], alone["models"]) == ("f", 1)


def test_more_starts_of_an_expensive_model_are_no_dearer_day() -> None:
    """The fleet's series stays flat when a model that costs ten times as much starts more often."""
    rows = [
        ledgers.start(f"{model}-{day}-{n}", model, str(FIRST + timedelta(days=day)), 0, "first", {"launch": seconds})
        for day in range(50)
        for model, seconds, times in (("a", 100, 1), ("b", 100, 1), ("c", 1000, 1 + 3 * (day >= 25)))
        for n in range(times)
    ]
    fleet = [one for one in series.daily(series.prepared(ledgers.ledger(*rows), OWNERS)) if one.model == series.FLEET]
    rates = [one.amount / one.events for one in fleet]
    assert len(fleet) == 1
    assert np.ptp(rates[0]) == pytest.approx(0, abs=1)


def test_small_changes_and_short_series_are_not_told() -> None:
    """Four percent is certain here and nothing to get up for; nineteen days are too few to know a level."""
    assert found(ledger({"a": (1000, 1040)}), OWNERS, registry.EMPTY)[0] == []
    short = ledger({"a": (100, 150)}).filter(
        pl.col("launched_us") < series.DAY * (date(2026, 1, 20) - date(1970, 1, 1)).days
    )
    assert found(short, OWNERS, registry.EMPTY) == ([], 0)


def test_the_rise_of_the_last_days_is_found_before_it_is_a_level() -> None:
    """Three days of 60 more end the series: a level is five, CUSUM knows it by then."""
    frame = ledger({"a": (100, 160)})
    cut = frame.filter(
        pl.col("launched_us") < series.DAY * (FIRST + timedelta(days=BEFORE + 3) - date(1970, 1, 1)).days
    )
    row = only(cut)
    assert (row["found_by"], row["kind"], row["fires"]) == (levels.CUSUM, "regression", True)
    assert row["events"] in (3, 4)  # the day before may have begun the climb


def test_what_went_back_does_not_fire() -> None:
    """A rise that a fall took back is told, and asks nobody to act."""
    days = BEFORE + AFTER
    back = [
        ledgers.start(
            f"a-{day}", "a", str(FIRST + timedelta(days=day)), 0, "first",
            {"launch": 100 + 60 * (BEFORE <= day < days - 15) + noise(day), "step": 10_000},
        )
        for day in range(days)
    ]  # fmt: skip
    rows, _ = found(ledgers.ledger(*back), OWNERS, registry.EMPTY)
    assert [(row["kind"], row["fires"]) for row in rows] == [("regression", False), ("unregistered win", False)]


@pytest.mark.parametrize(("peak", "p"), [(1.2238, 0.10), (1.3581, 0.05), (1.6276, 0.01)])
def test_p_of_a_change_point_is_kolmogorovs(peak: float, p: float) -> None:
    """The printed quantiles of the largest deviation of a Brownian bridge."""
    n = 400
    size = peak * np.sqrt(n) / (n / 4)  # half the points `size` above the other half deviate by n/4 x size
    values = np.repeat([0.0, size], n // 2)
    assert levels.bridge_p(values, 1.0) == pytest.approx(p, rel=0.01)


@pytest.mark.parametrize(("threshold", "printed"), [(4, 336), (5, 930)])
def test_run_length_of_cusum(threshold: float, printed: float) -> None:
    """Twice the two-sided in-control run lengths that Montgomery prints, 168 and 465, within one percent."""
    assert levels.run_length(threshold) == pytest.approx(printed, rel=0.01)


def test_cusum_begins_where_it_left_zero() -> None:
    """Rises of 1 add one half each from the third point on."""
    assert levels.climb(np.array([-1.0, -1.0, 1.0, 1.0, 1.0])) == (2, 1.5)


def test_q_counts_the_series_that_showed_nothing() -> None:
    """Two changes of ten tests: .001 x 10 / 1 and .02 x 10 / 2."""
    assert match.q_values([0.001, 0.02], 10) == pytest.approx([0.01, 0.1])
    assert match.q_values([], 10) == []


def test_held_time_is_summed_exactly_up_to_each_edge() -> None:
    """2 GPUs over [10, 20), 3 GPUs over [15, 40): at 0, 12, 17, 30, 99 that is 0, 4, 20, 65, 95."""
    frame = pl.DataFrame({"begin_us": [10, 15], "end_us": [20, 40], "gpus": [2, 3]})
    assert burn.held(frame, np.array([0, 12, 17, 30, 99])).tolist() == [0, 4, 20, 65, 95]


def timelines(lost: int) -> tuple[Any, Any, Any]:
    """Return overhead, effective time and edges of thirty days of one GPU; all but the last minutes are trained."""
    edges = burn.grid(43_200 * MINUTE, 0)
    trained = np.minimum(edges, edges[-1] - lost * MINUTE)
    return edges - trained, trained, edges


def test_a_budget_burns_by_the_most_urgent_rule() -> None:
    """Of a budget of .05: sixty minutes lost in the last hour are 20 times it; two hours of six are a sixfold burn
    and more; a tenth of the last three days a twofold one."""
    page = burn.burning(*timelines(60), 0.05)
    assert page is not None
    assert (page.rule.name, page.rule.urgency) == ("1 h", "page")
    assert page.times == pytest.approx(20, rel=0.01)
    assert page.over_us == 60 * MINUTE
    overhead, trained, edges = timelines(0)
    spread = (edges * 0.1 * (edges > edges[-1] - 4320 * MINUTE)).astype(np.int64)
    spread = np.where(
        edges > edges[-1] - 4320 * MINUTE, ((edges - edges[-1] + 4320 * MINUTE) * 0.1).astype(np.int64), 0
    )
    ticket = burn.burning(overhead + spread, trained - spread, edges, 0.05)
    assert ticket is not None
    assert ticket.rule.name == "3 d"
    assert ticket.times == pytest.approx(0.1 / 0.9 / 0.05, rel=0.11)
    assert burn.burning(*timelines(0), 0.05) is None


def test_a_burn_stops_when_the_trouble_stops() -> None:
    """An hour lost two hours ago burns no more by its short window."""
    overhead, trained, edges = timelines(60)
    later = np.concatenate([edges, edges[-1] + burn.GRID * np.arange(1, 25)])
    more = [
        np.concatenate([overhead, np.full(24, overhead[-1])]),
        np.concatenate([trained, trained[-1] + later[-24:] - edges[-1]]),
    ]
    assert burn.burning(more[0], more[1], later, 0.05) is None


def fleet(budgets: str = "") -> Fleet:
    """Return a lake's relations with a regression of compilation, and thirty days of which the last hour was lost."""
    minutes = 100 * 1440
    segment = segments("a-0", (Piece(0, "step", "steady", minutes - 60), Piece(0, "compile", "first_start", 60)), 8)
    start = pl.DataFrame({"job": ["a-0"], "k": [0], "kind": ["first"], "cluster": ["c"], "end_state": ["completed"]})
    start = start.with_columns(launched_at=pl.lit(None, pl.Datetime("us")))
    frame = ledger({"a": (100, 150)}, part="compile").with_columns(
        pl.col("launched_us") - series.DAY * (FIRST - date(1970, 1, 1)).days
    )
    job = pl.DataFrame({"job": frame["job"].unique().sort()}).with_columns(
        model=pl.lit("a"), cluster=pl.lit("c"), platform=pl.lit("")
    )
    made = FakeFleet({"segment": segment, "start": start, "job": job, "ledger": frame})
    made.config = Config(parse(budgets.encode(), Path("ettlog.toml")))
    made.lake = None
    return cast("Fleet", made)


def test_command_reads_like_a_finding_and_ends_with_four(monkeypatch: pytest.MonkeyPatch) -> None:
    """Owner, component, size, date, next command; the exit code says that something asks to be done."""
    monkeypatch.setattr(ettlog, "open", lambda _path: fleet("[slo]\ncompilation = 0.01\n"))
    done = run("alerts")
    assert done.exit_code == 4
    said = " ".join(done.stdout.split())
    assert "2 alerts fire: 1 regression, 1 burning budget." in said
    told = re.search(
        r"regression for compiler: compilation of a went from (\S+) to (\S+) GPU-seconds per cold start \(\+50%\)", said
    )
    assert told is not None
    assert [float(level) for level in told.groups()] == pytest.approx([100, 150], abs=2)
    assert "40 cold starts" in said
    assert "Look: ettlog explain a-" in said
    assert "page for compiler: compilation burns its budget" in said
    assert run("alerts", "--exit-zero").exit_code == 0


def test_nothing_to_tell_ends_with_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """A window after the change has no alert, and says how to set a budget."""
    monkeypatch.setattr(ettlog, "open", lambda _path: fleet())
    done = run("alerts", "--window", "20d")
    assert done.exit_code == 0
    assert "no alert fires; no level changed." in done.stdout
    assert "no budget is set" in done.stdout


def test_budgets_are_checked_with_the_configuration() -> None:
    """A budget is a number above zero, of a component or part that exists; all mistakes are told."""
    with pytest.raises(UsageError) as caught:
        parse(b"[slo]\ncompilaton = 0.1\nrestore = 0\n", Path("ettlog.toml"))
    assert "do you mean compilation?" in str(caught.value)
    assert "slo.restore must be a number above 0" in str(caught.value)
