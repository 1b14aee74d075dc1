"""The 21 goodput scenarios and the tool's own answers: equal where it is right, the truth by construction elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

import ettlog
from ettlog.fleet import Fleet
from ettlog.terms import terms
from ettlog.windows import moment
from tests.conftest import ROOT
from tests.telemetry import BASE, SECOND, write

pytestmark = pytest.mark.shared

EQUAL = (
    "01_clean_run", "02_restart_lost_steps", "04_in_progress", "05_missing_end_events", "11_elastic", "12_exclusions",
    "16_crash_loop", "17_restart_from_zero",
)  # fmt: skip
"""Scenarios in which the tool is right."""
OPEN = ("04_in_progress", "13_stale_job_end")
"""Scenarios of a job that still runs: the tool reads its clock, a log shows its last line."""
PRODUCTIVE = {"06_two_ranks_duplicate": 100.2, "10_rolling_windows": 200.0}
"""Productive seconds where the truth by construction is of one rank: the second rank's end stands 0.2 s later."""


class Oracle(NamedTuple):
    """All scenarios by name, and the lake they make."""

    told: dict[str, dict[str, Any]]
    fleet: Fleet


@pytest.fixture(scope="module")
def oracle(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Oracle:
    """Ingest every scenario as the log of one job of its name."""
    folder = tmp_path_factory.mktemp("goodput")
    told: dict[str, dict[str, Any]] = {}
    for path in sorted((shared / "oracle" / "goodput").glob("[0-9]*.json")):
        scenario = json.loads(path.read_text(encoding="utf-8"))
        told[scenario["id"]] = scenario
        (folder / "logs" / scenario["id"]).mkdir(parents=True)
        entries = [{**entry, "job_name": scenario["id"]} for entry in scenario["entries"]]
        write(folder / "logs" / scenario["id"] / "goodput.jsonl", entries)
    ettlog.ingest([folder / "logs"], folder / "lake")
    return Oracle(told, ettlog.open(folder / "lake"))


def view(oracle: Oracle, name: str) -> float:
    """Return the goodput view of one scenario in percent; an open job is read at the tool's own clock."""
    until = moment(round(oracle.told[name]["query_time"] * SECOND)).isoformat() if name in OPEN else None
    value = terms(oracle.fleet, "goodput", jobs=[name], until=until)["value"][0]
    assert value is not None
    return 100 * float(value)


def test_all_scenarios_are_read(oracle: Oracle) -> None:
    """21 scenarios make 21 jobs."""
    assert sorted(oracle.fleet.table("job")["job"]) == sorted(oracle.told)
    assert len(oracle.told) == 21


@pytest.mark.parametrize("name", EQUAL)
def test_view_equals_the_tool_where_it_is_right(oracle: Oracle, name: str) -> None:
    """The goodput view is the tool's own percentage."""
    assert view(oracle, name) == pytest.approx(oracle.told[name]["result"]["cumulative"]["goodput_pct"], abs=1e-9)


def test_excluded_time_leaves_both_sides(oracle: Oracle) -> None:
    """Two windows around an excluded one add up to the tool's answer with exclusions."""
    told = oracle.told["12_exclusions"]["result"]["with_exclusions"]
    (begin, end), *_ = told["exclusions"]
    before, after = (
        terms(oracle.fleet, "goodput", jobs=["12_exclusions"], since=since, until=until)
        for since, until in ((None, stamp(begin)), (stamp(end), None))
    )
    both = pl.concat([before, after]).select(pl.col("numerator_hours", "denominator_hours").sum()).row(0)
    assert 100 * both[0] / both[1] == pytest.approx(told["goodput_pct"], abs=1e-9)


def stamp(seconds: float) -> str:
    """Return POSIX seconds as an ISO stamp."""
    return moment(round(seconds * SECOND)).isoformat()


def test_effective_time_is_the_truth_by_construction(oracle: Oracle) -> None:
    """In every scenario with a true number, steps that survived take exactly the seconds they were built with.

    Of the elastic one the wait for more slices, 6 s, is no training.
    """
    frame = terms(oracle.fleet, "goodput", by="job")
    found = {job: hours * 3600 for job, hours in frame.select("job", "numerator_hours").rows()}
    expected = {
        name: PRODUCTIVE.get(name, scenario["by_construction"]["productive_seconds"])
        for name, scenario in oracle.told.items()
    }
    known = {name: seconds for name, seconds in expected.items() if seconds is not None}
    assert len(known) == 19
    assert {name: found[name] for name in known} == {name: pytest.approx(seconds) for name, seconds in known.items()}


WRONG = (
    "03_restart_no_lost_steps", "06_two_ranks_duplicate", "08_custom_badput", "09_checkpoint_orbax",
    "13_stale_job_end", "14_sparse_steps", "15_overlapping_attempts", "21_out_of_order",
)  # fmt: skip
"""Scenarios with a true number that the tool misses."""


@pytest.mark.parametrize("name", WRONG)
def test_share_is_the_truth_where_the_tool_is_wrong(oracle: Oracle, name: str) -> None:
    """The view gives the percentage by construction, and the tool does not."""
    truth = oracle.told[name]["by_construction"]["goodput_pct"]
    assert view(oracle, name) == pytest.approx(truth, abs=0.06)
    assert abs(oracle.told[name]["result"]["cumulative"]["goodput_pct"] - truth) > 0.3


def test_skewed_clock_is_not_corrected_in_silence(oracle: Oracle) -> None:
    """With one node 80 s behind, the steps are right, and the wall is as short as the stamps say."""
    assert view(oracle, "07_clock_skew") == pytest.approx(100 * 200 / 430)


def test_table_of_the_docs_holds_both_numbers(oracle: Oracle) -> None:
    """Every scenario stands in docs/terms.md with the truth, the tool's answer and the view's."""
    lines = (ROOT / "docs" / "terms.md").read_text(encoding="utf-8").splitlines()
    rows = {cells[1].strip(): [cell.strip() for cell in cells[2:5]] for cells in map(_cells, lines) if len(cells) > 5}
    for name, scenario in oracle.told.items():
        told = scenario["result"].get("cumulative", {}).get("goodput_pct")
        truth = scenario["by_construction"]["goodput_pct"]
        assert rows[name] == [_percent(truth), _percent(told), _percent(view(oracle, name))], name
    assert BASE > 0


def _cells(line: str) -> list[str]:
    return line.split("|")


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
