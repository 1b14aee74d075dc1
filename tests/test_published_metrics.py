"""Published figures of neighbouring metrics, through the functions that a user calls; those that do not follow too."""

from __future__ import annotations

import polars as pl
import pytest

import ettlog
from ettlog.attribute import reliability
from ettlog.lifecycle import PART_BY_NAME
from ettlog.terms import named, summed
from tests.test_reliability import LLAMA, failures, fleet

RSC_RATE = 6.5e-3
"""Failures per node-day of the 16,384-GPU research cluster; 2.34e-3 on the smaller one."""
DAY_MIN = 24 * 60


def research(gpus: int, rate: float, interval: float, restart: float, save: float = 0.0) -> float:
    """Return the expected ETTR of a job of so many GPUs; minutes."""
    return reliability.approximate_ett(interval, restart, DAY_MIN / (gpus / 8 * rate), save)


@pytest.mark.parametrize(("save", "expected"), [(0.0, 0.939), (5 / 60, 0.902)])
def test_hundred_thousand_gpus_need_two_minutes(save: float, expected: float) -> None:
    """At 2.34 failures per 1,000 node-days, interval and restart of two minutes give the claimed 0.9."""
    assert research(100_000, 2.34e-3, 2, 2, save) == pytest.approx(expected, abs=6e-4)


def test_twelve_thousand_gpus_need_saves_of_seconds_or_fewer_failures() -> None:
    """0.9 on 12,000 GPUs takes a save of 10 s (0.921); 5 minutes give 0.740, and 0.898 at one failure in 1,000."""
    found = []
    for save, rate in ((10 / 60, RSC_RATE), (5.0, RSC_RATE), (5.0, 1e-3)):
        mttf = DAY_MIN / (12_000 / 8 * rate)
        found.append(research(12_000, rate, reliability.young(save, mttf), 5, save))
    assert found == pytest.approx([0.921, 0.740, 0.898], abs=6e-4)


def test_gpu_share_of_llama_is_not_the_printed_one() -> None:
    """By count 268 of 419 interruptions are a GPU's, 64.0 %; the 58.7 printed is the sum of the printed shares."""
    gpu = ("faulty GPU", "HBM3", "GPU SRAM", "GPU system processor", "SDC", "thermal")
    rows = failures(ettlog.reliability(fleet({"llama": 54}, {"llama": LLAMA}, 16_384), by="cause"))
    share = 100 * rows.filter(pl.col("cause").is_in(gpu))["share"].sum()
    assert share == pytest.approx(64.0, abs=0.05)
    assert share != pytest.approx(58.7, abs=1)


def test_requeue_over_hot_update_needs_its_mean_named() -> None:
    """454/46, 545/51, 635/54 and 768/65 s: 11.03 as a mean of ratios (printed 11.04), 11.12 as a ratio of sums."""
    seconds = {"2048": (454, 46), "4096": (545, 51), "8192": (635, 54), "16384": (768, 65)}
    found = pl.DataFrame([(job, *pair) for job, pair in seconds.items()], schema=["job", "num", "den"], orient="row")
    (term,) = named("byterobust-sliding")
    jobs = found.select("job")
    value = {mean: summed(term, found, jobs, None, mean=mean)["value"][0] for mean in ("ratio-of-sums", "")}
    assert value[""] == pytest.approx(11.03, abs=0.005)
    assert value["ratio-of-sums"] == pytest.approx(11.12, abs=0.005)


def test_saving_of_cuda_errors_is_counted_against_the_longest() -> None:
    """84.50 % follows from a mean of 93 s and the longest of 600 s; against the selective test's 518 s it is 82.0 %."""
    (term,) = named("byterobust-sliding")
    saved = []
    for other in (600, 518):
        found = pl.DataFrame([("cuda", 93, other)], schema=["job", "num", "den"], orient="row")
        saved.append(100 * (1 - summed(term, found, found.select("job"), None, mean="ratio-of-sums")["value"][0]))
    assert saved == pytest.approx([84.50, 82.05], abs=0.005)


def test_default_restart_is_the_sum_of_parts_that_ettlog_keeps_apart() -> None:
    """68 minutes are 30 of hanging, 9 of queue, 14 of set-up and 15 done again: three components and two owners."""
    minutes = {"hang": 30, "queue": 9, "other": 14, "replay": 15}
    assert sum(minutes.values()) == 68
    assert {PART_BY_NAME[part].component for part in minutes} == {"wasted_training", "scheduling", "trainer_init"}
