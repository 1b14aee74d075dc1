"""From a row of any answer to the lines of log, with what is not printed as such in words."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import ettlog
from ettlog.cli import app
from ettlog.errors import UsageError
from ettlog.explain import CLOCK_WORDS, explain, reasons
from ettlog.fleet import Fleet
from ettlog.lifecycle import CLOCKS
from tests.conftest import ROOT
from tests.tables import MINUTE, Log, fleet, minute, record
from tests.test_golden_timeline import golden

__all__ = ["golden"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """Return the lake of the six paired runs, which has a registry."""
    lake = tmp_path_factory.mktemp("explain") / "lake"
    ettlog.ingest([ROOT / "fixtures" / "published" / "logs"], lake)
    return ettlog.open(lake)


def test_a_job_is_all_of_its_segments(golden: Fleet) -> None:
    """Every segment of the job has its row, in order of time, and every line is in the log."""
    frame = explain(golden, "run")
    assert frame.height == golden.table("segment").height
    assert frame["begin_at"].is_sorted()
    assert frame["path"].drop_nulls().unique().sort().to_list() == ["logs/a.log", "logs/s.sacct"]


def test_a_line_says_what_it_is(golden: Fleet) -> None:
    """Events, step lines and scheduler records are told apart."""
    told = {row["part"]: row["kind"] for row in explain(golden, "run").iter_rows(named=True)}
    assert (told["queue"], told["hang"], told["replay"]) == ("scheduler record", "failure", "step")


def test_a_moment_is_the_segment_that_holds_it(golden: Fleet) -> None:
    """At 170 minutes, 02:50, the job hangs; the edge belongs to the segment that begins there."""
    assert explain(golden, "run@2026-01-01T02:50")["part"].to_list() == ["hang"]
    assert explain(golden, "run@2026-01-01T02:55")["part"].to_list() == ["placement"]
    assert minute(170) - minute(0) == 170 * MINUTE


def test_a_start_tells_why_it_was_made(golden: Fleet) -> None:
    """Start 1 is a failure because start 0 failed by a timeout of its collectives."""
    lines = reasons(golden, "run@1@hang")
    assert lines[0] == "hang of start 1 of job run: 1 segment, 1.33 GPU-hours"
    assert any("start 1 is failure: start 0 ended failed (nccl_timeout)" in line for line in lines)


def test_every_clock_that_is_not_exact_has_words() -> None:
    """No way of having an instant goes unexplained."""
    assert set(CLOCK_WORDS) == set(CLOCKS) - {"exact"}


def test_inferences_stand_with_the_segment(golden: Fleet) -> None:
    """An estimate says so; the queue's record is exact and says nothing."""
    told = {row["part"]: row["inferences"] for row in explain(golden, "run").iter_rows(named=True)}
    inference = "an inference: an instant of it, or what went on, is not printed as such"
    assert told["first_step_excess"] == f"{inference}; first step beyond a steady step"
    assert told["queue"] == ""


def test_time_that_no_line_tells_says_so_and_a_wrong_clock_is_named() -> None:
    """Hardware was held before a log that begins with step 50, and its last line lies 7 minutes behind the release."""
    log = Log(allocation="7")
    for step, at in ((50, 10), (51, 11), (52, 12)):
        log.step(at, step, 1)
    log.say(17, "exit_ok")
    made = fleet(log, alloc=[record(submit=0, start=0, end=10, gpus=8)])
    told = {row["part"]: row["inferences"] for row in explain(made, "run").iter_rows(named=True)}
    wrong = "an inference: lines of its start lie outside its allocation, so a clock is wrong"
    assert told == {"gap": "no line tells what went on", "step": wrong}


def test_only_lines_without_a_year_say_where_it_is_from(tmp_path: Path) -> None:
    """The launcher's stamp has no year and takes that of the run's; the step's has one, and says nothing of years."""
    (tmp_path / "logs").mkdir()
    launcher = "I0309 11:15:00.260000 4242 torch/distributed/launcher/api.py:195] Starting elastic_operator"
    step = "iteration        1/     100 | consumed samples:          128 | elapsed time per iteration (ms): 60000.0"
    lines = (
        "[before the start of training step] datetime: 2031-03-09 11:14:50 ",
        f"{launcher} with launch configs:",
        "[after megatron is initialized] datetime: 2031-03-09 11:16:00 ",
        f" [2031-03-09 11:18:00] {step} | learning rate: 1.500000E-05 |",
    )
    (tmp_path / "logs" / "dove.log").write_text("\n".join(lines) + "\n")
    ettlog.ingest([tmp_path / "logs"], tmp_path / "lake")
    made = ettlog.open(tmp_path / "lake")
    rows = explain(made, made.table("job")["job"][0]).iter_rows(named=True)
    years = {(row["line"], row["clock"]): "the year of stamps" in row["inferences"] for row in rows}
    assert years == {(line, clock): clock == "date_inferred" for line, clock in years}
    assert {*years.values()} == {True, False}


