"""One timeline, many definitions: the golden job read nine ways, and each definition's own arithmetic by hand."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import ettlog
from ettlog.cli import app
from ettlog.errors import NoDataError, UsageError
from ettlog.fleet import Fleet
from ettlog.terms import TERMS, named, terms
from ettlog.terms.ettr import worst
from ettlog.terms.nvidia import ratio
from tests.tables import MINUTE, Log, fleet, minute, record
from tests.test_golden_timeline import golden

__all__ = ["golden"]


def values(made: Fleet, *names: str, **words: object) -> dict[str, float | None]:
    """Return definition -> percent, to one decimal."""
    frame = terms(made, names or "all", **words)  # type: ignore[arg-type]
    found = frame.select("term", "value").rows()
    return {name: None if value is None else round(100 * value, 1) for name, value in found}


def test_the_golden_job_reads_nine_ways(golden: Fleet) -> None:
    """The published nine answers of one job, 58 to 91 %, and three that follow from the same minutes.

    nvidia: 254 minutes from the first step line at 46; 36 and 24 from launch to step line, 5 of rescheduling, 5 of
    saves, and 27 lost from the commit at 148 to the failure at 175: 157 / 249. Worst hour: 160 to 220, with 5 minutes
    of steps before the hang at 165, and none before the replay ends at 220. resiliency: 60 steps of a minute of 290.
    """
    assert values(golden) == {
        "ett": 60.3, "ett-formula": 69.0, "ett-formula-first-step": 74.8, "goodput": 60.3, "runtime-goodput": 82.5,
        "ettr": 58.3, "byterobust": 60.3, "byterobust-sliding": 8.3, "megascale": 60.3, "nvidia": 63.1,
        "nvidia-adr": 91.3, "resiliency": 20.7, "mfu": None, "mfu-printed": None,
    }  # fmt: skip


def test_released_ratio_gives_the_published_vector() -> None:
    """14,400 s with 900 lost, 150 rescheduling, 70 resuming and 45 saving are 0.928772."""
    assert ratio(14400, 900, 150, 70, 45) == pytest.approx(0.928772, abs=5e-7)


def test_least_productive_window_lies_at_an_edge() -> None:
    """Of [0, 100] with work in [10, 30] and [60, 100], a window of 40 sees least, 10, from 20 to 60."""
    assert worst([(10, 30), (60, 100)], 0, 100, 40) == 10
    assert worst([(0, 100)], 0, 100, 100) == 100
    assert worst([], 0, 100, 10) == 0
    assert worst([(0, 5)], 0, 9, 10) is None


def test_utilisation_needs_the_work_of_a_step(golden: Fleet) -> None:
    """175 steps of 240,000 TFLOP on 8 GPUs of 1,000 TFLOP/s take 5,250 s at the peak, of 290 minutes: 30.2 %."""
    frame = terms(golden, "mfu", inputs={"step_tflop": 240_000.0, "peak_tflops": 1000.0})
    assert frame["value"][0] == pytest.approx(175 * 240_000 / (8 * 290 * 60 * 1000))


def test_utilisation_has_no_meaning_without_gpus(golden: Fleet) -> None:
    """Counted without GPUs there is no peak to compare with."""
    assert terms(golden, "mfu", weight="none", inputs={"step_tflop": 1.0, "peak_tflops": 1.0})["value"][0] is None


def test_reference_step_scales_the_saved_steps(golden: Fleet) -> None:
    """Steps 100 to 160 at 90 s are 5,400 s of the 300 minutes between first and last line."""
    frame = terms(golden, "resiliency", inputs={"step_seconds": 90.0})
    assert frame["value"][0] == pytest.approx(60 * 90 / (300 - 10) / 60)


def test_a_word_stands_for_all_definitions_that_begin_with_it() -> None:
    """`ett` is ETT and its formula in both readings; `all` is every definition."""
    assert [term.name for term in named("ett")] == ["ett", "ett-formula", "ett-formula-first-step"]
    assert named("all") == list(TERMS)


def test_unknown_names_and_groupings_are_refused(golden: Fleet) -> None:
    """A word that is no definition, and a grouping that divides one job, are usage errors."""
    with pytest.raises(UsageError):
        terms(golden, "goodputt")
    with pytest.raises(UsageError):
        terms(golden, "ett", by="week")


def two_jobs() -> Fleet:
    """Return a job of 8 GPUs at 50 % and one of 1 GPU at 100 %, an hour each."""
    logs = []
    for name, first in (("wide", 31), ("lone", 1)):
        log = Log(name, job_name=name)
        log.say(0, "launch", world=8 if name == "wide" else 1)
        for step in range(first, 61):
            log.step(step, step, 1)
        log.say(60, "exit_ok")
        logs.append(log)
    return fleet(*logs)


@pytest.mark.parametrize(
    ("weight", "mean", "percent"),
    [("gpu", "ratio-of-sums", 55.6), ("none", "ratio-of-sums", 75.0), ("gpu", "mean-of-ratios", 75.0)],
)
def test_weights_and_means_hold_for_every_definition(weight: str, mean: str, percent: float) -> None:
    """(8 x 30 + 60) / 9 x 60 is 55.6 %; without weight, or as a mean of ratios, 75 %."""
    found = values(two_jobs(), "ett", "goodput", "ettr", "megascale", weight=weight, mean=mean)
    assert found == {
        "ett": percent, "ett-formula": percent, "ett-formula-first-step": percent, "goodput": percent, "ettr": percent,
        "megascale": percent,
    }  # fmt: skip


def test_groups_are_counted_apart() -> None:
    """By job, each has its own number."""
    assert terms(two_jobs(), "ett", by="job").filter(pl.col("term") == "ett").select("job", "value").rows() == [
        ("lone", 1.0), ("wide", 0.5),
    ]  # fmt: skip


def test_jobs_without_a_trainer_log_are_not_counted() -> None:
    """A scheduler's record alone is neither useful nor lost by any definition."""
    made = fleet(Log("a"), alloc=[record(submit=0, start=0, end=60, name="ghost", id="9", raw="9")])
    with pytest.raises(NoDataError):
        terms(made, "ett")


