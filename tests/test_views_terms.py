"""Named views: another tool's definition beside our own, on hand-made and on published data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ettlog
from ettlog.errors import UsageError
from ettlog.views_terms import saved_steps, saved_steps_goodput
from tests.telemetry import SECOND, write
from tests.test_resiliency_log import RUN
from tests.test_torch_trace import Trace

HOUR = 3_600_000_000


def fleet_of(logs: Path) -> ettlog.Fleet:
    """Ingest a folder and open what came of it."""
    ettlog.ingest([logs], logs.parent / "lake")
    return ettlog.open(logs.parent / "lake")


def test_saved_steps_by_hand() -> None:
    """Steps 40 to 100 at 30 s in an hour are half of it."""
    found = saved_steps_goodput([40, 80], [60, 100], 0, HOUR, 30 * SECOND)
    assert found is not None
    assert (found.loaded_step, found.saved_step, found.percent) == (40, 100, 50.0)


@pytest.mark.parametrize(("loaded", "saved", "last"), [([], [10], HOUR), ([0], [], HOUR), ([0], [10], 0)])
def test_saved_steps_needs_a_load_a_save_and_a_wall(loaded: list[int], saved: list[int], last: int) -> None:
    """Without one of its terms the number does not exist."""
    assert saved_steps_goodput(loaded, saved, 0, last, SECOND) is None


def test_saved_steps_of_a_fleet(tmp_path: Path) -> None:
    """The log of two starts: (60 - 40) steps of 3 s in 300 s are 20 %, with our own ETT beside it."""
    (tmp_path / "logs").mkdir()
    write(tmp_path / "logs" / "events.jsonl", RUN)
    view = saved_steps(fleet_of(tmp_path / "logs"), 3.0)
    assert view.select("job", "loaded_step", "saved_step", "percent").rows() == [("dove", 40, 60, 20.0)]
    assert 0 < view["ett"][0] < 1


def test_saved_steps_refuses_a_step_time_of_nothing(tmp_path: Path) -> None:
    """A step time of 0 or below is a usage error before anything is read."""
    (tmp_path / "logs").mkdir()
    write(tmp_path / "logs" / "events.jsonl", RUN)
    with pytest.raises(UsageError):
        saved_steps(fleet_of(tmp_path / "logs"), 0)


def test_compilation_of_a_start(tmp_path: Path) -> None:
    """Overlapping compiles of one rank are a union, the slowest rank counts, and one hit beside a miss is partly
    warm.
    """
    folder = tmp_path / "logs" / "dove"
    folder.mkdir(parents=True)
    for rank, end in ((0, 6), (1, 9)):
        trace = Trace(rank).compile(1, 4).compile(3, end, compile=(1, 1))
        trace.add(end, "artifact", {"name": f"fx_graph_cache_{'hit' if rank else 'miss'}"}, '{"key": "k"}')
        write(folder / f"dedicated_log_torch_trace_rank_{rank}.log", trace.lines)
    rows = fleet_of(tmp_path / "logs").table("compilation").to_dicts()
    assert [{key: row[key] for key in row if key not in ("job", "k")} for row in rows] == [
        {
            "ranks": 2,
            "compiles": 2,
            "recompiles": 2,
            "compile_us": 8 * SECOND,
            "hits": 1,
            "misses": 1,
            "warmth": "partly",
        }
    ]


@pytest.mark.shared
def test_published_event_log(tmp_path: Path, shared: Path) -> None:
    """The published event log gives its published 43.43365004195837 % at 8 s a step; our own ETT is within a tenth of
    a point.
    """
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "event_log.jsonl").write_bytes(
        (shared / "oracle" / "resiliency" / "event_log.jsonl").read_bytes()
    )
    view = saved_steps(fleet_of(tmp_path / "logs"), 8.0)
    assert view["percent"].to_list() == [pytest.approx(43.43365004195837, abs=1e-12)]
    assert view["ett"][0] == pytest.approx(0.4343, abs=0.001)


@pytest.mark.shared
def test_published_calculator_scenarios(tmp_path: Path, shared: Path) -> None:
    """The calculator's own answers to five small logs come out of the same definition."""
    told = json.loads((shared / "oracle" / "goodput" / "peer2_resiliency_calculator.json").read_text(encoding="utf-8"))[
        "scenarios"
    ]
    expected = {}
    for name, scenario in told.items():
        folder = tmp_path / "logs" / name
        folder.mkdir(parents=True)
        write(folder / "events.jsonl", [{**event, "job_name": name} for event in scenario["events"]])
        expected[name] = scenario["result"]["goodput_percentage"]
    view = saved_steps(fleet_of(tmp_path / "logs"), 10.0)
    assert dict(view.select("job", "percent").rows()) == {
        name: pytest.approx(value) for name, value in expected.items()
    }
