"""MaxText's metrics file: steps without any clock."""

from __future__ import annotations

from pathlib import Path

from tests.telemetry import read, steps, write


def test_steps_without_a_clock(tmp_path: Path) -> None:
    """Each record with a step time is a step, numbered from 0 as printed; evaluations are not."""
    rows = [
        {"learning/loss": 8.5, "perf/step_time_seconds": second, "step": float(step)}
        for step, second in enumerate((26.5, 0.5, 0.25))
    ]
    parsed = read(write(tmp_path / "metrics.txt", [*rows, {"evaluation/loss": 3.0, "step": 2.0}]), "maxtext_metrics")
    assert steps(parsed, "ts", "clock", "duration_us") == [
        (0, None, "none", 26_500_000),
        (1, None, "none", 500_000),
        (2, None, "none", 250_000),
    ]
    assert (parsed.lines, parsed.clock, parsed.first_us) == ({"matched": 3, "ignored": 1}, "none", None)


def test_record_without_a_step_is_bad(tmp_path: Path) -> None:
    """A step time without its step, or below zero, cannot be placed."""
    rows = [
        {"step": 0.0, "perf/step_time_seconds": 1.0},
        {"perf/step_time_seconds": 1.0},
        {"step": -1, "perf/step_time_seconds": 1.0},
    ]
    assert read(write(tmp_path / "metrics.txt", rows), "maxtext_metrics").lines == {"matched": 1, "bad_record": 2}


def test_the_rate_of_a_step_is_kept(tmp_path: Path) -> None:
    """TFLOP/s of one device become millions of operations a second; the TFLOP of a step beside them are no rate."""
    row = {"perf/step_time_seconds": 0.5, "perf/per_device_tflops": 100.25, "perf/per_device_tflops_per_sec": 200.5}
    parsed = read(
        write(tmp_path / "metrics.txt", [row | {"step": 3.0}, {"perf/step_time_seconds": 1.0, "step": 4.0}]),
        "maxtext_metrics",
    )
    assert steps(parsed, "mflops", "mfu_ppm") == [(3, 200_500_000, None), (4, None, None)]
