"""What logs do not say, each lack in a small fleet, with the GPU time that rests on it worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import ettlog
from ettlog.check import ADVICE, ERROR, LEVELS, WARNING
from ettlog.cli import app
from ettlog.fleet import Fleet
from ettlog.unsaid import UNSAID, unsaid
from tests.assembly import stepping
from tests.tables import MINUTE, Log, fleet, record


def found(made: Fleet) -> dict[str, tuple[str, float]]:
    """Return lack -> its subject, and GPU-minutes at stake."""
    rows = unsaid(made).select("unsaid", "subject", "gpu_us").rows()
    return {name: (subject, gpu_us / MINUTE) for name, subject, gpu_us in rows}


def crash(*, world: int | None = 2, ends: bool = True, **source: object) -> Log:
    """Return a log of four steps, a crash and two steps done again before two new ones; the log may not say it."""
    log = Log(**source)  # type: ignore[arg-type]
    log.say(0, "launch", world=world)
    stepping(log, 1, (2, 3, 4, 5))
    if ends:
        log.say(6, "failure", cause="oom")
    log.say(8, "launch", world=world)
    log.say(9, "resume", step=2)
    stepping(log, 3, (10, 11, 12, 13))
    log.say(13, "exit_ok")
    return log


def test_starts_without_a_commit_put_what_was_done_again_at_stake() -> None:
    """Two starts show steps and no commit; two minutes of replay on two GPUs rest on that."""
    assert found(fleet(crash()))["no_commit_line"] == ("2 starts", 4)


def test_a_commit_line_is_no_lack() -> None:
    """Where every start with steps commits, nothing is missing."""
    log = Log()
    log.say(0, "launch")
    stepping(log, 1, (2, 3))
    log.say(3, "save_commit", step=2)
    log.say(3, "exit_ok")
    assert "no_commit_line" not in found(fleet(log))


def test_a_log_that_just_stops_before_a_restart() -> None:
    """From the last line at 5 to the first new step at 11, on two GPUs, nobody says why."""
    made = found(fleet(crash(ends=False)))
    assert made["no_end_line"] == ("1 restart", 12)
    assert "no_end_line" not in found(fleet(crash()))


def test_jobs_that_only_the_scheduler_knows() -> None:
    """An hour of four GPUs with no log."""
    made = fleet(alloc=[record(submit=0, start=0, end=60, gpus=4)])
    assert found(made)["no_trainer_log"] == ("1 job", 240)


def test_time_without_a_line_between_lines() -> None:
    """Steps stop at 3 and go on at 15 with a line of step 8: what the five steps did not need, 7 minutes, is a gap."""
    log = Log()
    log.say(0, "launch", world=2)
    stepping(log, 1, (1, 2, 3))
    log.step(15, 8, 1)
    log.say(15, "exit_ok")
    assert found(fleet(log))["time_without_evidence"] == ("1 job", 14)


def test_jobs_without_a_record_of_the_scheduler() -> None:
    """Between failure at 6 and launch at 8 the log goes on: two minutes of two GPUs are taken as held."""
    made = found(fleet(crash()))
    assert made["no_scheduler_record"] == ("1 job", 4)
    joined = fleet(crash(allocation="7"), alloc=[record(submit=0, start=0, end=13, gpus=2)])
    assert "no_scheduler_record" not in found(joined)


def test_jobs_without_any_clock() -> None:
    """Steps without stamps make a job without a wall: nothing can be at stake, and it is said all the same."""
    log = Log()
    log.say(None, "launch")
    stepping(log, 1, ())
    log.step(None, 1)
    log.step(None, 2)
    assert found(fleet(log))["no_clock"] == ("1 job", 0)


def test_local_stamps_without_a_zone() -> None:
    """A file read as UTC for want of a zone: the wait between its starts may be shifted."""
    assert found(fleet(crash(clock="zone_assumed")))["no_zone"] == ("1 file", 4)


def test_jobs_whose_size_nobody_tells() -> None:
    """13 minutes that weigh one GPU."""
    made = found(fleet(crash(world=None)))
    assert made["no_gpu_count"] == ("1 job", 13)
    assert "no_gpu_count" not in found(fleet(crash()))


def test_a_compile_that_is_only_estimated() -> None:
    """The first step took 6 minutes, a steady one takes one: five minutes of two GPUs are an estimate."""
    log = Log()
    log.say(0, "launch", world=2)
    log.say(1, "train_start")
    log.step(7, 1, 6)
    stepping(log, 2, (8, 9, 10))
    log.say(10, "exit_ok")
    assert found(fleet(log))["no_compile_line"] == ("1 start", 10)


def test_a_save_whose_end_no_line_tells() -> None:
    """Asked for at 4, next line at 7: two minutes of two GPUs up to the next step's own work."""
    log = Log()
    log.say(0, "launch", world=2)
    stepping(log, 1, (1, 2, 3, 4))
    log.say(4, "save_request", step=4)
    stepping(log, 5, (7, 8))
    log.say(8, "exit_ok")
    assert found(fleet(log))["no_save_end"] == ("1 start", 4)


def test_start_up_that_no_line_divides() -> None:
    """From launch to the first step's work, a minute each: two starts of two GPUs."""
    assert found(fleet(crash()))["undivided_start_up"] == ("2 starts", 4)


def test_every_lack_has_a_case_here() -> None:
    """No lack is looked for that no test shows found."""
    text = Path(__file__).read_text(encoding="utf-8")
    assert [item.name for item in UNSAID if f'["{item.name}"]' not in text] == []


def test_the_most_gpu_time_at_stake_comes_first() -> None:
    """Advice is in the order in which it is worth following."""
    stakes = unsaid(fleet(crash(ends=False)))["gpu_us"].to_list()
    assert len(stakes) > 3
    assert stakes == sorted(stakes, reverse=True)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Return the lake of the small fixture with two of its files left out."""
    from tests.conftest import ROOT

    ettlog.ingest([ROOT / "fixtures" / "tiny"], tmp_path / "lake")
    return tmp_path / "lake"


def test_check_says_what_to_log_below_what_is_wrong(lake: Path) -> None:
    """Levels stand in their order, each row with what to do, and advice alone is no failure."""
    frame = ettlog.check(lake)
    levels = frame["level"].to_list()
    assert levels == sorted(levels, key=LEVELS.index)
    assert ADVICE in levels
    assert frame["todo"].null_count() == 0
    advice = frame.filter(frame["level"] == ADVICE)["gpu_hours"].to_list()
    assert advice == sorted(advice, reverse=True)
    result = CliRunner().invoke(app, ["check", "--lake", str(lake)], catch_exceptions=False)
    assert result.exit_code == 0
    assert "what to do" in result.stdout


def test_a_finding_about_a_job_puts_its_gpu_hours_at_stake() -> None:
    """A job of which 70 % is unknown: all of its GPU time stands behind the warning."""
    from ettlog.check import examine

    log = Log()
    log.say(0, "launch", world=2)
    stepping(log, 1, (1, 2, 3))
    log.step(30, 4, 1)
    log.say(30, "exit_ok")
    broken, _ = examine(fleet(log))
    row = broken.filter(broken["check"] == "unknown_within_budget").row(0, named=True)
    assert (row["level"], row["subject"], row["gpu_hours"]) == (WARNING, "run", pytest.approx(1.0))
    assert ERROR not in broken["level"].to_list()
