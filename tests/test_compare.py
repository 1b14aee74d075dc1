"""Paired experiments: the published table from its logs, a single pair, refusals, and what a side may be."""

from __future__ import annotations

import math
from pathlib import Path
from typing import cast

import polars as pl
import pytest

import ettlog
from ettlog import compare_means, pairs
from ettlog.attribute import uncertainty
from ettlog.errors import NoDataError, UsageError
from ettlog.fleet import Fleet
from ettlog.windows import Window, instant
from fixtures.published import make
from tests.conftest import ROOT
from tests.fakes import FakeFleet
from tests.test_cli import run
from tests.test_ett import Piece, segments, timeline

PAIRS = ROOT / "fixtures/published/pairs.toml"
DAY = 1440


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the lake of the six published pairs."""
    lake = tmp_path_factory.mktemp("compare") / "pairs.lake"
    ettlog.ingest([Path(make.__file__).parent / "logs"], lake)
    return lake


def test_six_pairs_give_the_published_table(published: Path) -> None:
    """Gains 21 to 8, +15.5 +- 2.5706 x sqrt(22/6), p 2/64, recovery 57.99 % pooled, TTR 1.8 to 8.6 times TTS."""
    found = ettlog.compare(ettlog.open(published), pairs_file=PAIRS)
    assert found.pairs["points"].to_list() == pytest.approx([21, 19, 17.5, 14.5, 13, 8])
    means = {row["metric"]: row for row in found.summary.iter_rows(named=True)}
    gain, half = means["points"], 2.570582 * math.sqrt(22 / 6)
    assert (gain["mean"], gain["low"], gain["high"]) == pytest.approx((15.5, 15.5 - half, 15.5 + half), abs=1e-5)
    assert gain["p"] == 2 / 64
    # Walsh means of six: the 21 sorted, the eleventh is (19 + 13) / 2; all six signed ranks reach from 8 to 21
    assert (gain["median"], gain["median_low"], gain["median_high"]) == pytest.approx((16, 8, 21))
    assert found.pairs["ttr_over_tts"].to_list() == pytest.approx([2307 / 756, 2.5, 4.5, 1.8, 6, 8.6])
    assert means["ttr_over_tts"]["pooled"] == pytest.approx(10702 / 3096)
    assert means["recovery_share"]["pooled"] == pytest.approx(2_122_144 / 3_659_328)
    assert found.pairs["nof_before"].to_list() == found.pairs["nof_after"].to_list() == [2] * 6


def test_saved_time_has_both_readings(published: Path) -> None:
    """Model-a: .21 of 2,560 GPU-hours of wall, or 2,048 effective hours x (1/.59 - 1/.80)."""
    row = ettlog.compare(ettlog.open(published), pairs_file=PAIRS).pairs.row(0, named=True)
    assert row["saved_wall_gpu_hours"] == pytest.approx(537.6)
    assert row["saved_work_gpu_hours"] == pytest.approx(2048 * (1 / 0.59 - 1 / 0.80))


def test_command_prints_the_finding(published: Path) -> None:
    """The table of pairs, and below it the mean, its interval, the p and the rule of every average."""
    printed = run("compare", "--pairs", str(PAIRS), "--lake", str(published)).stdout
    assert "model-d          72.0   86.5  +14.50" in printed
    gain = "mean gain in ETT: +15.5 points over 6 pairs, unweighted: 10.6 to 20.4 (95 %, t); sign-flip p 0.031"
    assert gain in printed
    assert "TTR fell 1.8 to 8.6 times as much as TTS (mean of ratios 4.4, ratio of sums 3.5)" in printed
    assert "58.0 % (ratio of sums, weighted by GPU time), 59.8 % (mean of the pairs' shares)" in printed
    summary = run("compare", "--pairs", str(PAIRS), "--summary", "--lake", str(published)).stdout
    assert "points" in summary
    assert "exact 96.9%" in summary


def test_single_pair_without_history_is_refused_an_interval(published: Path) -> None:
    """Two runs alone show a difference and no variance: the gain stands without bounds, and the reason beside it."""
    found = ettlog.compare(ettlog.open(published), "model-a-baseline", "model-a-optimized")
    row = found.summary.row(0, named=True)
    assert (row["mean"], row["low"], row["high"]) == (pytest.approx(21), None, None)
    assert row["note"].startswith("n = 1: one unit shows no variance")
    assert "without an interval" in found.notes[0]


def test_windows_compare_jobs_of_the_same_fleet(published: Path) -> None:
    """Two windows hold the six baselines and the six optimized runs: Welch over the jobs, marked as few."""
    row = ettlog.compare(ettlog.open(published), "2026-03-01..2026-03-09", "2026-03-09..").summary.row(0, named=True)
    # GPU-weighted: 10,656 GPU-h of wall on either side, 1,016.48 more of them effective
    assert row["mean"] == pytest.approx(100 * 3_659_328 / 3600 / 5328)
    assert row["low"] < row["mean"] < row["high"]
    assert row["method"] == "Welch over jobs, few jobs"


def job(minutes: int, name: str, day: int) -> tuple[str, pl.DataFrame]:
    """Return a job of 100 minutes, so many of them effective, on some day."""
    pieces = (Piece(0, "other", "first_start", 100 - minutes), Piece(0, "step", "steady", minutes))
    return name, segments(name, pieces, at=day * DAY)


def fleet(*jobs: tuple[str, pl.DataFrame]) -> Fleet:
    """Return a fleet of one model from jobs."""
    made = timeline({name: ("m7", segment) for name, segment in jobs})
    return cast("Fleet", FakeFleet({"segment": made.segment, "start": made.start, "job": made.job}))


def test_single_pair_borrows_the_variance_of_earlier_runs() -> None:
    """History .70, .72, .74 has sd .02: half width 4.302653 x sqrt(2) x 2 points; later runs do not count."""
    known = [job(70, "h1", 1), job(72, "h2", 2), job(74, "h3", 3)]
    made = fleet(*known, job(70, "old", 4), job(80, "new", 5), job(99, "later", 6))
    row = ettlog.compare(made, "old", "new").summary.row(0, named=True)
    half = 4.302653 * math.sqrt(2) * 2
    assert (row["mean"], row["low"], row["high"]) == pytest.approx((10, 10 - half, 10 + half), abs=1e-4)
    assert row["method"] == "variance borrowed from 3 runs"


def test_welch_over_jobs_is_the_textbook_interval_where_walls_are_equal() -> None:
    """ETT .6, .7, .8 against .7, .8, .9: difference .1, se sqrt(2 x .01 / 3), four degrees of freedom."""
    jobs = [job(m, f"old{m}", 1) for m in (60, 70, 80)] + [job(m, f"new{m}", 2) for m in (70, 80, 90)]
    row = ettlog.compare(fleet(*jobs), "old*", "new*").summary.row(0, named=True)
    half = 2.776445 * math.sqrt(0.02 / 3) * 100
    assert (row["low"], row["high"]) == pytest.approx((10 - half, 10 + half), abs=1e-4)


def test_sides_met_by_unlike_failures_say_so() -> None:
    """A side with a recovery against one without: the difference is not of the change alone."""
    pieces = (Piece(0, "other", "first_start", 10), Piece(0, "step", "steady", 40), Piece(1, "hang", "recovery", 10))
    failed = ("bad", segments("bad", (*pieces, Piece(1, "step", "steady", 40)), at=2 * DAY))
    found = ettlog.compare(fleet(job(80, "good", 1), failed), "good", "bad")
    assert any("different numbers of failures per job" in note for note in found.notes)


def test_jobs_on_both_sides_are_refused() -> None:
    """A comparison of a model with itself in one window has no meaning."""
    made = fleet(job(60, "a", 1), job(70, "b", 2))
    with pytest.raises(UsageError, match="share 2 jobs"):
        ettlog.compare(made, "model:m7", "model:m7")


@pytest.mark.parametrize("sides", [(), ("a",), ("a", "b", "--pairs", str(PAIRS))])
def test_two_sides_or_a_file_are_needed(sides: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing, one side alone, and both forms at once are usage errors with their way out."""
    monkeypatch.setattr(ettlog, "open", lambda _path: fleet(job(60, "a", 1), job(70, "b", 2)))
    with pytest.raises(UsageError, match="needs two sides") as caught:
        run("compare", *sides)
    assert "ettlog compare --pairs pairs.toml" in caught.value.todo


