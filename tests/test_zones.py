"""The zone of local stamps from epoch values on other lines of the same text."""

from __future__ import annotations

from pathlib import Path

import pytest

from ettlog.parse import format as formats
from ettlog.parse import zones
from ettlog.parse.clock import SourceClock
from ettlog.parse.parsed import ScanOptions
from ettlog.parse.scan import scan
from tests.telemetry import BASE, seconds
from tests.test_text_telemetry import mllog

LOCAL = "2031-04-05 02:06:{:02d},000 root INFO: hello"
"""A stamp of a writer four hours behind UTC: 06:06:40 UTC is `BASE`."""


def offset(lines: list[str]) -> list[str]:
    """Return what a clock says it has learnt from lines."""
    clock = SourceClock()
    zones.learn("\n".join(lines).encode(), clock)
    return clock.inferences


def test_stamps_near_epoch_lines_give_the_zone() -> None:
    """Two local stamps within a minute of their epoch lines agree on four hours."""
    lines = [LOCAL.format(35), "text", mllog(1, "init_start"), LOCAL.format(45)]
    assert offset(lines) == ["zone UTC-04:00 inferred from an epoch value beside a local stamp"]


@pytest.mark.parametrize(
    "lines",
    [
        [LOCAL.format(35), mllog(1, "init_start")],
        [LOCAL.format(35), LOCAL.format(45)],
        [mllog(1, "init_start"), mllog(2, "init_stop")],
        [LOCAL.format(35), LOCAL.format(45), mllog(400, "init_start")],
        [LOCAL.format(35), mllog(1, "init_start"), LOCAL.format(40), "2030-01-01 00:03:00 a", "2030-01-01 00:05:00 b"],
    ],
    ids=["one stamp", "no epoch", "no stamp", "minutes apart", "others disagree"],
)
def test_without_agreement_nothing_is_learnt(lines: list[str]) -> None:
    """One stamp alone, stamps far from an epoch line, or a majority that disagrees prove nothing."""
    assert offset(lines) == []


def test_epoch_values_of_other_writers() -> None:
    """Early MLPerf rounds and UCX write seconds with a fraction."""
    for epoch in (
        f":::MLPv0.5.0 resnet {BASE}.250 (main.py:7) run_start",
        f"[{BASE}.250000] [gpu-a:41:0] parser.c:1 UCX WARN x",
    ):
        assert offset(["x", LOCAL.format(35), epoch, LOCAL.format(45)]) == [
            "zone UTC-04:00 inferred from an epoch value beside a local stamp"
        ]


def test_scan_reads_local_stamps_in_the_learnt_zone(tmp_path: Path) -> None:
    """Local lines and epoch lines of one run stand beside each other in UTC, the first line too; a set zone stands
    above.
    """
    step = "2031-04-05 02:06:{},000 maskrcnn_benchmark.trainer INFO: eta: 0:45:03  iter: {}  time: 0.5 (0.5)  data: 0.1"
    path = tmp_path / "run.log"
    path.write_text("\n".join([step.format(42, 50), mllog(3, "run_start"), step.format(44, 100)]) + "\n")
    parsed = scan(path, formats.load_all(), ScanOptions())
    assert [(row["step"], seconds(row["ts"]), row["clock"]) for row in parsed.steps.to_pylist()] == [
        (50, 2, "zone_inferred"),
        (100, 4, "zone_inferred"),
    ]
    told = scan(path, formats.load_all(), ScanOptions(zone="Asia/Tokyo"))
    assert {row["clock"] for row in told.steps.to_pylist()} == {"zone_set"}


def test_arbitrary_text_is_no_error() -> None:
    """Broken numbers and huge lines teach nothing and raise nothing."""
    for text in (
        b'"time_ms": 19',
        b'"time_ms":' * 1000,
        b"\n[1" * 1000,
        b"2031-99-99 99:99:99" * 1000 + mllog(1, "a").encode(),
    ):
        clock = SourceClock()
        zones.learn(text, clock)
        assert not clock.inferences


def test_stamps_far_from_the_epoch_lines_do_not_outvote_those_beside_them() -> None:
    """A library prints three epoch values at the start of a log of hours: the many later stamps are no evidence."""
    near = [LOCAL.format(35), f"[{BASE}.250000] [gpu-a:41:0] parser.c:1 UCX WARN x", LOCAL.format(45)]
    later = [f"2031-04-05 {3 + at // 60:02d}:{at % 60:02d}:00,000 root INFO: still here" for at in range(540)]
    told = "zone UTC-04:00 inferred from an epoch value beside a local stamp"
    assert offset([*near, "x" * zones.BESIDE, *later]) == [told]