def test_open_job_lasts_until_the_end_that_was_asked_for() -> None:
    """30 minutes of steps of a job that still runs are 50 % of an hour for the library that reads a clock."""
    log = Log()
    log.say(0, "launch")
    for step in range(1, 31):
        log.step(step, step, 1)
    made = fleet(log)
    assert values(made, "goodput")["goodput"] == 100.0
    assert values(made, "goodput", until="2026-01-01T01:00:00Z")["goodput"] == 50.0
    assert minute(60) - minute(0) == 60 * MINUTE


def test_windows_add_up_to_the_whole(golden: Fleet) -> None:
    """Numerators and denominators of two windows add up to those of both, for all definitions that divide time."""
    whole = terms(golden, "all")
    halves = [terms(golden, "all", until="2026-01-01T02:30Z"), terms(golden, "all", since="2026-01-01T02:30Z")]
    for name in ("ett", "ett-formula", "runtime-goodput", "ettr", "byterobust", "megascale", "nvidia", "nvidia-adr"):
        row = whole.row(by_predicate=pl.col("term") == name, named=True)
        parts = [half.row(by_predicate=pl.col("term") == name, named=True) for half in halves]
        for column in ("numerator_hours", "denominator_hours"):
            assert sum(part[column] for part in parts) == pytest.approx(row[column]), (name, column)


def test_command_prints_each_definition_with_what_it_leaves_out(golden: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values and definitions in the table, what is left out and the sources below it."""
    monkeypatch.setattr(ettlog, "open", lambda _path: golden)
    text = CliRunner().invoke(app, ["ett", "--terms", "all"], catch_exceptions=False).stdout
    for term in TERMS:
        assert term.over in text
        assert f"{term.name}: leaves out: {term.leaves_out} [{term.source}]" in text
    assert "mfu: 1 job without it" in text
    assert "wall basis, waste, TTR and evaluation are fixed by each definition" in text


def test_command_groups_by_one_key(golden: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """One grouping stands beside the definitions, two are refused."""
    monkeypatch.setattr(ettlog, "open", lambda _path: golden)
    lines = CliRunner().invoke(app, ["ett", "--terms", "ettr", "--by", "job"], catch_exceptions=False).stdout
    assert any(line.split()[:3] == ["ettr", "run", "58.3"] for line in lines.splitlines())
    with pytest.raises(UsageError):
        CliRunner().invoke(app, ["ett", "--terms", "ettr", "--by", "job,model"], catch_exceptions=False)


def test_ett_equals_the_command_of_the_same_name(tmp_path: Path) -> None:
    """On a fleet of real lines, `ett` and its formula are what `ettlog ett --logged` says."""
    from tests.conftest import ROOT

    ettlog.ingest([ROOT / "fixtures" / "tiny"], tmp_path / "lake")
    made = ettlog.open(tmp_path / "lake")
    own = ettlog.ett(made, logged=True).row(0, named=True)
    found = dict(terms(made, "ett").select("term", "value").rows())
    assert found["ett"] == pytest.approx(own["ett"], rel=1e-12)
    assert found["ett-formula"] == pytest.approx(own["ett_formula"], rel=1e-12)