def test_sides_are_jobs_models_globs_or_windows() -> None:
    """A bare text is a job before it is a model, before it is a glob; a key chooses; a window has all jobs."""
    frame = pl.DataFrame(
        {"job": ["m7", "run-1", "run-2"], "model": ["m8", "m7", "m9"], "cluster": ["x"] * 3, "platform": [None] * 3}
    )
    span = Window(0, instant("2026-06-01"), "all events")
    assert pairs.side("m7", frame, span).jobs == ("m7",)
    assert pairs.side("model:m7", frame, span).jobs == ("run-1",)
    assert pairs.side("m9", frame, span).jobs == ("run-2",)
    assert pairs.side("run-*", frame, span).jobs == ("run-1", "run-2")
    window = pairs.side("2026-01-01..2026-02-01", frame, span)
    assert len(window.jobs) == 3
    assert window.span[:2] == (instant("2026-01-01"), instant("2026-02-01"))
    with pytest.raises(NoDataError, match="no job is meant"):
        pairs.side("nobody", frame, span)


def test_all_mistakes_of_a_pairs_file_are_told_at_once(tmp_path: Path) -> None:
    """An unknown field and a missing side are both named, with their places."""
    file = tmp_path / "pairs.toml"
    file.write_text('[[pair]]\nbefore = "a"\nfater = "b"\n[[pair]]\nbefore = 3\nafter = "c"\n')
    with pytest.raises(UsageError) as caught:
        pairs.read(file)
    assert caught.value.what == "the pairs have 3 mistakes"
    assert all(place in caught.value.why for place in ("pair[0].fater", "pair[0].after", "pair[1].before"))
    file.write_text("")
    with pytest.raises(UsageError, match="holds no pair"):
        pairs.read(file)