def test_a_job_that_never_came_back_up_has_no_recoveries_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """One start: an empty table stands beside a sentence, not alone."""
    log = Log()
    log.say(0, "launch")
    log.step(2, 1, 1)
    log.say(3, "exit_ok")
    monkeypatch.setattr(ettlog, "open", lambda _path: fleet(log))
    shown = CliRunner().invoke(app, ["timeline", "run", "--recoveries"], catch_exceptions=False).output
    assert "no restart: no later start of this job is known" in shown


def test_help_says_what_each_convention_counts() -> None:
    """A value of a convention stands beside its meaning, not beside its own name."""
    told = " ".join(CliRunner().invoke(app, ["ett", "--help"]).output.split())
    assert "allocated: hardware held; elapsed: first allocation to last release" in told
    assert "basis allocated" not in told


def test_a_row_of_ett_adds_up_to_its_number(made: Fleet) -> None:
    """The segments behind compilation of one model have the GPU-hours that `ettlog ett` prints for it."""
    row = ettlog.ett(made, by="model").filter(pl.col("model") == "model-a").row(0, named=True)
    frame = explain(made, "model=model-a,component=compilation")
    assert frame["gpu_hours"].sum() == pytest.approx(row["compilation_gpu_hours"])
    assert frame["gpu_hours"].is_sorted(descending=True)
    assert frame["path"].null_count() == 0


@pytest.mark.parametrize("key", ["week", "month"])
def test_a_period_of_ett_is_a_row_too(made: Fleet, key: str) -> None:
    """All segments of the first week or month, named as the table names it."""
    value = {"week": "2026-03-02", "month": "2026-03"}[key]
    frame = explain(made, f"{key}={value},component=compilation")
    by = ettlog.ett(made, by=[key]).sort(key)
    assert frame["gpu_hours"].sum() == pytest.approx(by["compilation_gpu_hours"][0])


def test_a_row_of_attribute_is_what_its_optimization_works_on(made: Fleet) -> None:
    """Cascade of trainer-start is start-up of recoveries only, in the parts the registry names."""
    frame = explain(made, "optimization=trainer-start,tier=cascade,model=model-a")
    assert set(frame["stage"]) == {"recovery"}
    assert set(frame["start"]) == {1, 2}
    assert "restore" not in set(frame["part"])
    assert "zone" in frame["inferences"][0]


def test_a_count_of_failures_is_what_each_recovery_costs(made: Fleet) -> None:
    """The row is how often recoveries came; it rests on their segments, those that every start has and their own."""
    tiers = ("failure_count", "cascade", "recovery_only")
    every, cascade, own = (float(explain(made, f"tier={tier}")["gpu_hours"].sum()) for tier in tiers)
    assert every == pytest.approx(cascade + own)
    assert set(explain(made, "tier=failure_count")["stage"]) == {"recovery"}


def test_a_difference_of_weights_has_no_segments_of_its_own(made: Fleet) -> None:
    """A row of mix compares models and periods: it is said what to ask instead."""
    with pytest.raises(UsageError, match="no segments of its own") as refused:
        explain(made, "tier=mix")
    assert "model=NAME" in refused.value.todo


@pytest.mark.parametrize(
    "row",
    ["run@1@hang@2", "run@x", "colour=red", "model=", "optimization=nothing", "tier=nothing", "run@9", "model=m9"],
)
def test_what_means_nothing_is_refused(made: Fleet, golden: Fleet, row: str) -> None:
    """A row of no known form, and one that names nothing, are usage errors that say what there is."""
    with pytest.raises(UsageError):
        explain(golden if row.startswith("run") else made, row)


def test_command_shows_the_largest_of_a_sum(made: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum of many segments is cut for people and said to be; a machine gets all."""
    monkeypatch.setattr(ettlog, "open", lambda _path: made)
    monkeypatch.setattr("ettlog.cli.explain.LARGEST", 3)
    shown = CliRunner().invoke(app, ["explain", "component=compilation"], catch_exceptions=False).stdout
    assert "33 smaller segments not shown" in shown
    rows = CliRunner().invoke(app, ["explain", "component=compilation", "--format", "jsonl", "-q"]).stdout.splitlines()
    assert len(rows) == 36


def test_reading_again_names_the_torn_file(tmp_path: Path) -> None:
    """A compressed file that lost its end says so beside every segment that rests on it."""
    logs = tmp_path / "logs" / "dove"
    logs.mkdir(parents=True)
    whole = gzip.compress((ROOT / "fixtures" / "tiny" / "logs" / "finch-7b-501001.out").read_bytes())
    (logs / "finch-7b-501001.out.gz").write_bytes(whole[:-20])
    ettlog.ingest([tmp_path / "logs"], tmp_path / "lake")
    cut = ettlog.open(tmp_path / "lake")
    frame = explain(cut, cut.table("job")["job"][0])
    assert all("the file is torn" in text for text in frame["inferences"])