def test_mean_of_ratios_and_ratio_of_sums_are_told_apart() -> None:
    """Published requeue against hot-update seconds: 11.04 is the mean of ratios, not the 11.12 of sums."""
    found = uncertainty.averages([454, 545, 635, 768], [46, 51, 54, 65])
    assert found.of_ratios == pytest.approx(11.03, abs=0.005)
    assert found.of_sums == pytest.approx(11.12, abs=0.005)


def test_recoveries_inside_a_pair_are_replicates_of_recovering() -> None:
    """Recoveries of 20 and 20 e^.2 min against half of each: ratio .5, Welch on logs with two degrees of freedom."""
    found = uncertainty.log_ratio([20, 20 * math.exp(0.2)], [10, 10 * math.exp(0.2)])
    # each side: variance .02 over two starts; half width 4.302653 x sqrt(.02)
    half = 4.302653 * math.sqrt(0.02)
    assert found[:3] == pytest.approx((0.5, 0.5 * math.exp(-half), 0.5 * math.exp(half)), abs=1e-6)
    with pytest.raises(NoDataError):
        uncertainty.log_ratio([20], [10, 11])


def test_single_pair_says_what_its_recoveries_show(published: Path) -> None:
    """Model-a's two recoveries took 4,560 s each before and 2,253 after: 49 %, the same every time."""
    found = ettlog.compare(ettlog.open(published), "model-a-baseline", "model-a-optimized")
    row = found.summary.row(1, named=True)
    assert (row["metric"], row["n"]) == ("ttr_after_over_before", 4)
    assert row["mean"] == pytest.approx(2253 / 4560)
    assert any(note.startswith("a recovery takes 49 % of its former time") for note in found.notes)


def test_gain_of_pairs_without_the_schedulers_luck() -> None:
    """Gains of 10 points plus what scheduling happened to take less: the control variate finds the 10."""
    luck = [4.0, -4.0, 2.0, -2.0, 0.0]
    frame = pl.DataFrame(
        {
            "points": [10 + x for x in luck], "scheduling_share_before": [0.10 + x / 200 for x in luck],
            "scheduling_share_after": [0.10 - x / 200 for x in luck], "ett_before": [0.7] * 5, "ett_after": [0.8] * 5,
            "tts_saved_hours": [1.0] * 5, "ttr_saved_hours": [2.0] * 5, "ttr_over_tts": [2.0] * 5,
            "recovery_share": [0.5] * 5, "wall_gpu_hours_after": [100.0] * 5,
        }
    )  # fmt: skip
    rows = {row["metric"]: row for row in compare_means.summary(frame).to_dicts()}
    calm, plain = rows[compare_means.CALM], rows["points"]
    assert calm["mean"] == pytest.approx(10)
    assert calm["high"] - calm["low"] < 0.01 * (plain["high"] - plain["low"])
    assert (calm["evidence"], plain["evidence"]) == ("A", "A")
    assert any(line.startswith("excluding scheduling noise: +10.0 points") for line in rows_said(frame))


def rows_said(frame: pl.DataFrame) -> list[str]:
    """Return the sentences of a comparison whose sides met the same failures."""
    same = {f"{name}_{when}": [2.0] * frame.height for name in ("nof", "jobs") for when in ("before", "after")}
    full = frame.with_columns(pair=pl.lit("p"), **{name: pl.Series(values) for name, values in same.items()})
    return list(compare_means.sentences(compare_means.summary(full), full))
